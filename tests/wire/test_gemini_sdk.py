"""The official google-genai SDK before the simulators: every door gives it the same bytes, breaks and errors."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import msgspec
import pytest
from google import genai
from google.genai import errors, types

from simulators import Simulator, faults
from simulators.dialects.gemini.fields import MESSAGES
from simulators.shells.serving import ServedOnThread
from simulators.shells.virtual_time import EPOCH, VirtualClock, run

MODEL = "gemini-3.8-flash"
TURN = {
    "thinking": "The notes will say.",
    "text": "I'll read them: “notes” \U0001f600.",
    "tool_calls": [
        {"name": "read", "input": {"path": "notes.md", "lines": [1, 20]}},
        {"name": "read", "input": {"path": "more.md"}},
    ],
}
READ = {"name": "read", "description": "Read a file", "parameters_json_schema": {"type": "object", "properties": {}}}
CONFIG: dict[str, Any] = {
    "tools": [{"function_declarations": [READ]}],
    "automatic_function_calling": {"disable": True},
    "thinking_config": {"include_thoughts": True},
}
ASK: dict[str, Any] = {"model": MODEL, "contents": "What is in the notes?", "config": CONFIG}
# Fields that the API sends and the SDK's types, which forbid what they do not know, do not have yet.
BEYOND_THE_TYPES = {"usageMetadata": ("serviceTier",), "": ("promptTokensDetails",)}
FRAMING = {"transfer-encoding", "connection", "content-length"}

Play = Callable[..., Any]


@pytest.fixture(params=["in process", "HTTP"])
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def simulated(door: str, document: dict[str, Any]) -> Iterator[tuple[Simulator, Callable[[], genai.Client]]]:
    """A simulator with one account, and what makes an SDK client that reaches it."""
    simulator = Simulator(seed=7, clock=VirtualClock())
    simulator.account("k").load({"tokenizer": "words", **document})
    if door == "in process":
        transport = simulator.transport()

        def in_process() -> genai.Client:
            options = types.HttpOptions(
                httpx_client=httpx2.Client(transport=transport),
                httpx_async_client=httpx2.AsyncClient(transport=transport),
            )
            return genai.Client(api_key="k", http_options=options)

        yield simulator, in_process
        return
    with ServedOnThread(simulator.app()) as served:
        yield (
            simulator,
            lambda: genai.Client(
                api_key="k",
                http_options=types.HttpOptions(base_url=served.url, httpx_async_client=httpx2.AsyncClient()),
            ),
        )


def play(door: str, way: str, document: dict[str, Any], sync: Play, asynchronous: Play) -> tuple[Any, Simulator]:
    """Run `sync(client)` or `await asynchronous(client.aio)`; in process the async one under virtual time."""
    with simulated(door, document) as (simulator, client):
        if way == "sync":
            return sync(client()), simulator

        async def main() -> Any:
            return await asynchronous(client().aio)

        return (run(main()) if door == "in process" else asyncio.run(main())), simulator


def answer(door: str, way: str, document: dict[str, Any], **ask: Any) -> tuple[Any, Simulator]:
    """The response, or the exception."""

    def sync(client: Any) -> Any:
        try:
            return client.models.generate_content(**{**ASK, **ask})
        except Exception as error:
            return error

    async def asynchronous(client: Any) -> Any:
        try:
            return await client.models.generate_content(**{**ASK, **ask})
        except Exception as error:
            return error

    return play(door, way, document, sync, asynchronous)


def chunks(door: str, way: str, document: dict[str, Any]) -> tuple[list[Any], Simulator]:
    """What the SDK yields, and at last the exception if there was one."""

    def sync(client: Any) -> list[Any]:
        seen: list[Any] = []
        try:
            seen.extend(client.models.generate_content_stream(**ASK))  # keeps what came before an exception
        except Exception as error:
            seen.append(error)
        return seen

    async def asynchronous(client: Any) -> list[Any]:
        seen: list[Any] = []
        try:
            async for chunk in await client.models.generate_content_stream(**ASK):
                seen.append(chunk)  # noqa: PERF401
        except Exception as error:
            seen.append(error)
        return seen

    found, simulator = play(door, way, document, sync, asynchronous)
    return found, simulator


PLAIN = {
    "contents": [{"parts": [{"text": "What is in the notes?"}]}],
    "tools": [{"functionDeclarations": [{"name": "read"}]}],
}
STREAM = f"/v1/models/{MODEL}:streamGenerateContent"


def raw(door: str, document: dict[str, Any], path: str, *, timeout: float = 1.0) -> tuple[Any, ...]:
    """Status, headers (without framing) and bytes as far as they came; at last what broke, by name."""
    simulator = Simulator(seed=7, clock=VirtualClock() if door == "in process" else None)
    simulator.account("k").load({"tokenizer": "words", **document})
    if door == "in process":
        return _fetch(httpx2.Client(transport=simulator.transport(), timeout=timeout), f"http://gemini{path}")
    with ServedOnThread(simulator.app()) as served:
        return _fetch(httpx2.Client(timeout=timeout), f"{served.url}{path}")


def _fetch(client: Any, url: str) -> tuple[Any, ...]:
    pieces, head = [], ()
    try:
        with client, client.stream("POST", url, json=PLAIN, headers={"x-goog-api-key": "k"}) as response:
            kept = [pair for pair in response.headers.multi_items() if pair[0] not in FRAMING]
            head = (response.status_code, kept)
            for piece in response.iter_raw():
                pieces.append(piece)  # noqa: PERF402
    except httpx2.HTTPError as error:
        return (*head, b"".join(pieces), type(error).__name__)
    return (*head, b"".join(pieces))


def strict(kind: Any, body: bytes) -> Any:
    """Validated by the SDK's type, which forbids unknown fields; those of `BEYOND_THE_TYPES` are left out."""
    given = msgspec.json.decode(body)
    for inside, names in BEYOND_THE_TYPES.items():
        holder = given.get(inside, {}) if inside else given
        for name in names:
            holder.pop(name, None)
    return kind.model_validate(given)


