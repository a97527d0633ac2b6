"""Records the cassettes that the project ships, from the simulators: `python -m simulators.shells.shipped cassettes`.

Virtual time and fixed seeds: the same bytes at every run.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from simulators.cassettes import vcr
from simulators.cassettes.format import Cassette, Exchange, Frame
from simulators.cassettes.scrub import scrub
from simulators.core.wire import Abort, Chunk, Ended, Head, Request, Wait
from simulators.shells.simulator import Simulator

KEY = "sim-shipped"
_PACED = {"first_token_ms": 300, "tokens_per_s": 50}
_MESSAGES = "https://api.anthropic.com/v1/messages"
_LONG = "You answer briefly and name your source. " * 200


def _ask(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "claude-sonnet-4-5", "max_tokens": 200, "messages": [{"role": "user", "content": text}], **more}


_CACHED = [{"type": "text", "text": _LONG, "cache_control": {"type": "ephemeral"}}]
_GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
_QUESTION = {"contents": [{"role": "user", "parts": [{"text": "What is the tallest mountain?"}]}]}

# name → (account document, [(URL, body), …])
SHIPPED: dict[str, tuple[Mapping[str, Any], list[tuple[str, dict[str, Any]]]]] = {
    "anthropic/stream/text": (
        {"turns": [{"text": "Mount Everest, 8,849 metres above the sea."}], "pacing": _PACED},
        [(_MESSAGES, _ask("What is the tallest mountain?", stream=True))],
    ),
    "anthropic/stream/cut": (
        {"turns": [{"text": "Mount Everest.", "fault": {"kind": "cut", "after_events": 4}}], "pacing": _PACED},
        [(_MESSAGES, _ask("What is the tallest mountain?", stream=True))],
    ),
    "anthropic/errors/overloaded_once": (
        {"turns": [{"text": "Here I am again."}], "faults": [{"kind": "overloaded", "on": {"call": 1}}]},
        [(_MESSAGES, _ask("Are you there?")), (_MESSAGES, _ask("Are you there?"))],
    ),
    "anthropic/cache/second_reads": (
        {"turns": [{"text": "Paris."}, {"text": "Madrid."}]},
        [(_MESSAGES, _ask(f"The capital of {land}?", system=_CACHED)) for land in ("France", "Spain")],
    ),
    "openai/stream/chat": (
        {"turns": [{"text": "Mount Everest."}], "pacing": _PACED},
        [("https://api.openai.com/v1/chat/completions",
          {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "The tallest mountain?"}]})],
    ),
    "gemini/stream/text": ({"turns": [{"text": "Mount Everest."}], "pacing": _PACED}, [(_GEMINI, _QUESTION)]),
}  # fmt: skip


def recorded(name: str) -> Cassette:
    """One of them, made anew."""
    document, requests = SHIPPED[name]
    simulator = Simulator(seed=1)
    simulator.account(KEY, dict(document))
    exchanges = [_tape(simulator, url, body) for url, body in requests]
    problems = simulator.account(KEY).problems()
    if problems:
        raise ValueError(f"{name}: {'; '.join(problems)}")
    claw = {"origin": "simulated", "by": "python -m simulators.shells.shipped", "name": name}
    return scrub(Cassette(exchanges=exchanges, claw=claw, source=name))


def _tape(simulator: Simulator, url: str, body: Mapping[str, Any]) -> Exchange:
    """Ask once and write down what comes, when."""
    exchange = Exchange(
        method="POST",
        uri=url,
        request_headers=(("content-type", "application/json"), ("x-api-key", KEY)),
        request_body=msgspec.json.encode(body),
        at=simulator.now(),
    )
    request = Request(
        method="POST",
        path=f"/@{KEY}{exchange.path}",
        query=exchange.query,
        headers=exchange.request_headers,
        body=exchange.request_body,
    )
    answer, parts, frames = simulator.handle(request), list[bytes](), list[Frame]()
    why: Ended = "complete"
    for at, event in _timed(answer, simulator):
        if isinstance(event, Head):
            exchange.status, exchange.headers = event.status, event.headers
            frames.append(Frame(at=at, head=True))
        elif isinstance(event, Chunk):
            parts.append(event.data)
            frames.append(Frame(at=at, size=len(event.data)))
        elif isinstance(event, Abort):
            why = "cut"
            frames.append(Frame(at=at, cut=event.how))
    answer.close(simulator.now(), why)
    exchange.body, exchange.frames = b"".join(parts), tuple(frames)
    return exchange


def _timed(events: Any, simulator: Simulator) -> Iterator[tuple[float, Any]]:
    at = 0.0
    for event in events:
        if isinstance(event, Wait):
            at += event.seconds
            simulator.advance(event.seconds)
        else:
            yield at, event


def main(folder: str) -> None:
    """Write all of them below a folder."""
    for name in SHIPPED:
        vcr.write(Path(folder) / f"{name}.yaml", recorded(name))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cassettes")
