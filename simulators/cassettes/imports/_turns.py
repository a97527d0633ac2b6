"""Conversations of session files as exchanges: for each answer of the model the request that it must have had.

A session file keeps messages, not requests: what it leaves out (tools, and where it does not say, the system prompt) is
missing from these, too. Messages here are Anthropic's; for other vendors' sessions they become Chat Completions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from simulators.cassettes.format import Exchange
from simulators.cassettes.imports._json import listed, made, table

ANTHROPIC = "https://api.anthropic.com/v1/messages"
CHAT = "https://api.openai.com/v1/chat/completions"
Message = dict[str, Any]  # {role, content: blocks as Anthropic has them}


def anthropic(
    messages: Sequence[Message], answer: Mapping[str, Any], *, system: Any = None, model: str, at: float | None
) -> Exchange:
    """`answer` is {content, stop_reason, usage, id}."""
    request: dict[str, Any] = {"model": model, "max_tokens": 32000, "messages": joined(messages)}
    if system:
        request["system"] = system
    response = {
        "id": answer.get("id") or "msg_imported",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": answer["content"],
        "stop_reason": answer.get("stop_reason") or "end_turn",
        "stop_sequence": None,
        "usage": answer.get("usage") or {"input_tokens": 0, "output_tokens": 0},
    }
    return made(ANTHROPIC, request, response, at=at)


def chat(
    messages: Sequence[Message], answer: Mapping[str, Any], *, system: Any = None, model: str, at: float | None
) -> Exchange:
    """The same as Chat Completions."""
    asked: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for message in joined(messages):
        asked += _chat_messages(message)
    said = _chat_messages({"role": "assistant", "content": answer["content"]})
    usage = table(answer.get("usage"))
    stop = {"tool_use": "tool_calls", "max_tokens": "length"}.get(str(answer.get("stop_reason")), "stop")
    prompt = sum(usage.get(n) or 0 for n in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
    output = usage.get("output_tokens") or 0
    response = {
        "id": answer.get("id") or "chatcmpl-imported",
        "object": "chat.completion",
        "model": model,
        "choices": [{
            "index": 0,
            "message": said[0] if said else {"role": "assistant", "content": ""},
            "finish_reason": stop,
        }],
        "usage": {
            "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": usage.get("cache_read_input_tokens") or 0},
        },
    }  # fmt: skip
    return made(CHAT, {"model": model, "messages": asked}, response, at=at)


def _chat_messages(message: Message) -> list[dict[str, Any]]:
    texts, calls, made_ = [], [], []
    for block in blocks(message["content"]):
        match block.get("type"):
            case "text":
                texts.append(block.get("text") or "")
            case "tool_use":
                arguments = msgspec.json.encode(block.get("input") or {}).decode()
                function = {"name": block.get("name"), "arguments": arguments}
                calls.append({"id": block.get("id"), "type": "function", "function": function})
            case "tool_result":
                said = "\n".join(one.get("text") or "" for one in blocks(block.get("content")))
                made_.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": said})
    if texts or calls or (not made_ and message["role"] == "user"):
        one: dict[str, Any] = {"role": message["role"], "content": "\n".join(texts)}
        made_.append(one | ({"tool_calls": calls} if calls else {}))
    return made_


def joined(messages: Sequence[Message]) -> list[Message]:
    """Messages of one role in a row as one, as the API wants tool results together."""
    found: list[Message] = []
    for message in messages:
        content = message["content"]
        if not content:
            continue
        if found and found[-1]["role"] == message["role"]:
            before = found[-1]["content"]
            found[-1] = {"role": message["role"], "content": [*blocks(before), *blocks(content)]}
        else:
            found.append({"role": message["role"], "content": content})
    return found


def blocks(content: Any) -> list[dict[str, Any]]:
    """Content as blocks; a string is a text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [one for one in listed(content) if isinstance(one, dict)]