@pytest.mark.parametrize("method", ["generateContent", "streamGenerateContent", "streamGenerateContent?alt=sse"])
def test_both_doors_give_the_same_bytes(method: str) -> None:
    told = [raw(door, {"turns": [TURN]}, f"/v1/models/{MODEL}:{method}") for door in ("in process", "HTTP")]
    assert told[0][0] == 200
    assert len(told[0][2]) > 500
    assert told[0] == told[1]


def test_every_body_and_chunk_is_what_the_types_declare() -> None:
    """The SDK builds its objects without validation; so they are validated here, with unknown fields forbidden."""
    whole = raw("in process", {"turns": [TURN]}, f"/v1beta/models/{MODEL}:generateContent")[2]
    assert strict(types.GenerateContentResponse, whole).candidates[0].finish_reason == types.FinishReason.STOP
    streamed = raw("in process", {"turns": [TURN]}, f"{STREAM}?alt=sse")[2]
    events = [event.removeprefix(b"data: ") for event in streamed.split(b"\r\n\r\n") if event]
    assert len(events) > 5
    for event in events:
        assert strict(types.GenerateContentResponse, event).usage_metadata.prompt_token_count == 5
    listed = msgspec.json.decode(raw("in process", {"turns": [TURN]}, STREAM)[2])
    assert [msgspec.json.encode(chunk) for chunk in listed] == events


@pytest.mark.parametrize("name", ["Part", "Content", "ThinkingConfig", "FunctionDeclaration", "ExecutableCode"])
def test_every_field_that_the_sdk_can_send_is_known(name: str) -> None:
    """An unknown one would be refused."""
    known = set(MESSAGES[name])
    assert {field.alias for field in getattr(types, name).model_fields.values()} <= known


