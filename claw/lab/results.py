"""What a run of scenarios came to: the shape of `claw scenario run --json`, and what it means for the exit code."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from claw.lab.evidence import Finding, Status
from claw.lab.schema import KnownBad

ResultStatus = Literal["pass", "fail", "skip", "error"]


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """One check or invariant: what it saw."""

    name: str
    status: Status
    saw: str


class KnownBadResult(msgspec.Struct, frozen=True, kw_only=True):
    """`failed_as_expected` is None when it could not be run with this runtime; `by` is the check at which it failed
    (or, if not as expected, what happened instead)."""

    change: KnownBad
    failed_as_expected: bool | None
    by: str | None

    def to_dict(self) -> dict[str, Any]:
        said = {"with": self.change.patch} if self.change.patch is not None else {"mutate": self.change.mutate}
        return said | {"failed_as_expected": self.failed_as_expected, "by": self.by}


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario, one runtime, one variant. `wall_s` is the only figure that differs between two runs."""

    scenario: str
    area: str
    runtime: str
    variant: str = ""
    status: ResultStatus
    why: str | None = None
    checks: tuple[CheckResult, ...] = ()
    known_bad: tuple[KnownBadResult, ...] = ()
    requests: int = 0
    virtual_s: float = 0.0
    wall_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        data["checks"] = [msgspec.to_builtins(check) for check in self.checks]
        data["known_bad"] = [bad.to_dict() for bad in self.known_bad]
        return data

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if check.status == "fail")


def checked(findings: Sequence[Finding]) -> tuple[CheckResult, ...]:
    return tuple(CheckResult(name=seen.name, status=seen.status, saw=seen.saw) for seen in findings)


def summary(results: Sequence[Result]) -> dict[str, int]:
    """Counts of results by status; known-bads are not counted."""
    return {status: sum(r.status == status for r in results) for status in ("pass", "fail", "skip", "error")}


def to_json(results: Sequence[Result]) -> bytes:
    """The object of `--json`, indented, with a newline."""
    data: Mapping[str, Any] = {"results": [result.to_dict() for result in results], "summary": summary(results)}
    return msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n"


def exit_code(results: Sequence[Result]) -> int:
    """0 all as expected, 1 something failed, 2 nothing was checked."""
    counts = summary(results)
    if counts["fail"] or counts["error"]:
        return 1
    return 0 if counts["pass"] else 2
