"""A made-up vendor for tests of the core: the smallest dialect, faults and responder that show everything.

`POST /plain` with {model, stream, max_tokens, system, messages: [[role, text] …], marks: {index: ttl}, tools: [name]};
answers are lines of text. Tests of the core never see a real vendor.
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any

import msgspec

from simulators.core.account_document import AccountDocument
from simulators.core.fault import FaultContext, FaultKind, Responder, ShapedTurn
from simulators.core.simulator import Account, Engine, Parts
from simulators.core.turn import (
    Block,
    Failure,
    ModelCall,
    ModelInfo,
    ModelTurn,
    Operation,
    Refused,
    Stamp,
    Tokens,
    ToolDecl,
)  # fmt: skip
from simulators.core.wire import Chunk, Head, Headers, Request, WireEvent

NOW = 1_767_225_600.0


def digest(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=16).digest()


class PlainDialect:
    name = "plain"

    def route(self, request: Request) -> Operation | None:
        operations: dict[str, Operation] = {
            "/plain": "generate",
            "/plain/count": "count_tokens",
            "/plain/models": "models",
            "/plain/other": "other",
        }
        return operations.get(request.path)

    def key(self, request: Request) -> str | None:
        return request.header("x-key")

    def parse(self, request: Request, operation: Operation, models: Mapping[str, ModelInfo]) -> ModelCall:
        if operation == "models":
            return ModelCall(dialect=self.name, operation=operation, model="")
        try:
            body = msgspec.json.decode(request.body)
        except msgspec.DecodeError:
            raise Refused(Failure(kind="bad_request", message="not JSON"))
        if body["model"] not in models:
            raise Refused(Failure(kind="model_not_found", message=body["model"]))
        marks = body.get("marks", {})
        blocks = [
            Block(level="tools", path=f"tools[{i}]", kind="tool", digest=digest("tool", name), text=name)
            for i, name in enumerate(body.get("tools", []))
        ]
        if body.get("system"):
            blocks.append(
                Block(
                    level="system", path="system[0]", kind="text", role="system", text=body["system"],
                    digest=digest("system", body["system"]), ttl=marks.get("system"),
                )
            )  # fmt: skip
        for i, (role, text) in enumerate(body["messages"]):
            blocks.append(
                Block(
                    level="messages", path=f"messages[{i}].content[0]", kind="text", role=role,
                    digest=digest(role, text), text=text, ttl=marks.get(str(i)), opens_message=True,
                )
            )  # fmt: skip
        role, text = body["messages"][-1]
        return ModelCall(
            dialect=self.name,
            operation=operation,
            model=body["model"],
            stream=body.get("stream", False),
            max_tokens=body.get("max_tokens"),
            stop_sequences=tuple(body.get("stop", ())),
            blocks=tuple(blocks),
            settings=body.get("settings", {}),
            system=body.get("system", ""),
            last_user=text if role == "user" else "",
            tools=tuple(ToolDecl(name) for name in body.get("tools", [])),
            body=body,
            strict_window=body.get("strict", False),
        )

    def encode_stream(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
        yield Chunk(f"start {stamp.message_id}\n".encode(), "start")
        for word in (turn.text or "").split():
            yield Chunk(f"{word}\n".encode(), "delta")
        for call_, id_ in zip(turn.tool_calls, stamp.tool_ids, strict=True):
            yield Chunk(f"call {call_.name} {id_}\n".encode(), "call")
        yield Chunk(f"stop {turn.stop} {tokens.output}\n".encode(), "stop")

    def encode_json(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
        return msgspec.json.encode({"text": turn.text, "stop": turn.stop, "output": tokens.output})

    def encode_count(self, call: ModelCall, tokens: int, stamp: Stamp) -> bytes:
        return b"%d" % tokens

    def encode_models(self, call: ModelCall, models: Mapping[str, ModelInfo], stamp: Stamp) -> bytes:
        return b"%d" % len(models)

    def encode_failure(self, failure: Failure, stamp: Stamp) -> tuple[int, Headers, bytes]:
        status = {"auth": 401, "model_not_found": 404, "not_found": 404, "rate_limited": 429, "request_too_large": 413}
        after = () if failure.retry_after is None else (("retry-after", f"{failure.retry_after:g}"),)
        return status.get(failure.kind, 400), after, f"{failure.kind}: {failure.message}".encode()

    def error_event(self, failure: Failure, stamp: Stamp) -> Chunk:
        return Chunk(failure.kind.encode(), "error")

    def headers(self, call: ModelCall | None, limits: Mapping[str, Any], stamp: Stamp) -> Headers:
        return (("x-request", stamp.request_id), *((f"x-left-{k}", str(v.remaining)) for k, v in limits.items()))

    def usage(self, call: ModelCall, tokens: Tokens) -> Mapping[str, Any]:
        return {"prompt": tokens.prompt, "output": tokens.output}


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    pass


class After(msgspec.Struct, forbid_unknown_fields=True):
    events: int = 1


def busy(params: Any, context: FaultContext) -> Failure:
    return Failure(kind="overloaded", message="busy")


def page(params: Any, context: FaultContext) -> Iterator[WireEvent]:
    yield Head(503, (("content-type", "text/html"),))
    yield Chunk(b"<html>")


def doubled(params: Any, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> ShapedTurn:
    more = msgspec.structs.replace(tokens, output=2 * tokens.output)
    return ShapedTurn(turn, more, lambda data: data.upper())


def clipped(params: After, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    left = params.events
    for event in events:
        if type(event) is Chunk:
            if not left:
                return
            left -= 1
        yield event


def kind(name: str, phase: str, params: type = Nothing, **functions: Callable[..., Any]) -> Any:
    return SimpleNamespace(KIND=name, PHASE=phase, Params=params, **functions)


FAULTS: dict[str, FaultKind] = {
    "busy": kind("busy", "admission", admit=busy),
    "page": kind("page", "admission", admit=page),
    "doubled": kind("doubled", "turn", turn=doubled),
    "clipped": kind("clipped", "wire", After, frames=clipped),
}


class Script:
    """Rules, then turns in order, then nothing (or an echo)."""

    name = "script"

    def __init__(self, document: AccountDocument) -> None:
        self.document, self.next = document, 0

    def answer(self, call: ModelCall, *, n: int, chance: Callable[[str], float]) -> ModelTurn | None:
        for rule in self.document.rules:
            if rule.when.matches(call, n):
                return rule.reply
        if self.next < len(self.document.turns):
            self.next += 1
            return self.document.turns[self.next - 1]
        if self.document.otherwise == "echo" or self.document.responder == "persona":
            return ModelTurn(text=call.last_user, answered_by="echo")
        return None

    def unused(self) -> list[str]:
        return [f"turns[{i}]" for i in range(self.next, len(self.document.turns))]

    def nearest(self, call: ModelCall) -> Mapping[str, Any] | None:
        return {"rule": "rules[0]"} if self.document.rules else None


def script(document: AccountDocument) -> Responder:
    return Script(document)


def engine(**options: Any) -> Engine:
    """An engine of the plain vendor; words are counted by spaces."""
    parts = Parts(
        dialects={"plain": PlainDialect()},
        faults=FAULTS,
        make_responder=script,
        count_default=lambda text: len(text.split()),
        errors={"other/odd": Failure(kind="rate_limited", status=418, body=b"teapot", headers=(("x-odd", "1"),))},
    )
    return Engine(parts, **options)


def account(document: str | Mapping[str, Any] = "turns: []", **options: Any) -> Account:
    """The account `k` of a new engine, words counted one by one."""
    made = engine(**options).account("k")
    return made.load(document)


class Reply(msgspec.Struct):
    status: int
    headers: dict[str, str]
    body: bytes
    events: list[WireEvent]

    @property
    def text(self) -> str:
        return self.body.decode()


def request(body: Any = None, *, path: str = "/plain", key: str | None = "k") -> Request:
    data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
    return Request(method="POST", path=path, headers=(("x-key", key),) if key else (), body=data)


def say(*texts: str, **fields: Any) -> dict[str, Any]:
    """A request body: the texts are user and assistant messages in turn."""
    roles = ("user", "assistant")
    return {"model": "sim-test", "messages": [[roles[i % 2], t] for i, t in enumerate(texts)], **fields}


def ask(engine: Engine, body: Any, *, now: float = NOW, path: str = "/plain", key: str | None = "k") -> Reply:
    """Send a request and read the answer to its end."""
    answer = engine.handle(request(body, path=path, key=key), now)
    events = list(answer)
    answer.close(now, "complete")
    return reply(events)


def reply(events: list[WireEvent]) -> Reply:
    head = next(event for event in events if isinstance(event, Head))
    body = b"".join(event.data for event in events if isinstance(event, Chunk))
    return Reply(head.status, dict(head.headers), body, events)
