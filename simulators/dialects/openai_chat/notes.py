"""What the parser tells the encoder about a call."""

import msgspec

from simulators.core.turn import ModelInfo
from simulators.dialects._openai.gates import Gates
from simulators.dialects._openai.profile import Profile


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """Who speaks, for which model, and how the answer is to look."""

    profile: Profile
    model: ModelInfo
    gates: Gates
    choices: int = 1
    legacy: bool = False  # `functions` instead of `tools`
    custom: frozenset[str] = frozenset()  # names of custom tools: their input is a text
    logprobs: bool = False
