"""A checked request as a `ModelCall`: the prompt as blocks, and what rules and responders ask about it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from simulators.core.turn import Block, ModelCall, ModelTurn, Ttl
from simulators.core.wire import Headers
from simulators.dialects._openai.blocks import (
    cache_ask,
    declared,
    digest,
    encode,
    hidden_block,
    marked,
    piece,
    signature,
    tool_block,
)
from simulators.dialects._openai.seal import foreign_tokens, opened
from simulators.dialects._openai.truncation import fit
from simulators.dialects.openai_responses.compaction import SUMMARY_ITEMS, condensed
from simulators.dialects.openai_responses.notes import Item, Notes
from simulators.dialects.openai_responses.rules import OUTPUTS

_INSTRUCTIONS = ("system", "developer")
_CALLS = ("function_call", "custom_tool_call")


def translate(body: dict[str, Any], notes: Notes, operation: Any, headers: Headers) -> ModelCall:
    """The call that a checked request becomes; `notes.items` is its whole conversation."""
    items = notes.items
    ask = cache_ask(body, notes.gates, notes.profile, text_format=_format(body))
    late = list(_late_tools(items))
    tools = [*(body.get("tools") or ()), *late]
    own, side = _own(body, notes)
    last_user, results = _last_words(items)
    return ModelCall(
        dialect="openai-responses",
        operation=operation,
        model=body.get("model") or notes.model.id,
        stream=bool(body.get("stream")) and not notes.compacts,
        max_tokens=body.get("max_output_tokens"),
        blocks=tuple(_blocks(body, items, ask.ttl, notes)),
        system="\n".join(_instructions(body, items)),
        last_user=last_user,
        tools=declared(tools),
        tool_choice=_tool_choice(body),
        answer_schema=_answer_schema(_format(body) or {}),
        tool_results=results,
        body=body,
        headers=headers,
        cache=ask,
        reserves=True,
        deferred=bool(body.get("background")) and not body.get("stream"),
        own=own,
        side=side,
        revise=fit if body.get("truncation") == "auto" else None,
        private=msgspec.structs.replace(
            notes,
            custom=frozenset(tool["name"] for tool in tools if tool.get("type") == "custom"),
            spaces=_spaces(tools),
            late=tuple(late),
        ),
    )


def _spaces(tools: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The namespace of each tool that is in one: one that is found by a search is in its own."""
    found: dict[str, str] = {}
    for tool in tools:
        if tool.get("type") == "namespace":
            found |= {inner["name"]: tool["name"] for inner in tool.get("tools") or () if "name" in inner}
        elif tool.get("defer_loading") and "name" in tool:
            found[tool["name"]] = tool["name"]
    return found


def _own(body: Mapping[str, Any], notes: Notes) -> tuple[ModelTurn | None, Any]:
    """What the provider answers by itself: a compaction that is asked for, a cache that is warmed."""
    if notes.compacts or (notes.items and notes.items[-1].get("type") == "compaction_trigger"):
        block = {"type": "compaction", "summary": condensed(notes.items)}
        return ModelTurn(blocks=(block,), stop="end_turn", answered_by="compaction"), "summary"
    if body.get("generate") is False or (body.get("prompt_cache_options") or {}).get("prewarm"):
        return ModelTurn(stop="end_turn", answered_by="prewarm"), "probe"
    return None, None


