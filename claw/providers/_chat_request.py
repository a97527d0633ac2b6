"""What claw asks, as arguments of `chat.completions.create`: same request, same bytes."""

from typing import Any

import msgspec

from claw.core.calls import ModelRequest
from claw.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from claw.core.thinking import effort
from claw.providers._compatible import Server
from claw.providers._shared import cache_key, defused, refuse_own, tool_id

OWN_FIELDS = {"model", "messages", "tools", "stream", "stream_options"}
IMAGES = "Images that the tools returned:"


def build(request: ModelRequest, *, thinking: str, server: Server) -> dict[str, Any]:
    """The arguments of `chat.completions.create`, as this server takes them."""
    refuse_own(request.params, OWN_FIELDS)
    reasons = thinking != "none"
    messages: list[dict[str, Any]] = []
    system = "\n\n".join(block.text for block in request.system if block.text.strip())
    if system:
        messages.append({"role": "developer" if reasons and server.developer else "system", "content": system})
    for message in request.messages:
        messages += _messages(message, server)
    arguments: dict[str, Any] = {"model": request.model, "messages": messages}
    arguments |= {"tools": [_tool(tool) for tool in request.tools]} if request.tools else {}
    arguments[server.max_tokens] = request.max_tokens
    if request.stream and server.usage:
        arguments["stream_options"] = {"include_usage": True}
    if reasons and server.efforts and (level := effort(request.model, request.thinking)):
        arguments["reasoning_effort"] = level
    if server.store:
        arguments["store"] = False
    if server.cache_key and request.session and request.cache != "none":
        arguments["prompt_cache_key"] = cache_key(request.session)
    return arguments | ({"extra_body": dict(request.params)} if request.params else {})


def _tool(tool: Any) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _messages(message: Message, server: Server) -> list[dict[str, Any]]:
    if message.role == "assistant":
        return _assistant(message, server)
    if message.role != "tool":
        content = _content(message.parts, server)
        return [{"role": "user", "content": content}] if content else []
    told, images = list[dict[str, Any]](), list[Any]()
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            text = defused(part.text) or ("It failed without a word." if part.is_error else "(no output)")
            told.append({"role": "tool", "tool_call_id": tool_id(part.call_id), "content": text})
            images += [p for p in part.content if isinstance(p, ImagePart)]
    if images and server.images:  # a tool's message holds only text; its images follow all results of the turn
        told.append({"role": "user", "content": _content((TextPart(IMAGES), *images), server)})
    return told


def _content(parts: Any, server: Server) -> str | list[dict[str, Any]]:
    """Text alone as a string, which every server takes; with images as a list."""
    made: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, TextPart) and part.text.strip():
            made.append({"type": "text", "text": defused(part.text)})
        elif isinstance(part, ImagePart) and server.images:
            made.append({"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}})
        elif isinstance(part, ImagePart):
            made.append({"type": "text", "text": f"[an image ({part.media_type}) was left out]"})
    if all(part["type"] == "text" for part in made):
        return "\n".join(part["text"] for part in made)
    return made


def _assistant(message: Message, server: Server) -> list[dict[str, Any]]:
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCallPart)]
    text = defused(message.text)
    if not text.strip() and not calls:
        return []
    made: dict[str, Any] = {"role": "assistant", "content": text if text.strip() else None}
    thought = "".join(p.text for p in message.parts if isinstance(p, ThinkingPart) and not p.redacted)
    if server.thinks_back and calls and thought:
        made["reasoning_content"] = thought
    return [made | ({"tool_calls": calls} if calls else {})]


def _call(call: ToolCallPart) -> dict[str, Any]:
    arguments = call.broken if call.broken is not None else msgspec.json.encode(call.input).decode()
    function = {"name": call.name, "arguments": arguments}
    return {"id": tool_id(call.id), "type": "function", "function": function}
