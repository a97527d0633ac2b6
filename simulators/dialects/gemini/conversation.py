"""What the API refuses of a conversation: roles, parts, the order of function calls and responses, signatures."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulators.dialects.gemini.gates import Gates
from simulators.dialects.gemini.refusal import refuse, refuse_field
from simulators.dialects.gemini.signature import CORRUPTED, intact

_DATA = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
_ROLES = frozenset({None, "", "user", "model", "function"})
_CALL_ORDER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESPONSE_ORDER = "Please ensure that function response turn comes immediately after a function call turn."
_COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)


def check_contents(contents: Sequence[Mapping[str, Any]], *, message: str) -> None:
    """Every content by itself. `message` is the request's name in the API's words."""
    if not contents:
        refuse_field("contents", "contents is not specified", message=message)
    for index, content in enumerate(contents):
        if content.get("role") not in _ROLES:
            refuse("Please use a valid role: user, model.")
        if not content.get("parts"):
            refuse_field(f"contents[{index}].parts", "contents.parts must not be empty.", message=message)
        for position, part in enumerate(content["parts"]):
            _check_part(part, f"contents[{index}].parts[{position}]", message)


def _check_part(part: Mapping[str, Any], path: str, message: str) -> None:
    given = [name for name in _DATA if name in part]
    if not given:
        refuse_field(f"{path}.data", "required oneof field 'data' must have one initialized field", message=message)
    if len(given) > 1:
        refuse(f"Invalid value at '{path}' (oneof), oneof field 'data' is already set. Cannot set '{given[1]}'")
    for name, snaked in (("functionCall", "function_call"), ("functionResponse", "function_response")):
        if name in part and not part[name].get("name"):
            refuse_field(f"{path}.{snaked}.name", "Name cannot be empty.", message=message)
    if (signature := part.get("thoughtSignature")) and not intact(signature):
        refuse(CORRUPTED)


def check_turns(contents: Sequence[Mapping[str, Any]]) -> None:
    """Function calls and their responses: who follows whom, and how many of them.

    A response that comes twice with its id counts once: Gemini CLI 0.61 sends it so when it resumes a session.
    """
    called, before = 0, ""  # function calls of the content before, and whose it was
    for content in contents:
        role = "model" if content.get("role") == "model" else "user"
        calls = sum("functionCall" in part for part in content["parts"])
        responses = _responses(content["parts"])
        if called and responses != called:
            refuse(_COUNT, kind="poisoned_history")
        if responses and not called:
            refuse(_RESPONSE_ORDER, kind="poisoned_history")
        if calls and before != "user":
            refuse(_CALL_ORDER, kind="poisoned_history")
        called, before = calls, role


def _responses(parts: Sequence[Mapping[str, Any]]) -> int:
    given = [part["functionResponse"] for part in parts if "functionResponse" in part]
    named = {response["id"] for response in given if response.get("id")}
    return len(named) + sum(not response.get("id") for response in given)


def unsigned_call(contents: Sequence[Mapping[str, Any]], gates: Gates) -> tuple[str, int] | None:
    """The first function call of the current turn that lacks its signature: its name, and its content's number from 1.

    Only what came since the user last spoke is looked at, and of calls made at once only the first must be signed.
    """
    if gates.signatures != "required":
        return None
    for index in range(_current_turn(contents), len(contents)):
        content = contents[index]
        first = next((part for part in content["parts"] if "functionCall" in part), None)
        if content.get("role") == "model" and first is not None and not first.get("thoughtSignature"):
            return first["functionCall"]["name"], index + 1
    return None


def _current_turn(contents: Sequence[Mapping[str, Any]]) -> int:
    """The content with which the user last spoke, and did not just bring responses."""
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if content.get("role") != "model" and not any("functionResponse" in part for part in content["parts"]):
            return index
    return 0


def missing_signature(name: str, position: int) -> str:
    """The API's words for it, as recorded."""
    return (
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        f"call `default_api:{name}` , position {position}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )
