"""Plays scenarios: one variant is one run of a virtual loop. given → steps → checks → invariants → known-bads."""

import asyncio
import json
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from claw.lab import checks, invariants
from claw.lab.evidence import Evidence, Finding, Outcome, Played
from claw.lab.loader import Plan
from claw.lab.results import KnownBadResult, Result, checked
from claw.lab.runtimes.base import Kind, Runtime
from claw.lab.schema import KnownBad, Scenario, Step
from claw.lab.stage import Stage, scratch_root, set_up
from simulators.shells import virtual_time


class Failed(Exception):
    """The play itself could not be made; the message says why."""


def run(plans: Sequence[Plan], kinds: Sequence[Kind], *, seed: int = 0, fail_fast: bool = False) -> Iterator[Result]:
    """Every plan with every runtime, known-bads included, one result each as soon as it is there."""
    for plan in plans:
        for kind in kinds:
            result = run_one(plan, kind, seed=seed)
            yield result
            if fail_fast and result.status in ("fail", "error"):
                return


def run_one(plan: Plan, kind: Kind, *, seed: int = 0) -> Result:
    """One variant of a scenario with one runtime."""
    began = time.perf_counter()
    unfit = misfit(plan.scenario, kind.make())
    if unfit:
        return _result(plan, kind, status="skip", why=unfit)
    try:
        evidence = play(plan.scenario, kind.make(), seed=seed)
    except Failed as error:
        return _result(plan, kind, status="error", why=str(error), wall_s=_since(began))
    findings = judge(plan, evidence)
    bads = tuple(
        known_bad(change, bad, kind, seed=seed)
        for change, bad in zip(plan.scenario.known_bad, plan.known_bad, strict=True)
    )
    status, why = outcome(findings, bads)
    return _result(
        plan,
        kind,
        status=status,
        why=why,
        checks=checked(findings),
        known_bad=bads,
        requests=len(evidence.exchanges),
        virtual_s=round(evidence.virtual_s, 3),
        wall_s=_since(began),
    )


def misfit(scenario: Scenario, runtime: Runtime) -> str | None:
    """Why this scenario is not for this runtime, or None."""
    missing = [need for need in scenario.needs if need not in runtime.capabilities]
    if missing:
        return f"{runtime.name} has no {', '.join(missing)}"
    return runtime.accepts(scenario)


def judge(plan: Plan, evidence: Evidence, *, only: str | None = None) -> list[Finding]:
    """Every check that the scenario asks for, then every invariant; or the check or invariant of one name."""
    seen = []
    for wanted in plan.expectations:
        if only in (None, wanted.check):
            finding = checks.load(wanted.check).look(wanted.params, evidence, wanted.step)
            seen.append(msgspec.structs.replace(finding, name=wanted.check))
    return seen + (invariants.look(evidence) if only is None or only in invariants.names() else [])


def outcome(findings: Sequence[Finding], bads: Sequence[KnownBadResult]) -> tuple[str, str | None]:
    """Status of a result and why it is not a pass."""
    failed = [seen for seen in findings if seen.status == "fail"]
    if failed:
        return "fail", "; ".join(f"{seen.name}: {seen.saw}" for seen in failed)
    if not any(seen.status == "pass" for seen in findings):
        return "skip", "nothing could be checked with this runtime"
    survived = [bad for bad in bads if bad.failed_as_expected is False]
    if survived:
        return "fail", "; ".join(f"known-bad {describe(bad.change)}: {bad.by}" for bad in survived)
    return "pass", None


def known_bad(change: KnownBad, plan: Plan, kind: Kind, *, seed: int) -> KnownBadResult:
    """Play a scenario with its known-bad change: it must fail at the named check, for something that was seen."""
    runtime = kind.make()
    if misfit(plan.scenario, runtime) or _without_effect(change, runtime):
        return KnownBadResult(change=change, failed_as_expected=None, by=None)
    try:
        evidence = play(plan.scenario, runtime, seed=seed, mutate=change.mutate)
    except Failed as error:
        return KnownBadResult(change=change, failed_as_expected=False, by=f"it broke instead: {error}")
    named = [seen for seen in judge(plan, evidence, only=change.fails) if seen.name == change.fails]
    if any(seen.status == "fail" and not seen.empty for seen in named):
        return KnownBadResult(change=change, failed_as_expected=True, by=change.fails)
    if named and all(seen.status == "not_checked" for seen in named):
        return KnownBadResult(change=change, failed_as_expected=None, by=None)
    others = ", ".join(dict.fromkeys(seen.name for seen in judge(plan, evidence) if seen.status == "fail"))
    empty = any(seen.empty for seen in named)
    said = f"{change.fails} looked at nothing" if empty else f"{change.fails} passed" if named else "no such check here"
    return KnownBadResult(change=change, failed_as_expected=False, by=said + (f"; failed: {others}" if others else ""))


