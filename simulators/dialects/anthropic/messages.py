"""One message, read once: its blocks, and what the rules about conversations need to know of it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from simulators.core.turn import Block
from simulators.dialects.anthropic.gates import Gates
from simulators.dialects.anthropic.markers import Mark, ttl_of
from simulators.dialects.anthropic.media import image_problem, is_large
from simulators.dialects.anthropic.render import message_blocks

_THINKING = ("thinking", "redacted_thinking")


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in a message, whatever stands around it. Positions count its blocks from 0."""

    message: dict[str, Any]
    role: str
    empty: bool  # no content at all
    blocks: tuple[Block, ...]
    problem: str | None = None  # the first refusal of its content
    calls: tuple[str, ...] = ()  # ids of tool calls
    results: tuple[tuple[int, str], ...] = ()  # position and id of tool results
    first_other: int | None = None  # position of the first block that is no tool result
    images: int = 0
    large: str | None = None  # path of the first image that is too large among many
    unanswered: str | None = None  # the refusal of a server tool's call without its result
    marks: tuple[Mark, ...] = ()
    last_cacheable: str | None = None  # path of the last block that a marker may land on
    thinks: bool = False
    cites: bool = False
    first_kind: str = "text"
    last_kind: str = "text"
    compaction: int | None = None  # position of the last compaction that did not fail
    compacts: bool = False  # holds a compaction block of any kind


def know(message: dict[str, Any], index: int, gates: Gates) -> Known:
    """Read message `index`, whose shape has been checked. Of the gates only the size of images matters."""
    content, role = message["content"], message["role"]
    blocks = message_blocks(message, index, gates)
    if type(content) is str:
        return Known(
            message=message,
            role=role,
            empty=not content,
            blocks=blocks,
            problem=_text_problem(content) if content and role != "system" else None,
            first_other=0,
            last_cacheable=f"messages.{index}.content.0" if content else None,
        )
    marks: list[Mark] = []
    last_cacheable = None
    for position, block in enumerate(content):
        path = f"messages.{index}.content.{position}"
        empty = block["type"] == "text" and not block["text"]
        if (ttl := ttl_of(block.get("cache_control"))) is not None:
            marks.append(Mark(path=path, ttl=ttl, empty_text=empty))
        if not empty and block["type"] not in _THINKING:
            last_cacheable = path
    kinds = [block["type"] for block in content]
    problem, images = (None, 0) if role == "system" else _content_problem(content, index)
    return Known(
        message=message,
        role=role,
        empty=not content,
        blocks=blocks,
        problem=problem,
        calls=tuple(block["id"] for block in content if block["type"] == "tool_use"),
        results=tuple((at, b["tool_use_id"]) for at, b in enumerate(content) if b["type"] == "tool_result"),
        first_other=next((at for at, kind in enumerate(kinds) if kind != "tool_result"), None),
        images=images,
        large=next((path for path in _images(content, index) if path), None) if images else None,
        unanswered=_unanswered(content, index) if "server_tool_use" in kinds else None,
        marks=tuple(marks),
        last_cacheable=last_cacheable,
        thinks=any(kind in _THINKING for kind in kinds),
        cites=any(
            block["type"] in ("document", "search_result") and bool((block.get("citations") or {}).get("enabled"))
            for block in content
        ),
        first_kind=kinds[0] if kinds else "text",
        last_kind=kinds[-1] if kinds else "text",
        compaction=_compaction(content) if role == "assistant" else None,
        compacts="compaction" in kinds,
    )


def _images(content: list[dict[str, Any]], index: int) -> Iterator[str]:
    """The paths of images that are too large among many, also inside tool results."""
    for position, block in enumerate(content):
        path = f"messages.{index}.content.{position}"
        if block["type"] == "image" and is_large(block):
            yield path
        inner = block.get("content") if block["type"] == "tool_result" else None
        for at, part in enumerate(inner if type(inner) is list else ()):
            if part["type"] == "image" and is_large(part):
                yield f"{path}.tool_result.content.{at}"


def _unanswered(content: list[dict[str, Any]], index: int) -> str | None:
    """The refusal of a call of the provider's own tool that has no result in the same message."""
    answered = {block.get("tool_use_id") for block in content}
    for position, block in enumerate(content):
        if block["type"] == "server_tool_use" and block.get("id") not in answered:
            path, call, name = f"messages.{index}.content.{position}", block.get("id"), block.get("name")
            return (
                f"{path}: `server_tool_use` block with id {call} was found without a corresponding "
                f"`{name}_tool_result` block"
            )
    return None


def _text_problem(text: str) -> str | None:
    if not text:
        return "messages: text content blocks must be non-empty"
    if text.isspace():
        return "messages: text content blocks must contain non-whitespace text"
    return None


def _content_problem(content: list[dict[str, Any]], index: int) -> tuple[str | None, int]:
    """The first refusal of these blocks, and how many images they hold."""
    images = 0
    for position, block in enumerate(content):
        path = f"messages.{index}.content.{position}"
        kind = block["type"]
        problem = None
        if kind == "text":
            problem = _text_problem(block["text"])
        elif kind == "image":
            images += 1
            problem = image_problem(block, path)
        elif kind == "tool_result":
            problem, inside = _result_problem(block, path)
            images += inside
        if problem:
            return problem, images
    return None, images


def _result_problem(block: dict[str, Any], path: str) -> tuple[str | None, int]:
    """The same for the inside of a `tool_result`."""
    content = block.get("content")
    if not content:
        return (f"{path}: content cannot be empty if `is_error` is true" if block.get("is_error") else None), 0
    images = 0
    for position, part in enumerate(content if type(content) is list else ()):
        problem = None
        if part["type"] == "text" and not part["text"]:
            problem = _text_problem("")
        elif part["type"] == "image":
            images += 1
            problem = image_problem(part, f"{path}.tool_result.content.{position}")
        if problem:
            return problem, images
    return None, images


def _compaction(content: list[dict[str, Any]]) -> int | None:
    for position in range(len(content) - 1, -1, -1):
        if content[position]["type"] == "compaction" and content[position].get("content"):
            return position
    return None
