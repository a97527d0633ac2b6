"""Small requests that came before: what reading them gave, and what was answered.

Reading depends on nothing but the request and the account's models, and an answer that was given to the same request
before differs in its stamp alone. Clients that retry, poll or are put under load send the same bytes again: what is
kept here spares the work, and what it gives is exactly what working again would give. Two generations bound the memory:
when the young one is full it becomes the old one, and what is still asked for moves over.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.core.wire import Chunk, Request

SMALL = 16 * 1024  # bytes of a body; longer ones are not remembered
GENERATION = 128  # requests

Render = Callable[[Stamp], Iterable[Chunk]]  # the pieces of an answer whose stamp was left open


class Said(msgspec.Struct, kw_only=True):
    """How a turn ends for a call, and what it costs. `cost_usd` and `usage` (the vendor's) are None until asked for;
    `render` until the same was said twice, and where the stamp stands in more than a place or two."""

    turn: ModelTurn
    tokens: Tokens
    usage: Mapping[str, Any] | None = None
    cost_usd: float | None = None
    render: Render | None = None


class Known(msgspec.Struct):
    """A call that was read, and what was said to it last: to which turn, at which prompt figures, how often since."""

    call: ModelCall
    given: ModelTurn | None = None
    prompt: tuple[int, ...] = ()
    said: Said | None = None
    times: int = 0

    def again(self, given: ModelTurn, prompt: tuple[int, ...]) -> Said | None:
        """What was said, if it was to this very turn and at these figures."""
        if self.given is not given or self.prompt != prompt:
            return None
        self.times += 1
        return self.said

    def put(self, given: ModelTurn, prompt: tuple[int, ...], said: Said) -> None:
        self.given, self.prompt, self.said, self.times = given, prompt, said, 0


class ReadCalls:
    """Calls by the whole request. They are shared between requests: nobody changes one after it was put here."""

    def __init__(self, generation: int = GENERATION) -> None:
        self._generation = generation
        self._young: dict[Request, Known] = {}
        self._old: dict[Request, Known] = {}

    def get(self, request: Request) -> Known | None:
        """What is known of this request, None if it is new."""
        known = self._young.get(request)
        if known is None and self._old and (known := self._old.get(request)) is not None:
            self._keep(request, known)
        return known

    def put(self, request: Request, call: ModelCall) -> Known | None:
        """Remember a call, if its request is small."""
        if len(request.body) > SMALL:
            return None
        known = Known(call)
        self._keep(request, known)
        return known

    def _keep(self, request: Request, known: Known) -> None:
        if len(self._young) >= self._generation:
            self._old, self._young = self._young, {}
        self._young[request] = known
