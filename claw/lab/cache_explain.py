"""Where the prompt cache broke in something that was saved: a journal, or the requests alone.

A journal has the simulated cache's own account of every call: what it says is *exact*. Requests without answers are
sent to a simulator one after the other, at the times that they bear (a second apart where they bear none), and what
its cache says of them is *inferred*.
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from claw.core.errors import ClawError
from claw.lab.cache_lens import Lens, look
from claw.lab.journal_file import is_cassette, read_journal, read_records
from simulators import Simulator
from simulators.core.wire import Request

Certainty = Literal["exact", "inferred", "unknown"]
EPOCH = 1_767_225_600.0


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One break: request `n`, the block where the prompt stopped being the same, why, tokens and USD lost."""

    n: int
    at: str
    why: str
    lost_tokens: int
    cost_usd: float
    certainty: Certainty


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """`requests` counts those that the cache had a say in; `unknown` are the numbers of those that it had not."""

    requests: int
    hit_ratio: float | None
    hit_of_ideal: float | None
    cost_usd: float
    ideal_cost_usd: float
    breaks: tuple[Place, ...]
    unknown: tuple[int, ...]


def explain(data: bytes, *, source: str) -> Explained:
    """Read and explain. Raises `ClawError` with file and place for what is neither a journal nor requests."""
    if is_cassette(data):
        return _told(read_journal(data, source=source), "exact")
    records = read_records(data, source=source)
    bodies = [_body(record) for record in records]
    if records and all(body is not None for body in bodies):
        return _told(_replayed([(r.get("at"), b) for r, b in zip(records, bodies, strict=True) if b]), "inferred")
    return _told(read_journal(data, source=source), "exact")


def _body(record: Any) -> dict[str, Any] | None:
    """The request of a record that is one, or holds one beside `at` or other notes; None for a journal's exchange."""
    if not isinstance(record, dict) or "tokens" in record or "answered_by" in record:
        return None
    body = record.get("request", record.get("body", record))
    return body if isinstance(body, dict) and "model" in body and "messages" in body else None


def _replayed(asked: Sequence[tuple[Any, dict[str, Any]]]) -> list[dict[str, Any]]:
    simulator = Simulator(script={"responder": "echo"})
    now = EPOCH
    for at, body in asked:
        now = max(now + 1.0, float(at)) if isinstance(at, int | float) else now + 1.0
        request = Request(
            method="POST",
            path="/v1/messages",
            headers=(("x-api-key", "sk-explain"), ("anthropic-version", "2023-06-01")),
            body=msgspec.json.encode({**body, "stream": False}),
        )
        answer = simulator.engine.handle(request, now)
        for _ in answer:
            pass
        answer.close(now, "complete")
    exchanges: list[dict[str, Any]] = simulator.account("sk-explain").journal.to_dict()["exchanges"]
    return exchanges


def _told(exchanges: Sequence[dict[str, Any]], certainty: Certainty) -> Explained:
    lens: Lens = look(exchanges)
    places = [
        Place(n=b.n, at=b.at, why=b.why, lost_tokens=b.lost_tokens, cost_usd=b.cost_usd, certainty=certainty)
        for b in lens.breaks
    ]
    return Explained(
        requests=lens.requests,
        hit_ratio=lens.hit_ratio,
        hit_of_ideal=lens.hit_of_ideal,
        cost_usd=lens.cost_usd,
        ideal_cost_usd=lens.ideal_cost_usd,
        breaks=tuple(places),
        unknown=tuple(raw["n"] for raw in exchanges if not raw.get("tokens")),
    )


def require_something(explained: Explained, source: str) -> None:
    """Raises `ClawError` when no request could be looked at: an explanation of nothing is none."""
    if not explained.requests:
        raise ClawError(
            f"{source}: none of its {len(explained.unknown)} requests was answered, so the cache had no say"
        )
