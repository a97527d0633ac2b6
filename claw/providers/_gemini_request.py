"""What claw asks, as arguments of `generate_content_stream`: same request, same bytes."""

import base64
import re
from typing import Any

from claw.core.calls import ModelRequest, Thinking
from claw.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from claw.core.thinking import clamp
from claw.providers._shared import defused, refuse_own

OWN_FIELDS = {"contents", "system_instruction", "tools", "http_options"}
SIGNED = "gemini:"  # begins a thought signature that claw keeps, so that no other vendor is sent it
UNSIGNED = b"skip_thought_signature_validator"  # Google's own word for a call that another model made
BUDGETS: dict[Thinking, int] = {"minimal": 512, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576}
BUDGETS |= {"max": 24_576, "adaptive": -1}


def build(request: ModelRequest, *, thinking: str) -> dict[str, Any]:
    """The arguments of `generate_content_stream`. `thinking` is the model's kind (`claw.ports.ModelFacts.thinking`)."""
    refuse_own(request.params, OWN_FIELDS)
    config: dict[str, Any] = {"max_output_tokens": request.max_tokens, "automatic_continuation": False}
    config["automatic_function_calling"] = {"disable": True}
    system = [{"text": block.text} for block in request.system if block.text.strip()]
    config |= {"system_instruction": {"parts": system}} if system else {}
    if request.tools:
        declared = [
            {"name": t.name, "description": t.description, "parameters_json_schema": t.schema} for t in request.tools
        ]
        config["tools"] = [{"function_declarations": declared}]
    config |= _thinking(request, thinking)
    signs = re.search(r"gemini-[3-9]", request.model) is not None
    return {
        "model": request.model,
        "contents": _contents(request.messages, signs=signs),
        "config": config | dict(request.params),
    }


def _thinking(request: ModelRequest, kind: str) -> dict[str, Any]:
    level, pro = request.thinking, "pro" in request.model
    if kind == "budget":
        if level == "off":
            return {} if pro else {"thinking_config": {"thinking_budget": 0}}  # Pro cannot be stopped
        return {"thinking_config": {"thinking_budget": BUDGETS[level], "include_thoughts": True}}
    if kind in ("adaptive", "always"):
        shown = {"include_thoughts": level != "off"}
        if level == "adaptive":
            return {"thinking_config": shown}
        levels: tuple[Thinking, ...] = ("low", "high") if pro else ("minimal", "low", "medium", "high")
        return {"thinking_config": {"thinking_level": clamp(level, levels).upper(), **shown}}
    return {}


def _contents(history: tuple[Message, ...], *, signs: bool) -> list[dict[str, Any]]:
    """Turns that alternate: neighbours of one role become one, so that the results of parallel calls share theirs."""
    contents: list[dict[str, Any]] = []
    for message in history:
        role = "model" if message.role == "assistant" else "user"
        parts = _said(message, signs=signs) if role == "model" else _told(message)
        if parts and contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": role, "parts": parts})
    return contents


def _said(message: Message, *, signs: bool) -> list[dict[str, Any]]:
    """The parts of an answer. A signature belongs to the part behind it; thoughts themselves are not sent back."""
    parts: list[dict[str, Any]] = []
    signature: bytes | None = None
    called = False
    for part in message.parts:
        made: dict[str, Any] | None = None
        if isinstance(part, ThinkingPart) and (part.signature or "").startswith(SIGNED):
            signature = base64.b64decode((part.signature or "").removeprefix(SIGNED))
        elif isinstance(part, TextPart) and part.text.strip():
            made = {"text": defused(part.text)}
        elif isinstance(part, ToolCallPart):
            made = {"function_call": {"id": part.id, "name": part.name, "args": part.input}}
            if signs and not called and signature is None:
                signature = UNSIGNED  # only the first of parallel calls has one
            called = True
        if made is not None:
            parts.append(made | ({"thought_signature": signature} if signature else {}))
            signature = None
    if signature is not None and parts:
        parts.append({"text": "", "thought_signature": signature})
    return parts


def _told(message: Message) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, TextPart) and part.text.strip():
            parts.append({"text": defused(part.text)})
        elif isinstance(part, ImagePart):
            parts.append(_image(part))
        elif isinstance(part, ToolResultPart):
            said = {"error" if part.is_error else "output": defused(part.text)}
            parts.append({"function_response": {"id": part.call_id, "name": part.name, "response": said}})
    results = [p for part in message.parts if isinstance(part, ToolResultPart) for p in part.content]
    return parts + [_image(p) for p in results if isinstance(p, ImagePart)]


def _image(part: ImagePart) -> dict[str, Any]:
    return {"inline_data": {"mime_type": part.media_type, "data": base64.b64decode(part.data)}}
