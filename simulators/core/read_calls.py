"""Small requests that were read before: reading depends on nothing but the request and the account's models.

Clients that retry, poll or are put under load send the same bytes again. What reading them gave is kept, so a hit is
exactly what reading again would give. Two generations bound the memory: when the young one is full it becomes the old
one, and what is still asked for moves over.
"""

from simulators.core.turn import ModelCall
from simulators.core.wire import Request

SMALL = 16 * 1024  # bytes of a body; longer ones are not remembered
GENERATION = 128  # requests


class ReadCalls:
    """`ModelCall`s by the whole request. They are shared between calls: nobody changes one after it was put here."""

    def __init__(self, generation: int = GENERATION) -> None:
        self._generation = generation
        self._young: dict[Request, ModelCall] = {}
        self._old: dict[Request, ModelCall] = {}

    def get(self, request: Request) -> ModelCall | None:
        """What reading this request gave, None if that is not known."""
        call = self._young.get(request)
        if call is None and self._old and (call := self._old.get(request)) is not None:
            self.put(request, call)
        return call

    def put(self, request: Request, call: ModelCall) -> None:
        """Remember a call, if its request is small."""
        if len(request.body) > SMALL:
            return
        if len(self._young) >= self._generation:
            self._old, self._young = self._young, {}
        self._young[request] = call
