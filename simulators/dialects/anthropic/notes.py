"""What the parser tells the encoder about a call."""

import msgspec

from simulators.core.turn import ModelInfo


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """`model` as the catalogue has it; whether thinking text is sent, or only its signature."""

    model: ModelInfo
    thinking_shown: bool = True
    dropped: tuple[str, ...] | None = None  # paths of thinking left out; None: the request does not want to know
