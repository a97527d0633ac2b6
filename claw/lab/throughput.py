"""How fast the simulators answer, beside a bare uvicorn app that sends as much: ratios, never times alone.

Both servers are processes of their own and take turns in every round, so that what else the machine does meets both.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import msgspec

from claw.core.errors import ClawError
from claw.lab.load import Load, press

WORDS = 50
GAP_S = 0.05  # between two pieces of a slow stream
CLIENTS = (1, 32)


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """Medians of the rounds. `mode` is plain or stream; `ratio` is ours to the bare server's."""

    mode: str
    clients: int
    requests_per_s: float
    bare_requests_per_s: float
    ratio: float


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Slow streams at once: the gap between two pieces that 99 in 100 keep, in milliseconds; asked were `asked_ms`."""

    streams: int
    asked_ms: float
    p99_ms: float
    bare_p99_ms: float
    ratio: float


class Throughput(msgspec.Struct, frozen=True, kw_only=True):
    """`memory_mib` of the simulators' process, before the first request and after the last; None where unknown."""

    results: tuple[Rate, ...]
    slow_streams: Pace | None
    memory_mib: tuple[float | None, float | None]
    requests: int


def run(*, rounds: int = 3, seconds: float = 2.0, streams: int = 0, clients: Sequence[int] = CLIENTS) -> Throughput:
    """Measure. Raises `ClawError` when a server does not start or answers with an error."""
    answered = 0
    with _simulators("") as (ours, pid), _bare(0, WORDS) as (bare, _):
        idle = _resident(pid)
        rates = []
        for mode in ("plain", "stream"):
            for count in clients:
                pairs = []
                for _ in range(rounds):
                    mine = _press(ours, mode, clients=count, seconds=seconds)
                    answered += mine.requests
                    pairs.append((mine.per_s, _press(bare, mode, clients=count, seconds=seconds).per_s))
                mine_s, bare_s = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
                rates.append(
                    Rate(
                        mode=mode,
                        clients=count,
                        requests_per_s=round(mine_s, 1),
                        bare_requests_per_s=round(bare_s, 1),
                        ratio=round(mine_s / bare_s, 3),
                    )
                )
        after = _resident(pid)
    return Throughput(
        results=tuple(rates),
        slow_streams=_pace(streams, seconds) if streams else None,
        memory_mib=(idle, after),
        requests=answered,
    )


def _pace(streams: int, seconds: float) -> Pace:
    """Each server alone, as both would share the machine."""
    with _simulators(f"pacing: {{tokens_per_s: {1 / GAP_S:g}}}\n") as (ours, _):
        mine = _press(ours, "stream", clients=streams, seconds=seconds, gaps=True).gap(0.99)
    with _bare(GAP_S, WORDS) as (bare, _):
        plain = _press(bare, "stream", clients=streams, seconds=seconds, gaps=True).gap(0.99)
    return Pace(
        streams=streams,
        asked_ms=GAP_S * 1000,
        p99_ms=round(mine * 1000, 1),
        bare_p99_ms=round(plain * 1000, 1),
        ratio=round(mine / plain, 3) if plain else 0.0,
    )


def _press(url: str, mode: str, *, clients: int, seconds: float, gaps: bool = False) -> Load:
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 1024, "stream": mode == "stream"}
    body = json.dumps({**asked, "messages": [{"role": "user", "content": "hello load test"}]}).encode()
    load = asyncio.run(press(url, body, clients=clients, seconds=seconds, gaps=gaps))
    if load.failed:
        raise ClawError(f"{load.failed} requests to {url} failed under load")
    return load


@contextmanager
def _simulators(more: str) -> Iterator[tuple[str, int]]:
    with tempfile.TemporaryDirectory(prefix="claw-bench-") as folder:
        script = Path(folder, "account.yaml")
        words = " ".join(["word"] * WORDS)
        script.write_text(f"tokenizer: chars4\notherwise: repeat\nunused: allow\n{more}turns: [{{text: {words}}}]\n")
        with _serving("-m", "claw", "sim", "serve", "--script", str(script)) as served:
            yield served


@contextmanager
def _bare(gap_s: float, pieces: int) -> Iterator[tuple[str, int]]:
    with _serving("-m", "claw.lab.bare_server", str(gap_s), str(pieces)) as served:
        yield served


@contextmanager
def _serving(*args: str) -> Iterator[tuple[str, int]]:
    """URL and process of a server that says where it is on its first line."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("CLAW_SIM_")}
    process = subprocess.Popen([sys.executable, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    assert process.stdout is not None and process.stderr is not None
    try:
        line = process.stdout.readline()
        if not line:
            said = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
            raise ClawError(f"a server did not start: {said[-1] if said else 'it said nothing'}")
        yield json.loads(line)["url"], process.pid
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()
        process.stderr.close()


def _resident(pid: int) -> float | None:
    """MiB that a process has in memory; None where the system does not say it."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def to_json(found: Throughput) -> bytes:
    """{results: [{mode, clients, requests_per_s, bare_requests_per_s, ratio}], slow_streams, memory_mib, requests}."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def table(found: Throughput) -> Iterator[str]:
    """Lines for people."""
    yield "mode    clients  requests/s  bare uvicorn  ratio"
    for rate in found.results:
        yield (
            f"{rate.mode:<6}  {rate.clients:>7}  {rate.requests_per_s:>10,.0f}  {rate.bare_requests_per_s:>12,.0f}"
            f"  {rate.ratio:>5.2f}"
        )
    if (pace := found.slow_streams) is not None:
        yield (
            f"{pace.streams} streams of a piece every {pace.asked_ms:g} ms: p99 gap {pace.p99_ms:g} ms, "
            f"bare uvicorn {pace.bare_p99_ms:g} ms ({pace.ratio:.2f})"
        )
    idle, after = found.memory_mib
    if idle is not None and after is not None:
        yield f"memory {idle:.0f} MiB idle, {after:.0f} MiB after {found.requests:,} requests"
