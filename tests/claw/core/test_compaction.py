"""Where a conversation is cut, what the summariser reads, and that nothing falls between."""

from hypothesis import given, settings
from hypothesis import strategies as st

from claw.core import compaction
from claw.core.compaction import cut, entry, plan, summary_prompt, tokens_after, with_request
from claw.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, assistant, user
from claw.core.transcript import CompactionEntry, Entry, MessageEntry, live, replay
from claw.core.window import text_tokens


def said(*messages: Message) -> list[MessageEntry]:
    return [MessageEntry(id=f"e{n}", parent_id=None, message=message) for n, message in enumerate(messages)]


def call(id: str) -> Message:
    return assistant(ToolCallPart(id, "read", {"path": id}))


def result(id: str, text: str = "ok") -> Message:
    return Message("tool", (ToolResultPart(id, "read", (TextPart(text),)),))


def test_the_newest_part_stays_and_the_cut_is_before_a_message_of_user_or_assistant() -> None:
    items = said(user("a"), assistant(TextPart("b")), user("c"), call("t"), result("t"), assistant(TextPart("d")))
    assert cut(items, [10, 10, 10, 10, 10, 10], keep=20) == 5
    assert cut(items, [10, 10, 10, 10, 10, 10], keep=30) == 3
    assert cut(items, [10, 10, 10, 10, 10, 10], keep=60) == 0
    assert cut(items, [10, 10, 10, 10, 10, 10], keep=0) == 6
    assert cut([], [], keep=5) == 0


def test_a_large_result_near_the_end_does_not_leave_a_mere_rest() -> None:
    """A quarter of the allowance would remain; the large message stays too, as it does not double it."""
    items = said(user("a"), call("t"), result("t"), assistant(TextPart("d")))
    assert cut(items, [100, 1, 30, 5], keep=20) == 1
    assert cut(items, [100, 1, 90, 5], keep=20) == 3


def test_an_unanswered_prompt_always_stays() -> None:
    items = said(user("a"), assistant(TextPart("b")), user("the prompt"))
    assert cut(items, [10, 10, 1_000], keep=20) == 2
    assert cut(items, [10, 10, 1_000], keep=0) == 2


def test_a_plan_says_what_is_read_and_where_the_rest_begins() -> None:
    chain = said(user("a" * 400), assistant(TextPart("b" * 400)), user("c" * 400))
    made = plan(chain, keep=100, piece_tokens=10_000)
    assert made is not None
    assert made.first_kept == "e2" and made.kept_tokens == 100 and made.tokens_before == 300
    assert "a" * 400 in made.pieces[0] and "b" * 400 in made.pieces[0] and "c" * 400 not in made.pieces[0]


def test_nothing_can_go_from_a_lone_prompt() -> None:
    assert plan(said(user("a" * 400)), keep=0, piece_tokens=100) is None
    assert plan([], keep=0, piece_tokens=100) is None


def test_a_turn_cut_in_its_middle_keeps_its_request_word_for_word() -> None:
    chain: list[Entry] = [*said(user("rename the file"), call("t"), result("t", "x" * 4_000), call("u"), result("u"))]
    made = plan(chain, keep=20, piece_tokens=10_000)
    assert made is not None and made.request == "rename the file" and made.first_kept == "e3"
    summary = with_request("S", made.request)
    done = entry(made, id="c", parent_id="e4", summary=summary, tokens_before=9, after=1, trigger="overflow")
    shown = replay([*chain, done])
    assert shown[0].text.endswith("rename the file\n</summary>") and shown[1].role == "assistant"

    later = plan([*chain, done, *said(call("v"))], keep=0, piece_tokens=10_000)
    assert later is not None and later.request == "rename the file", "and keeps it through the next compaction"


