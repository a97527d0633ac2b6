"""`claw sessions`: what is on record, for people and for programs."""

import json

import pytest

from claw.cli import main
from claw.core.messages import Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user
from claw.core.transcript import CompactionEntry, CustomEntry, MessageEntry
from claw.core.usage import Usage
from claw.host import HostFiles
from claw.sessions import SessionStore

NEW_YEAR = 1767225600.0


@pytest.fixture
def claw(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CLAW_HOME", str(tmp_path))

    def run(*arguments):
        code = 0
        try:
            main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        out, err = capsys.readouterr()
        return code or 0, out, err

    return run


@pytest.fixture
def recorded(tmp_path):
    """Two sessions; `old` has one message of every kind."""
    store = SessionStore(HostFiles(), str(tmp_path))
    answer = Message(
        "assistant", (ThinkingPart("hm", "S"), TextPart("Reading."), ToolCallPart("t1", "read", {"path": "a"}))
    )
    result = Message("tool", (ToolResultPart("t1", "read", (TextPart("hello"),), is_error=True),))
    entries = [
        MessageEntry(id="e1", parent_id=None, message=user("first\nprompt")),
        MessageEntry(
            id="e2",
            parent_id="e1",
            message=answer,
            model="anthropic/x",
            usage=Usage(input=1, cache_read=85_000, cache_write_5m=500, output=4),
            stop="tool_use",
        ),
        MessageEntry(id="e3", parent_id="e2", message=result),
        CompactionEntry(
            id="e4", parent_id="e3", summary="So far.", first_kept_entry_id=None, tokens_before=900, tokens_after=90
        ),
        CustomEntry(id="e5", parent_id="e4", custom_type="cli_session", data={"id": "x"}),
    ]
    store.open("old", workspace="/w", now=NEW_YEAR).append(entries, now=NEW_YEAR)
    fresh = MessageEntry(id="f1", parent_id=None, message=user("p" * 100))
    store.open("new", now=NEW_YEAR).append([fresh], now=NEW_YEAR + 60)
    return store


def test_the_list_begins_with_the_session_used_last(claw, recorded):
    code, out, _ = claw("sessions", "list")
    first, second = out.splitlines()
    assert code == 0
    assert first.startswith("new  2026-01-01T00:01:00     1 prompts  pppp")
    assert first.endswith("…")
    assert second == "old  2026-01-01T00:00:00     1 prompts  first prompt"


def test_the_list_as_json(claw, recorded):
    infos = json.loads(claw("sessions", "list", "--json")[1])
    assert [(info["id"], info["entries"], info["cwd"]) for info in infos] == [("new", 1, ""), ("old", 5, "/w")]


def test_no_sessions_is_an_empty_list_and_a_word_on_stderr(claw):
    assert claw("sessions", "list", "--json") == (0, "[]\n", "")
    code, out, err = claw("sessions", "list")
    assert (code, out) == (0, "")
    assert "claw agent PROMPT" in err


def test_a_conversation_shows_what_was_visible(claw, recorded):
    assert claw("sessions", "show", "old")[1].splitlines() == [
        "user:",
        "  first",
        "  prompt",
        "",
        "assistant:",
        "  Reading.",
        '  → read {"path":"a"}',
        "",
        "tool:",
        "  ← read failed: hello",
        "",
        "[compacted: 900 → 90 tokens, threshold]",
    ]


def test_a_trace_shows_everything(claw, recorded):
    out = claw("sessions", "show", "old", "--trace")[1]
    for piece in (
        "[thinking] hm",
        "85501 in (85000 cached, 500 written), 4 out",
        "So far.",
        "cli_session",
        "e2 2026-01-01",
    ):
        assert piece in out


def test_a_conversation_as_json(claw, recorded):
    shown = json.loads(claw("sessions", "show", "old", "--json")[1])
    assert shown["session"]["id"] == "old"
    assert [entry["type"] for entry in shown["entries"]] == ["message"] * 3 + ["compaction", "custom"]


def test_a_damaged_file_shows_what_is_left_and_says_so(claw, recorded, tmp_path):
    file = tmp_path / "sessions" / "new.jsonl"
    file.write_bytes(file.read_bytes() + b"garbage\n")
    code, out, err = claw("sessions", "show", "new")
    assert code == 0
    assert "pppp" in out
    assert "1 lines could not be read" in err


@pytest.mark.parametrize("id", ["none", "../../etc/passwd"])
def test_a_session_that_is_not_there(claw, id):
    code, out, err = claw("sessions", "show", id)
    assert (code, out) == (2, "")
    assert f"`{id}`" in err


def test_a_trace_says_what_was_done_about_failures_and_why(claw, recorded):
    made = {
        "type": "attempt", "n": 1, "provider": "anthropic", "model": "x", "profile": None, "kind": "rate_limited",
        "status": 429, "waited_s": 7.0, "action": "retry", "why": "waits as long as it was told",
    }  # fmt: skip
    failed = {"type": "compaction_end", "ok": False, "trigger": "overflow", "why": "no smaller"}
    entry = CustomEntry(id="e6", parent_id="e5", custom_type="decisions", data={"decisions": [made, failed]})
    recorded.load("old").append([entry], now=NEW_YEAR)
    out = claw("sessions", "show", "old", "--trace")[1]
    assert "call 1 of anthropic/x: rate_limited (HTTP 429) → retry after 7.0 s: waits as long as it was told" in out
    assert "compaction (overflow) failed: no smaller" in out
    assert "rate_limited" not in claw("sessions", "show", "old")[1]
