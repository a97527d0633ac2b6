"""What a recorded answer says, whatever vendor spoke: its usage, and (for faults laid over it) the turn.

Field names and which counters include which: the vendors' documentation. Anthropic's input, cache reads and cache
writes are disjoint; OpenAI's and Gemini's prompt counts include what was cached.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from simulators.cassettes import sse
from simulators.cassettes.format import Exchange
from simulators.core.turn import ModelTurn, Tokens, ToolCall

_STOPS = {
    "end_turn": "end_turn", "tool_use": "tool_use", "max_tokens": "max_tokens", "stop_sequence": "stop_sequence",
    "refusal": "refusal", "pause_turn": "pause_turn", "model_context_window_exceeded": "context_window_exceeded",
    "stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal",
    "STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal",
}  # fmt: skip


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as far as it can be read; None where it says nothing of the kind."""

    usage: Mapping[str, Any] | None = None
    tokens: Tokens | None = None
    turn: ModelTurn | None = None


def said(exchange: Exchange) -> Said:
    """Read the answer of an exchange; an answer that is nobody's gives an empty `Said`."""
    body = exchange.plain_body()
    if sse.is_stream(body, exchange.header("content-type")):
        pieces = [tree for event in sse.events(body) if isinstance(tree := event.json(), dict)]
    else:
        try:
            tree = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return Said()
        pieces = [one for one in (tree if isinstance(tree, list) else [tree]) if isinstance(one, dict)]
    try:
        turn = _turn(pieces)
    except (KeyError, TypeError, AttributeError, IndexError):
        turn = None  # not of a known form: it can be sent, and not be changed
    usage = _usage(pieces)
    return Said(usage=usage, tokens=None if usage is None else tokens_of(usage), turn=turn)


