"""What the parser tells the encoder about a call."""

from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.turn import ModelInfo, Tokens


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """`model` as the catalogue has it; whether thinking text is sent, or only its signature; what the server did to
    the context before the model saw it."""

    model: ModelInfo
    thinking_shown: bool = True
    dropped: tuple[str, ...] | None = None  # paths of thinking left out; None: the request does not want to know
    # Context editing: what was cleared ({type, cleared_input_tokens, …}); None where the request asked for no edits.
    applied: tuple[Mapping[str, Any], ...] | None = None
    original_tokens: int | None = None  # of the prompt before the server edited it
    compaction: Mapping[str, Any] | None = None  # the block that stands for what was summarised on the way
    compaction_tokens: Tokens | None = None  # what that summary cost, beside the usage of the answer
    paused: bool = False  # the answer ends after that block
    summarize: bool = False  # the whole request asks for a compaction block and nothing else
    fingerprint: Any = None  # `diagnostics.Fingerprint` of the request, where it is to be remembered
    diagnosis: Mapping[str, Any] | None = None  # how it differs from the request that it names
