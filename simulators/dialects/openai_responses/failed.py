"""A failure in the middle of a stream of events: `response.failed` where the request is to blame or limits are, else
`error`. Codes are those of `ResponseError.code` in the `openai` package 3.57, and those that Codex tells apart."""

import msgspec

from simulators.core.turn import Failure, Stamp
from simulators.core.wire import Chunk
from simulators.dialects._openai import words
from simulators.dialects._openai.profile import Profile
from simulators.dialects.openai_responses.response import response_id

_FAILED = {
    "rate_limited": "rate_limit_exceeded",
    "context_overflow": "context_length_exceeded",
    "billing": "insufficient_quota",
    "refused": "invalid_prompt",
    "bad_request": "invalid_prompt",
}
_ERRORS = {"overloaded": "server_is_overloaded", "server_error": "server_error", "timeout": "server_error"}


def error_event(failure: Failure, stamp: Stamp, profile: Profile) -> Chunk:
    """The event; whoever puts it into a stream gives it the next sequence number."""
    if failure.body is not None:
        return Chunk(b"event: error\ndata: " + failure.body.replace(b"\n", b" ") + b"\n\n", "error")
    found = words.values_of(failure, stamp, responses=True)
    code = _FAILED.get(failure.kind)
    if code is None:
        name, fields = "error", {
            "code": _ERRORS.get(failure.kind) or found["code"] or "server_error",
            "message": found["message"],
            "param": found["param"],
        }  # fmt: skip
    else:
        name, fields = "response.failed", {
            "response": {
                "id": response_id(stamp), "object": "response", "created_at": int(stamp.now), "status": "failed",
                "error": {"code": code, "message": found["message"]}, "incomplete_details": None, "instructions": None,
                "metadata": {}, "model": found["model"], "output": [], "parallel_tool_calls": True, "temperature": 1.0,
                "tool_choice": "auto", "tools": [], "top_p": 1.0, "usage": None,
            },
        }  # fmt: skip
    body = msgspec.json.encode({"type": name, **fields, "sequence_number": 0})
    return Chunk(b"event: %b\ndata: %b\n\n" % (name.encode(), body), name)