def test_a_stream_adds_up_to_the_whole_answer(door: str, way: str) -> None:
    streamed, _ = chunks(door, way, {"turns": [TURN]})
    whole, _ = answer(door, way, {"turns": [TURN]})
    parts = [part for chunk in streamed for part in chunk.candidates[0].content.parts]
    assert "".join(part.text for part in parts if part.text and not part.thought) == TURN["text"] == whole.text
    assert "".join(part.text for part in parts if part.thought) == TURN["thinking"]
    assert [part.function_call for part in parts if part.function_call] == whole.function_calls
    assert whole.function_calls[0].args == {"path": "notes.md", "lines": [1, 20]}
    assert [chunk.candidates[0].finish_reason for chunk in streamed][-2:] == [None, types.FinishReason.STOP]
    last = streamed[-1].usage_metadata
    assert last == whole.usage_metadata
    assert (last.prompt_token_count, last.candidates_token_count, last.thoughts_token_count) == (8, 7, 4)
    assert last.total_token_count == 8 + 7 + 4


def test_an_answer_can_be_sent_back_as_it_came(way: str) -> None:
    """The SDK keeps the signatures: the next request is taken."""

    def contents(first: Any) -> list[Any]:
        results = [types.Part.from_function_response(name="read", response={"output": "x"}) for _ in range(2)]
        return ["What is in the notes?", first.candidates[0].content, types.Content(role="user", parts=results)]

    def sync(client: Any) -> Any:
        first = client.models.generate_content(**ASK)
        return client.models.generate_content(**{**ASK, "contents": contents(first)}).text

    async def asynchronous(client: Any) -> Any:
        first = await client.models.generate_content(**ASK)
        return (await client.models.generate_content(**{**ASK, "contents": contents(first)})).text

    document = {"turns": [TURN, {"text": "Nothing."}]}
    assert play("in process", way, document, sync, asynchronous)[0] == "Nothing."


def test_cached_contents_live_as_long_as_they_were_told(door: str, way: str) -> None:
    """Made, listed, read from, prolonged, removed; counting knows what is in them."""
    document = {"turns": [], "otherwise": "echo", "models": {MODEL: {"min_cacheable_tokens": 100}}}
    book = {"contents": ["word " * 500], "ttl": "60s", "display_name": "book"}

    def sync(client: Any) -> Any:
        made = client.caches.create(model=MODEL, config=book)
        asked = {"model": MODEL, "contents": "And then?", "config": {"cached_content": made.name}}
        used = client.models.generate_content(**asked).usage_metadata
        longer = client.caches.update(name=made.name, config={"ttl": "600s"})
        listed = [cached.name for cached in client.caches.list()]
        client.caches.delete(name=made.name)
        with pytest.raises(errors.ClientError) as gone:
            client.models.generate_content(**asked)
        return made, used, longer, listed, gone.value

    async def asynchronous(client: Any) -> Any:
        made = await client.caches.create(model=MODEL, config=book)
        asked = {"model": MODEL, "contents": "And then?", "config": {"cached_content": made.name}}
        used = (await client.models.generate_content(**asked)).usage_metadata
        longer = await client.caches.update(name=made.name, config={"ttl": "600s"})
        listed = [cached.name async for cached in await client.caches.list()]
        await client.caches.delete(name=made.name)
        with pytest.raises(errors.ClientError) as gone:
            await client.models.generate_content(**asked)
        return made, used, longer, listed, gone.value

    (made, used, longer, listed, gone), _ = play(door, way, document, sync, asynchronous)
    assert made.usage_metadata.total_token_count == 500
    assert (used.prompt_token_count, used.cached_content_token_count) == (502, 500)
    assert (longer.expire_time - made.expire_time).total_seconds() == 540
    assert listed == [made.name]
    assert (gone.code, gone.message) == (403, "CachedContent not found (or permission denied)")


def test_lists_and_counts() -> None:
    with simulated("in process", {}) as (_, client):
        sdk = client()
        names = [model.name for model in sdk.models.list(config={"page_size": 4})]
        assert f"models/{MODEL}" in names
        assert len(names) == len(set(names)) > 8
        assert sdk.models.get(model=MODEL).input_token_limit == 1_048_576
        assert sdk.models.count_tokens(model=MODEL, contents="one two three").total_tokens == 3
        with pytest.raises(errors.ClientError, match="is not found for API version v1,"):
            sdk.models.generate_content(model="gemini-0", contents="hi")


