"""Text holds a line separator that JSON allows and that careless line splitting breaks at."""

import re
from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import NoParams

KIND = "u2028"
PHASE: Phase = "wire"
# Where the dialects put text: `text`, `thinking`, chat `content`, Responses `delta`.
_TEXT = re.compile(rb'("(?:text|thinking|content|delta)":")(?!")')
_SEPARATED = rb"\g<1>" + "\u2028".encode()

Params = NoParams


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """U+2028 before the text of every event that has any."""
    for event in events:
        if isinstance(event, Chunk):
            yield Chunk(_TEXT.sub(_SEPARATED, event.data), event.event)
        else:
            yield event
