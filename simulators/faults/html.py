"""A proxy answers with a page for people where JSON was due."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, Head, WireEvent

_TITLES = {200: "Sign in", 403: "Forbidden", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Time-out"}

KIND = "html"
PHASE: Phase = "admission"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`status` of the page: 502 unless it is said; 200 is the nastier one."""

    status: int = 502


def admit(params: Params, context: FaultContext) -> Iterator[WireEvent]:
    """A whole HTML page."""
    title = _TITLES.get(params.status, "Error")
    shown = title if params.status == 200 else f"{params.status} {title}"
    page = (
        f"<html>\r\n<head><title>{shown}</title></head>\r\n<body>\r\n<center><h1>{shown}</h1></center>\r\n"
        "<hr><center>proxy</center>\r\n</body>\r\n</html>\r\n"
    )
    return iter((Head(params.status, (("content-type", "text/html"),)), Chunk(page.encode())))
