"""One call of the API: sends it, folds the stream, says how it ended. Never raises."""

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulators.cli.effects import Call, CallFailed, Effect, Hangup, NextChunk, Now, Reply
from simulators.cli.sse import SseError, SseReader

Object = dict[str, Any]
Steps = Generator[Effect, Any, Any]
_DELAY = re.compile(r"^(\d+(?:\.\d+)?)(ms|s)$")


@dataclass(slots=True)
class Said:
    """An answer. `finish` is None where the stream ended without saying why; `model` is the name it gave itself."""

    parts: list[Object] = field(default_factory=list)
    usage: Object = field(default_factory=dict)
    finish: str | None = None
    model: str = ""
    ms: int = 0

    @property
    def text(self) -> str:
        return "".join(p["text"] for p in self.parts if "text" in p and not p.get("thought"))

    @property
    def calls(self) -> list[Object]:
        return [p for p in self.parts if "functionCall" in p]


@dataclass(slots=True)
class Failure:
    """What went wrong. `status` None: the connection. `delay` is what the provider asked to wait, in seconds."""

    message: str
    status: int | None = None
    delay: float | None = None
    terminal: bool = False  # a limit that no waiting helps against
    kind: str = "ApiError"
    shown: str = ""  # as a text of its own, where it differs
    model: str = ""  # the name that an answer gave itself before it broke off
    ms: int = 0


def headers(version: str, model: str, key: str) -> list[tuple[str, str]]:
    """The headers of a call."""
    return [
        ("connection", "keep-alive"),
        ("User-Agent", f"GeminiCLI-tui/{version}/{model} (linux; x64; terminal)"),
        ("x-goog-api-client", "google-genai-sdk/1.30.0 gl-node/v20.20.2"),
        ("Content-Type", "application/json"),
        ("x-goog-api-key", key),
        ("accept", "*/*"),
        ("accept-language", "*"),
        ("sec-fetch-mode", "cors"),
    ]


def send(
    url: str, given: Sequence[tuple[str, str]], body: Object, heard: Callable[[str], Steps] | None
) -> Generator[Effect, Any, Said | Failure]:
    """One call; streamed if `heard` is told each piece of text."""
    before = yield Now()
    data = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    reply = yield Call("POST", url, given, data)
    if isinstance(reply, CallFailed):
        return Failure("fetch failed", kind="TypeError", shown="fetch failed sending request")
    assert isinstance(reply, Reply)
    if reply.status != 200:
        text = yield from _rest()
        after = yield Now()
        return refused(reply.status, text, int((after - before) * 1000))
    said = Said()
    broken = yield from (_streamed(said, heard) if heard is not None else _whole(said))
    after = yield Now()
    said.ms = int((after - before) * 1000)
    if broken:
        return Failure("terminated", kind="TypeError", ms=said.ms, model=said.model)
    return said


def _rest() -> Generator[Effect, Any, str]:
    parts: list[bytes] = []
    while True:
        chunk = yield NextChunk()
        if isinstance(chunk, CallFailed) or not chunk:
            return b"".join(parts).decode("utf-8", "replace")
        parts.append(chunk)


def _whole(said: Said) -> Generator[Effect, Any, bool]:
    text = yield from _rest()
    try:
        _fold(said, json.loads(text))
    except ValueError:
        return True
    return False


def _streamed(said: Said, heard: Callable[[str], Steps]) -> Generator[Effect, Any, bool]:
    reader = SseReader()
    while True:
        chunk = yield NextChunk()
        if isinstance(chunk, CallFailed):
            return bool(said.parts) or (said.finish is None and bool(said.usage))
        if not chunk:
            return False
        try:
            events = reader.feed(chunk)
        except SseError:
            yield Hangup()
            return True
        for _, data in events:
            for text in _fold(said, data):
                yield from heard(text)


def _fold(said: Said, data: Mapping[str, Any]) -> list[str]:
    """Add a piece of an answer; the texts that it brought."""
    said.usage = data.get("usageMetadata") or said.usage
    said.model = data.get("modelVersion") or said.model
    texts = []
    for candidate in data.get("candidates") or []:
        said.finish = candidate.get("finishReason") or said.finish
        for part in (candidate.get("content") or {}).get("parts") or []:
            said.parts.append(dict(part))
            if part.get("text") and not part.get("thought"):
                texts.append(str(part["text"]))
    return texts


def refused(status: int, text: str, ms: int) -> Failure:
    """What a status other than 200 means."""
    try:
        read = json.loads(text)
        error, text = read["error"], json.dumps(read, separators=(",", ":"), ensure_ascii=False)
        details = error.get("details") or []
    except (ValueError, KeyError, TypeError, AttributeError):
        error, details = {}, []
    message = str(error.get("message", text)) if error else text
    delay, terminal = None, False
    for detail in details:
        kind = str(detail.get("@type", ""))
        if kind.endswith("RetryInfo"):
            found = _DELAY.match(str(detail.get("retryDelay", "")))
            delay = float(found[1]) / (1000 if found[2] == "ms" else 1) if found else None
        elif kind.endswith("QuotaFailure"):
            terminal = any("PerDay" in str(v.get("quotaId", "")) for v in detail.get("violations") or [])
    if status == 404:
        return Failure(message, status, kind="ModelNotFoundError", ms=ms)
    if status == 429 and terminal:
        said = "You have exhausted your daily quota on this model."
        return Failure(said, status, terminal=True, kind="ApiError", ms=ms)
    return Failure(text, status, delay, kind="ApiError", shown=message, ms=ms)