def test_a_quota_says_in_its_details_when_to_come_back(door: str, way: str) -> None:
    document = {"turns": [{"error": {"kind": "rate_limited", "retry_after": 51}}]}
    error, _ = answer(door, way, document)
    assert isinstance(error, errors.ClientError)
    assert (error.code, error.status) == (429, "RESOURCE_EXHAUSTED")
    assert "Please retry in 51." in (error.message or "")
    assert error.details["error"]["details"][-1]["retryDelay"] == "51s"
    assert "retry-after" not in error.response.headers


def test_a_hang_becomes_a_timeout_without_waiting(way: str) -> None:
    config = {**CONFIG, "http_options": {"timeout": 600_000}}
    error, simulator = answer("in process", way, {"faults": [{"kind": "hang"}]}, config=config)
    assert isinstance(error, httpx2.TimeoutException)
    assert simulator.now() == EPOCH + 600
    assert simulator.account("k").journal.exchanges[-1].ended == "client_gone"


BREAKS: dict[str, tuple[dict[str, Any], type[Exception] | None]] = {
    "truncate": ({"kind": "truncate", "after_events": 3}, None),  # a clean end: the SDK says nothing
    "closed": ({"kind": "cut", "after_events": 3, "how": "fin"}, httpx2.RemoteProtocolError),
    "cut": ({"kind": "cut", "after_events": 3, "how": "reset"}, httpx2.ReadError),
    "error event": ({"kind": "error_event", "after_events": 3}, errors.ServerError),
    "overloaded": ({"kind": "overloaded"}, errors.ServerError),
}


@pytest.mark.parametrize(("fault", "kind"), BREAKS.values(), ids=BREAKS.keys())
def test_a_broken_stream_looks_the_same_through_both_doors(
    way: str, fault: dict[str, Any], kind: type[Exception] | None
) -> None:
    """Same chunks, same exception, same end in the journal."""
    told = []
    for door in ("in process", "HTTP"):
        found, simulator = chunks(door, way, {"turns": [TURN], "faults": [fault], "unused": "allow"})
        error = found.pop() if found and isinstance(found[-1], Exception) else None
        assert (type(error) if error else None) is kind
        exchange = simulator.account("k").journal.exchanges[-1]
        texts = [chunk.model_dump(exclude={"sdk_http_response"}) for chunk in found]
        told.append((texts, str(error), exchange.ended, exchange.answered_by, exchange.status))
    assert told[0] == told[1]


QUICK = {"drip": {"bytes_per_s": 1e6}, "slow_first_byte": {"seconds": 0.01}, "stall": {"seconds": 0.01}}


METHODS = {"whole": "generateContent", "array": "streamGenerateContent", "sse": "streamGenerateContent?alt=sse"}
# Faults that find nothing of theirs: events end in CR LF anyway, an array has neither events nor comments, an answer
# in one piece has no pieces.
NO_CHANGE = {
    "whole": (
        "comments", "crlf", "error_event", "malformed_sse", "missing_end", "missing_start", "reordered_deltas",
        "unknown_event",
    ),
    "array": ("comments", "malformed_sse", "unknown_event"),
    "sse": ("crlf",),
}  # fmt: skip
UNSEEN = ("informational", "slow_first_byte", "drip", "stall", "split_utf8")  # in the bytes, or later ones


@pytest.mark.parametrize("kind", sorted(faults.load()))
@pytest.mark.parametrize("framing", METHODS)
def test_every_fault_looks_the_same_through_both_doors(kind: str, framing: str) -> None:
    fields = set(faults.load()[kind].Params.__struct_fields__)
    given = {name: value for name, value in QUICK.get(kind, {}).items() if name in fields}
    document = {"turns": [TURN], "unused": "allow", "faults": [{"kind": kind, **given}]}
    path, timeout = f"/v1/models/{MODEL}:{METHODS[framing]}", 0.2 if kind == "hang" else 5.0
    told = [raw(door, document, path, timeout=timeout) for door in ("in process", "HTTP")]
    assert told[0] == told[1]
    if kind not in UNSEEN:
        assert (told[0] == raw("in process", {"turns": [TURN]}, path)) == (kind in NO_CHANGE[framing])
