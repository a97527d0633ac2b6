"""Real providers' answers: the adapter reads of them what the vendor's own SDK accumulates."""

import asyncio
import json
import warnings
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest
import yaml

from claw import host
from claw.core.calls import ModelRequest
from claw.core.errors import ProviderError
from claw.core.messages import user
from claw.core.stream import Fold

FOLDER = Path(__file__).parents[4] / "shared" / "recorded"
ENDPOINTS = {
    "anthropic": ("/v1/messages",),
    "openai": ("/v1/responses",),
    "openai-chat": ("/v1/chat/completions",),
    "gemini": ("enerateContent",),
}


class Seen(msgspec.Struct):
    """What is compared: visible text, calls, stop, and (input, cache read, cache write, output)."""

    text: str
    calls: list
    stop: str
    usage: tuple


def exchanges(provider):
    folder = FOLDER / provider.partition("-")[0]
    for path in sorted(folder.glob("*.yaml")):
        document = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for number, exchange in enumerate(document["interactions"]):
            target = urlsplit(exchange["request"]["uri"])
            if target.path.endswith(ENDPOINTS[provider]) and exchange["response"]["status"]["code"] == 200:
                yield f"{path.stem}[{number}]", exchange


def answer(exchange):
    """(is a stream, model, a transport that gives the recorded answer)."""
    response = exchange["response"]
    body = response["body"].get("string") if "body" in response else None
    data = body if isinstance(body, bytes) else (body or json.dumps(response["parsed_body"])).encode()
    types = {name.lower(): value for name, value in response["headers"].items()}["content-type"]
    stream = "event-stream" in str(types)
    asked = exchange["request"].get("parsed_body") or {}
    model = asked.get("model") or urlsplit(exchange["request"]["uri"]).path.rpartition("/")[2].partition(":")[0]
    content_type = "text/event-stream" if stream else "application/json"
    reply = lambda request: httpx2.Response(200, headers={"content-type": content_type}, content=data)  # noqa: E731
    return stream, model, httpx2.MockTransport(reply)


async def ours(provider, exchange):
    stream, model, transport = answer(exchange)
    providers = host.SdkProviders(transport)
    request = ModelRequest(model=model, system=(), messages=(user("go"),), max_tokens=4096, stream=stream)
    fold = Fold()
    try:
        async for event in providers.open(provider, base_url="http://provider", key="k").call(request):
            fold.feed(event)
    except ProviderError as error:
        return error.failure
    finally:
        await providers.close()
    turn = fold.turn()
    usage = turn.usage
    written = usage.cache_write_5m + usage.cache_write_1h
    return Seen(
        turn.message.text,
        [(call.name, call.input if call.broken is None else call.broken) for call in turn.message.tool_calls],
        turn.stop,
        (usage.input, usage.cache_read, written, usage.output),
    )


async def anthropic_sdk(exchange):
    import anthropic

    stream, model, transport = answer(exchange)
    client = anthropic.AsyncAnthropic(
        api_key="k", base_url="http://provider", http_client=httpx2.AsyncClient(transport=transport)
    )
    asked = {"model": model, "max_tokens": 4096, "messages": [{"role": "user", "content": "go"}]}
    if stream:
        async with client.beta.messages.stream(**asked) as events:
            message = await events.get_final_message()
    else:
        message = await client.beta.messages.create(**asked)
    usage = message.usage
    return Seen(
        "".join(block.text for block in message.content if block.type == "text"),
        [(block.name, block.input) for block in message.content if block.type == "tool_use"],
        {"compaction": "pause_turn"}.get(message.stop_reason, message.stop_reason),
        (
            usage.input_tokens,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
            usage.output_tokens,
        ),
    )


