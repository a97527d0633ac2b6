"""What claw asks, as arguments of `messages.create`: same request, same bytes."""

from typing import Any

from claw.core.calls import CacheRetention, ModelRequest, Thinking
from claw.core.messages import ImagePart, Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from claw.providers._shared import defused, refuse_own, tool_id

BUDGETS: dict[Thinking, int] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384}
BUDGETS |= {"adaptive": 8192, "xhigh": 16_384, "max": 32_000}
EFFORTS: dict[Thinking, str] = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}
EFFORTS |= {"max": "max"}
LEAST_BUDGET = LEAST_ANSWER = 1024  # tokens: the API's minimum for thinking, and what must be left for the answer
OWN_FIELDS = {"model", "messages", "system", "tools", "stream"}  # what configured parameters may not replace


def build(request: ModelRequest, *, thinking: str) -> dict[str, Any]:
    """The arguments of `messages.create`. `thinking` is the model's kind (`claw.ports.ModelFacts.thinking`).

    Same request, same bytes: every dict is built in one order. Up to four cache breakpoints: the last tool, the last
    stable system block, the last block of the last user message, and of the one before it, where the previous call
    wrote, so that the API's 20 positions of lookback cannot miss it however much one turn added.
    """
    refuse_own(request.params, OWN_FIELDS)
    mark = _mark(request.cache)
    system: list[dict[str, Any]] = [
        {"type": "text", "text": block.text} for block in request.system if block.text.strip()
    ]
    stable = [block.stable for block in request.system if block.text.strip()]
    tools = [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in request.tools]
    messages = _messages(request.messages)
    if mark:
        last_stable = max((i for i, is_stable in enumerate(stable) if is_stable), default=None)
        if last_stable is not None:
            system[last_stable]["cache_control"] = mark
        if tools:
            tools[-1]["cache_control"] = mark
        for message in [m for m in messages if m["role"] == "user"][-2:]:
            message["content"][-1]["cache_control"] = mark
    arguments: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
    arguments |= {"system": system} if system else {}
    arguments |= {"tools": tools} if tools else {}
    arguments |= {"messages": messages} | ({} if _unthought(messages, thinking) else _thinking(request, thinking))
    arguments |= {"metadata": {"user_id": request.session}} if request.session else {}
    extra = {name: value for name, value in request.params.items() if name != "betas"}
    arguments |= {"extra_body": extra} if extra else {}
    betas = [*request.params.get("betas", ())]
    if thinking == "budget" and "thinking" in arguments and tools:
        betas.append("interleaved-thinking-2025-05-14")
    return arguments | ({"extra_headers": {"anthropic-beta": ",".join(betas)}} if betas else {})


def _mark(retention: CacheRetention) -> dict[str, Any] | None:
    if retention == "none":
        return None
    return {"type": "ephemeral", "ttl": "1h"} if retention == "long" else {"type": "ephemeral"}


def _unthought(messages: list[dict[str, Any]], kind: str) -> bool:
    """Whether tool results answer a turn that did not begin with thinking, as one of another model, or one that was
    repaired. With a budget the API refuses that, and wants thinking off until the turn is over."""
    if kind != "budget" or len(messages) < 2 or messages[-1]["content"][0]["type"] != "tool_result":
        return False
    return messages[-2]["content"][0]["type"] not in ("thinking", "redacted_thinking")


def _thinking(request: ModelRequest, kind: str) -> dict[str, Any]:
    """How this model is told to think, or not to. `max_tokens` stays as asked: the budget has to fit into it."""
    level = request.thinking
    if kind == "budget" and level != "off":
        budget = min(BUDGETS[level], request.max_tokens - LEAST_ANSWER)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= LEAST_BUDGET else {}
    if kind == "adaptive" and level == "off":
        return {"thinking": {"type": "disabled"}}  # some of these models think unless told not to
    if kind in ("adaptive", "always") and level != "off":
        effort = {"output_config": {"effort": EFFORTS[level]}} if level in EFFORTS else {}
        return {"thinking": {"type": "adaptive"}} | effort
    return {}


def _messages(history: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Turns that alternate: neighbours of one role become one message, tool results before everything else in it."""
    messages: list[dict[str, Any]] = []
    for message in history:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.parts if (block := _block(part)) is not None]
        if blocks and messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    for turn in messages:
        turn["content"].sort(key=lambda block: block["type"] != "tool_result" and turn["role"] == "user")
    return messages


def _block(part: Part) -> dict[str, Any] | None:
    """A content block, or None for what the API would refuse: empty text, thinking without its signature."""
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": defused(text)} if text.strip() else None
        case ThinkingPart(text=text, redacted=True):
            return {"type": "redacted_thinking", "data": text}
        case ThinkingPart(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature} if _own(signature) else None
        case ImagePart(media_type=media_type, data=data):
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        case ToolCallPart(id=id, name=name, input=input):
            return {"type": "tool_use", "id": tool_id(id), "name": name, "input": input}
        case ToolResultPart(call_id=call_id, content=content, is_error=is_error):
            block: dict[str, Any] = {"type": "tool_result", "tool_use_id": tool_id(call_id)}
            blocks = [item for inner in content if (item := _block(inner)) is not None]
            if is_error and not blocks:
                blocks = [{"type": "text", "text": "It failed without a word."}]  # an error must say something
            block |= {"content": blocks} if blocks else {}
            return block | ({"is_error": True} if is_error else {})


def _own(signature: str | None) -> bool:
    """Whether a signature is one of this vendor's: those that claw keeps for others have a name in front."""
    return bool(signature) and ":" not in (signature or "")
