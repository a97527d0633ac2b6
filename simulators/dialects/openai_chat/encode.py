"""A whole completion. Keys and their defaults are those of recorded answers."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from simulators.core.models import cost_usd
from simulators.core.tokens import input_text
from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.dialects._openai import words
from simulators.dialects._openai.gates import shown_name
from simulators.dialects._openai.ids import call_id, letters
from simulators.dialects._openai.profile import Profile, fill
from simulators.dialects.openai_chat.notes import Notes

_FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "tool_use": "tool_calls",
    "max_tokens": "length", "context_window_exceeded": "length", "refusal": "stop",
}  # fmt: skip
_FINGERPRINTED = ("gpt-4", "o1", "o3")


def usage(call: ModelCall, tokens: Tokens, profile: Profile) -> dict[str, Any]:
    """The usage: `prompt_tokens` is the whole prompt, what was read from the cache and written to it included."""
    written = tokens.cache_write_5m + tokens.cache_write_1h
    if profile.usage is not None:
        notes = call.private
        found: dict[str, Any] = fill(
            profile.usage,
            {
                "prompt": tokens.prompt, "completion": tokens.output, "total": tokens.prompt + tokens.output,
                "cached": tokens.cache_read, "uncached": tokens.prompt - tokens.cache_read, "written": written,
                "reasoning": tokens.thinking,
                "cost": cost_usd(notes.model, tokens) if isinstance(notes, Notes) else 0.0,
            },
        )  # fmt: skip
        return found
    details: dict[str, Any] = {"cached_tokens": tokens.cache_read, "audio_tokens": 0}
    if call.cache is not None and call.cache.regime == "breakpoints":
        details["cache_write_tokens"] = written
    return {
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.prompt + tokens.output,
        "prompt_tokens_details": details,
        "completion_tokens_details": {
            "reasoning_tokens": tokens.thinking,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def values(call: ModelCall, tokens: Tokens, stamp: Stamp) -> dict[str, Any]:
    """What a profile's templates may tell of a completion."""
    profile: Profile = call.private.profile
    return {
        "id": letters(stamp, "completion", 29),
        "number": int.from_bytes(letters(stamp, "completion", 4).encode(), "big") % 1000,
        "created": int(stamp.now),
        "model": call.model,
        "request_id": words.request_id(stamp),
        "usage": usage(call, tokens, profile),
        "cached": tokens.cache_read,
        "uncached": tokens.prompt - tokens.cache_read,
        "completion": tokens.output,
    }


def envelope(call: ModelCall, stamp: Stamp, kind: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that a completion and each of its chunks have in common, without `choices`."""
    notes: Notes = call.private
    profile = notes.profile
    own = profile.own_models or profile.name == "azure"
    made: dict[str, Any] = {
        "id": fill(profile.id, told),
        "object": kind,
        "created": told["created"],
        "model": shown_name(call.model, notes.model) if own else call.model,
    }
    if own:
        made["service_tier"] = _tier(call.body.get("service_tier"))
        print_ = (
            blake2b(call.model.encode(), digest_size=5).hexdigest() if call.model.startswith(_FINGERPRINTED) else None
        )
        made["system_fingerprint"] = f"fp_{print_}" if print_ else None
    made |= fill(profile.completion, told)
    return made


def _tier(asked: Any) -> str:
    return "default" if asked in (None, "auto") else str(asked)


def finish_reason(call: ModelCall, turn: ModelTurn) -> str:
    """Why it ended, in the server's word."""
    notes: Notes = call.private
    stop = turn.stop or ("tool_use" if turn.tool_calls else "end_turn")
    if stop in notes.profile.finish:
        return notes.profile.finish[stop]
    if stop == "refusal" and not turn.text:
        return "content_filter"
    if stop == "tool_use" and notes.legacy:
        return "function_call"
    return _FINISH.get(stop, "stop")


def tool_calls(call: ModelCall, turn: ModelTurn, stamp: Stamp) -> list[dict[str, Any]]:
    """The calls of an answer; arguments are always a text, broken ones as they stand."""
    notes: Notes = call.private
    made = []
    for number, tool_call in enumerate(turn.tool_calls):
        name, given = tool_call.name, input_text(tool_call)
        named = {"id": tool_call.id or call_id(stamp, number)}
        if name in notes.custom:
            text = tool_call.input if isinstance(tool_call.input, str) else tool_call.input.get("input", given)
            made.append({**named, "type": "custom", "custom": {"name": name, "input": str(text)}})
        else:
            made.append({**named, "type": "function", "function": {"name": name, "arguments": given}})
    return made


def message(call: ModelCall, turn: ModelTurn, stamp: Stamp) -> dict[str, Any]:
    """The assistant's message."""
    notes: Notes = call.private
    profile = notes.profile
    refused = turn.stop == "refusal" and bool(turn.text)
    made: dict[str, Any] = {"role": "assistant", "content": None if refused else turn.text or None}
    if turn.text is None and not turn.tool_calls and not refused:
        made["content"] = ""
    if profile.reasoning and turn.thinking:
        made[profile.reasoning] = turn.thinking
    if not profile.bare_message:
        made |= {"refusal": turn.text if refused else None, "annotations": []}
    elif refused:
        made["content"] = turn.text
    calls = tool_calls(call, turn, stamp)
    if calls and notes.legacy:
        made["function_call"] = calls[0]["function"]
    elif calls:
        made["tool_calls"] = calls
    for block in turn.blocks:
        made |= {name: value for name, value in block.items() if name != "type"}
    return made | profile.message


def logprobs(text: str) -> dict[str, Any]:
    """Made-up probabilities, a token a word."""
    return {"content": [logprob(word) for word in text.split()], "refusal": None}


def logprob(token: str) -> dict[str, Any]:
    return {"token": token, "logprob": -0.01, "bytes": list(token.encode()), "top_logprobs": []}


def completion(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> dict[str, Any]:
    """The whole answer."""
    notes: Notes = call.private
    told = values(call, tokens, stamp)
    choices = []
    for index in range(notes.choices):
        shown: dict[str, Any] | None = logprobs(turn.text or "") if notes.logprobs else None
        choice = {"index": index, "message": message(call, turn, stamp), "logprobs": shown}
        choices.append(choice | {"finish_reason": finish_reason(call, turn)})
    made = envelope(call, stamp, "chat.completion", told)
    made["choices"] = choices
    made["usage"] = told["usage"]
    made |= fill(notes.profile.last, told)
    return made
