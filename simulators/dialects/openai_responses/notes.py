"""What reading a request leaves for those who answer it, and what an answer leaves for later requests."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from simulators.core.turn import ModelInfo
from simulators.dialects._openai.gates import Gates
from simulators.dialects._openai.profile import Profile

Item = dict[str, Any]


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """`items` is the whole conversation as the model sees it, `new` what this request brings."""

    profile: Profile
    model: ModelInfo
    gates: Gates
    new: tuple[Item, ...]
    items: tuple[Item, ...]
    connection: str | None = None  # the WebSocket that it came on
    conversation: str | None = None
    compacts: bool = False  # POST /v1/responses/compact
    custom: frozenset[str] = frozenset()  # custom tools: their input is a text
    spaces: Mapping[str, str] = {}  # namespace of each tool that is in one
    late: tuple[Item, ...] = ()  # tools that came inside the conversation
    compared: Mapping[str, Any] | None = None  # the `prompt_cache_diagnostics` of the answer, as far as it is known


class Kept(msgspec.Struct, kw_only=True):
    """An answer that later requests may name. `items` is the conversation up to and with it."""

    response: dict[str, Any]
    new: Sequence[Item]
    items: Sequence[Item]
    seen: Mapping[str, Any]  # model, key and settings, digests and reusable tokens, for cache diagnostics
    ready_at: float = 0.0  # a background response is finished then
    stream: bytes = b""  # the events of a background response that was asked for as a stream
    cancelled: bool = False


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request about something kept."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
