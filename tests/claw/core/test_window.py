"""How full the context is."""

from claw.core.calls import SystemBlock, ToolSpec
from claw.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, assistant, user
from claw.core.transcript import CompactionEntry, Entry, MessageEntry
from claw.core.usage import Usage
from claw.core.window import budget, fill, fixed_tokens, message_tokens, reserve, text_tokens

COUNTED = Usage(input=1, cache_write_5m=500, cache_read=85_000, output=99)


def test_about_four_characters_are_a_token_and_other_scripts_need_more() -> None:
    assert (text_tokens(""), text_tokens("abcd"), text_tokens("abcde")) == (0, 1, 2)
    assert text_tokens("日本語日本語") > text_tokens("abcdef")


def test_every_kind_of_part_counts_images_too() -> None:
    image = ImagePart("image/png", "x" * 9_000)
    assert message_tokens(Message("user", (TextPart("abcd"), image))) == 1_201
    call = ToolCallPart("t", "read", {"a": 1})
    assert message_tokens(assistant(ThinkingPart("abcd"), call)) == 1 + 1 + 2
    assert message_tokens(assistant(ToolCallPart("t", "read", {}, "broken text!"))) == 1 + 3
    assert message_tokens(Message("tool", (ToolResultPart("t", "read", (TextPart("abcd"), image)),))) == 1_201


def test_system_and_tools_count() -> None:
    tool = ToolSpec("read", "d" * 6, {})
    assert fixed_tokens([SystemBlock("abcd"), SystemBlock("ab")], [tool]) == 2 + 3


def entry(id: str, message: Message, usage: Usage | None = None) -> MessageEntry:
    return MessageEntry(id=id, parent_id=None, message=message, usage=usage)


def test_the_last_counted_call_is_taken_and_only_what_follows_is_estimated() -> None:
    chain: list[Entry] = [
        entry("a", user("x" * 4_000)),
        entry("b", assistant(TextPart("y")), COUNTED),
        entry("c", user("z" * 400)),
    ]
    full = fill(chain, fixed=1_000, scale=2.0)
    assert (full.counted, full.estimated) == (85_600, 200)
    assert full.tokens == 85_800 and full.at_most == 85_840


def test_without_a_count_everything_is_estimated() -> None:
    assert fill([entry("a", user("x" * 4_000))], fixed=500).tokens == 1_500
    blank = [entry("b", assistant(TextPart("y" * 4)), Usage())]
    assert fill(blank, fixed=0).counted == 0


def test_counts_from_before_a_compaction_are_worth_nothing() -> None:
    """The kept answer still carries its count, but that was of the long prompt."""
    kept = entry("b", assistant(TextPart("y" * 400)), COUNTED)
    cut = CompactionEntry(
        id="c", parent_id="b", summary="s" * 400, first_kept_entry_id="b", tokens_before=1, tokens_after=1
    )
    full = fill([entry("a", user("x")), kept, cut], fixed=10)
    assert full.counted == 0 and 200 < full.tokens < 260
    after = entry("d", assistant(TextPart("z")), Usage(input=300))
    assert fill([entry("a", user("x")), kept, cut, after], fixed=10).tokens == 300


def test_the_reserve_leaves_a_prompt_its_least() -> None:
    assert budget(200_000, 20_000) == 180_000
    assert (reserve(20_000, 20_000), budget(20_000, 20_000)) == (12_000, 8_000)
    assert budget(1_000, 20_000) == 500
    assert reserve(200_000, 0) == 0
