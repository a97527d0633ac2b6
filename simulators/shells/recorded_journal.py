"""The journal that a cassette's requests and answers make: what a simulator would have written, had it been asked.

So whatever reads journals (verdict, cache lens, scenarios) reads recordings too. Tokens are what the recording says,
the cache's part is worked out. Times are the recorded ones; where nobody noted them, requests are a second apart, and
after a `retry-after` that much later.
"""

from typing import Any

from msgspec.structs import replace

from simulators.cassettes.format import Cassette, Exchange
from simulators.core.account_document import AccountDocument
from simulators.core.simulator import Engine
from simulators.core.wire import Abort, Chunk, Ended, Request
from simulators.responders.cassette import Recordings
from simulators.shells.simulator import parts

_EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def request_of(exchange: Exchange) -> Request:
    """The request of a recording as a simulator reads it."""
    return Request(
        method=exchange.method,
        path=exchange.path,
        query=exchange.query,
        headers=tuple((name.lower(), value) for name, value in exchange.request_headers),
        body=exchange.plain_request(),
    )


def journal_of(cassette: Cassette) -> list[dict[str, Any]]:
    """The exchanges of a cassette as a journal has them, numbered from 1."""
    document = AccountDocument(source=cassette.source, responder="cassette", cassette=cassette.source, unused="allow")
    engine = Engine(replace(parts(), make_responder=lambda _: Recordings(cassette, scale=0.0)), strict_keys=True)
    account = engine.account("cassette")
    account.load(document)
    now = _EPOCH
    for exchange in cassette.exchanges:
        now = exchange.at if exchange.at is not None else now
        request = request_of(exchange)
        answer = engine.handle(replace(request, path=f"/@cassette{request.path}"), now)
        why: Ended = "complete"
        for event in answer:
            if isinstance(event, Abort):
                why = "cut"
        if any(frame.gone for frame in exchange.frames or ()):
            why = "client_gone"
        answer.close(now + (exchange.frames[-1].at if exchange.frames else 0.0), why)
        now += 1.0 + _asked_to_wait(exchange)
    made = account.journal.to_dict()["exchanges"]
    assert isinstance(made, list)
    return made


def _asked_to_wait(exchange: Exchange) -> float:
    try:
        return max(0.0, float(exchange.header("retry-after") or 0))
    except ValueError:
        return 0.0


def replayed_otherwise(cassette: Cassette) -> list[tuple[int, str]]:
    """(number, why) of each exchange that its own request does not bring back byte for byte."""
    recordings = Recordings(cassette, scale=0.0)
    found = []
    for number, exchange in enumerate(cassette.exchanges):
        played = recordings.replay(request_of(exchange))
        if played is None:
            found.append((number, "its own request does not find it"))
            continue
        body = b"".join(event.data for event in played.timed if isinstance(event, Chunk))
        if (played.head.status, body) != (exchange.status, exchange.body):
            found.append((number, "its request brings another answer"))
    return found
