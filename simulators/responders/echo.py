"""Echo: the answer is what was asked, or the result that a tool brought."""

from collections.abc import Callable, Mapping
from typing import Any

from simulators.core.account_document import AccountDocument
from simulators.core.turn import ModelCall, ModelTurn


class Echo:
    """Implements `Responder`."""

    name = "echo"

    def answer(self, call: ModelCall, *, n: int, chance: Callable[[str], float]) -> ModelTurn | None:
        """The text of the last user message; after tool results the text of the last of them."""
        text = call.last_user
        if not text and call.blocks:
            text = call.blocks[-1].text
        return ModelTurn(text=text or "(nothing)", answered_by=self.name)

    def unused(self) -> list[str]:
        return []

    def nearest(self, call: ModelCall) -> Mapping[str, Any] | None:
        return None


def make(document: AccountDocument) -> Echo:
    """An echo; it needs nothing of the document."""
    return Echo()
