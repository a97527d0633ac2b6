"""What the dialect remembers of a call between reading it and writing its answer."""

from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.turn import ModelInfo
from simulators.dialects.gemini.gates import Gates


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """`body` is normalised; `media` are tokens of what is no text, by modality; `cached_media` those of a named
    cache."""

    model: ModelInfo
    gates: Gates
    body: Mapping[str, Any] = {}
    media: Mapping[str, int] = {}
    cached_media: Mapping[str, int] = {}
    includes_thoughts: bool = False
    functions: bool = False  # functions are declared