def _without_effect(change: KnownBad, runtime: Runtime) -> bool:
    """Whether a patch says nothing but settings that change nothing on this runtime's path."""
    if change.patch is None or set(change.patch) != {"given"} or set(change.patch["given"]) != {"runtime"}:
        return False
    return set(change.patch["given"]["runtime"]) <= runtime.without_effect


def describe(change: KnownBad) -> str:
    """A known-bad in a few words, for reports: its innermost settings, or the mutation."""
    if change.mutate is not None:
        return change.mutate
    return ", ".join(_leaves(change.patch))


def _leaves(value: object, name: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, str(key))
    else:
        shown = "[…]" if isinstance(value, list) else value if isinstance(value, str) else json.dumps(value)
        yield f"{name}: {shown}"


def play(scenario: Scenario, runtime: Runtime, *, seed: int = 0, mutate: str | None = None) -> Evidence:
    """Play a scenario once, under virtual time if the runtime lives in it.

    Raises `Failed` when the runtime or the lab breaks.
    """
    with tempfile.TemporaryDirectory(prefix="claw-lab-", dir=scratch_root(), ignore_cleanup_errors=True) as folder:
        try:
            stage = set_up(scenario, Path(folder), seed=seed, mutate=mutate, real_time=runtime.real_time)
            drive = asyncio.run if runtime.real_time else virtual_time.run
            return drive(_Play(stage, runtime).go())
        except Exception as error:
            raise Failed(_where(error)) from error


class _Play:
    """One play: drives the runtime through the steps and gathers what is to be seen."""

    def __init__(self, stage: Stage, runtime: Runtime) -> None:
        self.stage, self.runtime, self.scenario = stage, runtime, stage.scenario
        self.evidence = Evidence(scenario=stage.scenario, runtime=runtime.name, capabilities=runtime.capabilities)

    async def go(self) -> Evidence:
        now = self.stage.provider.now
        began = now()
        try:
            await self._bounded()
            self.evidence.session = await self.runtime.session()
            self.evidence.files = self._files()
        finally:
            self.evidence.children = await self.runtime.close()
        evidence = self.evidence
        evidence.virtual_s = now() - began
        evidence.exchanges = self.stage.provider.exchanges()
        evidence.unused = self.stage.provider.unused()
        return evidence

    def _files(self) -> dict[str, bytes]:
        """The workspace files that `files` checks name, as they are at the end."""
        names = {name for item in self.scenario.expect for name in item.get("files", ())}
        read = {name: self.runtime.read_file(name) for name in sorted(names)}
        return {name: data for name, data in read.items() if data is not None}

    async def _bounded(self) -> None:
        """The steps, within the budget of calls and of virtual time."""
        budget = self.scenario.budget
        task = asyncio.create_task(self._steps(), name="play")

        def overrun() -> None:
            self.evidence.spent = f"more than {budget.calls} requests, in step {len(self.evidence.steps)}"
            task.cancel()

        self.stage.provider.on_overrun = overrun
        done, _ = await asyncio.wait([task], timeout=budget.seconds)
        if not done:
            self.evidence.spent = (
                f"not done after {budget.seconds:g} virtual seconds, in step {len(self.evidence.steps)}"
            )
            task.cancel()
            await asyncio.wait([task], timeout=60)
        if task.done() and not task.cancelled() and not self.evidence.spent:
            task.result()

    async def _steps(self) -> None:
        await self.runtime.start(self.stage)
        steps = self.scenario.steps
        for n, step in enumerate(steps, 1):
            if step.kind == "kill":
                continue  # it happened in the prompt before it
            following = steps[n] if n < len(steps) else None
            await self._step(n, step, following)
            if self.evidence.spent:
                return

    async def _step(self, n: int, step: Step, following: Step | None) -> None:
        provider = self.stage.provider
        played = Played(n=n, kind=step.kind, prompt=step.prompt, began=provider.now())
        self.evidence.steps.append(played)
        calls, spawned = len(provider), len(self.runtime.spawns() or ())
        try:
            played.outcome = await self._do(step, following)
        finally:
            played.ended = provider.now()
            played.exchanges = provider.exchanges(after=calls)
            played.spawns = (self.runtime.spawns() or [])[spawned:]

    async def _do(self, step: Step, following: Step | None) -> Outcome | None:
        if step.prompt is not None:
            return await self.runtime.prompt(step.prompt, kill=following.kill if following else None)
        if step.compact:
            return await self.runtime.compact()
        if step.restart:
            await self.runtime.restart()
        elif step.advance is not None:
            await self.runtime.advance(step.seconds)
        return None


def _result(plan: Plan, kind: Kind, **fields: object) -> Result:
    return msgspec.convert(
        {"scenario": plan.name, "area": plan.scenario.area, "runtime": kind.name, "variant": plan.variant} | fields,
        Result,
    )


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 4)


def _where(error: BaseException) -> str:
    """An unexpected exception in one line: what, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"


Progress = Callable[[Result], None]
