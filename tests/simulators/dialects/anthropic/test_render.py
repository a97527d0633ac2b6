"""The prompt as blocks: what a cache and a tokenizer see of a request."""

from typing import Any

from simulators.core.turn import ModelCall
from simulators.dialects.anthropic.media import image_size
from tests.simulators.dialects.anthropic.asking import EPHEMERAL, accepted, assistant, result, text, tool, use, user

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


def shared(one: ModelCall, other: ModelCall) -> int:
    """How many blocks from the start two prompts share."""
    same = 0
    for a, b in zip(one.blocks, other.blocks, strict=False):
        if a.digest != b.digest:
            break
        same += 1
    return same


def test_blocks_come_in_the_order_tools_system_messages() -> None:
    call = accepted(
        user("go"),
        assistant([text("I read."), use("a", given={"path": "x"})]),
        user([result("a", "words"), text("and?")]),
        system="Be brief.",
        tools=[tool("read")],
    )
    assert [(b.level, b.path, b.kind, b.role, b.opens_message) for b in call.blocks] == [
        ("tools", "tools[0]", "tool", "", False),
        ("system", "system[0]", "text", "system", True),
        ("messages", "messages[0].content[0]", "text", "user", True),
        ("messages", "messages[1].content[0]", "text", "assistant", True),
        ("messages", "messages[1].content[1]", "tool_use", "assistant", False),
        ("messages", "messages[2].content[0]", "tool_result", "user", True),
        ("messages", "messages[2].content[1]", "text", "user", False),
    ]
    assert [b.text for b in call.blocks] == [
        "Does read.",
        "Be brief.",
        "go",
        "I read.",
        '{"path":"x"}',
        "words",
        "and?",
    ]


def test_a_lone_text_block_equals_its_string_and_markers_do_not_count() -> None:
    plain = accepted(user("hello"), system="Be brief.")
    wrapped = accepted(
        user([text("hello", cache_control=EPHEMERAL)]), system=[text("Be brief.", cache_control=EPHEMERAL)]
    )
    assert shared(plain, wrapped) == 2
    assert [b.ttl for b in wrapped.blocks] == ["5m", "5m"]


def test_key_order_counts_inside_tool_input_and_nowhere_else() -> None:
    def after(block: dict[str, Any]) -> ModelCall:
        return accepted(user("go"), assistant([block]), user([result("a")]))

    block = use("a", given={"x": 1, "y": 2})
    assert shared(after(block), after(dict(reversed(block.items())))) == 3
    assert shared(after(block), after(use("a", given={"y": 2, "x": 1}))) == 1


def test_key_order_of_a_block_does_not_count() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    one = accepted(user("go"), assistant([search, found, text("x")]), user("b"))
    other = accepted(user("go"), assistant([dict(reversed(search.items())), found, text("x")]), user("b"))
    assert shared(one, other) == 5


def test_the_role_counts() -> None:
    one = accepted(user("a"), assistant("b"), user("c"))
    assert shared(one, accepted(user("a"), user("b"), user("c"))) == 1


def test_an_edit_ends_what_two_prompts_share() -> None:
    one = accepted(user("a"), assistant("b"), user("c"), tools=[tool("read")], system="s")
    assert shared(one, accepted(user("a"), assistant("B"), user("c"), tools=[tool("read")], system="s")) == 3
    assert (
        shared(
            one, accepted(user("a"), assistant("b"), user("c"), tools=[tool("read", description="New.")], system="s")
        )
        == 0
    )
    assert shared(one, accepted(user("a"), assistant("b"), user("c"), tools=[tool("read")], system="S")) == 1


def test_settings_stand_at_the_level_that_they_invalidate() -> None:
    assert accepted(user("x")).settings == {}
    tools = [tool("read")]
    assert accepted(user("x"), tools=tools, tool_choice={"type": "auto"}).settings == {}
    assert accepted(user("x"), tools=tools, tool_choice={"type": "any"}).settings == {"messages": "tool_choice=any"}
    assert set(accepted(user([IMAGE])).settings) == {"messages"}
    search = accepted(user("x"), tools=[{"type": "web_search_20250305", "name": "web_search"}])
    assert set(search.settings) == {"system"}


def test_a_default_said_aloud_is_the_default() -> None:
    opus = {"model": "claude-opus-5-5"}
    assert (
        accepted(user("x"), **opus, output_config={"effort": "medium"}).settings == accepted(user("x"), **opus).settings
    )
    assert accepted(user("x"), **opus, thinking={"type": "adaptive"}).settings == accepted(user("x"), **opus).settings
    assert accepted(user("x"), **opus, output_config={"effort": "max"}).settings != accepted(user("x"), **opus).settings


def test_what_the_rules_of_an_account_look_at() -> None:
    call = accepted(
        user("go"), assistant([use("a"), use("b", "list")]), user([result("a"), result("b")]),
        system=[text("One."), text("Two.")], tools=[tool("read"), tool("list")], stop_sequences=["END"],
    )  # fmt: skip
    assert call.tool_results == ("read", "list")
    assert call.last_user == ""
    assert call.system == "One.\nTwo."
    assert [t.name for t in call.tools] == ["read", "list"]
    assert call.stop_sequences == ("END",)
    assert accepted(user([text("one"), text("two")])).last_user == "one\ntwo"


def test_older_models_forget_thinking_of_earlier_turns() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "Zm9yZWlnbg=="}
    history = [user("a"), assistant([thought, text("b")]), user("c")]
    kinds = [b.kind for b in accepted(*history, model="claude-haiku-4-5").blocks]
    assert kinds == ["text", "text", "text"]
    assert [b.kind for b in accepted(*history, model="claude-opus-4-5").blocks] == ["text", "thinking", "text", "text"]


def test_a_compaction_replaces_what_is_before_it() -> None:
    summary = {"type": "compaction", "content": "They said hello."}
    call = accepted(user("a"), assistant("b"), user("c"), assistant([summary, text("d")]), user("e"))
    assert [b.path for b in call.blocks] == [
        "messages[3].content[0]",
        "messages[3].content[1]",
        "messages[4].content[0]",
    ]


def test_deferred_tools_and_the_billing_line_are_no_part_of_the_prompt() -> None:
    call = accepted(
        user("x"),
        tools=[tool("read"), tool("rare", defer_loading=True)],
        system=[text("x-anthropic-billing-header: cc_version=2.1.332.abc;"), text("Be brief.")],
    )
    assert [b.path for b in call.blocks] == ["tools[0]", "system[1]", "messages[0].content[0]"]


def test_images_are_measured() -> None:
    block = accepted(user([IMAGE])).blocks[0]
    assert (block.images, block.image_tokens) == (1, 1)
    assert image_size(PIXEL) == (1, 1)
    inside = accepted(user("go"), assistant([use("a")]), user([result("a", [text("seen"), IMAGE])])).blocks[-1]
    assert (inside.images, inside.text) == (1, "seen\n")
