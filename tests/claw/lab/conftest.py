"""Helpers that stand for a play: evidence made by hand, scenarios from a few lines."""

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from claw.lab.evidence import Evidence, Outcome, Played
from claw.lab.loader import Plan, load_file
from claw.lab.schema import Scenario, Step

EVERYTHING = frozenset({"embedded", "cli", "tools", "streaming", "report"})


@pytest.fixture
def exchange() -> Callable[..., dict[str, Any]]:
    """One journal entry of a plain answered request; keywords change it."""

    def make(n: int = 1, **changed: Any) -> dict[str, Any]:
        request = {"model": "sim-m", "max_tokens": 100, "system": "Say BANANA."}
        request |= {"messages": [{"role": "user", "content": "hi"}]}
        tokens = {"input": 10, "cache_read": 80, "cache_write_5m": 5, "cache_write_1h": 0, "output": 3}
        made = {
            "n": n, "at": 1767225600.0 + n, "key": "sk-…", "dialect": "anthropic", "path": "/v1/messages",
            "model": "sim-m", "stream": True, "kind": "main", "request": request, "status": 200,
            "answered_by": f"turns[{n - 1}]", "usage": {}, "tokens": tokens, "headers": {"x-app": "cli"},
            "cache": {"ideal_read": 100, "breakpoints": [], "miss": None}, "faults": [], "frames": 9,
            "ended": "complete", "cost_usd": 0.01, "account": "main",
        }  # fmt: skip
        return made | changed

    return make


@pytest.fixture
def evidence() -> Callable[..., Evidence]:
    """Evidence of one answered prompt; `outcome` and `exchanges` are those of its step."""

    def make(
        *,
        outcome: Outcome | None = None,
        exchanges: Sequence[dict[str, Any]] = (),
        spawns: Sequence[Any] = (),
        **changed: Any,
    ) -> Evidence:
        report = {"usage": {"context_tokens": 95}, "tool_calls": [], "attempts": []}
        played = Played(
            n=1,
            kind="prompt",
            prompt="What is the capital of Germany?",
            outcome=outcome or Outcome(reply="BANANA", stop="end_turn", exit=0, report=report, events=[]),
            exchanges=list(exchanges),
            spawns=list(spawns),
        )
        scenario = Scenario(about="", area="cache", steps=(Step(prompt="x"),), expect=({"stop": "end_turn"},))
        fields: dict[str, Any] = {
            "scenario": scenario, "runtime": "stub", "capabilities": EVERYTHING, "steps": [played],
            "exchanges": list(exchanges), "children": [],
        }  # fmt: skip
        return Evidence(**fields | changed)

    return make


@pytest.fixture
def scenario_file(tmp_path: Path) -> Callable[[str], Path]:
    """A scenario file with this text."""

    def write(text: str, name: str = "mine.yaml") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def plan(scenario_file: Callable[[str], Path]) -> Callable[[str], Plan]:
    """The only variant of a scenario with this text."""

    def read(text: str) -> Plan:
        (made,) = load_file(scenario_file(text))
        return made

    return read
