"""A recorded answer as events of the wire: as it came, with its waits and its break, or event by event."""

from collections.abc import Iterator

from simulators.cassettes import sse
from simulators.cassettes.answers import said
from simulators.cassettes.format import Exchange
from simulators.core.replaying import Replayed
from simulators.core.wire import Abort, Chunk, Head, Wait, WireEvent


def played(exchange: Exchange, *, scale: float = 1.0) -> Replayed:
    """The answer of an exchange; its own waits are multiplied by `scale` (0: none)."""
    answer = said(exchange) if exchange.status == 200 else None
    stream = sse.is_stream(exchange.plain_body(), exchange.header("content-type"))
    pieces = list(_pieces(exchange, stream))
    lead, timed = 0.0, pieces
    if exchange.frames is not None:
        lead, timed = _timed(exchange, scale)
    return Replayed(
        head=Head(exchange.status, exchange.wire_headers()),
        timed=timed,
        pieces=pieces,
        stream=stream,
        usage=answer.usage if answer else None,
        tokens=answer.tokens if answer else None,
        turn=answer.turn if answer else None,
        lead=lead,
    )


def _pieces(exchange: Exchange, stream: bool) -> Iterator[WireEvent]:
    """Events of a stream one by one, any other body (a compressed one too) whole; then the break."""
    if stream and exchange.plain_body() == exchange.body:
        for event in sse.events(exchange.body):
            yield Chunk(event.data, event.name)
    elif exchange.body:
        yield Chunk(exchange.body)
    yield from _broken(exchange)


def _broken(exchange: Exchange) -> Iterator[WireEvent]:
    how = exchange.cut
    if how is None and any(frame.gone for frame in exchange.frames or ()):
        how = "fin"  # the client left: nobody knows what would have come
    if how is not None:
        yield Abort(how)


def _timed(exchange: Exchange, scale: float) -> tuple[float, list[WireEvent]]:
    """(seconds before the head, what follows it): the frames as they were measured."""
    lead, made = 0.0, list[WireEvent]()
    now, at = 0.0, 0
    for frame in exchange.frames or ():
        wait, now = max(0.0, frame.at - now) * scale, max(now, frame.at)
        if frame.head:
            lead = wait
            continue
        if wait:
            made.append(Wait(wait))
        if frame.size:
            made.append(Chunk(exchange.body[at : at + frame.size], _name(exchange.body, at)))
            at += frame.size
    if at < len(exchange.body):
        made.append(Chunk(exchange.body[at:]))  # the frames of a file that was edited by hand
    made += _broken(exchange)
    return lead, made


def _name(body: bytes, at: int) -> str:
    """The name of the event that begins here."""
    if not body.startswith(b"event:", at):
        return ""
    return body[at + 6 : at + 70].split(b"\n", 1)[0].strip().decode("utf-8", "replace")