async def openai_sdk(exchange):
    import openai

    stream, model, transport = answer(exchange)
    client = openai.AsyncOpenAI(
        api_key="k", base_url="http://provider", http_client=httpx2.AsyncClient(transport=transport)
    )
    if stream:
        async with client.responses.stream(model=model, input="go") as events:
            response = await events.get_final_response()
    else:
        response = await client.responses.create(model=model, input="go")
    if response.usage is None:
        return None  # still at work in the background, which claw never asks for
    calls = [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]
    refused = any(c.type == "refusal" for item in response.output if item.type == "message" for c in item.content)
    stop = "refusal" if refused else "tool_use" if calls else "end_turn"
    if response.status == "incomplete":
        stop = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}[response.incomplete_details.reason]
    usage, details = response.usage, response.usage.input_tokens_details
    cached, written = details.cached_tokens, getattr(details, "cache_write_tokens", None) or 0
    return Seen(
        response.output_text, calls, stop, (usage.input_tokens - cached - written, cached, written, usage.output_tokens)
    )


async def chat_sdk(exchange):
    import openai

    stream, model, transport = answer(exchange)
    client = openai.AsyncOpenAI(
        api_key="k", base_url="http://provider", http_client=httpx2.AsyncClient(transport=transport)
    )
    asked = {"model": model, "messages": [{"role": "user", "content": "go"}]}
    if stream:
        async with client.chat.completions.stream(**asked) as events:
            completion = await events.get_final_completion()
    else:
        completion = await client.chat.completions.create(**asked)
    choice, usage = completion.choices[0], completion.usage
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or ()]
    words = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
    stop = "tool_use" if calls and choice.finish_reason == "stop" else words[choice.finish_reason]
    figures = (0, 0, 0, 0)
    if usage is not None:
        cached = (usage.prompt_tokens_details.cached_tokens or 0) if usage.prompt_tokens_details else 0
        figures = (usage.prompt_tokens - cached, cached, 0, usage.completion_tokens)
    return Seen(choice.message.content or "", calls, stop, figures)


async def gemini_sdk(exchange):
    """The SDK accumulates nothing: its chunks, put together."""
    from google import genai
    from google.genai import types

    stream, model, transport = answer(exchange)
    options = types.HttpOptions(base_url="http://provider", httpx_async_client=httpx2.AsyncClient(transport=transport))
    models = genai.Client(api_key="k", http_options=options).aio.models
    if stream:
        chunks = [chunk async for chunk in await models.generate_content_stream(model=model, contents="go")]
    else:
        chunks = [await models.generate_content(model=model, contents="go")]
    parts = [p for chunk in chunks for c in chunk.candidates or () for p in (c.content and c.content.parts) or ()]
    calls = [(p.function_call.name, p.function_call.args) for p in parts if p.function_call]
    reason = next((c.finish_reason.value for chunk in reversed(chunks) for c in chunk.candidates or ()), "none")
    usage = next(chunk.usage_metadata for chunk in reversed(chunks) if chunk.usage_metadata)
    cached, thoughts = usage.cached_content_token_count or 0, usage.thoughts_token_count or 0
    prompt = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
    return Seen(
        "".join(p.text for p in parts if p.text and not p.thought),
        calls,
        "tool_use"
        if calls
        else {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}.get(reason, reason),
        (prompt - cached, cached, 0, (usage.candidates_token_count or 0) + thoughts),
    )


SDKS = {"anthropic": anthropic_sdk, "openai": openai_sdk, "openai-chat": chat_sdk, "gemini": gemini_sdk}
# Answers that claw takes for a failure, and the SDK for an answer: it asks once more, which the recording did as well.
FAILURES = {"gemini": {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}}


@pytest.mark.parametrize("provider", SDKS)
def test_every_recorded_answer_is_read_as_the_vendors_sdk_reads_it(provider, capsys):
    if not FOLDER.is_dir():
        pytest.skip(f"recordings of real answers are not here ({FOLDER}): nothing was judged")
    wrong, streams, whole = [], 0, 0

    async def compare():
        nonlocal streams, whole
        for name, exchange in exchanges(provider):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # recorded models are old, and old types are serialised
                found, expected = await ours(provider, exchange), await SDKS[provider](exchange)
            if answer(exchange)[0]:
                streams += 1
            else:
                whole += 1
            if expected is None:
                assert found.kind == "truncated"
            elif found != expected and expected.stop not in FAILURES.get(provider, ()):
                wrong.append(f"{name}: {found} is not {expected}")

    asyncio.run(compare())
    with capsys.disabled():
        print(f" [{provider}: {streams} streams and {whole} whole answers]", end="")
    assert wrong == []
    assert streams >= 4
