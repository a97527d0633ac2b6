"""Real answers judge: same verdict, and every key that a real answer has is in ours."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from simulators import Simulator
from simulators.core.models import catalogue
from simulators.core.tokens import Counter
from simulators.core.turn import ModelCall
from simulators.core.wire import Request
from simulators.dialects.gemini import DIALECT
from simulators.shells import vocabulary
from tests.simulators.dialects.gemini.asking import Reply, ask

FOLDER = Path(__file__).parents[4] / "../shared/recorded/gemini"
VIDEO = ("usageMetadata.cachedContentTokenCount", "usageMetadata.cacheTokensDetails")
# (recording, key that we do not answer): why. This list only shrinks.
EXEMPT = {
    ("google__google_model_mobile_youtube_video_url_input[0]", key): "somebody had asked about this video before"
    for key in (*VIDEO, f"{VIDEO[1]}[].modality", f"{VIDEO[1]}[].tokenCount")
}
# Prompts whose size cannot be known: why. This list only shrinks.
NOT_COUNTED = {
    "google__google_model_mobile_youtube_video_url_input[0]": "a video behind a URI is not fetched",
    "google__google_model_youtube_video_url_input[0]": "a video behind a URI is not fetched",
    "structured_output__native_output_with_builtin_tools[0]": "a search ran inside the call",
    "structured_output__native_output_with_builtin_tools_stream[0]": "a search ran inside the call",
}
_BESIDE = ("groundingMetadata", "urlContextMetadata", "safetyRatings", "citationMetadata")
_TOOL_USE = ("toolUsePromptTokenCount", "toolUsePromptTokensDetails")


def recordings() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for path in sorted(FOLDER.glob("*.yaml")):
        document = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        yield path.stem, document["interactions"]


def asked(exchange: dict[str, Any], renamed: dict[str, str]) -> Request:
    """The recorded request; cached contents go by the names that ours got."""
    said = exchange["request"]
    target = urlsplit(said["uri"])
    data = json.dumps(said["parsed_body"]) if said.get("parsed_body") is not None else said.get("body") or ""
    path = target.path
    for old, new in renamed.items():
        path, data = path.replace(old, new), data.replace(old, new)
    return Request(
        method=said["method"].upper(),
        path=path,
        query=tuple(parse_qsl(target.query)),
        headers=(("x-goog-api-key", "k"),),
        body=data.encode(),
    )


def answered(exchange: dict[str, Any]) -> list[dict[str, Any]]:
    """The recorded answer: its chunks, or one."""
    response = exchange["response"]
    if response.get("parsed_body") is not None:
        return [response["parsed_body"]]
    text = response["body"]["string"]
    text = text.decode() if isinstance(text, bytes) else text
    if not text.startswith("data:"):
        return [json.loads(text)]
    return [json.loads(event[6:]) for event in text.split("\r\n\r\n") if event]


def scripted(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """A turn that says what the recorded answer said."""
    turn: dict[str, Any] = {"text": "", "tool_calls": [], "blocks": []}
    usage: dict[str, Any] = {}
    for chunk in chunks:
        usage |= chunk.get("usageMetadata") or {}
        for candidate in chunk.get("candidates") or ():
            for part in (candidate.get("content") or {}).get("parts") or ():
                if "functionCall" in part:
                    call = part["functionCall"]
                    turn["tool_calls"].append({"name": call["name"], "input": call["args"]})
                elif "text" in part:
                    turn["text"] += "" if part.get("thought") else part["text"]
                else:
                    turn["blocks"].append(part)
            turn["blocks"] += [{name: candidate[name]} for name in _BESIDE if candidate.get(name)]
            if candidate.get("finishReason") == "SAFETY":
                turn["stop"] = "refusal"
    if thoughts := usage.get("thoughtsTokenCount"):
        turn["thinking"] = "thought " * thoughts
    if tool_use := {name: usage[name] for name in _TOOL_USE if name in usage}:
        turn["blocks"].append({"usageMetadata": tool_use})
    return turn


def keys(value: Any, path: str = "") -> Iterator[str]:
    """Every key of a JSON value by its path; of lists, those of all items. What a tool returned is the model's."""
    if isinstance(value, dict):
        for name, inner in value.items():
            at = f"{path}.{name}" if path else name
            yield at
            if name not in ("args", "response", "renderedContent"):
                yield from keys(inner, at)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")


