"""An answer that is given again and again, encoded once with its stamp left open."""

from collections.abc import Callable, Iterable

import msgspec

from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.core.wire import Chunk
from simulators.dialects.anthropic.encode import encode_json, encode_stream
from simulators.dialects.anthropic.usage import contained

_PLACE = "0OIl0OIl0OIl0OIl0OIl0"  # stands for an identifier, out of letters that none has; its last one is open


def prepare(call: ModelCall, turn: ModelTurn, tokens: Tokens) -> Callable[[Stamp], Iterable[Chunk]] | None:
    """A function from stamps to the pieces of this answer. None where more than the message's id depends on the stamp:
    identifiers of tool calls, signatures, containers."""
    if turn.thinking is not None or turn.tool_calls or contained(call.body):
        return None
    opened: dict[str, tuple[bytes, bytes] | None] = {}  # by the last letter of the id, which a stream's start shows
    rest = () if not call.stream else tuple(encode_stream(call, turn, tokens, _stamp("")))[1:]

    def first(stamp: Stamp) -> bytes:
        if call.stream:
            return next(encode_stream(call, turn, tokens, stamp)).data
        return encode_json(call, turn, tokens, stamp)

    def render(stamp: Stamp) -> Iterable[Chunk]:
        last = stamp.message_id[-1:]
        if last not in opened:
            place = f"{_PLACE}{last}"
            parts = first(msgspec.structs.replace(stamp, message_id=place)).split(place.encode())
            opened[last] = (parts[0], parts[1]) if len(parts) == 2 else None
        around = opened[last]
        data = first(stamp) if around is None else b"%b%b%b" % (around[0], stamp.message_id.encode(), around[1])
        return (Chunk(data, "message_start" if rest else ""), *rest)

    return render


def _stamp(message_id: str) -> Stamp:
    return Stamp(request_id="", message_id=message_id, now=0.0)
