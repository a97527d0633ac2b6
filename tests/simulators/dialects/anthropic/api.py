"""Plumbing of these tests: the API of one account, as a client without an SDK meets it."""

from typing import Any

import msgspec

from simulators import Simulator
from simulators.core.wire import Chunk, Head, Request
from simulators.shells.virtual_time import VirtualClock


class Reply(msgspec.Struct):
    """Status and body of an answer; of a stream its events."""

    status: int
    body: Any
    events: list[tuple[str, Any]] = []
    text: str = ""

    @property
    def message(self) -> str:
        return str(self.body["error"]["message"])


class Api:
    """`api.post(body)` to `/v1/messages`; `headers` go with every request."""

    def __init__(self, document: dict[str, Any] | None = None, **headers: str) -> None:
        self.simulator = Simulator(seed=7, clock=VirtualClock())
        self.account = self.simulator.account("sk-test")
        plain = (
            {"tokenizer": "words"} if document and "turns" in document else {"tokenizer": "words", "responder": "echo"}
        )
        self.account.load({**plain, **(document or {})})
        self.headers = {"x-api-key": "sk-test", "anthropic-version": "2023-06-01"}
        self.headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.now = 1_767_225_600.0

    def send(self, method: str, path: str, body: Any = None) -> Reply:
        target, _, query = path.partition("?")
        request = Request(
            method=method,
            path=target,
            query=tuple((name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair)),
            headers=tuple(self.headers.items()),
            body=b"" if body is None else msgspec.json.encode(body),
        )
        answer = self.simulator.engine.handle(request, self.now)
        events = list(answer)
        answer.close(self.now, "complete")
        head = next(event for event in events if isinstance(event, Head))
        chunks = [event for event in events if isinstance(event, Chunk)]
        text = b"".join(chunk.data for chunk in chunks).decode()
        if chunks and chunks[0].event:
            told = [(c.event, msgspec.json.decode(c.data.partition(b"data: ")[2])) for c in chunks]
            return Reply(head.status, None, told, text)
        try:
            return Reply(head.status, msgspec.json.decode(text), [], text)
        except msgspec.DecodeError:
            return Reply(head.status, None, [], text)

    def post(self, *messages: dict[str, Any], **fields: Any) -> Reply:
        """A message; the first field that is None is left out."""
        body = {"model": "claude-opus-4-8", "max_tokens": 500, "messages": list(messages), **fields}
        return self.send("POST", "/v1/messages", {name: value for name, value in body.items() if value is not None})

    def count(self, *messages: dict[str, Any], **fields: Any) -> Reply:
        body = {"model": "claude-opus-4-8", "messages": list(messages), **fields}
        return self.send("POST", "/v1/messages/count_tokens", body)