def replay(exchanges: list[dict[str, Any]], name: str) -> Iterator[tuple[str, dict[str, Any], Reply]]:
    """Every exchange of a recording with our answer, one after the other in one account."""
    simulator, renamed = Simulator(seed=7), dict[str, str]()
    scripts = [scripted(answered(e)) for e in exchanges if ":" in e["request"]["uri"].rpartition("/")[2]]
    simulator.account("k").load({"turns": scripts, "unused": "allow"})
    for number, exchange in enumerate(exchanges):
        reply = ask(simulator, asked(exchange, renamed), at=float(number))
        real = answered(exchange)[0]
        if str(real.get("name", "")).startswith("cachedContents/"):
            renamed[real["name"]] = reply.json["name"]
        yield f"{name}[{number}]", exchange, reply


def test_every_recorded_request_is_answered_as_the_provider_did(capsys: pytest.CaptureFixture[str]) -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"recordings of real answers are not here ({FOLDER}): nothing was judged")
    wrong, lacking, unused = [], [], set(EXEMPT)
    taken = refused = looked = 0
    for name, exchanges in recordings():
        for place, exchange, reply in replay(exchanges, name):
            status, real = exchange["response"]["status"]["code"], answered(exchange)
            taken, refused = taken + (status < 400), refused + (status >= 400)
            if reply.status != status or (status >= 400 and reply.json != real[0]):
                wrong.append(f"{place}: {status} {real[0].get('error')}, we say {reply.status} {reply.body[:300]!r}")
                continue
            ours = reply.chunks if reply.body.startswith(b"data:") else [reply.json]
            have = set(keys(ours))
            looked += len(set(keys(real)))
            for key in sorted(set(keys(real)) - have):
                plain = key.removeprefix("[].")
                unused.discard((place, plain))
                if (place, plain) not in EXEMPT:
                    lacking.append(f"{place}: {plain}")
    with capsys.disabled():
        print(f" [{taken} accepted, {refused} refused, {looked} keys judged, {len(EXEMPT)} exempt]", end="")
    assert wrong == []
    assert lacking == []
    assert unused == set(), "exemptions that are no longer needed"
    assert taken > 50
    assert refused > 0


def prompts() -> Iterator[tuple[str, ModelCall, int]]:
    """Recorded prompts whose size can be known, and the size that the provider told at last."""
    for name, exchanges in recordings():
        for number, exchange in enumerate(exchanges):
            request, usage = asked(exchange, {}), dict[str, Any]()
            for chunk in answered(exchange):
                usage = chunk.get("usageMetadata") or usage
            real = usage.get("promptTokenCount") or answered(exchange)[0].get("totalTokens")
            place = f"{name}[{number}]"
            if ":" not in request.path or not real or b"cachedContents/" in request.body or place in NOT_COUNTED:
                continue
            if "toolUsePromptTokenCount" not in usage:  # else what a built-in tool found is in it
                operation = DIALECT.route(request)
                assert operation is not None
                yield place, DIALECT.parse(request, operation, catalogue()), real


def test_half_of_the_recorded_prompts_are_counted_within_five_percent(capsys: pytest.CaptureFixture[str]) -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"recordings of real answers are not here ({FOLDER}): nothing was judged")
    counter, models = Counter("default", vocabulary.count), catalogue()
    off: dict[bool, list[float]] = {True: [], False: []}
    for _, call, real in prompts():
        count = sum(counter.prompt(call.blocks, models[call.model]))
        off[bool(call.tools)].append(abs(count / real - 1))
    both, tools = sorted(off[True] + off[False]), sorted(off[True])
    middle, middle_of_tools = both[len(both) // 2], tools[len(tools) // 2]
    with capsys.disabled():
        print(
            f" [{len(both)} prompts: median {middle:.1%} off; {len(tools)} with tools: {middle_of_tools:.1%}]", end=""
        )
    assert len(tools) > 20
    assert middle <= 0.05
    assert middle_of_tools <= 0.08
