"""The releases of gemini-cli that can be played. A release is data."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """What a release does; figures measured on the real one where nothing else is said."""

    name: str
    router: str  # the model that says how hard a prompt is
    easy: str
    hard: str
    hard_from: int  # the score from which a prompt is hard (measured: above 80)
    attempts: int  # of a call that is refused with 429 or 5xx
    first_wait_s: float  # doubled each time, three tenths more or less
    longest_wait_s: float
    stream_retries: int  # of an answer without an end


VERSIONS: Mapping[str, Version] = {
    "0.61.0": Version(
        name="0.61.0",
        router="gemini-3.5-flash-lite",
        easy="gemini-3.8-flash",
        hard="gemini-3.1-pro-preview",
        hard_from=90,
        attempts=10,
        first_wait_s=5.0,
        longest_wait_s=30.0,
        stream_retries=3,
    ),
}
DEFAULT = "0.61.0"
ALIASES = {"pro": "gemini-3.1-pro-preview", "flash": "gemini-3.8-flash", "flash-lite": "gemini-3.5-flash-lite"}
