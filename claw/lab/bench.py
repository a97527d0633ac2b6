"""Benchmarks: the same workload played by many runtimes side by side, in virtual time.

A workload is a scenario without expectations: `about`, `given`, `provider`, `cli`, `steps`. Nothing is measured in
seconds; what is compared are tokens and money, which are the same on every machine.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

import claw
from claw.lab.cache_lens import Break, look
from claw.lab.evidence import Evidence
from claw.lab.loader import plans_of
from claw.lab.runner import play
from claw.lab.runtimes import Kind
from claw.lab.schema import Scenario
from simulators.core.document import Document, DocumentError, load_yaml, nearest

ALWAYS = {"requests": {"max": 1_000_000}}  # a scenario must expect something; a workload is measured, not checked


class CacheResult(msgspec.Struct, frozen=True, kw_only=True):
    """One runtime's record over one workload. Ratios are None where there was nothing to read; USD."""

    runtime: str
    workload: str
    requests: int
    hit_ratio: float | None
    hit_of_ideal: float | None
    cost_usd: float
    ideal_cost_usd: float
    breaks: tuple[Break, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A result, and what went wrong while it was made: prompts that failed, turns that nobody asked for."""

    result: CacheResult
    problems: tuple[str, ...] = ()


def workload_folder() -> Path:
    """Where the workloads are that come with claw. Raises `FileNotFoundError` when an installation lacks them."""
    package = Path(claw.__file__).parent
    for place in (package / "library" / "workloads", package.parent / "benchmarks" / "workloads"):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"the workloads are missing: neither in {package} nor beside it")


def workloads(names: Sequence[str]) -> dict[str, Scenario]:
    """The named workloads (names of the library, or files); all of the library if none is named.

    Raises `DocumentError` with file, line and the nearest right word.
    """
    shipped = {path.stem: path for path in sorted(workload_folder().glob("*.yaml"))}
    found: dict[str, Scenario] = {}
    for name in names or shipped:
        path = shipped.get(name, Path(name))
        if not path.is_file():
            raise DocumentError(
                name, "", None, f"there is no such workload; there are {', '.join(shipped)}", nearest(name, shipped)
            )
        found[path.stem] = read_workload(path)
    return found


def read_workload(path: Path) -> Scenario:
    """A workload file as the scenario that it is."""
    document = load_yaml(path.read_bytes(), source=str(path))
    if not isinstance(document.data, Mapping):
        raise document.error("", "a workload is a mapping: about, given, provider, cli, steps")
    for key in ("area", "expect", "known_bad", "matrix", "ignore"):
        if key in document.data:
            raise document.error(key, f"a workload has no `{key}`; it is played and measured, not checked")
    whole = {**document.data, "area": "cache", "expect": [ALWAYS]}
    return plans_of(Document(whole, source=document.source, text=document.text), path)[0].scenario


def cache(kinds: Sequence[Kind], named: Mapping[str, Scenario], *, seed: int = 0) -> Iterator[Row]:
    """Play every workload with every runtime. Raises `claw.lab.runner.Failed` when the lab itself breaks."""
    for name, scenario in named.items():
        for kind in kinds:
            runtime = kind.make()
            if why := runtime.accepts(scenario):
                empty = CacheResult(
                    runtime=kind.name, workload=name, requests=0, hit_ratio=None, hit_of_ideal=None, cost_usd=0.0,
                    ideal_cost_usd=0.0, breaks=(),
                )  # fmt: skip
                yield Row(result=empty, problems=(why,))
                continue
            evidence = play(scenario, runtime, seed=seed)
            yield Row(result=cache_result(kind.name, name, evidence), problems=tuple(_problems(evidence)))


def cache_result(runtime: str, workload: str, evidence: Evidence) -> CacheResult:
    lens = look(evidence.exchanges)
    return CacheResult(
        runtime=runtime,
        workload=workload,
        requests=lens.requests,
        hit_ratio=lens.hit_ratio,
        hit_of_ideal=lens.hit_of_ideal,
        cost_usd=lens.cost_usd,
        ideal_cost_usd=lens.ideal_cost_usd,
        breaks=lens.breaks,
    )


def _problems(evidence: Evidence) -> Iterator[str]:
    for played in evidence.steps:
        if played.outcome is not None and played.outcome.failure is not None:
            failure = played.outcome.failure
            yield f"step {played.n} failed ({failure.kind}): {' '.join(failure.message.split())[:160]}"
    if evidence.unused:
        yield f"the workload was not played to its end: {', '.join(evidence.unused)} never used"
    if evidence.spent:
        yield evidence.spent


def to_json(rows: Sequence[Row]) -> bytes:
    """{results: [{runtime, workload, requests, hit_ratio, hit_of_ideal, cost_usd, ideal_cost_usd, breaks}]}."""
    return msgspec.json.format(msgspec.json.encode({"results": [row.result for row in rows]}), indent=2) + b"\n"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Lines for people: a row a result, its breaks below it."""
    wide = max([len("runtime"), *(len(row.result.runtime) for row in rows)])
    long = max([len("workload"), *(len(row.result.workload) for row in rows)])
    yield f"{'workload':<{long}}  {'runtime':<{wide}}  requests  hit ratio  of ideal        cost       ideal  breaks"
    for row in rows:
        made = row.result
        yield (
            f"{made.workload:<{long}}  {made.runtime:<{wide}}  {made.requests:>8}  {_share(made.hit_ratio):>9}"
            f"  {_share(made.hit_of_ideal):>8}  ${made.cost_usd:>9.4f}  ${made.ideal_cost_usd:>9.4f}"
            f"  {len(made.breaks):>6}"
        )
        for found in made.breaks:
            price = f"{found.lost_tokens:,} tokens, ${found.cost_usd:.4f}"
            yield f"    request {found.n} at {found.at}: {found.why}; {price}"
        for problem in row.problems:
            yield f"    ! {problem}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
