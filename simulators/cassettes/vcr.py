"""Cassettes as files: vcrpy's YAML (or JSON), read with the place of every mistake, written whole or not at all."""

import base64
import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from simulators.cassettes.format import VERSION, Cassette, CassetteError, Exchange, Frame, header

_SERIAL = itertools.count()
_TOP = ("version", "interactions", "claw")
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BaseDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


_STYLE: dict[str, Any] = {"sort_keys": False, "encoding": "ascii", "allow_unicode": False, "width": 120}


class _Loader(_Base):  # type: ignore[misc]
    """Safe YAML and the few Python tags that vcrpy writes for strings, tuples and file-like bodies."""


class _Dumper(_BaseDumper):  # type: ignore[misc]
    """No aliases: an equal value is written again, so that files read from the top."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Flow(dict[str, Any]):
    """A mapping that is written on one line."""


def _scalar(loader: Any, node: Any) -> Any:
    return loader.construct_scalar(node)


def _tuple(loader: Any, node: Any) -> Any:
    return loader.construct_sequence(node, deep=True)


def _bytesio(loader: Any, node: Any) -> Any:
    state = loader.construct_mapping(node, deep=True).get("state") or (b"",)
    return state[0] if state else b""


def _iterated(loader: Any, node: Any) -> Any:
    args: Any = loader.construct_mapping(node, deep=True).get("args") or ([],)
    return b"".join(part.encode() if isinstance(part, str) else part for part in args[0])


for _tag, _make in (("str", _scalar), ("unicode", _scalar), ("tuple", _tuple),
                    ("object/new:_io.BytesIO", _bytesio), ("object/apply:builtins.iter", _iterated)):  # fmt: skip
    _Loader.add_constructor(f"tag:yaml.org,2002:python/{_tag}", _make)
_Dumper.add_representer(
    _Flow, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), True)
)


def read(path: str | os.PathLike[str]) -> Cassette:
    """The cassette in a file. Raises `CassetteError`, also for a file that is not there."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise CassetteError(f"{path}: {error.strerror or error}") from None
    return parse(data, source=str(path))


