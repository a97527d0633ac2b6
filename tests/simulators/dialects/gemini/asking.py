"""Plumbing of these tests: ask the dialect, read what it refuses, and ask a whole account."""

from typing import Any

import msgspec

from simulators import Simulator
from simulators.core.models import catalogue
from simulators.core.turn import ModelCall, Refused, Stamp
from simulators.core.wire import Chunk, Head, Request
from simulators.dialects.gemini import DIALECT

NOW = 1_767_225_600.0
STAMP = Stamp(
    request_id="CurECQsEwi33Z1nKmxwMTm",
    message_id="8pSWtUBRqhT2h2RyoM5YFi",
    now=NOW,
    tool_ids=("o3xJ9RiNQjxCXC1Hsspc8E", "p3xJ9RiNQjxCXC1Hsspc8E"),
)
SIGNED = {"thoughtSignature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def model(*parts: Any) -> dict[str, Any]:
    return user(*parts) | {"role": "model"}


def called(name: str = "read", **more: Any) -> dict[str, Any]:
    """A function call part; `SIGNED` is laid over it for one that is signed."""
    return {"functionCall": {"name": name, "args": {"path": "a"}}, **more}


def returned(name: str = "read", value: str = "done") -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": value}}}


def function(name: str, parameters: Any = None, **more: Any) -> dict[str, Any]:
    found = {"name": name, "description": f"Does {name}.", **more}
    return found if parameters is None else {**found, "parameters": parameters}


def tools(*functions: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"functionDeclarations": list(functions)}]


def body(*contents: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A small right request with these changes; a field given as None is left out."""
    whole = {"contents": list(contents) or [user("hi")], **fields}
    return {name: value for name, value in whole.items() if value is not None}


def request(
    given: dict[str, Any] | bytes | None = None,
    *,
    model: str = "gemini-3.8-flash",
    method: str = "generateContent",
    path: str | None = None,
    verb: str = "POST",
    key: str | None = "k",
    query: tuple[tuple[str, str], ...] = (),
) -> Request:
    raw = given if isinstance(given, bytes) else b"" if given is None else msgspec.json.encode(given)
    headers = (("x-goog-api-key", key),) if key else ()
    where = path or f"/v1beta/models/{model}:{method}"
    return Request(method=verb, path=where, query=query, headers=headers, body=raw)


def parse(asked: Request) -> ModelCall:
    operation = DIALECT.route(asked)
    assert operation is not None
    return DIALECT.parse(asked, operation, catalogue())


def accepted(*contents: dict[str, Any], model: str = "gemini-3.8-flash", **fields: Any) -> ModelCall:
    """The call that a request becomes."""
    return parse(request(body(*contents, **fields), model=model))


def refused(*contents: dict[str, Any], model: str = "gemini-3.8-flash", **fields: Any) -> str:
    """The message of the 400 (or `404 …`) that a request gets, "accepted" if it gets none."""
    return refusal_of(request(body(*contents, **fields), model=model))


def refusal_of(asked: Request) -> str:
    try:
        parse(asked)
    except Refused as refusal:
        status, _, raw = DIALECT.encode_failure(refusal.failure, STAMP)
        error = msgspec.json.decode(raw)["error"]
        return str(error["message"] if status == 400 else f"{status} {error['status']}: {error['message']}")
    return "accepted"


class Reply(msgspec.Struct):
    """What an account answered: `json` of the body, `chunks` of a stream decoded one by one."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def chunks(self) -> list[Any]:
        return [msgspec.json.decode(event[6:]) for event in self.body.split(b"\r\n\r\n") if event]

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json["error"]
        return found

    @property
    def usage(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json["usageMetadata"]
        return found


def account(document: dict[str, Any] | None = None, **options: Any) -> Simulator:
    """A simulator whose account `k` counts words and echoes."""
    made = Simulator(seed=7, **options)
    made.account("k").load({"tokenizer": "words", "otherwise": "echo", "turns": [], **(document or {})})
    return made


def ask(simulator: Simulator, asked: Request, *, at: float = 0.0) -> Reply:
    """Send a request `at` seconds after the beginning, and read the answer to its end."""
    answer = simulator.engine.handle(asked, NOW + at)
    events = list(answer)
    answer.close(NOW + at, "complete")
    head = next(event for event in events if isinstance(event, Head))
    return Reply(head.status, dict(head.headers), b"".join(e.data for e in events if isinstance(e, Chunk)))


def generate(simulator: Simulator, *contents: dict[str, Any], at: float = 0.0, **fields: Any) -> Reply:
    """Ask `gemini-3.8-flash`, or the model that is given, for an answer."""
    name = fields.pop("model", "gemini-3.8-flash")
    return ask(simulator, request(body(*contents, **fields), model=name), at=at)
