"""The recording proxy: what passes is kept with its timing and its breaks, and the file is whole at any moment."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from simulators import Simulator
from simulators.cassettes import vcr
from simulators.cassettes.recording import Session
from simulators.shells.recording import RecordingProxy
from simulators.shells.serving import RealClock, ServedOnThread

BODY: dict[str, Any] = {
    "model": "claude-sonnet-4-5", "max_tokens": 50, "stream": True, "messages": [{"role": "user", "content": "Hi"}],
}  # fmt: skip


def provider(*turns: Any, **document: Any) -> ServedOnThread:
    script = {"turns": list(turns), "unused": "allow", **document}
    return ServedOnThread(Simulator(clock=RealClock(), script=script).app())


def proxy(file: Path, upstream: str, mode: Any = "all") -> ServedOnThread:
    return ServedOnThread(RecordingProxy(Session(file, mode, claw={"origin": "recorded"}), {}, default=upstream))


def ask(url: str, **changed: Any) -> tuple[int, bytes]:
    with httpx2.stream("POST", f"{url}/v1/messages", json=BODY | changed, headers={"x-api-key": "k"}) as response:
        return response.status_code, b"".join(response.iter_raw())


def test_what_passes_is_kept_and_replays(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    with provider({"text": "one two three"}) as upstream, proxy(file, upstream.url) as door:
        status, body = ask(door.url)
    [kept] = vcr.read(file).exchanges
    assert (kept.status, kept.body) == (status, body)
    assert kept.frames is not None
    assert sum(frame.size for frame in kept.frames) == len(body)
    replaying = Simulator(clock=RealClock(), script={"responder": "cassette", "cassette": str(file)})
    with ServedOnThread(replaying.app()) as door:
        assert ask(door.url) == (status, body)


@pytest.mark.parametrize("how", ["fin", "reset"])
def test_a_cut_is_passed_on_and_kept(how: str, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    turn = {"text": "one two three", "fault": {"kind": "cut", "after_events": 4, "how": how}}
    with provider(turn) as upstream, proxy(file, upstream.url) as door, pytest.raises(httpx2.TransportError):
        ask(door.url)
    [kept] = vcr.read(file).exchanges
    assert kept.cut == how
    assert kept.body.count(b"event: ") == 5  # four, and a ping


def test_compressed_answers_stay_compressed(tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress(b'{"ok":true}', mtime=0)
    file = tmp_path / "src.yaml"
    from simulators.cassettes.format import Cassette, Exchange

    headers = (("content-encoding", "gzip"), ("content-type", "application/json"))
    one = Exchange(method="GET", uri="http://x/v1/odd", headers=headers, body=packed)
    vcr.write(file, Cassette(exchanges=[one]))
    source = Simulator(clock=RealClock(), script={"responder": "cassette", "cassette": str(file)})
    with ServedOnThread(source.app()) as upstream, proxy(tmp_path / "c.yaml", upstream.url) as door:
        assert httpx2.get(f"{door.url}/v1/odd").json() == {"ok": True}
    assert vcr.read(tmp_path / "c.yaml").exchanges[0].body == packed


def test_new_episodes_are_added_and_known_ones_replayed(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    with provider({"text": "one"}, {"text": "two"}) as upstream:
        with proxy(file, upstream.url) as door:
            first = ask(door.url)
        with proxy(file, upstream.url, "new_episodes") as door:
            assert ask(door.url) == first  # from the file: the provider would say two
            assert b"two" in ask(door.url, max_tokens=51)[1]
    assert len(vcr.read(file).exchanges) == 2


def test_an_upstream_that_cannot_be_reached_is_said_and_not_recorded(tmp_path: Path) -> None:
    with proxy(tmp_path / "c.yaml", "http://127.0.0.1:9") as door:
        status, body = ask(door.url)
    assert status == 502
    assert b"cannot be reached" in body
    assert vcr.read(tmp_path / "c.yaml").exchanges == []


def test_messages_of_a_websocket_are_kept_both_ways(tmp_path: Path) -> None:
    from websockets.sync.client import connect
    from websockets.sync.server import serve

    def echo(socket: Any) -> None:
        for message in socket:
            socket.send(message.upper() if isinstance(message, str) else message)

    file = tmp_path / "c.yaml"
    with serve(echo, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.socket.getsockname()[1]
        with (
            proxy(file, f"http://127.0.0.1:{port}") as door,
            connect(
                f"ws{door.url.removeprefix('http')}/v1/responses", additional_headers={"x-api-key": "sk-ant-1234567890"}
            ) as ws,
        ):
            ws.send("hello sk-ant-api03-abcdefghij")
            assert ws.recv() == "HELLO SK-ANT-API03-ABCDEFGHIJ"
            ws.send(b"\x00\xff")
            assert ws.recv() == b"\x00\xff"
        server.shutdown()
    [kept] = vcr.read(file).exchanges
    assert kept.status == 101
    assert kept.frames is not None
    assert [frame.sent for frame in kept.frames if frame.sent is not None] == [
        "hello scrubbed-anthropic-key",
        b"\x00\xff",
    ]
    assert sum(frame.received is not None for frame in kept.frames) == 2


@pytest.mark.slow
@pytest.mark.parametrize("ended", [0, 1, 3])
def test_a_kill_leaves_the_old_file_or_a_whole_one(ended: int, tmp_path: Path) -> None:
    """kill -9 in the middle of an answer: what had ended is there, what had not is not."""
    file = tmp_path / "c.yaml"
    file.write_text("old")
    hangs = {"text": "one two three", "fault": {"kind": "stall", "after_events": 3}}
    with provider(*[{"text": "fine"}] * ended, hangs) as upstream:
        command = [sys.executable, "-m", "claw", "cassette", "record", "--upstream", upstream.url, "--out", str(file)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert child.stdout is not None
        url = json.loads(child.stdout.readline())["url"]
        for _ in range(ended):
            assert ask(url)[0] == 200
        with httpx2.stream("POST", f"{url}/v1/messages", json=BODY, headers={"x-api-key": "k"}) as response:
            next(response.iter_raw())
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
    if ended:
        assert [exchange.status for exchange in vcr.read(file).exchanges] == [200] * ended
    else:
        assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["c.yaml"]