def parse(data: bytes | str, *, source: str) -> Cassette:
    """A cassette from the text of its file."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CassetteError(f"{source}: not UTF-8 text (byte {error.start}); a cassette is vcrpy's YAML") from None
    tree = _tree(text, source)
    if isinstance(tree, list) and tree and isinstance(tree[0], Mapping) and "request" in tree[0]:
        raise CassetteError(f"{source}: written by vcrpy 0; run `python -m vcr.migration {source}` first")
    if not isinstance(tree, Mapping) or not isinstance(tree.get("interactions"), list):
        raise CassetteError(f"{source}: no cassette: `interactions:`, a list, is missing at the top")
    claw = tree.get("claw") or {}
    if not isinstance(claw, Mapping):
        raise CassetteError(f"{source}: claw: a mapping is needed (origin, …), not {type(claw).__name__}")
    reader = _Reader(source, text)
    return Cassette(
        exchanges=[reader.exchange(raw, f"interactions[{i}]") for i, raw in enumerate(tree["interactions"])],
        claw=dict(claw),
        extra={str(key): value for key, value in tree.items() if key not in _TOP},
        source=source,
    )


def _tree(text: str, source: str) -> Any:
    if text.lstrip()[:1] == "{":
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            pass  # flow style YAML begins like this too
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "cannot be read"
        raise CassetteError(f"{source}{line}: not the YAML of a cassette: {problem}") from None


class _Reader:
    """Checks the shape of what was loaded, and says where it is wrong."""

    def __init__(self, source: str, text: str) -> None:
        self.source, self.text = source, text

    def exchange(self, raw: Any, at: str) -> Exchange:
        raw = self._mapping(raw, at)
        request = self._mapping(raw.get("request"), f"{at}.request")
        response = self._mapping(raw.get("response"), f"{at}.response")
        method, uri = request.get("method"), request.get("uri")
        if not isinstance(method, str) or not isinstance(uri, str):
            wrong = "method" if not isinstance(method, str) else "uri"
            raise self._error(f"{at}.request.{wrong}", "a string is needed")
        status, message = self._status(response, f"{at}.response")
        return Exchange(
            method=method.upper(),
            uri=uri,
            request_headers=self._headers(request.get("headers"), f"{at}.request.headers"),
            request_body=self._body(request, "body", f"{at}.request"),
            status=status,
            message=message,
            headers=self._headers(response.get("headers"), f"{at}.response.headers"),
            body=self._response_body(response, f"{at}.response"),
            frames=self._frames(raw.get("frames"), f"{at}.frames"),
            at=self._time(raw.get("at"), f"{at}.at"),
            extra={str(k): v for k, v in raw.items() if k not in ("request", "response", "frames", "at")},
        )

    def _status(self, response: Mapping[str, Any], at: str) -> tuple[int, str]:
        status = response.get("status", response.get("status_code"))
        if isinstance(status, int) and not isinstance(status, bool):
            return status, ""
        code = status.get("code") if isinstance(status, Mapping) else None
        if not isinstance(code, int) or isinstance(code, bool) or not 100 <= code <= 999:
            raise self._error(f"{at}.status", "`{code: NUMBER, message: TEXT}` is needed")
        return code, str(status.get("message") or "")

    def _headers(self, raw: Any, at: str) -> tuple[tuple[str, str], ...]:
        if raw is None:
            return ()
        found: list[tuple[str, str]] = []
        for name, values in self._mapping(raw, at).items():
            for value in values if isinstance(values, list | tuple) else [values]:
                if isinstance(value, bytes):
                    value = value.decode("latin-1")
                if value is not None and not isinstance(value, str | int | float):
                    raise self._error(f"{at}.{name}", "a list of strings is needed")
                found.append((str(name), "" if value is None else str(value)))
        return tuple(found)

    def _body(self, raw: Mapping[str, Any], key: str, at: str) -> bytes:
        if key not in raw and "parsed_body" in raw:
            return _json(raw["parsed_body"])
        value = raw.get(key)
        if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in ("string", "base64_string"):
            value = _text_of(value)
        if value is None:
            return b""
        if isinstance(value, str):
            return value.encode("utf-8")
        if isinstance(value, bytes):
            return value
        if isinstance(value, list):
            return b"".join(part.encode() if isinstance(part, str) else bytes(part) for part in value)
        if isinstance(value, Mapping):
            return _json(value)
        raise self._error(f"{at}.{key}", "a string or binary is needed")

    def _response_body(self, response: Mapping[str, Any], at: str) -> bytes:
        body = response.get("body", response.get("content"))
        if body is None:
            return _json(response["parsed_body"]) if "parsed_body" in response else b""
        if isinstance(body, Mapping):
            body = _text_of(body)
        if body is None:
            return b""
        if isinstance(body, str):
            return body.encode("utf-8")
        if isinstance(body, bytes):
            return body
        raise self._error(f"{at}.body", "`{string: TEXT}` is needed")

    def _frames(self, raw: Any, at: str) -> tuple[Frame, ...] | None:
        if raw is None:
            return None
        try:
            frames = tuple(msgspec.convert(raw, list[Frame], builtin_types=(bytes,)))
        except msgspec.ValidationError as error:
            raise self._error(at, str(error)) from None
        for i, frame in enumerate(frames):
            for name in ("sent", "received"):
                if not isinstance(getattr(frame, name), str | bytes | None):
                    raise self._error(f"{at}[{i}].{name}", "text or binary is needed")
        return frames

    def _time(self, raw: Any, at: str) -> float | None:
        if raw is not None and (isinstance(raw, bool) or not isinstance(raw, int | float)):
            raise self._error(at, "Unix seconds are needed")
        return raw

    def _mapping(self, raw: Any, at: str) -> Mapping[str, Any]:
        if not isinstance(raw, Mapping):
            raise self._error(at, "a mapping is needed")
        return raw

    def _error(self, at: str, message: str) -> CassetteError:
        line = _line(self.text, at)
        return CassetteError(f"{self.source}{f':{line}' if line else ''}: {at}: {message}")


def _line(text: str, at: str) -> int | None:
    """The line of a place, or of the nearest thing around it."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        return None
    line = None
    for part in at.replace("[", ".[").split("."):
        if node is None:
            break
        line = node.start_mark.line + 1
        if part.startswith("[") and isinstance(node, yaml.SequenceNode):
            number = int(part[1:-1])
            node = node.value[number] if number < len(node.value) else None
        elif isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == part), None)
        else:
            node = None
    return node.start_mark.line + 1 if node is not None else line


