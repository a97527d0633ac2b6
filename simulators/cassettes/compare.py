"""What is in a cassette, whether it is sound, and how two differ: values for people and scripts."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

import msgspec

from simulators.cassettes import match, sse, vcr
from simulators.cassettes.answers import said
from simulators.cassettes.format import Cassette, Exchange, header, is_packed
from simulators.cassettes.scrub import scrub

_DIFFERENCES = 10  # that are told of one exchange


def summary(cassette: Cassette) -> dict[str, Any]:
    """{file, origin, claw, exchanges: [{n, method, uri, model, status, stream, request_bytes, bytes, frames, seconds,
    ended, usage}]}."""
    return {
        "file": cassette.source,
        "origin": cassette.origin,
        "claw": cassette.claw,
        "exchanges": [_row(n, exchange) for n, exchange in enumerate(cassette.exchanges)],
    }


def _row(n: int, exchange: Exchange) -> dict[str, Any]:
    asked: Any = match.normalised(exchange.request_body, exchange.request_headers)
    frames = exchange.frames
    ended = exchange.cut or ("client_gone" if any(frame.gone for frame in frames or ()) else "complete")
    return {
        "n": n,
        "method": exchange.method,
        "uri": exchange.uri,
        "model": asked.get("model") if isinstance(asked, Mapping) else None,
        "status": exchange.status,
        "stream": sse.is_stream(exchange.plain_body(), exchange.header("content-type")),
        "request_bytes": len(exchange.request_body),
        "bytes": len(exchange.body),
        "frames": None if frames is None else len(frames),
        "seconds": frames[-1].at if frames else None,
        "ended": ended,
        "usage": said(exchange).usage if exchange.status == 200 else None,
    }


def problems(cassette: Cassette, data: bytes | None = None) -> list[dict[str, str]]:
    """[{where, what}]: why a cassette should not be used, or shared. `data` are the bytes of its file."""
    found = [{"where": where, "what": what} for where, what in _problems(cassette)]
    leaks = (scrub(cassette).claw.get("scrubbed") or [])[len(cassette.claw.get("scrubbed") or []) :]
    found += [{"where": leak["where"], "what": f"a secret: {leak['what']}; `claw cassette scrub`"} for leak in leaks]
    if data is not None and b"parsed_body" in data:
        found.append({"where": "interactions", "what": "vcrpy cannot read `parsed_body`; `claw cassette migrate` can"})
    return found


def _problems(cassette: Cassette) -> Iterator[tuple[str, str]]:
    if not cassette.exchanges:
        yield "interactions", "the cassette is empty"
    if cassette.origin is None:
        yield "claw.origin", "nobody says where it comes from: simulated, recorded or imported"
    elif cassette.origin not in ("simulated", "recorded", "imported"):
        yield "claw.origin", f"simulated, recorded or imported, not {cassette.origin!r}"
    for n, exchange in enumerate(cassette.exchanges):
        at = f"interactions[{n}]"
        yield from _frames(exchange, at)
        encoding = exchange.header("content-encoding")
        if encoding and exchange.body and not is_packed(exchange.body, encoding):
            yield f"{at}.response.headers.content-encoding", f"the body is no {encoding}"
        length = exchange.header("content-length")
        promised = length if exchange.method != "HEAD" and not _unfinished(exchange) else None
        if promised is not None and promised != str(len(exchange.body)):
            yield f"{at}.response.headers.content-length", f"{promised}, but the body has {len(exchange.body)} bytes"
        asked = header(exchange.request_headers, "content-type") or ""
        if asked.startswith("application/json") and exchange.request_body:
            try:
                msgspec.json.decode(exchange.plain_request())
            except (msgspec.DecodeError, RecursionError):
                yield f"{at}.request.body", "not the JSON that its header announces"


def _frames(exchange: Exchange, at: str) -> Iterator[tuple[str, str]]:
    if exchange.frames is None:
        return
    last, size = 0.0, 0
    for i, frame in enumerate(exchange.frames):
        if frame.at < last:
            yield f"{at}.frames[{i}].at", "earlier than the frame before"
        last, size = max(last, frame.at), size + frame.size
        if (frame.cut or frame.gone) and i + 1 < len(exchange.frames):
            yield f"{at}.frames[{i}]", "frames follow the end"
    if size != len(exchange.body):
        yield f"{at}.frames", f"their sizes make {size} bytes, the body has {len(exchange.body)}"


def _unfinished(exchange: Exchange) -> bool:
    return any(frame.cut or frame.gone for frame in exchange.frames or ())


def unstable(cassette: Cassette) -> bool:
    """Whether writing and reading it again would change it."""
    return vcr.parse(vcr.dump(cassette), source=cassette.source).exchanges != cassette.exchanges


def difference(left: Cassette, right: Cassette) -> list[dict[str, Any]]:
    """[{n, where, what}] for every place where two cassettes differ: request, status, answer. Headers and times do not
    count."""
    found: list[dict[str, Any]] = []
    for n, (a, b) in enumerate(zip_longest(left.exchanges, right.exchanges)):
        if a is None or b is None:
            only = right if a is None else left
            one = b if a is None else a
            assert one is not None
            found.append({"n": n, "where": "interactions", "what": f"only in {only.source}: {one.method} {one.uri}"})
            continue
        for where, was, now in (
            ("request.method", a.method, b.method),
            ("request.uri", a.uri, b.uri),
            ("response.status", a.status, b.status),
            ("ended", a.cut, b.cut),
        ):
            if was != now:
                found.append({"n": n, "where": where, "what": f"{was} → {now}"})
        for where, was, now in (("request.body", _asked(a), _asked(b)), ("response.body", _said(a), _said(b))):
            listed = list(match.differences(was, now))
            found += [{"n": n, "where": where, "what": text} for _, text in listed[:_DIFFERENCES]]
            if len(listed) > _DIFFERENCES:
                found.append({"n": n, "where": where, "what": f"and {len(listed) - _DIFFERENCES} more"})
    return found


def _asked(exchange: Exchange) -> Any:
    return match.normalised(exchange.request_body, exchange.request_headers)


def _said(exchange: Exchange) -> Any:
    body = exchange.plain_body()
    if sse.is_stream(body, exchange.header("content-type")):
        return [_payload(event) for event in sse.events(body)]
    return match.normalised(body, ())


def _payload(event: sse.Event) -> Any:
    tree = event.json()
    return event.data.decode("utf-8", "replace") if tree is None else tree
