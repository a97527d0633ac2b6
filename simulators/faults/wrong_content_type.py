"""The answer is right and its content type is not."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Head, WireEvent

KIND = "wrong_content_type"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`content_type` that is sent."""

    content_type: str = "text/plain"


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events under another content type."""
    for event in events:
        if isinstance(event, Head):
            others = tuple(pair for pair in event.headers if pair[0] != "content-type")
            yield Head(event.status, (("content-type", params.content_type), *others))
        else:
            yield event
