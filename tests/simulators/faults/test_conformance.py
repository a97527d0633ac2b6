"""Every module of the folder is a fault; these checks run on a new one without being told."""

import typing
from pathlib import Path

import msgspec
import pytest

import simulators.faults
from simulators.core.fault import FaultKind
from simulators.core.turn import Failure
from simulators.core.wire import Abort, Chunk, Head, Wait
from tests.simulators.faults.trouble import FAULTS, admitted, answer, body, struck

FUNCTIONS = {"admission": "admit", "turn": "turn", "wire": "frames"}
DESIGNED = {
    "overloaded",
    "rate_limited",
    "server_error",
    "reset",
    "hang",
    "redirect",
    "html",
    "empty",
    "informational",
    "header_flood",
    "partial_tool_json",
    "invalid_tool_json",
    "duplicate_tool_ids",
    "empty_tool_name",
    "usage_missing",
    "usage_zero",
    "usage_doubled",
    "wrong_model",
    "slow_first_byte",
    "drip",
    "stall",
    "truncate",
    "cut",
    "error_event",
    "malformed_json",
    "malformed_sse",
    "split_utf8",
    "u2028",
    "crlf",
    "comments",
    "duplicate_event",
    "reordered_deltas",
    "missing_start",
    "missing_end",
    "unknown_event",
    "wrong_content_type",
    "truncated_gzip",
    "large_event",
}
WIRE = [name for name, kind in FAULTS.items() if kind.PHASE == "wire"]
ADMISSION = [name for name, kind in FAULTS.items() if kind.PHASE == "admission"]


def test_every_kind_that_documents_may_name_is_there() -> None:
    assert set(FAULTS) >= DESIGNED


def test_listing_the_folder_finds_every_module() -> None:
    files = {path.stem for path in Path(simulators.faults.__file__).parent.glob("[!_]*.py")}
    assert files == set(FAULTS)


@pytest.mark.parametrize("kind", FAULTS.values(), ids=FAULTS)
def test_a_fault_says_what_it_is(kind: FaultKind) -> None:
    assert kind.PHASE in FUNCTIONS
    defined = {name for name in FUNCTIONS.values() if callable(getattr(kind, name, None))}
    assert defined == {FUNCTIONS[kind.PHASE]}
    assert (kind.__doc__ or "").strip()
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"no_such_parameter": 1}, kind.Params)
    msgspec.convert({}, kind.Params)  # every parameter has a default
    assert all(typing.get_type_hints(kind.Params).values()) or not kind.Params.__struct_fields__


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "body"])
@pytest.mark.parametrize("kind", WIRE)
def test_a_wire_fault_keeps_an_answer_an_answer(kind: str, stream: bool) -> None:
    """One final head before any body, and nothing but wire events."""
    events = struck(kind, stream=stream)
    finals = [at for at, event in enumerate(events) if isinstance(event, Head) and event.status >= 200]
    assert len(finals) == 1
    assert not any(isinstance(event, Chunk) for event in events[: finals[0]])
    assert all(isinstance(event, Head | Chunk | Wait | Abort) for event in events)


@pytest.mark.parametrize("kind", WIRE)
def test_a_wire_fault_changes_a_stream(kind: str) -> None:
    assert struck(kind) != answer()


@pytest.mark.parametrize("kind", ADMISSION)
def test_an_admission_fault_answers(kind: str) -> None:
    outcome = admitted(kind)
    assert isinstance(outcome, Failure) or outcome
    if not isinstance(outcome, Failure):
        assert isinstance(outcome[0], Head | Wait | Abort)
        assert body(outcome) == b"" or isinstance(outcome[0], Head)
