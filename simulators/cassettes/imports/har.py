"""HAR 1.2, as browsers and proxies export it."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from simulators.cassettes.format import HOP_BY_HOP, Cassette, CassetteError, Exchange, Frame
from simulators.cassettes.imports._json import document, listed, seconds, table
from simulators.core.wire import Headers

ABOUT = "HAR files, as browsers and proxies export them"
_WAITS = ("blocked", "dns", "connect", "send", "wait")  # timings (ms) before the first byte; -1: does not apply


def read(data: bytes, *, source: str) -> Cassette:
    """Every HTTP entry in the order of its start; bodies that the exporter left out are empty."""
    entries = table(table(document(data, source)).get("log")).get("entries")
    if not isinstance(entries, list):
        raise CassetteError(f"{source}: log.entries: a list is needed; a HAR file has one")
    found = [
        one for i, entry in enumerate(entries) if (one := _entry(entry, f"{source}: log.entries[{i}]")) is not None
    ]
    return Cassette(exchanges=sorted(found, key=lambda one: one.at or 0.0), source=source)


def _entry(entry: Any, at: str) -> Exchange | None:
    request, response = table(table(entry).get("request")), table(table(entry).get("response"))
    method, url = request.get("method"), request.get("url")
    if not isinstance(method, str) or not isinstance(url, str):
        raise CassetteError(f"{at}.request: `method` and `url` are needed")
    status = response.get("status")
    if urlsplit(url).scheme not in ("http", "https", "ws", "wss") or not isinstance(status, int) or status < 100:
        return None  # blocked by the browser, or a page of its own
    sent = table(request.get("postData"))
    body = _bytes(table(response.get("content")), f"{at}.response.content")
    headers = _headers(response.get("headers"))
    frames: tuple[Frame, ...] | None = tuple(_messages(entry))
    if not frames:
        frames = _timed(entry, len(body))
    return Exchange(
        method=method.upper(),
        uri=url,
        request_headers=_headers(request.get("headers")),
        request_body=_bytes(sent, f"{at}.request.postData"),
        status=status,
        message=str(response.get("statusText") or ""),
        headers=tuple((n, v) for n, v in headers if n.lower() not in ("content-encoding", "content-length")),
        body=body,
        frames=frames,
        at=seconds(entry.get("startedDateTime")),
    )


def _headers(raw: Any) -> Headers:
    pairs = [(str(one.get("name")), str(one.get("value", ""))) for one in listed(raw) if isinstance(one, dict)]
    return tuple(pair for pair in pairs if not pair[0].startswith(":") and pair[0].lower() not in HOP_BY_HOP)


def _bytes(content: Mapping[str, Any], at: str) -> bytes:
    text = content.get("text")
    if not isinstance(text, str):
        return b""
    if content.get("encoding") != "base64":
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        raise CassetteError(f"{at}.text: not the base64 that `encoding` says") from None


def _timed(entry: Mapping[str, Any], size: int) -> tuple[Frame, ...] | None:
    whole, timings = entry.get("time"), table(entry.get("timings"))
    if not isinstance(whole, int | float):
        return None
    head = sum(t for name in _WAITS if isinstance(t := timings.get(name), int | float) and t > 0) / 1000
    body = (Frame(at=max(head, whole / 1000), size=size),) if size else ()
    return (Frame(at=head, head=True), *body)


def _messages(entry: Mapping[str, Any]) -> Iterator[Frame]:
    """Messages of a WebSocket, where Chrome put them."""
    messages = [one for one in listed(entry.get("_webSocketMessages")) if isinstance(one, dict)]
    began = seconds(entry.get("startedDateTime")) or 0.0
    for one in messages:
        data: Any = one.get("data", "")
        if one.get("opcode") == 2:
            data = base64.b64decode(data)
        at = max(0.0, float(one.get("time") or began) - began)
        yield Frame(at=at, sent=data) if one.get("type") == "send" else Frame(at=at, received=data)
