"""What a change of the request costs of the cache: the documentation's matrix, row by row, through the whole API.

A request has breakpoints behind its tools (2 tokens), its system prompt (2 more) and its first message (3 more).
"""

from typing import Any

import pytest

from tests.simulators.dialects.anthropic.api import Api
from tests.simulators.dialects.anthropic.asking import EPHEMERAL, assistant, result, text, tool, use, user

MODELS = ("claude-opus-4-8", "claude-opus-5", "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-haiku-4-5")
SMALL = {"models": {name: {"min_cacheable_tokens": 1} for name in MODELS}}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
TOOLS, SYSTEM, ALL = 2, 4, 7  # tokens that can still be read


def request(**changes: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "model": "claude-opus-4-8",
        "max_tokens": 50,
        "tools": [tool("read", cache_control=EPHEMERAL)],
        "system": [text("be brief", cache_control=EPHEMERAL)],
        "messages": [user([text("one two three", cache_control=EPHEMERAL)]), assistant("four"), user("five")],
    }
    return {name: value for name, value in (whole | changes).items() if value is not None}


def read(api: Api, body: dict[str, Any]) -> int:
    reply = api.send("POST", "/v1/messages?beta=true", body)
    assert reply.status == 200, reply.body
    return int(reply.body["usage"]["cache_read_input_tokens"])


def changed(**changes: Any) -> tuple[int, dict[str, Any]]:
    """What the changed request reads after the plain one, and how the journal explains it."""
    api = Api(SMALL)
    assert read(api, request()) == 0
    assert read(api, request()) == ALL
    got = read(api, request(**changes))
    return got, dict(api.account.journal.exchanges[-1].cache or {})


@pytest.mark.parametrize(
    ("left", "changes"),
    [
        (0, {"tools": [tool("read", description="Does it.", cache_control=EPHEMERAL)]}),
        (0, {"tools": [tool("write", cache_control=EPHEMERAL)]}),
        (0, {"tools": [tool("read", input_schema={"type": "object", "properties": {}}, cache_control=EPHEMERAL)]}),
        (0, {"tools": [tool("first"), tool("read", cache_control=EPHEMERAL)]}),
        (0, {"tools": None}),
        (0, {"model": "claude-opus-5"}),
        (TOOLS, {"tools": [tool("read", cache_control=EPHEMERAL), SEARCH]}),
        (TOOLS, {"speed": "fast"}),
        (TOOLS, {"system": [text("be long", cache_control=EPHEMERAL)]}),
        (SYSTEM, {"tool_choice": {"type": "any"}}),
        (SYSTEM, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
        (SYSTEM, {"messages": [user([text("one two three", cache_control=EPHEMERAL)]), assistant("4"), user([IMAGE])]}),
        (SYSTEM, {"thinking": {"type": "adaptive"}}),
        (SYSTEM, {"output_config": {"effort": "low"}}),
        (SYSTEM, {"messages": [user([text("one two 3", cache_control=EPHEMERAL)]), assistant("four"), user("five")]}),
        # what changes nothing
        (ALL, {"output_config": {"effort": "high"}}),  # the default, said aloud
        (ALL, {"tool_choice": {"type": "auto"}}),
        (ALL, {"speed": "standard"}),
        (ALL, {"max_tokens": 10, "metadata": {"user_id": "u"}, "stop_sequences": ["x"], "service_tier": "auto"}),
        (ALL, {"messages": [*request()["messages"][:2], user("another")]}),
        (ALL, {"messages": [*request()["messages"], {"role": "system", "content": "be kind"}]}),
    ],
)  # fmt: skip
def test_the_matrix(left: int, changes: dict[str, Any]) -> None:
    assert changed(**changes)[0] == left


@pytest.mark.parametrize(
    ("changes", "level", "reason", "lost"),
    [
        ({"tools": [tool("read", description="Does it.", cache_control=EPHEMERAL)]}, "tools", "tools_changed", 7),
        ({"model": "claude-opus-5"}, "tools", "model_changed", 7),
        ({"system": [text("be long", cache_control=EPHEMERAL)]}, "system", "system_changed", 5),
        ({"tool_choice": {"type": "any"}}, "messages", "unavailable", 3),
        ({"thinking": {"type": "adaptive"}}, "messages", "unavailable", 3),
    ],
)
def test_a_loss_is_explained(changes: dict[str, Any], level: str, reason: str, lost: int) -> None:
    miss = changed(**changes)[1]["miss"]
    assert (miss["level"], miss["vendor_reason"], miss["lost_tokens"]) == (level, reason, lost)


@pytest.mark.parametrize(
    ("model", "kept"),
    [("claude-opus-4-8", True), ("claude-sonnet-4-6", True), ("claude-sonnet-4-5", False), ("claude-haiku-4-5", False)],
)
def test_thinking_of_earlier_turns_by_generation(model: str, kept: bool) -> None:
    """A new user turn makes older models forget it: all behind the first such block misses."""
    api = Api(SMALL)
    thought = {"type": "thinking", "thinking": "hm hm", "signature": "Zm9yZWlnbg=="}
    told = [user("one two"), assistant([thought, use("t1")]), user([result("t1", "done", cache_control=EPHEMERAL)])]
    on = {"type": "enabled", "budget_tokens": 1024} if "4-8" not in model else {"type": "adaptive"}
    ask = {"model": model, "max_tokens": 2000, "thinking": on, "tools": None, "system": None}
    assert read(api, request(**ask, messages=told)) == 0
    later = [*told, assistant("ok"), user([text("and now", cache_control=EPHEMERAL)])]
    assert read(api, request(**ask, messages=later)) == (2 + 2 + 1 + 1 if kept else 0)
    miss = (api.account.journal.exchanges[-1].cache or {})["miss"]
    assert miss is None if kept else miss["why"] == "thinking of an earlier turn left out"


def test_results_of_the_providers_tools_are_a_breakpoint_of_their_own() -> None:
    """As soon as the request caches anything: five minutes, even where it asks for an hour."""
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    hour = {**EPHEMERAL, "ttl": "1h"}
    told = [user([text("one two three", cache_control=hour)]), assistant([asked, found, text("four")]), user("five")]
    api = Api(SMALL)
    made = api.send("POST", "/v1/messages", request(tools=None, system=None, messages=told)).body["usage"]
    assert made["cache_creation"]["ephemeral_1h_input_tokens"] == 3
    again = [*told[:2], user("other")]
    assert read(api, request(tools=None, system=None, messages=again)) >= 3
    bare = [user("one two three"), *told[1:]]
    plain = Api(SMALL).send("POST", "/v1/messages", request(tools=None, system=None, messages=bare)).body["usage"]
    assert plain["cache_creation_input_tokens"] == 0


def test_automatic_and_explicit_markers_share_the_four() -> None:
    marked = [text(str(at), cache_control=EPHEMERAL) for at in range(4)]
    reply = Api().post(user(marked), cache_control=EPHEMERAL)
    assert reply.message == "A maximum of 4 blocks with cache_control may be provided. Found 5."


def test_a_prewarmed_prefix_is_read_by_the_request_after_it() -> None:
    api = Api(SMALL)
    warm = api.send("POST", "/v1/messages", request(max_tokens=0)).body
    assert (warm["content"], warm["stop_reason"], warm["usage"]["output_tokens"]) == ([], "max_tokens", 0)
    assert warm["usage"]["cache_creation_input_tokens"] == ALL
    assert read(api, request()) == ALL
