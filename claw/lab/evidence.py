"""What a play of a scenario left behind. Checks and invariants read this and nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from claw.lab.schema import Scenario

Exchange = Mapping[str, Any]  # one journal entry, as the simulators write it
Status = Literal["pass", "fail", "not_checked"]
Which = int | Literal["last", "all"]
GENERATION_PATHS = ("/messages", "/responses", "/chat/completions", ":generateContent", ":streamGenerateContent")


class Problem(msgspec.Struct, frozen=True):
    """Why a run failed: a FailureKind word, and what was said."""

    kind: str
    message: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a runtime made of one prompt.

    `report` is what it tells its user (the `--json` object of claw; None where a runtime reports nothing), `events`
    what it streamed, `exit` its exit code. `killed` is true when the scenario ended the process in the middle.
    """

    reply: str | None = None
    stop: str | None = None
    failure: Problem | None = None
    report: Mapping[str, Any] | None = None
    events: Sequence[Mapping[str, Any]] | None = None
    exit: int | None = None
    killed: bool = False


class Spawn(msgspec.Struct, kw_only=True):
    """A process that a runtime started: `code` is None while it runs; `cli` is true for a CLI that it drives."""

    argv: tuple[str, ...]
    at: float
    cli: bool = False
    code: int | None = None


class Played(msgspec.Struct, kw_only=True):
    """One step as it went. `n` counts the items of `steps` from 1; times are Unix seconds of the play's clock."""

    n: int
    kind: str
    prompt: str | None = None
    outcome: Outcome | None = None
    exchanges: list[Exchange] = []
    spawns: list[Spawn] = []
    began: float = 0.0
    ended: float = 0.0


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a runtime's session file, in file order."""

    id: str
    parent: str | None
    type: str
    role: str | None = None
    text: str = ""
    tool_calls: tuple[str, ...] = ()  # ids
    tool_results: tuple[str, ...] = ()  # ids of the calls that they answer


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
    """The session on disk after the last step. `problem` says why it does not open."""

    entries: Sequence[SessionEntry] = ()
    problem: str | None = None


class Evidence(msgspec.Struct, kw_only=True):
    """Everything that one play left. `session` is None for a runtime whose sessions we cannot read, `children` for
    one whose processes we do not see."""

    scenario: Scenario
    runtime: str
    capabilities: frozenset[str] = frozenset()
    steps: list[Played] = []
    exchanges: list[Exchange] = []
    unused: list[str] = []  # scripted, never asked for
    session: SessionState | None = None
    children: list[Spawn] | None = None  # still running after the end
    files: Mapping[str, bytes] = {}  # those of the workspace that a check asks about and that are there
    spent: str | None = None  # which budget ran out, and where
    virtual_s: float = 0.0

    def select(self, which: Which | None) -> list[Played]:
        """The steps that a check looks at: one by its number, the last prompt, or all."""
        if which is None or which == "all":
            return list(self.steps)
        if which == "last":
            return [step for step in self.steps if step.kind == "prompt"][-1:]
        return [step for step in self.steps if step.n == which]

    def prompts(self, which: Which | None) -> list[Played]:
        """The selected steps in which something was asked and answered (or refused); killed ones left out."""
        return [step for step in self.select(which) if step.outcome and not step.outcome.killed]

    def calls(self, which: Which | None, kind: str | None = None) -> list[Exchange]:
        """Requests for an answer in the selected steps: token counting and model lists left out."""
        found = [exchange for step in self.select(which) for exchange in step.exchanges if is_call(exchange)]
        return [exchange for exchange in found if kind in (None, exchange.get("kind"))]


def is_call(exchange: Exchange) -> bool:
    return str(exchange.get("path", "")).endswith(GENERATION_PATHS)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a check saw. `empty` marks a failure for want of anything to look at."""

    name: str = ""
    status: Status
    saw: str
    empty: bool = False


def found(ok: bool, saw: str) -> Finding:
    """Looked, and it holds or does not."""
    return Finding(status="pass" if ok else "fail", saw=saw)


def nothing(why: str) -> Finding:
    """There was nothing to look at, so nothing was proved: the check fails."""
    return Finding(status="fail", saw=f"looked at nothing: {why}", empty=True)


def unknown(why: str) -> Finding:
    """This runtime cannot be asked; never counts as passed."""
    return Finding(status="not_checked", saw=why)


def join(parts: Sequence[Finding]) -> Finding:
    """One finding of several: fails if one does, is unknown if none could be made."""
    failed = [part for part in parts if part.status == "fail"]
    known = failed or [part for part in parts if part.status == "pass"]
    if not known:
        return parts[0] if parts else nothing("no condition was given")
    return Finding(
        status=known[0].status,
        saw="; ".join(part.saw for part in known),
        empty=all(p.empty for p in failed) and bool(failed),
    )


def short(text: object, limit: int = 90) -> str:
    """A value for a report: one line, at most `limit` characters."""
    flat = " ".join(str(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
