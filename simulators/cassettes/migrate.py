"""Brings cassettes of other recorders into the form that vcrpy reads: `parsed_body` becomes the body it stands for."""

from msgspec.structs import replace

from simulators.cassettes.format import Cassette, Exchange, is_packed
from simulators.cassettes.scrub import scrub
from simulators.cassettes.vcr import fixed_lengths


def migrated(cassette: Cassette) -> Cassette:
    """The cassette as it can be written: bodies that fit their headers, secrets scrubbed, its origin said.

    The reader has taken `parsed_body` for a body already; what is left are headers that speak of another one.
    """
    claw = {"origin": "recorded", "by": "claw cassette migrate", **cassette.claw}
    exchanges = [_fitting(exchange) for exchange in cassette.exchanges]
    return scrub(Cassette(exchanges=exchanges, claw=claw, extra=cassette.extra, source=cassette.source))


def _fitting(exchange: Exchange) -> Exchange:
    """Without the encodings that the bodies do not have (recorders store them opened), lengths right."""
    request = tuple(
        (name, value)
        for name, value in exchange.request_headers
        if name.lower() != "content-encoding" or is_packed(exchange.request_body, value)
    )
    response = tuple(
        (name, value)
        for name, value in exchange.headers
        if name.lower() != "content-encoding" or is_packed(exchange.body, value)
    )
    return fixed_lengths(replace(exchange, request_headers=request, headers=response))
