"""A checked request as a `ModelCall`: the prompt as blocks, and what rules and responders ask about it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simulators.core.turn import Block, ModelCall, ModelInfo
from simulators.core.wire import Request
from simulators.dialects._openai.blocks import (
    cache_ask,
    declared,
    digest,
    hidden_block,
    marked,
    piece,
    signature,
    tool_block,
)
from simulators.dialects._openai.gates import Gates
from simulators.dialects._openai.profile import Profile
from simulators.dialects._openai.truncation import fit
from simulators.dialects.openai_chat.notes import Notes

_INSTRUCTIONS = ("system", "developer")


def translate(body: dict[str, Any], request: Request, info: ModelInfo, gates: Gates, profile: Profile) -> ModelCall:
    """The call that a checked request becomes."""
    messages = body["messages"]
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    stop = body.get("stop")
    last_user, results = last_words(messages)
    tools = [*(body.get("tools") or ()), *({"type": "function", "function": f} for f in body.get("functions") or ())]
    form = body.get("response_format")
    ask = cache_ask(body, gates, profile, text_format=None if (form or {}).get("type") in (None, "text") else form)
    options = body.get("prompt_cache_options") or {}
    return ModelCall(
        dialect="openai-chat",
        operation="generate",
        model=body["model"],
        stream=bool(body.get("stream")),
        max_tokens=0 if options.get("prewarm") else limit,
        stop_sequences=(stop,) if isinstance(stop, str) else tuple(stop or ()),
        blocks=(*_hidden(tools, form, gates), *_blocks(messages, tools, ask.ttl, info.id)),
        system="\n".join(text for message in messages if message["role"] in _INSTRUCTIONS and (text := _text(message))),
        last_user=last_user,
        tools=declared(tools),
        tool_choice=_tool_choice(body),
        answer_schema=_answer_schema(form or {}),
        tool_results=results,
        strict_window=profile.counts_output and not gates.reasons,
        body=body,
        headers=request.headers,
        cache=ask,
        reserves=True,
        copies=body.get("n") or 1,
        revise=fit if profile.overflow == "truncate" else None,
        private=Notes(
            profile=profile,
            model=info,
            gates=gates,
            choices=body.get("n") or 1,
            legacy=bool(body.get("functions")) and not body.get("tools"),
            custom=frozenset(tool["custom"]["name"] for tool in tools if tool.get("type") == "custom"),
            logprobs=bool(body.get("logprobs")),
        ),
    )


def _answer_schema(form: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of an answer that must be JSON."""
    if form.get("type") == "json_schema":
        return form["json_schema"].get("schema") or {}
    return {} if form.get("type") == "json_object" else None


def _hidden(tools: Sequence[Any], form: Any, gates: Gates) -> Iterator[Block]:
    """What is added unasked (recorded): instructions for models that reason when there are tools, the schema of an
    answer."""
    if tools:
        yield hidden_block("tools", 82 if gates.reasons else 6)
    if isinstance(form, dict) and form.get("type") == "json_schema":
        yield hidden_block("response_format", 20, text=signature(form["json_schema"].get("schema")))


def _blocks(messages: Sequence[dict[str, Any]], tools: Sequence[Any], ttl: Any, model: str) -> Iterator[Block]:
    for index, tool in enumerate(tools):
        yield tool_block(tool, f"tools[{index}]")
    leading = True
    for index, message in enumerate(messages):
        role = message["role"]
        leading = leading and role in _INSTRUCTIONS
        level = "system" if leading else "messages"
        opens = True
        for made in _message(message, index, role, level, ttl, model):
            yield Block(**made, opens_message=opens)
            opens = False


def _message(
    message: dict[str, Any], index: int, role: str, level: Any, ttl: Any, model: str
) -> Iterator[dict[str, Any]]:
    """The blocks of one message: its parts, then its calls. A `tool` message is one block."""
    shown = "system" if role in _INSTRUCTIONS else "user" if role in ("tool", "function") else role
    salt = f"{role}:{message.get('name') or ''}".encode()
    common = {"level": level, "role": shown}
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if role in ("tool", "function"):
        text = "\n".join(str(part.get("text") or "") for part in parts)
        yield {
            **common, "path": f"messages[{index}]", "kind": "tool_result", "text": text,
            "digest": digest(salt, b"result", str(message.get("tool_call_id")).encode(), text.encode()),
            "ttl": ttl if any(marked(part) for part in parts) else None,
        }  # fmt: skip
        return
    for position, part in enumerate(parts):
        made = piece(part, model)
        yield {
            **common, "path": f"messages[{index}].content[{position}]", "kind": made.kind, "text": made.text,
            "digest": digest(salt, made.identity), "images": made.images, "image_tokens": made.tokens,
            "ttl": ttl if marked(part) else None,
        }  # fmt: skip
    for key in ("reasoning_content", "reasoning", "refusal"):
        if isinstance(message.get(key), str) and message[key]:
            text = message[key]
            yield {
                **common,
                "path": f"messages[{index}].{key}",
                "kind": "thinking",
                "text": text if key == "refusal" else "",
                "digest": digest(salt, key.encode(), text.encode()),
            }
    calls = list(message.get("tool_calls") or ())
    if message.get("function_call"):
        calls.append({"id": "", "function": message["function_call"]})
    for position, call in enumerate(calls):
        function = call.get("function") or call.get("custom") or {}
        given = str(function.get("arguments") or function.get("input") or "")
        name = str(function.get("name"))
        yield {
            **common, "path": f"messages[{index}].tool_calls[{position}]", "kind": "tool_use", "text": given,
            "structure": name, "digest": digest(salt, b"call", str(call.get("id")).encode(), name.encode(),
            given.encode()), }  # fmt: skip


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


def last_words(messages: Sequence[dict[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """Text of the last user message ("" after tool results), and the tools that the end brings results of."""
    last = messages[-1] if messages else {"role": ""}
    if last["role"] not in ("tool", "function"):
        for message in reversed(messages):
            if message["role"] == "assistant":
                break
            if message["role"] == "user":
                return _text(message), ()
        return "", ()
    names: dict[str, str] = {}
    results = []
    for message in reversed(messages):
        if message["role"] == "function":
            results.append(str(message.get("name")))
        elif message["role"] == "tool":
            results.append(str(message.get("tool_call_id")))
        else:
            for call in message.get("tool_calls") or ():
                names[str(call.get("id"))] = str((call.get("function") or call.get("custom") or {}).get("name"))
            break
    return "", tuple(names.get(result, result) for result in reversed(results))


def _tool_choice(body: dict[str, Any]) -> str:
    choice = body.get("tool_choice") or body.get("function_call") or "auto"
    if isinstance(choice, str):
        return "any" if choice in ("required", "any") else choice
    named = choice.get("function") or choice.get("custom") or choice
    if choice.get("type") == "allowed_tools":
        return "any" if (choice.get("allowed_tools") or {}).get("mode") == "required" else "auto"
    return f"tool:{named.get('name')}"
