"""Session files: only added to, and read whatever happened to them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.core.errors import ClawError
from claw.core.messages import Message, TextPart, ToolCallPart, ToolResultPart, assistant, user
from claw.core.transcript import CompactionEntry, CustomEntry, KnownEntry, MessageEntry, UnknownEntry, replay
from claw.core.usage import Usage
from claw.sessions import Session, SessionStore
from claw.testing.fakes import MemoryFiles

NOW = 1_767_225_600.0
FILE = "/home/sessions/s.jsonl"


def chain(*texts: str, first: int = 0) -> list[KnownEntry]:
    made: list[KnownEntry] = []
    for n, text in enumerate(texts, first):
        made.append(MessageEntry(id=f"{n:08x}", parent_id=f"{n - 1:08x}" if n else None, message=user(text)))
    return made


def opened(files: MemoryFiles) -> Session:
    return SessionStore(files, "/home").open("s", workspace="/w", now=NOW)


def texts(session: Session) -> list[str]:
    return [m.text for m in replay(session.path())]


def written(*lines: str) -> MemoryFiles:
    files = MemoryFiles()
    opened(files).append(chain("one", "two"), now=NOW)
    files.files[FILE] += "".join(lines).encode()
    return files


def test_what_was_appended_is_read_back_the_same() -> None:
    files = MemoryFiles()
    call = ToolCallPart("t", "read", {"path": "a"})
    entries: list[KnownEntry] = [
        MessageEntry(id="a", parent_id=None, message=user("hi")),
        MessageEntry(
            id="b",
            parent_id="a",
            message=assistant(TextPart("x"), call),
            model="p/m",
            usage=Usage(input=3),
            stop="tool_use",
        ),
        MessageEntry(
            id="c", parent_id="b", message=Message("tool", (ToolResultPart("t", "read", (TextPart("r"),), True),))
        ),
        CompactionEntry(id="d", parent_id="c", summary="s", first_kept_entry_id=None, tokens_before=9, tokens_after=1),
        CustomEntry(id="e", parent_id="d", custom_type="cli_session", data={"session": "u"}),
    ]
    session = opened(files)
    session.append(entries[:2], now=NOW)
    session.append(entries[2:], now=NOW + 1)
    again = opened(files)
    assert again.entries == session.entries and again.header == session.header
    assert [e.id for e in again.path()] == ["a", "b", "c", "d", "e"]
    assert again.damaged == 0


def test_lines_have_the_keys_that_other_runtimes_use() -> None:
    files = MemoryFiles()
    opened(files).append(chain("hi"), now=NOW)
    header, line = (json.loads(text) for text in files.files[FILE].decode().splitlines())
    assert header == {
        "type": "session", "format": "claw", "version": 1, "id": "s", "cwd": "/w",
        "timestamp": "2026-01-01T00:00:00.000Z",
    }  # fmt: skip
    assert {"type", "id", "parentId", "timestamp", "message"} == line.keys() and line["parentId"] is None


def test_nothing_is_written_before_the_first_entry_and_everything_is_synced_after() -> None:
    files = MemoryFiles()
    session = opened(files)
    assert not files.exists(FILE)
    session.append(chain("hi"), now=NOW)
    files.crash()
    assert texts(opened(files)) == ["hi"]


def test_a_torn_last_line_is_left_out_and_does_not_spoil_the_next() -> None:
    files = written('{"type":"message","id":"0000')
    session = opened(files)
    assert texts(session) == ["one", "two"] and session.damaged == 0
    session.append(chain("three", first=2), now=NOW)
    assert texts(opened(files)) == ["one", "two", "three"]
    assert json.loads(files.files[FILE].splitlines()[-1])["id"] == "00000002"


def test_a_last_line_that_lacks_only_its_newline_counts() -> None:
    files = written()
    files.files[FILE] = files.files[FILE].rstrip(b"\n")
    session = opened(files)
    assert texts(session) == ["one", "two"]
    session.append(chain("three", first=2), now=NOW)
    assert texts(opened(files)) == ["one", "two", "three"]


def test_a_damaged_line_costs_only_itself() -> None:
    files = MemoryFiles()
    opened(files).append(chain("one", "two", "three"), now=NOW)
    lines = files.files[FILE].split(b"\n")
    lines[2] = lines[2][:20] + b"\0\0\0"
    files.files[FILE] = b"\n".join(lines)
    session = opened(files)
    assert texts(session) == ["one", "three"] and session.damaged == 1


def test_records_on_one_line_are_told_apart() -> None:
    files = MemoryFiles()
    opened(files).append(chain("one", "two", "three"), now=NOW)
    lines = files.files[FILE].split(b"\n")
    files.files[FILE] = b"\n".join([lines[0], lines[1] + lines[2], b'garbage{"x' + lines[3], b""])
    assert texts(opened(files)) == ["one", "two", "three"]


def test_a_lost_header_loses_nothing_else() -> None:
    files = written()
    files.files[FILE] = b"\n".join([b"not a header", *files.files[FILE].split(b"\n")[1:]])
    session = opened(files)
    assert texts(session) == ["one", "two"] and session.id == "s"
    session.append(chain("three", first=2), now=NOW)
    assert files.files[FILE].startswith(b"not a header\n"), "a file is never rewritten"


def test_a_type_of_a_later_version_keeps_its_place() -> None:
    files = written('{"type":"label","id":"x","parentId":"00000001","label":"here"}\n', '{"type":"odd"}\n', "[1]\n")
    session = opened(files)
    assert isinstance(session.entries[-1], UnknownEntry)
    assert texts(session) == ["one", "two"] and session.damaged == 2


def test_an_entry_is_read_once() -> None:
    files = written()
    files.files[FILE] += files.files[FILE]
    assert texts(opened(files)) == ["one", "two"]


def test_a_wrong_field_is_a_damaged_line() -> None:
    files = written('{"type":"message","id":"q","parentId":null,"message":{"role":"nobody","parts":[]}}\n')
    assert opened(files).damaged == 1


@pytest.mark.parametrize("id", ["", "../x", "a/b", ".hidden", "x" * 200, "-f"])
def test_an_id_that_is_no_file_name_is_refused(id: str) -> None:
    with pytest.raises(ClawError, match="letters, digits"):
        SessionStore(MemoryFiles(), "/home").open(id, now=NOW)


def test_a_session_that_is_not_there_is_named_with_its_folder() -> None:
    with pytest.raises(ClawError, match=r"no session `s` in /home/sessions"):
        SessionStore(MemoryFiles(), "/home").load("s")


def test_the_list_begins_with_the_one_used_last() -> None:
    files = MemoryFiles()
    store = SessionStore(files, "/home")
    store.open("old", now=NOW).append(chain("first words", "more"), now=NOW)
    store.open("new", workspace="/w", now=NOW).append(chain("hello"), now=NOW + 60)
    files.write("/home/sessions/notes.txt", b"")
    new, old = store.list()
    assert (new.id, new.first_prompt, new.cwd, new.updated) == ("new", "hello", "/w", "2026-01-01T00:01:00.000Z")
    assert (old.id, old.prompts, old.entries, old.first_prompt) == ("old", 2, 2, "first words")
    assert store.ids() == ("new", "old")


@given(cut=st.integers(0, 400), junk=st.binary(max_size=20))
@settings(max_examples=150, deadline=None)
def test_a_file_cut_anywhere_opens_and_holds_a_beginning_of_the_session(cut: int, junk: bytes) -> None:
    files = MemoryFiles()
    opened(files).append(chain("one", "two", "three"), now=NOW)
    files.files[FILE] = files.files[FILE][:cut] + junk.replace(b"\n", b"")
    session = opened(files)
    assert texts(session) == ["one", "two", "three"][: len(texts(session))]
    session.append([MessageEntry(id="z", parent_id=None, message=user("next"))], now=NOW)
    assert texts(opened(files))[-1] == "next"
