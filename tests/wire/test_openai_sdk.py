"""The official OpenAI SDK before the simulators: its types judge every event and body, every fault goes through."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from simulators import Simulator, faults
from simulators.shells.serving import ServedOnThread
from simulators.shells.virtual_time import VirtualClock

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
READ = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CHAT: dict[str, Any] = {
    "model": "gpt-5.4",
    "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "What is in the notes?"}],
    "tools": [{"type": "function", "function": {"name": "read", "parameters": READ}}],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-5.6-sol",
    "input": "What is in the notes?",
    "reasoning": {"summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "tools": [{"type": "function", "name": "read", "parameters": READ}, {"type": "custom", "name": "patch"}],
}
TURN = {
    "thinking": "The notes will say.",
    "text": "I'll read them: \u201cnotes\u201d \U0001f600.",
    "tool_calls": [{"name": "read", "input": {"path": "notes.md"}}, {"name": "patch", "input": "*** Begin"}],
}
# One item of every kind that the provider streams with events of its own.
OWN = [
    {"type": "web_search_call", "action": {"type": "search", "query": "notes"}},
    {"type": "file_search_call", "queries": ["notes"], "results": None},
    {"type": "code_interpreter_call", "code": "1", "container_id": "cntr_1", "outputs": None},
    {"type": "image_generation_call", "result": "aGk="},
    {"type": "mcp_call", "server_label": "s", "name": "n", "arguments": "{}"},
    {"type": "mcp_list_tools", "server_label": "s", "tools": []},
    {"type": "compaction", "summary": "What was said."},
]
PATHS = {"chat": ("/v1/chat/completions", CHAT), "responses": ("/v1/responses", RESPONSES)}


def simulator(*turns: dict[str, Any], **document: Any) -> Simulator:
    made = Simulator(seed=7, clock=VirtualClock())
    made.account("sk-test").load({"turns": list(turns) or [TURN], "unused": "allow", **document})
    return made


def client(made: Simulator) -> openai.OpenAI:
    return openai.OpenAI(api_key="sk-test", max_retries=0, http_client=httpx2.Client(transport=made.transport()))


def undeclared(model: BaseModel, path: str = "") -> Iterator[str]:
    """Fields that the SDK's types do not declare, at every depth."""
    yield from (f"{path}.{name}" for name in model.model_extra or {})
    for name in type(model).model_fields:
        value = getattr(model, name)
        for index, inner in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(inner, BaseModel):
                yield from undeclared(inner, f"{path}.{name}[{index}]")


def test_every_event_of_a_response_is_one_that_the_sdk_declares() -> None:
    made = simulator(
        {**TURN, "blocks": OWN}, {"text": "No.", "stop": "refusal"}, {"text": "one two", "stop": "max_tokens"}
    )
    seen = []
    for _ in range(3):
        events = list(client(made).responses.create(**RESPONSES, stream=True))
        assert [event.sequence_number for event in events] == list(range(len(events)))
        for event in events:
            checked = EVENT.validate_python(event.model_dump(), strict=True)
            assert checked.type == event.type
        seen.append([event.type for event in events])
    kinds = {kind for one in seen for kind in one}
    assert [one[0] for one in seen] == ["response.created"] * 3
    assert [one[-1] for one in seen] == ["response.completed", "response.completed", "response.incomplete"]
    assert kinds >= {
        "response.reasoning_summary_text.delta", "response.output_text.done", "response.function_call_arguments.delta",
        "response.custom_tool_call_input.done", "response.web_search_call.searching", "response.refusal.done",
        "response.file_search_call.completed", "response.code_interpreter_call.interpreting",
        "response.image_generation_call.generating", "response.mcp_call.completed",
        "response.mcp_list_tools.completed", "response.compaction.compacting",
    }  # fmt: skip


@pytest.mark.parametrize("error", ["overloaded", "server_error", "rate_limited", "context_overflow"])
def test_a_failure_in_the_middle_is_an_event_that_the_sdk_declares(error: str) -> None:
    made = simulator(faults=[{"kind": "error_event", "error": error, "after_events": 5}])
    events = list(client(made).responses.create(**RESPONSES, stream=True))
    last = events[-1].model_dump()
    if error == "context_overflow":  # a code that the types lack; Codex and others look for it
        assert last["response"]["error"]["code"] == "context_length_exceeded"
        last["response"]["error"]["code"] = "invalid_prompt"
    assert EVENT.validate_python(last, strict=True).type in ("error", "response.failed")
    assert [event.sequence_number for event in events] == list(range(6))


@pytest.mark.parametrize("more", [{}, {"n": 2}, {"logprobs": True, "model": "gpt-4o"}], ids=["plain", "n", "logprobs"])
def test_every_chunk_is_one_that_the_sdk_declares(more: dict[str, Any]) -> None:
    ask = {**CHAT, **more, "stream_options": {"include_usage": True}}
    chunks = list(client(simulator()).chat.completions.create(**ask, stream=True))
    for chunk in chunks:
        assert ChatCompletionChunk.model_validate(chunk.model_dump(), strict=True)
        assert set(undeclared(chunk)) <= {".obfuscation"}
    assert chunks[-1].usage.prompt_tokens > 0
    assert {choice.index for chunk in chunks for choice in chunk.choices} == set(range(more.get("n", 1)))


