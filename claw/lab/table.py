"""The report that people read: one line a scenario and runtime, known-bads included, and the reasons of what failed."""

from collections.abc import Iterable, Sequence

from claw.lab.results import Result, summary
from claw.lab.runner import describe

MARKS = {"pass": "ok", "fail": "FAIL", "skip": "skip", "error": "ERROR"}
COLOURS = {"pass": "32", "fail": "31;1", "skip": "2", "error": "31;1"}


class Table:
    """Formats results line by line. `width` is the longest scenario name; colours only for a terminal."""

    def __init__(self, names: Iterable[str], runtimes: Iterable[str], *, colour: bool = False) -> None:
        self._name = max([8, *map(len, names)])
        self._runtime = max([7, *map(len, runtimes)])
        self._colour = colour

    def head(self) -> str:
        row = f"{'scenario':<{self._name}}  {'runtime':<{self._runtime}}  {'result':<6}  {'calls':>5}  {'virtual':>9}  "
        return self._paint(row + "known-bad", "1")

    def line(self, result: Result) -> str:
        """One result: how it came out, how many calls, how much time passed, and how its known-bads fared."""
        name = f"{result.scenario} [{result.variant}]" if result.variant else result.scenario
        mark = self._paint(f"{MARKS[result.status]:<6}", COLOURS[result.status])
        row = f"{name:<{self._name}}  {result.runtime:<{self._runtime}}  {mark}  "
        if result.status in ("skip", "error"):
            return f"{row}{'':>5}  {'':>9}  {self._paint(result.why or '', '2')}".rstrip()
        return f"{row}{result.requests:>5}  {_span(result.virtual_s):>9}  {self._bads(result)}".rstrip()

    def _bads(self, result: Result) -> str:
        words = []
        for bad in result.known_bad:
            if bad.failed_as_expected is None:
                words.append(self._paint(f"{describe(bad.change)} (skipped)", "2"))
            elif bad.failed_as_expected:
                words.append(f"{describe(bad.change)} → fails {bad.by}")
            else:
                words.append(self._paint(f"{describe(bad.change)} → NOT CAUGHT", COLOURS["fail"]))
        return "; ".join(words)

    def reasons(self, result: Result) -> str:
        """Why a result failed, one line a check; empty for any other."""
        if result.status == "error":
            return f"  {result.why}\n"
        if result.status != "fail":
            return ""
        lines = [f"  {check.name}: {check.saw}" for check in result.failed_checks]
        lines += [
            f"  known-bad {describe(bad.change)}: {bad.by}"
            for bad in result.known_bad
            if bad.failed_as_expected is False
        ]
        return "".join(f"{line}\n" for line in lines)

    def foot(self, results: Sequence[Result], wall_s: float) -> str:
        counts = summary(results)
        bads = [bad for result in results for bad in result.known_bad if bad.failed_as_expected is not None]
        caught = sum(bad.failed_as_expected is True for bad in bads)
        words = [f"{counts['pass']} passed", f"{counts['fail']} failed"]
        words += [f"{counts[key]} {said}" for key, said in (("skip", "skipped"), ("error", "broken")) if counts[key]]
        words.append(f"{caught} of {len(bads)} known-bads failed as they should")
        return f"{', '.join(words)} in {wall_s:.1f} s"

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
