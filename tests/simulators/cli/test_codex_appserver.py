"""`codex app-server`: a client's lines go in, responses, notifications and requests of the server come out."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from simulators.cli.codex import Settings, codex
from simulators.cli.effects import Exit, ReadStdin, Start, Write
from simulators.shells.program import Performer

from .responses_stub import Answer, Refuse, Reply, ResponsesStub, command, patch, say, text

CONFIG = """
model = "gpt-5.5"
model_provider = "stub"
[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:1/v1"
stream_max_retries = 0
request_max_retries = 0
"""
Message = dict[str, Any]
Step = Message | Callable[["Client"], Message]


class Client:
    """Plays a list of steps; each is sent once the server has nothing more to say. `glance` is sent in the middle."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps, self.heard = steps, list[Message]()
        self.glance: Callable[[Client], Message | None] | None = None
        self._number = 0

    def next(self) -> bytes:
        if not self.steps:
            return b""
        step = self.steps.pop(0)
        return self._line(step(self) if callable(step) else step)

    def look(self) -> bytes:
        message = self.glance(self) if self.glance is not None else None
        if message is None:
            return b""
        self.glance = None
        return self._line(message)

    def _line(self, message: Message) -> bytes:
        if "method" in message and "id" not in message:
            message = {**message, "id": f"c{self._number}"}
            self._number += 1
        return json.dumps(message).encode() + b"\n"

    def take(self, data: bytes) -> None:
        self.heard += [json.loads(line) for line in data.splitlines()]

    @property
    def thread(self) -> str:
        return next(str(m["result"]["thread"]["id"]) for m in self.heard if "thread" in (m.get("result") or {}))

    def methods(self) -> list[str]:
        return [m["method"] for m in self.heard if "method" in m]

    def params(self, method: str) -> list[Message]:
        return [m["params"] for m in self.heard if m.get("method") == method]


def play(home: Path, *steps: Step, replies: list[Reply], glance: Any = None) -> tuple[Client, ResponsesStub, int]:
    """Run the server until the steps are used up."""
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex/config.toml").write_text(CONFIG)
    stub = ResponsesStub(*replies)
    client = Client([INITIALIZE, *steps])
    client.glance = glance
    performer = Performer(lambda: stub)
    program = codex(Start(["app-server"], {"HOME": str(home)}, str(home)), Settings("0.171.0"))
    result: Any = None
    try:
        while True:
            effect = program.send(result)
            if isinstance(effect, Exit):
                return client, stub, effect.code
            if isinstance(effect, Write):
                result = client.take(effect.data)
            elif isinstance(effect, ReadStdin):
                result = client.next() if effect.timeout_s is None else client.look()
            else:
                result = performer.perform(effect)
    finally:
        performer.close()


INITIALIZE: Step = {"method": "initialize", "params": {"clientInfo": {"name": "claw", "version": "1"}}}


def thread(**params: Any) -> Step:
    return {"method": "thread/start", "params": params}


def turn(said: str) -> Step:
    def step(client: Client) -> Message:
        return {
            "method": "turn/start",
            "params": {"threadId": client.thread, "input": [{"type": "text", "text": said}]},
        }

    return step


def answer(decision: str) -> Step:
    """To the server's last request."""
    return lambda client: {
        "id": next(m["id"] for m in reversed(client.heard) if "id" in m and "method" in m),
        "result": {"decision": decision},
    }


def test_a_thread_and_a_turn(tmp_path: Path) -> None:
    client, stub, code = play(tmp_path, thread(), turn("hi"), replies=[say("Hello")])
    assert code == 0
    assert client.methods() == [
        "thread/started", "thread/status/changed", "turn/started", "item/started", "item/completed", "item/started",
        "item/agentMessage/delta", "item/completed", "thread/tokenUsage/updated", "account/rateLimits/updated",
        "thread/status/changed", "turn/completed",
    ]  # fmt: skip
    (done,) = client.params("turn/completed")
    assert (done["turn"]["status"], done["turn"]["items"][0]["text"]) == ("completed", "Hello")
    (usage,) = client.params("thread/tokenUsage/updated")
    assert usage["tokenUsage"]["total"]["inputTokens"] == 1000
    headers = dict(stub.requests[0].headers)
    assert (headers["originator"], "turn_trigger" in headers["x-codex-turn-metadata"]) == ("claw", False)


def test_a_command_that_needs_somebodys_word_runs_when_it_has_it(tmp_path: Path) -> None:
    steps = [thread(approvalPolicy="untrusted", sandbox="workspace-write"), turn("go"), answer("accept")]
    client, _stub, _ = play(tmp_path, *steps, replies=[Answer([command("echo hi > f.txt")]), say("Done")])
    (asked,) = client.params("item/commandExecution/requestApproval")
    assert asked["command"] == "/bin/bash -lc 'echo hi > f.txt'"
    assert (tmp_path / "f.txt").read_text() == "hi\n"
    statuses = [p["item"]["status"] for p in client.params("item/completed") if p["item"]["type"] == "commandExecution"]
    assert statuses == ["completed"]


def test_a_command_that_is_declined_does_not_run_and_the_model_is_told(tmp_path: Path) -> None:
    steps = [thread(approvalPolicy="untrusted", sandbox="workspace-write"), turn("go"), answer("decline")]
    _, stub, _ = play(tmp_path, *steps, replies=[Answer([command("echo hi > f.txt")]), say("Done")])
    assert not (tmp_path / "f.txt").exists()
    assert stub.bodies[1]["input"][-1]["output"] == "exec command rejected by user"


def test_a_patch_in_a_read_only_sandbox_is_asked_for(tmp_path: Path) -> None:
    said = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"
    steps = [thread(approvalPolicy="on-request", sandbox="read-only"), turn("go"), answer("decline")]
    client, stub, _ = play(tmp_path, *steps, replies=[Answer([patch(said)]), say("Done")])
    assert len(client.params("item/fileChange/requestApproval")) == 1
    assert not (tmp_path / "a.txt").exists()
    assert stub.bodies[1]["input"][-1]["output"] == "patch rejected by user"


def test_an_interrupt_ends_the_turn_while_a_tool_runs(tmp_path: Path) -> None:
    def interrupt(client: Client) -> Message | None:
        running = any(p["item"]["type"] == "commandExecution" for p in client.params("item/started"))
        return {"method": "turn/interrupt", "params": {"threadId": client.thread, "turnId": "t"}} if running else None

    steps = [thread(sandbox="danger-full-access", approvalPolicy="never"), turn("go"), turn("more")]
    client, stub, _ = play(tmp_path, *steps, replies=[Answer([command("sleep 20")]), say("ok")], glance=interrupt)
    assert [p["turn"]["status"] for p in client.params("turn/completed")] == ["interrupted", "completed"]
    outputs = [item["output"] for item in stub.bodies[1]["input"] if item["type"] == "function_call_output"]
    assert outputs[0].endswith("aborted by user")


def test_a_compaction_by_hand(tmp_path: Path) -> None:
    def compact(client: Client) -> Message:
        return {"method": "thread/compact/start", "params": {"threadId": client.thread}}

    replies: list[Reply] = [say("Hello"), say("SUMMARY"), say("after")]
    client, stub, _ = play(tmp_path, thread(), turn("one"), compact, turn("two"), replies=replies)
    assert [p["item"]["type"] for p in client.params("item/completed")].count("contextCompaction") == 1
    assert stub.bodies[1]["tools"] == []
    kept = [part["text"] for item in stub.bodies[2]["input"] for part in item["content"]]
    assert kept[-1] == "two" and "one" in kept and kept[-2].endswith("SUMMARY") and "Hello" not in kept


def test_a_turn_that_fails_says_why(tmp_path: Path) -> None:
    client, _, _ = play(tmp_path, thread(), turn("hi"), replies=[Refuse(500, "server_error", "x")])
    (failed,) = client.params("turn/completed")
    assert failed["turn"]["error"]["codexErrorInfo"] == "internalServerError"
    assert client.params("error")[-1]["willRetry"] is False


def test_a_thread_that_another_process_left(tmp_path: Path) -> None:
    first, _, _ = play(tmp_path, thread(), turn("one"), replies=[say("Hello")])
    resume: Step = {"method": "thread/resume", "params": {"threadId": first.thread}}
    client, stub, _ = play(tmp_path, resume, turn("two"), replies=[say("again")])
    assert client.thread == first.thread
    said = [part["text"] for item in stub.bodies[0]["input"] for part in item["content"]]
    assert said[-3:] == ["one", "Hello", "two"]


def errors(client: Client) -> Iterator[str]:
    return (m["error"]["message"] for m in client.heard if "error" in m)


def test_what_is_refused(tmp_path: Path) -> None:
    steps: list[Step] = [
        INITIALIZE,
        {"method": "bogus/x", "params": {}},
        {"method": "thread/start", "params": {"sandbox": "zzz"}},
        {"method": "thread/resume", "params": {"threadId": "T9"}},
        {"method": "turn/start", "params": {"threadId": "T9", "input": []}},
    ]
    client, _, _ = play(tmp_path, *steps, replies=[say("never asked")])
    said = list(errors(client))
    assert said[0] == "Already initialized"
    assert said[1].startswith("Invalid request: unknown variant `bogus/x`, expected one of `initialize`")
    assert said[2].startswith("Invalid request: unknown variant `zzz`")
    assert said[3:] == ["no rollout found for thread id T9", "thread not found: T9"]


def test_nothing_goes_before_initialize(tmp_path: Path) -> None:
    stub = ResponsesStub(say("x"))
    program = codex(Start(["app-server"], {"HOME": str(tmp_path)}, str(tmp_path)), Settings("0.171.0"))
    client = Client([thread()])
    performer, result = Performer(lambda: stub), None
    while True:
        effect = program.send(result)
        if isinstance(effect, Exit):
            break
        if isinstance(effect, Write):
            result = client.take(effect.data)
        else:
            result = client.next() if isinstance(effect, ReadStdin) else performer.perform(effect)
    assert list(errors(client)) == ["Not initialized"]


def test_tokens_of_texts_that_come_with_the_first_event(tmp_path: Path) -> None:
    """Two messages in one answer are two items."""
    client, _, _ = play(tmp_path, thread(), turn("hi"), replies=[Answer([text("a", "m1"), text("b", "m2")])])
    assert [p["item"]["text"] for p in client.params("item/completed") if p["item"]["type"] == "agentMessage"] == [
        "a",
        "b",
    ]
