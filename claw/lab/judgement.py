"""What is told of a journal: how many calls, the verdict, the cache, the cost - as one object, and as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from claw.lab.cache_lens import Lens, describe, look
from claw.lab.evidence import is_call
from simulators.verdict import Finding, judge

SHOWN_CALLS = 20  # lines of calls; more are counted


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """`exit` is the code of the command that was run, None for a saved journal; `calls` the requests for an answer."""

    exit: int | None
    calls: int
    verdict: tuple[Finding, ...]
    cache: Lens
    cost_usd: float

    @property
    def bad(self) -> list[Finding]:
        return [finding for finding in self.verdict if finding.status == "bad"]

    def to_json(self) -> bytes:
        """{exit, calls, verdict: [{check, status, exchanges, why}], cache, cost_usd}, indented, with a newline."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def judge_all(exchanges: Sequence[Mapping[str, Any]], *, exit: int | None = None) -> Judgement:
    """Judge a journal. `exit` is what the client itself says of its run."""
    lens = look(exchanges)
    return Judgement(
        exit=exit,
        calls=sum(1 for raw in exchanges if is_call(raw)),
        verdict=tuple(judge(exchanges, report=None if exit is None else {"exit": exit})),
        cache=lens,
        cost_usd=lens.cost_usd,
    )


def text(judgement: Judgement, exchanges: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines for people: calls, what is bad, what was looked at, cache, cost."""
    calls = [raw for raw in exchanges if is_call(raw)]
    for raw in calls[:SHOWN_CALLS]:
        yield _call(raw)
    if len(calls) > SHOWN_CALLS:
        yield f"  … and {len(calls) - SHOWN_CALLS} more"
    for finding in judgement.bad:
        yield f"  BAD  {finding.check}: {finding.why}"
    fine = [finding.check for finding in judgement.verdict if finding.status == "ok"]
    unseen = sum(finding.status == "not_checked" for finding in judgement.verdict)
    yield f"verdict: {'bad' if judgement.bad else 'ok' if fine else 'nothing to judge'}" + (
        f" (ok: {', '.join(fine)}; {unseen} had nothing to look at)" if fine else ""
    )
    yield describe(judgement.cache)
    yield f"cost: ${judgement.cost_usd:.6f} for {judgement.calls} call{'' if judgement.calls == 1 else 's'}"


def _call(raw: Mapping[str, Any]) -> str:
    tokens = raw.get("tokens")
    size = f"{sum(v for k, v in tokens.items() if k != 'output'):,} → {tokens['output']:,} tokens" if tokens else ""
    ended = "" if raw.get("ended") in ("complete", None) else f", {raw['ended']}"
    faults = f", {'+'.join(raw['faults'])}" if raw.get("faults") else ""
    what = f"{raw.get('kind') or 'call'} {raw.get('model') or ''}"
    how = f"{raw.get('answered_by', '')}{faults}{ended}"
    return f"  {raw['n']:>4}  {raw.get('status') or '---'}  {what}  {how}  {size}".rstrip()


def annotations(judgement: Judgement) -> Iterator[str]:
    """Workflow commands of GitHub Actions, one for each bad finding."""
    for finding in judgement.bad:
        why = finding.why.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        yield f"::error title=claw: {finding.check}::{why}"
