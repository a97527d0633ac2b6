"""The lines of `--stream-json`."""

from typing import Any

from claw.core.stream import MessageEnd, MessageStart, PartDelta, PartEnd, PartStart
from claw.core.usage import Usage
from claw.runtime.watch import Watch
from claw.testing.fakes import LoopTime
from simulators.shells.virtual_time import run


def test_every_line_says_which_run_which_number_and_when() -> None:
    told: list[dict[str, Any]] = []

    async def story() -> None:
        watch = Watch(LoopTime(), "r", told.append)
        watch.stream(MessageStart("m1", "model"))
        watch.stream(PartStart(index=0, kind="text"))
        watch.stream(PartDelta(0, "hi"))
        watch.stream(PartEnd(index=0))
        watch.stream(PartStart(index=1, kind="tool_call", id="t", name="read"))
        watch.stream(MessageEnd("end_turn", Usage(input=3)))
        watch.emit("queued", {"ahead": 1})

    run(story())
    assert [line["seq"] for line in told] == [1, 2, 3, 4, 5, 6, 7]
    assert {line["run"] for line in told} == {"r"} and {line["at"] for line in told} == {1_767_225_600.0}
    rest = [{k: v for k, v in line.items() if k not in ("run", "seq", "at")} for line in told]
    assert rest[:5] == [
        {"type": "message_start", "id": "m1", "model": "model"},
        {"type": "part_start", "index": 0, "kind": "text"},
        {"type": "part_delta", "index": 0, "text": "hi"},
        {"type": "part_end", "index": 0},
        {"type": "part_start", "index": 1, "kind": "tool_call", "id": "t", "name": "read"},
    ]
    assert rest[5]["stop"] == "end_turn" and rest[5]["usage"]["input"] == 3


def test_nobody_watching_costs_nothing() -> None:
    watch = Watch(LoopTime(), "r", None)
    watch.stream(MessageStart("m1", "model"))
    watch.emit("queued", {})