def test_a_stream_adds_up_to_the_whole_answer() -> None:
    whole = client(simulator()).responses.create(**RESPONSES)
    assert Response.model_validate(whole.model_dump(), strict=True)
    streamed = list(client(simulator()).responses.create(**RESPONSES, stream=True))[-1].response
    assert streamed.output == whole.output
    assert streamed.usage == whole.usage
    chat = client(simulator()).chat.completions.create(**CHAT)
    assert ChatCompletion.model_validate(chat.model_dump(), strict=True)
    assert list(undeclared(chat)) == []
    with client(simulator()).chat.completions.stream(**CHAT) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == chat.choices[0].message.content == TURN["text"]
    assert [c.function.arguments for c in final.choices[0].message.tool_calls] == [
        c.function.arguments for c in chat.choices[0].message.tool_calls
    ]


def test_structured_output_is_passed_through() -> None:
    class Notes(BaseModel):
        title: str

    made = simulator({"text": '{"title": "x"}'}, {"text": '{"title": "y"}'})
    parsed = client(made).chat.completions.parse(model="gpt-4o", messages=CHAT["messages"], response_format=Notes)
    assert parsed.choices[0].message.parsed == Notes(title="x")
    assert client(made).responses.parse(model="gpt-4o", input="go", text_format=Notes).output_parsed == Notes(title="y")


def raw(made: Simulator, api: str, stream: bool, url: str | None = None) -> tuple[Any, bytes]:
    """Status (or what broke) and the bytes that came."""
    path, ask = PATHS[api]
    options: dict[str, Any] = {"timeout": 2} if url else {"transport": made.transport(), "timeout": 30}
    got = b""
    with httpx2.Client(base_url=url or "http://sim", headers={"authorization": "Bearer sk-test"}, **options) as http:
        try:
            with http.stream("POST", path, json={**ask, "stream": stream}) as response:
                for piece in response.iter_raw():
                    got += piece
                return response.status_code, got
        except httpx2.HTTPError as error:
            return type(error).__name__, got


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "body"])
@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize("kind", sorted(faults.load()))
def test_every_fault_goes_through_and_repeats(kind: str, api: str, stream: bool) -> None:
    """Same seed, same bytes; an account that had trouble goes on without it."""
    document = {"turns": [TURN, TURN], "faults": [{"kind": kind, "on": {"call": 1}}]}
    first, second = simulator(**document), simulator(**document)
    assert raw(first, api, stream) == raw(second, api, stream)
    exchange = first.account("sk-test").journal.exchanges[0]
    assert exchange.faults == [kind]
    assert exchange.ended is not None
    status, body = raw(first, api, stream)
    assert status == 200
    assert b"notes.md" in body or b"notes" in body


@pytest.mark.slow
@pytest.mark.parametrize("api", PATHS)
def test_every_fault_is_the_same_through_a_socket(api: str) -> None:
    slow = {"hang", "stall", "drip", "slow_first_byte"}  # real time would pass
    for kind in sorted(set(faults.load()) - slow):
        document = {"turns": [TURN], "faults": [{"kind": kind, "on": {"call": 1}}]}
        here = raw(simulator(**document), api, True)
        made = simulator(**document)
        with ServedOnThread(made.app()) as served:
            there = raw(made, api, True, served.url)
        assert there == here, kind


def test_both_doors_give_the_same_bytes() -> None:
    for api in PATHS:
        for stream in (True, False):
            made = simulator()
            with ServedOnThread(made.app()) as served:
                there = raw(made, api, stream, served.url)
            here = raw(simulator(), api, stream)
            assert there == here
            assert there[0] == 200
            assert len(there[1]) > 500


def test_a_model_of_nobody_is_listed_and_shown() -> None:
    made = simulator(models={"sim-mine": {"context_window": 1000}})
    names = [model.id for model in client(made).models.list()]
    assert "gpt-5.4" in names
    assert "sim-mine" in names
    assert client(made).models.retrieve("sim-mine").id == "sim-mine"
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        client(made).models.retrieve("claude-sonnet-4-5")
    assert json.loads(json.dumps(names)) == names


@pytest.mark.parametrize("api", PATHS)
def test_an_answer_takes_its_time(api: str) -> None:
    """A word each 0.1 s but the first; background work answers at once."""
    made = simulator(
        {"text": "one two three four five"}, {"text": "one two"}, pacing={"tokens_per_s": 10}, tokenizer="words"
    )
    begun = made.now()
    assert raw(made, api, True)[0] == 200
    assert made.now() - begun == pytest.approx(0.4)
    if api == "responses":
        client(made).responses.create(model="gpt-4.1", input="x", background=True)
        assert made.now() - begun == pytest.approx(0.4)