def _usage(pieces: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The last usage that was told; Anthropic's second one completes the first."""
    found: dict[str, Any] = {}
    for piece in pieces:
        for holder in (piece.get("message"), piece.get("response"), piece):
            for name in ("usage", "usageMetadata"):
                usage = holder.get(name) if isinstance(holder, Mapping) else None
                if isinstance(usage, Mapping):
                    found |= {key: value for key, value in usage.items() if value is not None}
    return found or None


def tokens_of(usage: Mapping[str, Any]) -> Tokens | None:
    """A vendor's usage in disjoint counters; None for figures that are none."""
    try:
        if "totalTokenCount" in usage or "promptTokenCount" in usage:
            read, thinking = _n(usage, "cachedContentTokenCount"), _n(usage, "thoughtsTokenCount")
            prompt = _n(usage, "promptTokenCount") + _n(usage, "toolUsePromptTokenCount")
            output = _n(usage, "candidatesTokenCount") + thinking
            return Tokens(input=max(0, prompt - read), cache_read=read, output=output, thinking=thinking)
        names: tuple[str, str]
        for names in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
            if names[0] not in usage:
                continue
            inner = usage.get(f"{names[0]}_details")
            if names[0] == "input_tokens" and not isinstance(inner, Mapping):
                return _anthropic(usage)
            inner = inner if isinstance(inner, Mapping) else {}
            outer = usage.get(f"{names[1]}_details") or {}
            read, wrote = _n(inner, "cached_tokens"), _n(inner, "cache_write_tokens")
            return Tokens(
                input=max(0, _n(usage, names[0]) - read - wrote), cache_read=read, cache_write_5m=wrote,
                output=_n(usage, names[1]), thinking=_n(outer, "reasoning_tokens"),
            )  # fmt: skip
        if isinstance(usage.get("output_tokens"), int):
            return _anthropic(usage)
    except TypeError:
        return None
    return None


def _anthropic(usage: Mapping[str, Any]) -> Tokens:
    wrote, made = _n(usage, "cache_creation_input_tokens"), usage.get("cache_creation")
    hour = _n(made, "ephemeral_1h_input_tokens") if isinstance(made, Mapping) else 0
    return Tokens(
        input=_n(usage, "input_tokens"), cache_read=_n(usage, "cache_read_input_tokens"),
        cache_write_5m=max(0, wrote - hour), cache_write_1h=hour, output=_n(usage, "output_tokens"),
    )  # fmt: skip


def _n(table: Mapping[str, Any], name: str) -> int:
    value = table.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(name)
    return value


def _turn(pieces: list[dict[str, Any]]) -> ModelTurn | None:
    if not pieces:
        return None
    first = pieces[0]
    if first.get("type") in ("message", "message_start"):
        return _of_anthropic(first, pieces)
    if "candidates" in first:
        return _of_gemini(pieces)
    if first.get("object") in ("chat.completion", "chat.completion.chunk"):
        return _of_chat(pieces)
    done = next((p["response"] for p in reversed(pieces) if isinstance(p.get("response"), dict)), first)
    return _of_responses(done) if done.get("object") == "response" else None


def _of_anthropic(first: dict[str, Any], pieces: list[dict[str, Any]]) -> ModelTurn:
    if first["type"] == "message":
        return _blocks(first["content"], first.get("stop_reason"), first.get("stop_sequence"))
    blocks: dict[int, dict[str, Any]] = {}
    stop, sequence = None, None
    for piece in pieces:
        match piece.get("type"):
            case "content_block_start":
                blocks[piece["index"]] = dict(piece["content_block"])
            case "content_block_delta":
                delta, block = piece["delta"], blocks[piece["index"]]
                for name, into in (("text", "text"), ("thinking", "thinking"), ("signature", "signature")):
                    if name in delta:
                        block[into] = block.get(into, "") + delta[name]
                if "partial_json" in delta:
                    block["json"] = block.get("json", "") + delta["partial_json"]
            case "message_delta":
                stop = piece["delta"].get("stop_reason") or stop
                sequence = piece["delta"].get("stop_sequence") or sequence
    return _blocks([blocks[index] for index in sorted(blocks)], stop, sequence)


def _blocks(content: list[dict[str, Any]], stop: str | None, sequence: str | None) -> ModelTurn:
    calls, others = [], []
    texts: dict[str, list[str]] = {"text": [], "thinking": []}
    for block in content:
        kind = block["type"]
        if kind in texts:
            texts[kind].append(block[kind])
        elif kind == "tool_use":
            given: Any = block["json"] if block.get("json") else block.get("input") or {}
            calls.append(ToolCall(name=block["name"], input=_opened(given), id=block["id"]))
        elif "json" not in block:
            others.append(block)
    return ModelTurn(
        text="".join(texts["text"]) or None, thinking="".join(texts["thinking"]) or None, tool_calls=tuple(calls),
        blocks=tuple(others), stop=_STOPS.get(stop or ""), stop_sequence=sequence,
    )  # fmt: skip


def _of_chat(pieces: list[dict[str, Any]]) -> ModelTurn:
    text, stop = "", None
    calls: dict[int, dict[str, Any]] = {}
    for piece in pieces:
        for choice in (piece.get("choices") or [])[:1]:
            delta = choice.get("delta") or choice.get("message") or {}
            text += delta.get("content") or ""
            stop = choice.get("finish_reason") or stop
            for n, call in enumerate(delta.get("tool_calls") or []):
                known = calls.setdefault(call.get("index", n), {"id": None, "name": "", "arguments": ""})
                known["id"] = call.get("id") or known["id"]
                known["name"] += (call.get("function") or {}).get("name") or ""
                known["arguments"] += (call.get("function") or {}).get("arguments") or ""
    made = tuple(ToolCall(name=c["name"], input=_opened(c["arguments"]), id=c["id"]) for c in calls.values())
    return ModelTurn(text=text or None, tool_calls=made, stop=_STOPS.get(stop or ""))


def _of_responses(response: dict[str, Any]) -> ModelTurn:
    text, calls = "", []
    for item in response.get("output") or []:
        if item["type"] == "message":
            text += "".join(part.get("text") or "" for part in item["content"])
        elif item["type"] == "function_call":
            calls.append(ToolCall(name=item["name"], input=_opened(item["arguments"]), id=item.get("call_id")))
    cut = (response.get("incomplete_details") or {}).get("reason") == "max_output_tokens"
    return ModelTurn(text=text or None, tool_calls=tuple(calls), stop="max_tokens" if cut else None)


def _of_gemini(pieces: list[dict[str, Any]]) -> ModelTurn:
    text, thinking, calls, stop = "", "", [], None
    for piece in pieces:
        for candidate in (piece.get("candidates") or [])[:1]:
            stop = candidate.get("finishReason") or stop
            for part in (candidate.get("content") or {}).get("parts") or []:
                if "functionCall" in part:
                    call = part["functionCall"]
                    calls.append(ToolCall(name=call["name"], input=call.get("args") or {}, id=call.get("id")))
                elif part.get("thought"):
                    thinking += part.get("text") or ""
                else:
                    text += part.get("text") or ""
    return ModelTurn(
        text=text or None, thinking=thinking or None, tool_calls=tuple(calls),
        stop=None if calls else _STOPS.get(stop or ""),
    )  # fmt: skip


def _opened(arguments: Any) -> Any:
    """Arguments as an object; as the text that they are if they are no object."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments
