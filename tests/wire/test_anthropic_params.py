"""Every shape that the official SDK can send is taken: content blocks and tools generated from its parameter types.

For each block and each tool of the (beta) union a request is made twice: with what is required, and with everything.
What is refused all the same stands in `EXEMPT`, each with its reason; the list only shrinks.
"""

import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin

import msgspec
import pytest
from anthropic.types import message_create_params as plain
from anthropic.types.beta import (
    beta_content_block_param,
    beta_tool_union_param,
)
from anthropic.types.beta import message_create_params as beta
from typing_extensions import get_type_hints, is_typeddict

from tests.simulators.dialects.anthropic.api import Api

USER = {"role": "user", "content": "hi"}
# where a block belongs, if not in the user's message
ASSISTANT = (
    "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use", "compaction", "fallback",
)  # fmt: skip
EXEMPT: dict[str, str] = {}
# Values that a schema alone does not tell.
KNOWN: dict[str, Any] = {
    "id": "toolu_01", "tool_use_id": "toolu_01", "name": "read", "tool_name": "read", "signature": "Zm9yZWlnbg==",
    "data": "aGVsbG8=", "media_type": "image/png", "text": "hello", "thinking": "hm", "url": "https://example.com/a",
    "input_schema": {"type": "object"}, "input": {"path": "a"}, "citations": None,
    "ttl": "5m", "budget_tokens": 1024, "mcp_server_name": "server",
}  # fmt: skip


def bare(hint: Any) -> Any:
    """A hint without Required, NotRequired, Annotated."""
    while get_origin(hint) in (Required, NotRequired, typing.Annotated):
        hint = get_args(hint)[0]
    return hint


def value(hint: Any, name: str, *, full: bool, depth: int = 0) -> Any:
    """An example of a type."""
    hint = bare(hint)
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    if is_typeddict(hint):
        return example(hint, full=full, depth=depth + 1)
    if name in KNOWN:
        return KNOWN[name]
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        return value(options[0], name, full=full, depth=depth)
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {}
    if origin is not None and get_args(hint) and hint is not str:
        return [value(get_args(hint)[0], name, full=full, depth=depth)] if depth < 6 else []
    return {bool: True, int: 1, float: 1.0}.get(hint, "hello")


def example(typed: Any, *, full: bool, depth: int = 0) -> dict[str, Any]:
    """A dictionary of a TypedDict: what is required, and with `full` the rest."""
    hints = get_type_hints(typed, include_extras=True)
    made = {}
    for name, hint in hints.items():
        needed = name in typed.__required_keys__ or get_origin(hint) is Required
        if needed or (full and depth < 4):
            made[name] = value(hint, name, full=full, depth=depth)
    return made


def members(union: Any) -> Iterator[Any]:
    """The TypedDicts of a union, unions inside it opened."""
    union = bare(union)
    if is_typeddict(union):
        yield union
    for option in get_args(union):
        yield from members(option)


BLOCKS = list(dict.fromkeys(members(beta_content_block_param.BetaContentBlockParam)))
TOOLS = list(dict.fromkeys(members(beta_tool_union_param.BetaToolUnionParam)))
BOTH = pytest.mark.parametrize("full", [False, True], ids=["required", "everything"])


def told(block: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation in which this block may stand."""
    kind = block["type"]
    if kind == "tool_result":
        call = {"type": "tool_use", "id": block["tool_use_id"], "name": "read", "input": {}}
        return [USER, {"role": "assistant", "content": [call]}, {"role": "user", "content": [block]}]
    if kind == "tool_use":
        answer = {"type": "tool_result", "tool_use_id": block["id"], "content": "done"}
        return [USER, {"role": "assistant", "content": [block]}, {"role": "user", "content": [answer]}]
    if kind == "server_tool_use":
        found = {"type": "web_search_tool_result", "tool_use_id": block["id"], "content": []}
        return [USER, {"role": "assistant", "content": [block, found, {"type": "text", "text": "ok"}]}, USER]
    if kind in ASSISTANT or kind.endswith("_result"):
        first = [] if kind == "compaction" else [USER]
        return [*first, {"role": "assistant", "content": [block, {"type": "text", "text": "ok"}]}, USER]
    if kind in ("tool_addition", "tool_removal"):
        return [USER, {"role": "system", "content": [block]}]
    return [{"role": "user", "content": [block]}]


def taken(body: dict[str, Any], name: str) -> None:
    sent = {"model": "claude-opus-4-8", "max_tokens": 2000, "messages": [USER], **body}
    for responder in ("echo", "persona"):
        reply = Api({"responder": responder}).send("POST", "/v1/messages?beta=true", sent)
        if name in EXEMPT:
            assert reply.status == 400, f"{name} is taken: it must leave the list"
        else:
            assert reply.status == 200, f"{reply.body} for {msgspec.json.encode(body).decode()}"


def test_there_are_many() -> None:
    assert len(BLOCKS) > 15 and len(TOOLS) > 15
    assert set(EXEMPT) <= {typed.__name__ for typed in (*BLOCKS, *TOOLS)}


@BOTH
@pytest.mark.parametrize("typed", BLOCKS, ids=lambda typed: typed.__name__)
def test_a_content_block_is_taken(typed: Any, full: bool) -> None:
    block = example(typed, full=full)
    if "cache_control" in block:
        block["cache_control"] = {"type": "ephemeral"}
    taken({"messages": told(block)}, typed.__name__)


@BOTH
@pytest.mark.parametrize("typed", TOOLS, ids=lambda typed: typed.__name__)
def test_a_tool_is_taken(typed: Any, full: bool) -> None:
    made = example(typed, full=full)
    made.pop("defer_loading", None)  # excludes a marker, and needs another tool
    if "cache_control" in made:
        made["cache_control"] = {"type": "ephemeral"}
    body: dict[str, Any] = {"tools": [made]}
    if made.get("type") == "mcp_toolset":
        body["mcp_servers"] = [{"type": "url", "url": "https://example.com/mcp", "name": made["mcp_server_name"]}]
    taken(body, typed.__name__)


FIELDS = {
    "cache_control": {"type": "ephemeral"},
    "compaction": {"type": "summarize", "instructions": "be short"},
    "container": "container_01",
    "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
    "diagnostics": {"previous_message_id": None},
    "fallbacks": [{"model": "claude-opus-4-8"}],
    "inference_geo": "us",
    "mcp_servers": [{"type": "url", "url": "https://example.com/mcp", "name": "server"}],
    "metadata": {"user_id": "u"},
    "output_config": {"effort": "low", "task_budget": {"type": "tokens", "total": 20_000, "remaining": 500}},
    "output_format": {"type": "json_schema", "schema": {"type": "object"}},
    "service_tier": "auto",
    "speed": "standard",
    "stop_sequences": ["stop"],
    "stream": False,
    "system": [{"type": "text", "text": "be kind"}],
    "thinking": {"type": "adaptive", "display": "omitted"},
    "thread": {"type": "create"},
    "tool_choice": {"type": "auto"},
    "tools": [{"name": "read", "input_schema": {"type": "object"}}],
    "billing_policy": {"type": "billing_policy", "bill_to": "self"},
    "fallback_credit_token": "token",
}
REQUIRED = {"max_tokens", "messages", "model"}


def names(module: Any) -> set[str]:
    """The fields of a request; those that travel as headers are none."""
    return set(get_type_hints(module.MessageCreateParamsNonStreaming)) - {"betas", "user_profile_id", "workspace_id"}


def test_every_field_of_a_request_is_known() -> None:
    missing = (names(plain) | names(beta)) - set(FIELDS) - REQUIRED
    assert missing == set()


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_taken(name: str) -> None:
    taken({name: FIELDS[name]}, name)