def test_an_earlier_summary_is_handed_to_the_summariser() -> None:
    first = CompactionEntry(
        id="c", parent_id="e1", summary="before", first_kept_entry_id="e1", tokens_before=9, tokens_after=1
    )
    chain: list[Entry] = [*said(user("gone"), user("kept")), first, *said(user("x"), user("y"))[1:]]
    made = plan(chain, keep=0, piece_tokens=10_000)
    assert made is not None and made.earlier == "before"
    assert "kept" in made.pieces[0] and "gone" not in made.pieces[0]
    (asked,) = summary_prompt(made.pieces[0], made.earlier)
    assert "<earlier-summary>\nbefore\n" in asked.text and compaction.UPDATE_TASK in asked.text
    (alone,) = summary_prompt(made.pieces[0], "")
    assert "earlier-summary" not in alone.text


def test_the_summariser_reads_who_said_what_and_long_results_in_short() -> None:
    chain = said(
        user("hi"),
        assistant(ThinkingPart("hm"), ThinkingPart("cipher", None, True), TextPart("hello")),
        assistant(ToolCallPart("t", "exec", {"command": "ls"}), ToolCallPart("u", "exec", {}, "broken")),
        Message("tool", (ToolResultPart("t", "exec", (TextPart("x" * 3_000), ImagePart("image/png", "")), True),)),
        user("end"),
    )
    made = plan(chain, keep=1, piece_tokens=10_000)
    assert made is not None
    (text,) = made.pieces
    for part in ("[User]\nhi", "[Assistant]\nhello", "[Assistant, thinking]\nhm", '{"command":"ls"}', "broken"):
        assert part in text
    assert "[Result of exec (failed)]" in text and "1000 more characters" in text and "cipher" not in text


def test_pieces_fit_and_a_block_too_large_loses_its_middle() -> None:
    chain = said(*[user("w" * 4_000) for _ in range(10)], user("h" + "m" * 40_000 + "t"), user("end"))
    made = plan(chain, keep=1, piece_tokens=2_500)
    assert made is not None and len(made.pieces) > 4
    assert all(text_tokens(piece) <= 2_500 for piece in made.pieces)
    assert "middle is left out" in made.pieces[-1]


def test_scale_corrects_the_estimates() -> None:
    chain = said(user("a" * 400), user("b" * 400), user("c" * 400))
    made = plan(chain, keep=200, piece_tokens=10_000, scale=2.0)
    assert made is not None and made.tokens_before == 600 and made.first_kept == "e2"
    assert tokens_after("s" * 400, 50, 2.0) > 250


def test_the_simulators_know_claws_summary_calls_from_its_main_calls() -> None:
    from simulators.core.kinds import SUMMARY_SYSTEM

    assert any(mark in compaction.SUMMARY_SYSTEM for mark in SUMMARY_SYSTEM)


SIZES = st.lists(st.integers(1, 50), min_size=1, max_size=20)


@given(sizes=SIZES, keep=st.integers(0, 200), roles=st.data())
@settings(max_examples=150, deadline=None)
def test_what_goes_and_what_stays_is_everything_and_no_pair_is_torn(
    sizes: list[int], keep: int, roles: st.DataObject
) -> None:
    messages: list[Message] = []
    for n, size in enumerate(sizes):
        kind = roles.draw(st.sampled_from(["user", "assistant", "tools"]))
        if kind == "user":
            messages.append(user(f"<{n}>" + "x" * 4 * size))
        else:
            messages.append(
                assistant(TextPart(f"<{n}>"), *([ToolCallPart(f"t{n}", "read", {})] if kind == "tools" else []))
            )
        if kind == "tools":
            messages.append(result(f"t{n}", f"<r{n}>" + "x" * 4 * size))
    chain = said(*messages)
    made = plan(chain, keep=keep, piece_tokens=1_000)
    if made is None:
        return
    read = "".join(made.pieces)
    at = next((i for i, e in enumerate(chain) if e.id == made.first_kept), len(chain))
    for n, message in enumerate(chain):
        mark = (message.message.text or message.message.parts[0].text).partition(">")[0]  # type: ignore[union-attr]
        assert (mark + ">" in read) == (n < at)
    assert at == len(chain) or chain[at].message.role != "tool"
    assert live(chain)[0] is None
