"""What a model is shown of a session: paths, compactions, pairs of calls and results."""

from claw.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, assistant, user
from claw.core.transcript import (
    NO_RESULT,
    CompactionEntry,
    CustomEntry,
    Entry,
    MessageEntry,
    UnknownEntry,
    cap_result,
    live,
    pair,
    path,
    replay,
    sound_calls,
)


def call(id: str, name: str = "read") -> ToolCallPart:
    return ToolCallPart(id, name, {})


def result(id: str, text: str = "ok") -> Message:
    return Message("tool", (ToolResultPart(id, "read", (TextPart(text),)),))


def entries(*messages: Message | CompactionEntry | CustomEntry) -> list[Entry]:
    """A chain: ids `0`, `1`, …"""
    made: list[Entry] = []
    for n, message in enumerate(messages):
        parent = str(n - 1) if n else None
        if isinstance(message, Message):
            made.append(MessageEntry(id=str(n), parent_id=parent, message=message))
        else:
            made.append(message)
    return made


def compaction(id: str, first: str | None, summary: str = "S") -> CompactionEntry:
    parent = str(int(id) - 1)
    return CompactionEntry(
        id=id, parent_id=parent, summary=summary, first_kept_entry_id=first, tokens_before=9, tokens_after=1
    )


def texts(shown: tuple[Message, ...]) -> list[str]:
    return [m.text for m in shown]


def test_a_path_runs_from_the_root_to_the_last_entry_of_its_branch() -> None:
    root = MessageEntry(id="a", parent_id=None, message=user("1"))
    left = MessageEntry(id="b", parent_id="a", message=user("left"))
    right = MessageEntry(id="c", parent_id="a", message=user("right"))
    tree = [root, left, right]
    assert [e.id for e in path(tree)] == ["a", "c"]
    assert [e.id for e in path(tree, "b")] == ["a", "b"]
    assert [e.id for e in path(tree, "unknown")] == ["a", "c"]
    assert path([]) == ()


def test_a_path_survives_a_circle_and_a_missing_parent() -> None:
    circle = [MessageEntry(id=i, parent_id=p, message=user(i)) for i, p in (("a", "b"), ("b", "a"))]
    assert [e.id for e in path(circle)] == ["a", "b"]
    orphan = [MessageEntry(id="a", parent_id="gone", message=user("x"))]
    assert [e.id for e in path(orphan)] == ["a"]


def test_an_unknown_line_keeps_its_place_in_the_tree() -> None:
    chain: list[Entry] = [
        MessageEntry(id="a", parent_id=None, message=user("1")),
        UnknownEntry(id="b", parent_id="a", raw={"type": "label"}),
        MessageEntry(id="c", parent_id="b", message=user("2")),
    ]
    assert texts(replay(path(chain))) == ["1", "2"]


def test_a_summary_stands_for_what_came_before_the_first_kept_entry() -> None:
    chain = entries(user("old"), user("kept"), compaction("2", "1"), user("new"))
    shown = replay(chain)
    assert "S" in shown[0].text and texts(shown[1:]) == ["kept", "new"]


def test_only_the_last_summary_counts_and_what_the_first_one_kept_is_not_lost_by_the_second() -> None:
    """u2 was kept by the first compaction; the second one begins at it, so it is still shown."""
    chain = entries(user("u1"), user("u2"), compaction("2", "1", "first"), user("u3"), compaction("4", "1", "second"))
    shown = replay(chain)
    assert "second" in shown[0].text and texts(shown[1:]) == ["u2", "u3"]


def test_a_summary_that_keeps_nothing_or_names_an_unknown_entry_is_all_there_is() -> None:
    for first in (None, "nowhere"):
        assert len(replay(entries(user("old"), compaction("1", first)))) == 1


def test_results_stand_behind_their_call_in_the_order_of_the_calls() -> None:
    shown = pair([assistant(call("a"), call("b")), result("b", "B"), user("q"), result("a", "A")])
    assert [m.role for m in shown] == ["assistant", "tool", "user"]
    assert [p.text for p in shown[1].parts if isinstance(p, ToolResultPart)] == ["A", "B"]


