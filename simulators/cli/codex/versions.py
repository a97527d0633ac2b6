"""The releases of codex that can be played. A release is data."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """What a release does; figures measured on the real one where nothing else is said."""

    name: str
    default_model: str
    request_retries: int  # of a request that is refused with 5xx or finds nobody
    stream_retries: int  # of the whole call; each is announced
    beta_features: str
    websocket_beta: str
    compact_at: float  # of the model's window (not measured: it is the share that fits what was)


VERSIONS: Mapping[str, Version] = {
    "0.171.0": Version(
        name="0.171.0",
        default_model="gpt-6.2-sol",
        request_retries=4,
        stream_retries=5,
        beta_features="remote_compaction_v2",
        websocket_beta="responses_websockets=2026-02-06",
        compact_at=0.9,
    ),
}
DEFAULT = "0.171.0"
