"""Flows as mitmproxy saves them (`mitmdump -w FILE`): typed netstrings, one a flow."""

from collections.abc import Iterator, Mapping
from typing import Any

from simulators.cassettes.format import HOP_BY_HOP, Cassette, CassetteError, Exchange, Frame
from simulators.core.wire import Headers

ABOUT = "flow files of mitmproxy"


def read(data: bytes, *, source: str) -> Cassette:
    """Every HTTP flow that has an answer, and every WebSocket."""
    found = []
    for number, flow in enumerate(_values(data, source)):
        if not isinstance(flow, dict):
            raise CassetteError(f"{source}: flow {number}: a dictionary is needed")
        if flow.get("type") in ("http", "websocket") and flow.get("request"):
            found.append(_flow(flow, f"{source}: flow {number}"))
    return Cassette(exchanges=[one for one in found if one is not None], source=source)


def _flow(flow: Mapping[str, Any], at: str) -> Exchange | None:
    request, response = flow["request"], flow.get("response")
    error = flow.get("error")
    if not response and not error:
        return None
    try:
        scheme, host, port = _text(request["scheme"]), _text(request["host"]), int(request["port"])
        began = float(request.get("timestamp_start") or 0.0)
        standard = port == {"http": 80, "https": 443}.get(scheme)
        exchange = Exchange(
            method=_text(request["method"]),
            uri=f"{scheme}://{host}{'' if standard else f':{port}'}{_text(request['path'])}",
            request_headers=_headers(request["headers"]),
            request_body=request.get("content") or b"",
            at=began or None,
        )
        if response:
            exchange.status, exchange.message = int(response["status_code"]), _text(response.get("reason") or b"")
            exchange.headers, exchange.body = _headers(response["headers"]), response.get("content") or b""
        else:
            exchange.status = 502
    except (KeyError, TypeError, ValueError) as error_:
        raise CassetteError(f"{at}: not as mitmproxy writes it: {error_!r}") from None
    sent = float(request.get("timestamp_end") or began)
    exchange.frames = tuple(_frames(flow, exchange, response or {}, sent))
    return exchange


def _frames(flow: Mapping[str, Any], exchange: Exchange, response: Mapping[str, Any], sent: float) -> Iterator[Frame]:
    head, end = response.get("timestamp_start"), response.get("timestamp_end")
    if head:
        yield Frame(at=max(0.0, head - sent), head=True)
    if exchange.body:
        yield Frame(at=max(0.0, (end or head or sent) - sent), size=len(exchange.body))
    error = flow.get("error")
    if isinstance(error, dict):
        yield Frame(at=max(0.0, float(error.get("timestamp") or sent) - sent), cut="fin")
    messages = flow.get("websocket")
    for message in (messages.get("messages") or []) if isinstance(messages, dict) else []:
        kind, from_client, content, when = message[:4]
        data: Any = content.decode("utf-8", "replace") if kind == 1 and isinstance(content, bytes) else content
        at = max(0.0, float(when) - sent)
        yield Frame(at=at, sent=data) if from_client else Frame(at=at, received=data)


def _headers(raw: Any) -> Headers:
    pairs = [(_text(name), _text(value)) for name, value in raw]
    return tuple(pair for pair in pairs if not pair[0].startswith(":") and pair[0].lower() not in HOP_BY_HOP)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _values(data: bytes, source: str) -> Iterator[Any]:
    at = 0
    while at < len(data):
        value, at = _value(data, at, source)
        yield value


def _value(data: bytes, at: int, source: str) -> tuple[Any, int]:
    """(value, place behind it) of `LENGTH:CONTENT` and a letter for its type."""
    colon = data.find(b":", at, at + 13)
    digits = data[at:colon] if colon > 0 else b""
    if not digits.isdigit():
        raise CassetteError(f"{source}: byte {at}: no flow of mitmproxy begins here")
    start = colon + 1
    end = start + int(digits)
    if end >= len(data):
        raise CassetteError(f"{source}: byte {at}: the file ends within this flow")
    content, kind = data[start:end], data[end : end + 1]
    match kind:
        case b",":
            return content, end + 1
        case b";":
            return content.decode("utf-8", "replace"), end + 1
        case b"#":
            return int(content), end + 1
        case b"^":
            return float(content), end + 1
        case b"!":
            return content == b"true", end + 1
        case b"~":
            return None, end + 1
        case b"]":
            return list(_values(content, source)), end + 1
        case b"}":
            flat = list(_values(content, source))
            keys = [_text(key) for key in flat[::2]]
            return dict(zip(keys, flat[1::2], strict=False)), end + 1
    raise CassetteError(f"{source}: byte {end}: no type of a flow: {kind!r}")
