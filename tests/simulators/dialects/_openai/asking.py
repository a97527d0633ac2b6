"""Plumbing of these tests: ask a simulator over a path, and read what it says."""

from typing import Any

import msgspec

from simulators import Simulator
from simulators.core.wire import Chunk, Head, Request

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


class Said:
    """Status, headers and body of an answer; `error` of its envelope."""

    def __init__(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.status, self.headers, self.data = status, headers, data

    @property
    def body(self) -> Any:
        return msgspec.json.decode(self.data)

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["error"]
        return found

    @property
    def events(self) -> list[Any]:
        lines = [line[6:] for line in self.data.split(b"\n") if line.startswith(b"data: ") and line != b"data: [DONE]"]
        return [msgspec.json.decode(line) for line in lines]

    @property
    def text(self) -> str:
        """The text of a whole response or completion."""
        if "choices" in self.body:
            return str(self.body["choices"][0]["message"]["content"])
        parts = [part for item in self.body["output"] for part in item.get("content") or ()]
        return "".join(part.get("text", "") for part in parts)


class Asker:
    """A simulator with one account that answers `yes` for ever, and its clock."""

    def __init__(self, **document: Any) -> None:
        self.simulator = Simulator(seed=5)
        turns = {} if "turns" in document else {"turns": [{"text": "yes"}], "otherwise": "repeat"}
        self.account = self.simulator.account("sk-test", {"tokenizer": "words", "unused": "allow", **turns, **document})

    def send(self, path: str, body: Any = None, *, method: str = "POST", **headers: str) -> Said:
        path, _, query = path.partition("?")
        pairs = tuple((name, value) for name, _, value in (part.partition("=") for part in query.split("&") if part))
        sent = {"authorization": "Bearer sk-test"} | {name.replace("_", "-"): value for name, value in headers.items()}
        raw = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        asked = Request(method=method, path=path, query=pairs, headers=tuple(sent.items()), body=raw)
        answer = self.simulator.handle(asked)
        events = list(answer)
        answer.close(self.simulator.now(), "complete")
        head = next(event for event in events if isinstance(event, Head))
        data = b"".join(event.data for event in events if isinstance(event, Chunk))
        return Said(head.status, dict(head.headers), data)

    def chat(self, *messages: dict[str, Any], path: str = CHAT, **fields: Any) -> Said:
        body = {"model": "gpt-4o", "messages": list(messages) or [user("hi")], **fields}
        return self.send(path, {name: value for name, value in body.items() if value is not None})

    def respond(self, given: Any = "hi", **fields: Any) -> Said:
        body = {"model": "gpt-4.1", "input": given, **fields}
        return self.send(RESPONSES, {name: value for name, value in body.items() if value is not None})


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def calling(*ids: str) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "read", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(call_id: str, content: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def function(name: str = "read", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA, **more}}


def called(call_id: str, name: str = "read") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def output(call_id: str, text: Any = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}
