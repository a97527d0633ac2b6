"""The fake gemini against recorded runs of the real one: the same command line, the provider scripted alike."""

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simulators.shells.cli_processes import FakeProcesses
from simulators.shells.virtual_time import run

from . import captures
from .captures import Capture, length
from .gemini_stub import GeminiStub, Refuse, Reply, call, say
from .stub import Run

pytestmark = pytest.mark.skipif(
    not captures.FOLDER.exists(), reason=f"no recorded runs of the real gemini at {captures.FOLDER}"
)

RECORDED: dict[str, list[Reply]] = {
    "g01_stream_json": [call("run_shell_command", command="echo MARK_OUT"), say("Done.")],
    "g02_json": [say("Hello")],
    "g03_429": [Refuse(429, "RESOURCE_EXHAUSTED", "slow down")],
}
CUT_AT = {"g03_429": 60.0}  # seconds: the recording was ended by its own time limit, not by the CLI
NOT_COMPARED = {
    "content-length": "the HTTP client adds it",
    "host": "the HTTP client adds it",
    "accept-encoding": "the fake reads no compressed answers",
}
LENGTH_TOLERANCE = 140  # characters: the recordings' folders had longer names


async def play(folder: Path, stub: GeminiStub, argv: list[str], env: Mapping[str, str], *, limit: float | None) -> Run:
    """A run in the recording's world; ended after `limit` seconds as the recording was."""
    (folder / "project").mkdir(exist_ok=True)
    processes = FakeProcesses(stub, real_path=lambda path: path.replace("/home/user", str(folder), 1))
    process = await processes.spawn(("gemini", *argv), cwd="/home/user/project", env={**env, "HOME": "/home/user"})

    async def all_of(stream: Any) -> bytes:
        return b"".join([chunk async for chunk in stream])

    reading = asyncio.gather(all_of(process.stdout()), all_of(process.stderr()))
    if limit is not None:
        await asyncio.sleep(limit)
        process.terminate()
    out, err = await reading
    return Run(await process.wait(), out, err)


def shape(value: Any) -> Any:
    """Keys in order and everything that is no text made anew in each run."""
    if isinstance(value, Mapping):
        return {k: "TIME" if k in _TIMES else shape(v) for k, v in value.items() if k not in ("session_id",)}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return re.sub(r"_\d{13}_", "_N_", value) if isinstance(value, str) else value


_TIMES = ("timestamp", "duration_ms", "totalLatencyMs", "totalDurationMs", "durationMs")


def shape_of_request(headers: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared of a request."""
    names = {name.lower(): value for name, value in headers if name.lower() not in NOT_COMPARED}
    return {
        "headers": list(names),
        "agent": [names.get(name) for name in ("user-agent", "x-goog-api-client", "content-type", "accept")],
        "keys": [key for key in body if not key.startswith("$")],
        "contents": [(c["role"], list(c), [_part(part) for part in c["parts"]]) for c in body["contents"]],
        "generation": _without_prose(body["generationConfig"]),
        "tools": [
            (t["name"], list(t), _without_prose(t["parametersJsonSchema"]))
            for tool in body.get("tools", [])
            for t in tool["functionDeclarations"]
        ],
    }


def _part(part: Mapping[str, Any]) -> Any:
    if "text" in part:
        return list(part)
    return shape(json.loads(re.sub(r"PGID: \d+", "PGID: N", json.dumps(part))))


def _without_prose(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_prose(item) for key, item in value.items() if key != "description"}
    if isinstance(value, list):
        return sorted(value, key=str)  # the order of choices is not the same in every run
    return value


def lengths(body: Mapping[str, Any]) -> list[int]:
    """Lengths of all prose of a request, in order."""
    found = [length(part["text"]) for content in body["contents"] for part in content["parts"] if "text" in part]
    found.append(length(body["systemInstruction"]["parts"][0]["text"]))
    tools = [t for tool in body.get("tools", []) for t in tool["functionDeclarations"]]
    return found + [length(tool["description"]) for tool in tools]


@pytest.mark.parametrize("name", RECORDED)
def test_one_run(name: str, tmp_path: Path) -> None:
    """The same lines with the same keys, the same figures, the same requests, the same exit code."""
    if not (captures.FOLDER / name).exists():
        pytest.skip(f"the recording {name} is not here")
    capture = Capture(name)
    argv = capture.argv[capture.argv.index("-p") :]
    stub = GeminiStub(*RECORDED[name])
    got = run(play(tmp_path, stub, argv, capture.env, limit=CUT_AT.get(name)))
    if name in CUT_AT:
        assert got.exit == 143
    else:
        assert got.exit == capture.exit
    if name == "g02_json":
        assert shape(json.loads(got.stdout)) == shape(json.loads(capture.text))
    else:
        assert shape(got.events) == shape(capture.stdout)
    assert len(stub.requests) == len(capture.requests)
    for mine, theirs in zip(stub.requests, capture.requests, strict=True):
        body = json.loads(mine.body)
        query = "?alt=sse" if mine.query else ""
        assert mine.path + query == theirs["path"]
        assert shape_of_request(mine.headers, body) == shape_of_request(theirs["headers"], theirs["body"])
        for a, b in zip(lengths(body), lengths(theirs["body"]), strict=True):
            assert abs(a - b) <= LENGTH_TOLERANCE, (a, b)


def test_how_many_recordings_are_covered(capsys: pytest.CaptureFixture[str]) -> None:
    """Says how many of the recordings of gemini are compared, so that a shrinking number is seen."""
    here = {p.name for p in captures.FOLDER.iterdir() if p.name.startswith("g")}
    with capsys.disabled():
        print(f"\nthe fake gemini was compared with {len(here & set(RECORDED))} of {len(here)} recorded runs")
    assert here <= set(RECORDED)