def _answer_schema(form: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of an answer that must be JSON."""
    if form.get("type") == "json_schema":
        return form.get("schema") or {}
    return {} if form.get("type") == "json_object" else None


def _format(body: Mapping[str, Any]) -> Any:
    form = (body.get("text") or {}).get("format")
    return None if not isinstance(form, dict) or form.get("type") == "text" else form


def _late_tools(items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    """Tools that come inside the conversation."""
    for item in items:
        if item.get("type") in ("additional_tools", "tool_search_output"):
            yield from (tool for tool in item.get("tools") or () if isinstance(tool, dict) and "type" in tool)


def _instructions(body: Mapping[str, Any], items: Sequence[Item]) -> Iterator[str]:
    if body.get("instructions"):
        yield body["instructions"]
    for item in items:
        if item.get("role") in _INSTRUCTIONS and (text := text_of(item)):
            yield text


def text_of(item: Item) -> str:
    """The text of a message or an output."""
    content = item.get("content", item.get("output"))
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


def is_message(item: Item) -> bool:
    return item.get("type") in (None, "message") and "role" in item


def seen_items(items: Sequence[Item]) -> list[tuple[int, Item]]:
    """What the model still sees, with positions: a compaction stands for what came before, the users' words apart."""
    start = max((at for at, item in enumerate(items) if item.get("type") in SUMMARY_ITEMS), default=0)
    kept = [
        (at, item)
        for at, item in enumerate(items[:start])
        if item.get("type") == "additional_tools" or (is_message(item) and item.get("role") in (*_INSTRUCTIONS, "user"))
    ]
    return kept + list(enumerate(items))[start:]


def _blocks(body: Mapping[str, Any], items: Sequence[Item], ttl: Ttl, notes: Notes) -> Iterator[Block]:
    if notes.compacts:
        yield hidden_block("compact", 82)
    form = _format(body)
    if form is not None and form["type"] == "json_schema":
        yield hidden_block("text.format", 20, text=signature(form.get("schema")))
    for index, tool in enumerate(body.get("tools") or ()):
        if not tool.get("defer_loading"):
            yield tool_block(tool, f"tools[{index}]")
    if any(tool.get("type") == "tool_search" and tool.get("execution") != "client" for tool in body.get("tools") or ()):
        kinds = {item.get("type") for item in items}
        searched = "tool_search_output" in kinds, "tool_search_call" in kinds
        yield hidden_block("tool_search", 0 if searched[0] else 370 if searched[1] else 560)
    if any(item.get("type") in ("additional_tools", "tool_search_output") for item in items):
        yield hidden_block("late tools", 90)
    if text := body.get("instructions"):
        yield Block(
            level="system", path="instructions", kind="text", role="system", text=text,
            digest=digest(b"instructions", text.encode()), opens_message=True,
        )  # fmt: skip
    shown = seen_items(items)
    last_user = max((at for at, item in shown if item.get("role") == "user"), default=-1)
    leading = True
    for at, item in shown:
        leading = leading and item.get("role") in _INSTRUCTIONS
        thinks = notes.gates.keeps_reasoning or at > last_user or not notes.gates.known
        opens = True
        for made in item_blocks(item, f"input[{at}]", notes.model.id, ttl, thinks=thinks):
            yield Block(level="system" if leading else "messages", opens_message=opens, **made)
            opens = False


def item_blocks(item: Item, path: str, model: str, ttl: Ttl, *, thinks: bool) -> Iterator[dict[str, Any]]:
    """The blocks of one item, without their level."""
    kind = item.get("type") or "message"
    if kind == "message":
        yield from _message(item, path, model, ttl)
    elif kind in _CALLS:
        given, name = str(item.get("arguments") or item.get("input") or ""), str(item.get("name"))
        yield {
            "path": path, "kind": "tool_use", "role": "assistant", "text": given, "structure": name,
            "digest": digest(b"call", str(item.get("call_id")).encode(), name.encode(), given.encode()),
        }  # fmt: skip
    elif kind in OUTPUTS:
        yield from _output(item, path, model, ttl)
    elif kind == "reasoning":
        if thinks:
            yield _reasoning(item, path)
    elif kind in SUMMARY_ITEMS:
        sealed = item.get("encrypted_content") or ""
        yield {
            "path": path, "kind": "other", "role": "assistant", "text": opened(sealed) or "",
            "image_tokens": foreign_tokens(sealed, summary=True), "digest": digest(b"compaction", sealed.encode()),
        }  # fmt: skip
    elif kind in ("additional_tools", "tool_search_output"):
        for index, tool in enumerate(item.get("tools") or ()):
            block = tool_block(tool, f"{path}.tools[{index}]")
            yield {
                "path": block.path,
                "kind": "tool",
                "role": "system",
                "text": block.text,
                "structure": block.structure,
                "digest": block.digest,
            }
    elif kind not in ("compaction_trigger", "item_reference"):
        bare = encode({name: value for name, value in item.items() if name not in ("id", "status")})
        yield {
            "path": path,
            "kind": "other",
            "role": "assistant",
            "structure": bare.decode(),
            "digest": digest(kind.encode(), bare),
        }


def _message(item: Item, path: str, model: str, ttl: Ttl) -> Iterator[dict[str, Any]]:
    content, role = item.get("content"), str(item.get("role"))
    shown = "system" if role in _INSTRUCTIONS else role
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content or []
    for position, part in enumerate(parts):
        made = piece(part, model)
        yield {
            "path": f"{path}.content[{position}]", "kind": made.kind, "role": shown, "text": made.text,
            "digest": digest(role.encode(), made.identity), "images": made.images, "image_tokens": made.tokens,
            "ttl": ttl if marked(part) else None,
        }  # fmt: skip


def _output(item: Item, path: str, model: str, ttl: Ttl) -> Iterator[dict[str, Any]]:
    given = item.get("output")
    parts = [{"type": "input_text", "text": given}] if isinstance(given, str) else given or []
    pieces = [piece(part, model) for part in parts if isinstance(part, dict)]
    yield {
        "path": path, "kind": "tool_result", "role": "user", "text": "\n".join(p.text for p in pieces if p.text),
        "digest": digest(b"output", str(item.get("call_id")).encode(), *(p.identity for p in pieces)),
        "images": sum(p.images for p in pieces), "image_tokens": sum(p.tokens for p in pieces),
        "ttl": ttl if any(isinstance(part, dict) and marked(part) for part in parts) else None,
    }  # fmt: skip


def _reasoning(item: Item, path: str) -> dict[str, Any]:
    sealed = item.get("encrypted_content") or ""
    identity = sealed or str(item.get("id"))
    return {
        "path": path, "kind": "thinking", "role": "assistant", "text": opened(sealed) or "",
        "image_tokens": foreign_tokens(sealed), "digest": digest(b"reasoning", identity.encode()),
    }  # fmt: skip


def _last_words(items: Sequence[Item]) -> tuple[str, tuple[str, ...]]:
    """Text of the last user message ("" after outputs), and the tools that the end brings results of."""
    names = {
        item.get("call_id"): str(item.get("name") or item.get("type"))
        for item in items
        if "call_id" in item and item.get("type") not in OUTPUTS
    }
    results: list[str] = []
    for item in reversed(items):
        kind = item.get("type")
        if kind in OUTPUTS:
            results.append(names.get(item.get("call_id"), ""))
        elif results and (not is_message(item) or item.get("role") == "assistant"):
            return "", tuple(reversed(results))
        elif item.get("role") == "user":
            return ("", tuple(reversed(results))) if results else (text_of(item), ())
        elif item.get("role") == "assistant" or kind in _CALLS:
            break
    return "", tuple(reversed(results))


def _tool_choice(body: Mapping[str, Any]) -> str:
    choice = body.get("tool_choice") or "auto"
    if isinstance(choice, str):
        return "any" if choice == "required" else choice
    if choice.get("type") == "allowed_tools":
        return "any" if choice.get("mode") == "required" else "auto"
    return f"tool:{choice.get('name') or choice.get('type')}"
