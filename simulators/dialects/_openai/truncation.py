"""`truncation: auto`, and servers that cut what does not fit without a word: the oldest messages go first."""

import msgspec

from simulators.core.store import Desk
from simulators.core.turn import ModelCall


def fit(call: ModelCall, desk: Desk) -> ModelCall:
    """The call with as many of its latest messages as the window holds; instructions and tools stay."""
    info = call.private.model
    limit = info.features.get("max_input", info.context_window)
    blocks = call.blocks
    starts = [at for at, block in enumerate(blocks) if block.level == "messages" and block.opens_message]
    if not starts or sum(desk.count(blocks, info)) <= limit:
        return call
    lead = blocks[: starts[0]]
    low, high = 1, len(starts) - 1  # so many messages are dropped; the last one always stays
    while low < high:
        middle = (low + high) // 2
        if sum(desk.count((*lead, *blocks[starts[middle] :]), info)) <= limit:
            high = middle
        else:
            low = middle + 1
    kept = (*lead, *blocks[starts[min(low, len(starts) - 1)] :])
    return msgspec.structs.replace(call, blocks=kept)
