"""The rendered prompt: blocks in the order tools, system, messages, each with its identity for the prompt cache.

Identity leaves `cache_control` out and takes a lone text block for its plain string (real clients collapse one into
the other when a marker moves on); the order of keys counts inside `tool_use.input` and tool schemas, and nowhere else.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from simulators.core.turn import Block, ToolDecl
from simulators.dialects.anthropic.gates import Gates
from simulators.dialects.anthropic.markers import ttl_of
from simulators.dialects.anthropic.media import document_tokens, image_tokens
from simulators.dialects.anthropic.unseen import of_tool

_encode = msgspec.json.Encoder().encode
# Claude Code puts a line that differs from conversation to conversation before its instructions; the provider is
# assumed to leave it out of the prompt, for otherwise nothing would ever be read across conversations.
_BILLING_LINE = "x-anthropic-billing-header:"
_DIGEST = 16


def leading_blocks(body: dict[str, Any]) -> list[Block]:
    """The blocks of tools and system."""
    return [*_tools(body), *_system(body)]


def _tools(body: dict[str, Any]) -> Iterator[Block]:
    for index, tool in enumerate(body.get("tools") or ()):
        if tool.get("defer_loading"):
            continue  # outside the prompt until a search finds it
        bare = {name: tool[name] for name in sorted(tool) if name != "cache_control" and tool[name] is not None}
        text = bare.pop("description", "")
        structure = _encode(bare)
        yield Block(
            level="tools",
            path=f"tools[{index}]",
            kind="tool",
            digest=_digest(b"tool\0", text.encode(), structure),
            text=text,
            structure=structure.decode(),
            hidden=of_tool(tool),
            ttl=ttl_of(tool.get("cache_control")),
        )


def _system(body: dict[str, Any]) -> Iterator[Block]:
    system = body.get("system") or ()
    for index, block in enumerate([{"text": system}] if type(system) is str else system):
        text = block["text"]
        if text.startswith(_BILLING_LINE):
            continue
        yield Block(
            level="system",
            path=f"system[{index}]",
            kind="text",
            role="system",
            digest=_digest(b"system\0", text.encode()),
            text=text,
            ttl=ttl_of(block.get("cache_control")),
            opens_message=index == 0,
        )


def message_blocks(message: dict[str, Any], index: int, gates: Gates) -> tuple[Block, ...]:
    """The blocks of message `index`, all of them; empty text is none."""
    content: Any = message["content"]
    role = message["role"]
    salt = role.encode()
    if type(content) is str:
        if not content:
            return ()
        return (
            Block(
                level="messages",
                path=f"messages[{index}].content[0]",
                kind="text",
                role=role,
                digest=_digest(salt, b"\0text\0", content.encode()),
                text=content,
                opens_message=True,
            ),
        )
    blocks: list[Block] = []
    for position, block in enumerate(content):
        known, identity, counted = _MAKERS.get(block["type"], _other)(block, gates)
        blocks.append(
            Block(
                level="messages",
                path=f"messages[{index}].content[{position}]",
                kind=known,
                role=role,
                digest=_digest(salt, *identity),
                ttl=ttl_of(block.get("cache_control")),
                opens_message=position == 0,
                **counted,
            )
        )
    return tuple(blocks)


def compaction_as_prompt(block: dict[str, Any]) -> Block:
    """The block that stands for a conversation once it was summarised, as the request after it renders it."""
    _, identity, counted = _compaction(block, Gates())
    return Block(
        level="messages",
        path="messages[0].content[0]",
        kind="other",
        role="assistant",
        digest=_digest(b"assistant", *identity),
        opens_message=True,
        **counted,
    )


def _digest(*parts: bytes) -> bytes:
    return blake2b(b"".join(parts), digest_size=_DIGEST).digest()


_Made = tuple[str, tuple[bytes, ...], dict[str, Any]]  # kind, what makes the identity, what is counted


def _text(block: dict[str, Any], gates: Gates) -> _Made:
    text = block["text"]
    cited = _encode(block["citations"]) if block.get("citations") else b""
    return "text", (b"\0text\0", text.encode(), cited), {"text": text}


def _thinking(block: dict[str, Any], gates: Gates) -> _Made:
    text = block.get("thinking") or ""
    sealed = block.get("signature") or block.get("data") or ""
    return "thinking", (b"\0thinking\0", text.encode(), b"\0", sealed.encode()), {"text": text}


def _tool_use(block: dict[str, Any], gates: Gates) -> _Made:
    given = _encode(block["input"])
    identity = (b"\0tool_use\0", block["id"].encode(), b"\0", block["name"].encode(), b"\0", given)
    return "tool_use", identity, {"text": given.decode(), "structure": block["name"]}


def _tool_result(block: dict[str, Any], gates: Gates) -> _Made:
    content: Any = block.get("content") or ""
    head = b"\0tool_result\0" + block["tool_use_id"].encode() + (b"!" if block.get("is_error") else b"\0")
    if type(content) is str:
        return "tool_result", (head, b"text\0", content.encode()), {"text": content}
    identity, texts = [head], []
    images = tokens = 0
    for part in content:
        _, made, counted = _MAKERS.get(part["type"], _other)(part, gates)
        identity += [piece.removeprefix(b"\0") for piece in made]
        texts.append(counted.get("text", ""))
        images += counted.get("images", 0)
        tokens += counted.get("image_tokens", 0)
    return "tool_result", tuple(identity), {"text": "\n".join(texts), "images": images, "image_tokens": tokens}


def _image(block: dict[str, Any], gates: Gates) -> _Made:
    identity = (b"\0image\0", _encode(block["source"]))
    return "image", identity, {"images": 1, "image_tokens": image_tokens(block["source"], gates)}


def _document(block: dict[str, Any], gates: Gates) -> _Made:
    source = block["source"]
    text = "\n".join(part for part in (block.get("title"), block.get("context")) if part)
    if source["type"] == "text":
        text += source["data"]
    elif source["type"] == "content" and type(source["content"]) is str:
        text += source["content"]
    identity = (b"\0document\0", text.encode(), b"\0", _encode(source), _encode(block.get("citations")))
    return "document", identity, {"text": text, "image_tokens": document_tokens(source)}


def _compaction(block: dict[str, Any], gates: Gates) -> _Made:
    text = block.get("content") or ""
    return "other", (b"\0compaction\0", text.encode()), {"text": text}


def _other(block: dict[str, Any], gates: Gates) -> _Made:
    bare = {name: block[name] for name in sorted(block) if name != "cache_control"}
    encoded = _encode(bare)
    if block["type"].endswith("_tool_result"):
        return "server_result", (b"\0other\0", encoded), {"structure": encoded.decode()}
    return "other", (b"\0other\0", encoded), {"structure": encoded.decode()}


_MAKERS: dict[str, Callable[[dict[str, Any], Gates], _Made]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _thinking,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
    "document": _document,
    "compaction": _compaction,
}


def settings(body: dict[str, Any], gates: Gates, *, cites: bool, images: bool) -> dict[str, str]:
    """What changes the prompt without being text, by the level from which it does (documentation of the prompt cache:
    what invalidates it). A default said aloud equals the default."""
    system: list[str] = []
    for tool in body.get("tools") or ():
        kind = tool.get("type") or "custom"
        if kind.startswith(("web_search", "web_fetch")):
            system.append(kind)
    if body.get("speed") == "fast":
        system.append("speed=fast")
    if cites:
        system.append("citations")
    said: list[str] = []
    choice = body.get("tool_choice") or {}
    if choice.get("type", "auto") != "auto":
        said.append(f"tool_choice={choice['type']}{':' + choice['name'] if 'name' in choice else ''}")
    if choice.get("disable_parallel_tool_use"):
        said.append("disable_parallel_tool_use")
    if images:
        said.append("images")
    thinking = body.get("thinking") or {"type": "adaptive" if gates.thinks_unasked else "disabled"}
    if thinking["type"] != ("adaptive" if gates.thinks_unasked else "disabled"):
        said.append(f"thinking={thinking['type']}:{thinking.get('budget_tokens', '')}")
    output = body.get("output_config") or {}
    if output.get("effort", gates.default_effort) not in (gates.default_effort, None):
        said.append(f"effort={output['effort']}")
    if output.get("format"):
        said.append(f"format={_digest(_encode(output['format'])).hex()}")
    found: dict[str, str] = {}
    if system:
        found["system"] = " ".join(system)
    if said:
        found["messages"] = " ".join(said)
    return found


def declared_tools(body: dict[str, Any]) -> tuple[ToolDecl, ...]:
    """The client tools on offer, with their schemas."""
    return tuple(
        ToolDecl(tool["name"], tool["input_schema"]) for tool in body.get("tools") or () if "input_schema" in tool
    )
