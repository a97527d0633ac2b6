"""The list of models, and one of them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.models import ANY
from simulators.core.turn import ModelInfo
from simulators.dialects._openai.profile import Profile

_CREATED = 1_735_689_600  # the catalogue knows no dates: the first day of 2025


def served(info: ModelInfo, profile: Profile) -> bool:
    """Whether this server has the model: OpenAI its own and nobody's, others whatever the account names."""
    return not profile.own_models or info.provider in ("openai", ANY)


def describe(name: str, info: ModelInfo) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": _CREATED,
        "owned_by": info.provider if info.provider != ANY else "system",
    }


def encode_list(models: Mapping[str, ModelInfo], profile: Profile) -> bytes:
    """`{"object": "list", "data": [...]}`."""
    data = [describe(name, models[name]) for name in models if served(models[name], profile)]
    return msgspec.json.encode({"object": "list", "data": data})
