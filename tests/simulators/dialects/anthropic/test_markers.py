"""`cache_control` is checked over all blocks, in the recorded order."""

from typing import Any

from tests.simulators.dialects.anthropic.asking import EPHEMERAL, HOUR, accepted, refused, text, tool, user

ORDER = (
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed "
    "in the following order: `tools`, `system`, `messages`."
)


def marked(*controls: Any) -> dict[str, Any]:
    return user([text("x", **({"cache_control": control} if control else {})) for control in controls])


def test_four_markers_are_the_most_and_the_automatic_one_counts() -> None:
    four = marked(EPHEMERAL, EPHEMERAL, EPHEMERAL, EPHEMERAL)
    assert refused(four) == "accepted"
    assert refused(four, system=[text("s", cache_control=EPHEMERAL)]) == (
        "A maximum of 4 blocks with cache_control may be provided. Found 5."
    )
    assert refused(four, cache_control=EPHEMERAL) == (
        "A maximum of 4 blocks with cache_control may be provided. Found 5."
    )


def test_an_hour_must_not_come_after_five_minutes() -> None:
    assert refused(marked(HOUR, EPHEMERAL)) == "accepted"
    assert refused(marked(EPHEMERAL, None, HOUR)) == f"messages.0.content.2.cache_control.ttl: {ORDER}"
    assert refused(tools=[tool("a", cache_control=EPHEMERAL)], system=[text("s", cache_control=HOUR)]) == (
        f"system.0.cache_control.ttl: {ORDER}"
    )


def test_the_automatic_marker_agrees_with_the_explicit_one_on_its_block() -> None:
    assert refused(marked(EPHEMERAL), cache_control=HOUR) == (
        "Top-level cache_control has ttl='1h' but the target block already has cache_control with ttl='5m'. When both "
        "are specified on the same block, they must have matching TTLs."
    )
    assert refused(marked(EPHEMERAL, None), cache_control=HOUR) == f"cache_control: {ORDER}"


def test_empty_text_cannot_be_marked() -> None:
    empty = user([text("x"), {"type": "text", "text": "", "cache_control": EPHEMERAL}])
    assert refused(empty) == "messages.0.content.1.text: cache_control cannot be set for empty text blocks"


def test_the_count_comes_before_the_order() -> None:
    assert refused(marked(EPHEMERAL, HOUR, HOUR, HOUR, HOUR)).startswith("A maximum of 4 blocks")


def test_markers_become_breakpoints() -> None:
    call = accepted(marked(None, EPHEMERAL), system=[text("s", cache_control=HOUR)], cache_control=EPHEMERAL)
    assert [(block.path, block.ttl) for block in call.blocks] == [
        ("system[0]", "1h"),
        ("messages[0].content[0]", None),
        ("messages[0].content[1]", "5m"),
    ]
    assert call.automatic_breakpoint == "5m"