def _text_of(value: Mapping[str, Any]) -> Any:
    if value.get("base64_string") is not None:
        return base64.b64decode(value["base64_string"])
    return value.get("string")


def _json(value: Any) -> bytes:
    return b"" if value is None else msgspec.json.encode(value)


def dump(cassette: Cassette) -> bytes:
    """The text of a cassette's file: ASCII, so that vcrpy reads it under any locale."""
    return assembled(cassette.claw, cassette.extra, [fragment(exchange) for exchange in cassette.exchanges])


def _interaction(exchange: Exchange) -> dict[str, Any]:
    made: dict[str, Any] = {
        "request": {
            "body": _told(exchange.request_body) if exchange.request_body else None,
            "headers": _listed(exchange.request_headers),
            "method": exchange.method,
            "uri": exchange.uri,
        },
        "response": {
            "body": {"string": _told(exchange.body)},
            "headers": _listed(exchange.headers),
            "status": {"code": exchange.status, "message": exchange.message},
        },
    }
    if exchange.at is not None:
        made["at"] = round(exchange.at, 6)
    if exchange.frames is not None:
        made["frames"] = [_Flow(_frame(frame)) for frame in exchange.frames]
    return made | dict(exchange.extra)


def _frame(frame: Frame) -> dict[str, Any]:
    names = ("head", "size", "cut", "gone", "sent", "received")
    said = {name: getattr(frame, name) for name in names if getattr(frame, name) not in (False, 0, None)}
    return {"at": round(frame.at, 6), **said}


def _listed(headers: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for name, value in headers:
        made.setdefault(name, []).append(value)
    return made


def _told(data: bytes) -> str | bytes:
    """Text where it is text; vcrpy turns it back into the same bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def fragment(exchange: Exchange) -> bytes:
    """One exchange as a piece of a file; `assembled` puts pieces together."""
    made: bytes = yaml.dump([_interaction(exchange)], Dumper=_Dumper, **_STYLE)
    return made


def assembled(claw: Mapping[str, Any], extra: Mapping[str, Any], fragments: Sequence[bytes]) -> bytes:
    """The text of a file out of its head and pieces: the same as `dump`, without going through all of it again."""
    head: bytes = yaml.dump({"claw": {"format": VERSION, **claw}, **extra}, Dumper=_Dumper, **_STYLE)
    body = b"".join((b"interactions:\n", *fragments)) if fragments else b"interactions: []\n"
    return b"".join((head, body, b"version: 1\n"))


def write(path: str | os.PathLike[str], cassette: Cassette) -> None:
    """Put a cassette in its place in one step: a reader, or a crash, meets the old file or the new one, whole."""
    write_bytes(path, dump(cassette))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """The same for any bytes; a FIFO or a device is written to, never replaced. Raises `CassetteError`."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        try:
            with open(path, "wb") as special:
                special.write(data)
        except OSError as error:
            raise CassetteError(f"{path}: cannot be written: {error.strerror or error}") from None
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:180]}.{os.getpid()}-{next(_SERIAL)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CassetteError(f"{path}: cannot be written: {error.strerror or error}") from None


def fixed_lengths(exchange: Exchange) -> Exchange:
    """The exchange with `content-length` headers that fit its bodies; none is added."""

    def fitted(headers: tuple[tuple[str, str], ...], body: bytes) -> tuple[tuple[str, str], ...]:
        if header(headers, "content-length") is None:
            return headers
        return tuple((n, str(len(body)) if n.lower() == "content-length" else v) for n, v in headers)

    length = exchange.headers if exchange.method == "HEAD" else fitted(exchange.headers, exchange.body)
    return msgspec.structs.replace(
        exchange, request_headers=fitted(exchange.request_headers, exchange.request_body), headers=length
    )