def test_a_missing_result_becomes_an_error_that_says_so() -> None:
    shown = pair([assistant(TextPart("t"), call("a")), user("next")])
    part = shown[1].parts[0]
    assert isinstance(part, ToolResultPart) and part.is_error and part.text == NO_RESULT


def test_orphans_and_second_results_are_dropped() -> None:
    shown = pair([result("x"), assistant(call("a")), result("a", "one"), result("a", "two"), assistant()])
    assert [m.role for m in shown] == ["assistant", "tool"]
    assert [p.text for p in shown[1].parts if isinstance(p, ToolResultPart)] == ["one"]


def test_the_same_call_id_may_be_used_again() -> None:
    shown = pair([assistant(call("a")), result("a", "first"), assistant(call("a")), result("a", "second")])
    assert [m.parts[0].text for m in shown if m.role == "tool"] == ["first", "second"]  # type: ignore[union-attr]


def test_a_call_without_a_result_does_not_take_that_of_a_later_call() -> None:
    shown = pair([assistant(call("a")), assistant(call("a")), result("a", "of the second")])
    assert [m.parts[0].text for m in shown if m.role == "tool"] == [NO_RESULT, "of the second"]  # type: ignore[union-attr]


def test_a_queued_message_counts_once() -> None:
    """On disk at once as a note, later as the message itself; if the run died in between, the note counts."""
    note = CustomEntry(id="1", parent_id="0", custom_type="queued", data={"text": "wait"})
    assert texts(replay(entries(user("a"), note))) == ["a", "wait"]
    joined = MessageEntry(id="2", parent_id="1", message=user("wait"), joins="1")
    assert texts(replay([*entries(user("a"), note), joined])) == ["a", "wait"]


def test_other_notes_are_not_shown() -> None:
    note = CustomEntry(id="1", parent_id="0", custom_type="cli_session", data={"text": "no"})
    assert texts(replay(entries(user("a"), note))) == ["a"]


def test_plain_leaves_out_what_a_provider_may_refuse() -> None:
    image = ImagePart("image/png", "AA==")
    chain = entries(
        Message("user", (TextPart("look"), image)),
        assistant(ThinkingPart("hm")),
        assistant(ThinkingPart("hm"), call("a")),
        Message("tool", (ToolResultPart("a", "read", (image,)),)),
    )
    shown = replay(chain, plain=True)
    parts = [part for m in shown for part in m.parts]
    assert not any(isinstance(p, ThinkingPart | ImagePart) for p in parts)
    assert [m.role for m in shown] == ["user", "assistant", "tool"]
    assert isinstance(parts[-1], ToolResultPart) and "image/png" in parts[-1].text


def test_calls_that_a_provider_would_refuse_to_take_back_are_made_sound() -> None:
    before = entries(user("a"), assistant(call("a")), result("a"))
    odd = assistant(TextPart("x"), call("a"), call("b"), call("b"), call(""), call("c", " "), call("d", " read "))
    sound = sound_calls(odd, before)
    assert [(c.id, c.name) for c in sound.tool_calls] == [
        ("a_2", "read"), ("b", "read"), ("b_2", "read"), ("call_2", "read"), ("d", "read"),
    ]  # fmt: skip
    assert sound.text == "x"
    fine = assistant(TextPart("x"))
    assert sound_calls(fine, before) is fine


def test_the_same_entries_always_make_the_same_messages() -> None:
    chain = entries(user("a"), assistant(call("t")), result("t"), user("b"))
    assert replay(chain) == replay(list(chain)) and replay(chain[:3]) == replay(chain)[:3]
    assert live(chain)[0] is None


def test_a_huge_tool_result_keeps_its_head_and_tail() -> None:
    part = ToolResultPart("a", "read", (TextPart("H" * 500_000 + "T"), ImagePart("image/png", "")))
    for window, cap in ((200_000, 64_000), (100_000, 32_000), (50_000, 16_000), (1_000, 2_000)):
        cut = cap_result(part, window=window)
        assert cap <= len(cut.text) < cap + 100
        assert cut.text.startswith("H") and cut.text.endswith("T") and f"{500_001 - cap} characters" in cut.text
        assert len(cut.content) == 2
    small = ToolResultPart("a", "read", (TextPart("x"),))
    assert cap_result(small, window=1_000) is small
