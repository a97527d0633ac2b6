"""What claw asks, as arguments of `responses.create`: same request, same bytes."""

import re
from typing import Any

import msgspec

from claw.core.calls import ModelRequest
from claw.core.messages import ImagePart, Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from claw.core.thinking import effort
from claw.providers._shared import cache_key, defused, refuse_own, tool_id

OWN_FIELDS = {"model", "input", "instructions", "tools", "stream", "store"}
LEAST_OUTPUT = 16  # tokens: the API refuses less
SIGNED = "openai:"  # begins what claw keeps of a reasoning item, so that no other vendor is sent it


def build(request: ModelRequest, *, thinking: str) -> dict[str, Any]:
    """The arguments of `responses.create`. Nothing is stored at the vendor: every call carries the whole conversation,
    reasoning included as the vendor's own cipher. `thinking` is the model's kind (`claw.ports.ModelFacts.thinking`)."""
    refuse_own(request.params, OWN_FIELDS)
    system = "\n\n".join(block.text for block in request.system if block.text.strip())
    arguments: dict[str, Any] = {"model": request.model, "store": False}
    arguments |= {"instructions": system} if system else {}
    arguments |= {"tools": [_tool(tool) for tool in request.tools]} if request.tools else {}
    arguments |= {"input": [item for message in request.messages for item in _items(message)]}
    arguments |= {"max_output_tokens": max(LEAST_OUTPUT, request.max_tokens)}
    if thinking != "none":
        level = effort(request.model, request.thinking)
        arguments |= {"reasoning": {"effort": level, "summary": "auto"}} if level else {}
        arguments |= {"include": ["reasoning.encrypted_content"]}
    if request.session and request.cache != "none":
        arguments |= {"prompt_cache_key": cache_key(request.session)}
        arguments |= _retention(request)
    return arguments | ({"extra_body": dict(request.params)} if request.params else {})


def has_breakpoints(model: str) -> bool:
    """Models from GPT-5.6 on cache at breakpoints with a lifetime that may be asked for; older ones by themselves."""
    found = re.match(r"(?:.*/)?gpt-(\d+)(?:\.(\d+))?", model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= (5, 6)


def _retention(request: ModelRequest) -> dict[str, Any]:
    if request.cache != "long":
        return {}
    if has_breakpoints(request.model):
        return {"prompt_cache_options": {"ttl": "12h"}}
    return {"prompt_cache_retention": "24h"}


def _tool(tool: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": False,
    }


def _items(message: Message) -> list[dict[str, Any]]:
    """The input items of one message: text of a role together, everything else an item of its own."""
    items: list[dict[str, Any]] = []
    role = "assistant" if message.role == "assistant" else "user"
    for part in message.parts:
        item = _item(part)
        if item is not None:
            items.append(item)
            continue
        content = _content(part, role)
        if content is None:
            continue
        if items and items[-1].get("role") == role:
            items[-1]["content"].append(content)
        else:
            items.append({"type": "message", "role": role, "content": [content]})
    return items


def _content(part: Part, role: str) -> dict[str, Any] | None:
    match part:
        case TextPart(text=text) if text.strip():
            if role == "assistant":
                return {"type": "output_text", "text": defused(text), "annotations": []}
            return {"type": "input_text", "text": defused(text)}
        case ImagePart(media_type=media_type, data=data):
            return {"type": "input_image", "image_url": f"data:{media_type};base64,{data}", "detail": "auto"}
    return None


def _item(part: Part) -> dict[str, Any] | None:
    match part:
        case ThinkingPart(signature=str(signature)) if signature.startswith(SIGNED):
            return {"type": "reasoning", **msgspec.json.decode(signature.removeprefix(SIGNED))}
        case ToolCallPart(id=id, name=name, input=given, broken=broken):
            arguments = broken if broken is not None else msgspec.json.encode(given).decode()
            return {"type": "function_call", "call_id": tool_id(id), "name": name, "arguments": arguments}
        case ToolResultPart(call_id=call_id):
            return {"type": "function_call_output", "call_id": tool_id(call_id), "output": _output(part)}
    return None


def _output(result: ToolResultPart) -> str | list[dict[str, Any]]:
    text = defused(result.text) or ("It failed without a word." if result.is_error else "")
    images = [part for part in result.content if isinstance(part, ImagePart)]
    if not images:
        return text
    said: list[dict[str, Any]] = [{"type": "input_text", "text": text}] if text else []
    return said + [content for image in images if (content := _content(image, "user"))]


def signed(item: Any) -> str | None:
    """What of a reasoning item must go back: its id, its cipher and its summary. None for one without a cipher."""
    cipher = getattr(item, "encrypted_content", None)
    if not cipher:
        return None
    summary = [{"type": "summary_text", "text": part.text} for part in getattr(item, "summary", None) or ()]
    kept = {"id": item.id, "encrypted_content": cipher, "summary": summary}
    return SIGNED + msgspec.json.encode(kept).decode()
