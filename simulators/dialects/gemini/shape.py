"""From bytes to a body whose every field is known: what the API's JSON front does before anything looks at the meaning.

All mistakes are told at once, in the order of the body. Names come out as the JSON mapping has them, whichever way they
were written; a lone object is taken for a list of one; `null` is as good as left out.
"""

import re
from typing import Any

import msgspec

from simulators.core.turn import Failure, Refused
from simulators.dialects.gemini.fields import ENUMS, MESSAGES

Violation = tuple[str, str]  # field ("" at the top), description
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}\s*\Z")
_PACKAGE = "type.googleapis.com/google.ai.generativelanguage.v1beta."
_LEAD = "Invalid JSON payload received. "
_RANGES = {"int32": 2**31, "int64": 2**63}
_MOST = 100  # violations that are listed


def read_body(data: bytes, message: str) -> dict[str, Any]:
    """The body as `message`. Raises `Refused` with every violation."""
    try:
        body = _decode(data) if data.strip() else {}
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refused(Failure(kind="bad_request", message=f"{_LEAD}{_syntax(str(error))}"))
    if type(body) is not dict:
        said = f'{_LEAD}Unknown name "": Root element must be a message.'
        raise Refused(_failure([("", said)]))
    found: list[Violation] = []
    made = _message(body, message, "", found)
    if found:
        raise Refused(_failure(found[:_MOST]))
    return made


def _syntax(said: str) -> str:
    if "truncated" in said or "ended" in said:
        return "Unexpected end of string. Expected a value."
    return f"Expected a value. {said.removeprefix('JSON is malformed: ')}"


def _failure(found: list[Violation]) -> Failure:
    violations = [{"field": field, "description": said} if field else {"description": said} for field, said in found]
    return Failure(
        kind="bad_request",
        message="\n".join(said for _, said in found),
        details={"details": [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]},
    )


def snake(name: str) -> str:
    """`functionDeclarations` → `function_declarations`, as messages write it."""
    return _HUMP.sub(r"_\1", name).lower()


_SNAKED = {name: snake(name) for fields in MESSAGES.values() for name in fields}
_JSON_NAMES: dict[str, dict[str, str]] = {
    message: {alias: name for name in fields for alias in (name, _SNAKED[name])} for message, fields in MESSAGES.items()
}


def _message(value: Any, message: str, path: str, found: list[Violation]) -> dict[str, Any]:
    """The fields of one message."""
    if type(value) is not dict:
        found.append((path, f"Invalid value at '{path}' ({_PACKAGE}{message}), {_shown(value)}"))
        return {}
    names, fields = _JSON_NAMES[message], MESSAGES[message]
    made: dict[str, Any] = {}
    for given, inner in value.items():
        name = names.get(given)
        if name is None:
            at = f" at '{path}'" if path else ""
            found.append((path, f'{_LEAD}Unknown name "{given}"{at}: Cannot find field.'))
        elif inner is not None:
            place = f"{path}.{_SNAKED[name]}" if path else _SNAKED[name]
            made[name] = _field(inner, fields[name], place, (path, given), found)
    return made


def _field(value: Any, kind: str, place: str, named: tuple[str, str], found: list[Violation]) -> Any:
    if kind.startswith("[]"):
        listed = value if type(value) is list else [value]
        return [_single(one, kind[2:], f"{place}[{i}]", found) for i, one in enumerate(listed)]
    if kind.startswith("{}"):
        if type(value) is not dict:
            found.append((place, f"Invalid value at '{place}' (Map), {_shown(value)}"))
            return {}
        return {key: _single(one, kind[2:], f"{place}[{i}].value", found) for i, (key, one) in enumerate(value.items())}
    if type(value) is list and kind != "Value":
        path, given = named
        at = f" at '{path}'" if path else ""
        found.append((path, f'{_LEAD}Unknown name "{given}"{at}: Proto field is not repeating, cannot start list.'))
        return None
    return _single(value, kind, place, found)


def _single(value: Any, kind: str, place: str, found: list[Violation]) -> Any:
    if kind == "Value":
        return value
    if kind == "Struct":
        return _message_free(value, place, found)
    if kind.startswith("enum:"):
        return _enum(value, kind[5:], place, found)
    if kind in MESSAGES:
        return _message(value, kind, place, found)
    return _scalar(value, kind, place, found)


def _message_free(value: Any, place: str, found: list[Violation]) -> dict[str, Any]:
    if type(value) is dict:
        return value
    found.append((place, f"Invalid value at '{place}' (type.googleapis.com/google.protobuf.Struct), {_shown(value)}"))
    return {}


def _enum(value: Any, name: str, place: str, found: list[Violation]) -> str:
    full, values = ENUMS[name]
    if type(value) is str and value.upper() in values:
        return value.upper()
    found.append((place, f"Invalid value at '{place}' ({_PACKAGE}{full}), {_shown(value)}"))
    return ""


def _scalar(value: Any, kind: str, place: str, found: list[Violation]) -> Any:
    if kind in ("string", "bool"):
        if type(value) is (str if kind == "string" else bool):
            return value
    elif kind == "bytes":
        if type(value) is str:
            if _BASE64.match(value):
                return value
            shown = _shown(value if len(value) <= 60 else f"{value[:60]}…")
            found.append((place, f"Invalid value at '{place}' (TYPE_BYTES), Base64 decoding failed for {shown}"))
            return ""
    elif (number := _number(value, kind)) is not None:
        return number
    found.append((place, f"Invalid value at '{place}' (TYPE_{kind.upper()}), {_shown(value)}"))
    return None


def _number(value: Any, kind: str) -> int | float | None:
    """A number, also one that is written as a string."""
    if type(value) is str:
        try:
            value = float(value) if kind in ("float", "double") else int(value)
        except ValueError:
            return None
    if type(value) not in (int, float):
        return None
    if kind in ("float", "double"):
        return float(value)
    return int(value) if value == int(value) and abs(value) < _RANGES[kind] else None


def _shown(value: Any) -> str:
    return _encode(value).decode() if type(value) not in (dict, list) else "Starting an object on a scalar field"
