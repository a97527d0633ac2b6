"""CPU that claw adds to a bare SDK call, paired in one run: `python benchmarks/call_overhead.py [ROUNDS]`.

Each round asks the same thing twice of the same transport, once by `messages.create(stream=True)` read to its end and
once by a run of the agent in a session of so many messages, and compares the CPU time of this process. Printed is the
median of the paired ratios (what claw adds ÷ the bare call) at 10 and at 1,000 messages.
"""

import asyncio
import gc
import json
import statistics
import sys
import time

import anthropic
import httpx2

from claw.core.calls import SystemBlock, ToolSpec
from claw.core.commands import CallModel
from claw.core.events import ModelFinished, TurnStarted
from claw.core.machine import step
from claw.core.messages import Message, TextPart, ToolCallPart, ToolResultPart, user
from claw.core.state import Setup, State, Target
from claw.core.stream import Fold
from claw.core.transcript import MessageEntry
from claw.core.usage import Usage
from claw.host import SdkProviders

KEY, URL, MODEL = "sk-bench", "http://provider", "claude-haiku-4-5"
TOOLS = tuple(
    ToolSpec(f"tool_{n}", "Does one thing." * 5, {"type": "object", "properties": {"path": {"type": "string"}}})
    for n in range(12)
)


def answer() -> bytes:
    start = {"id": "msg", "type": "message", "role": "assistant", "model": MODEL, "content": [], "stop_reason": None}
    events = [
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}
            for _ in range(40)
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


def history(messages: int) -> tuple[MessageEntry, ...]:
    """A conversation of so many messages: prompts, calls, results, answers."""
    made: list[Message] = []
    while len(made) < messages:
        n = len(made)
        made += [
            user(f"question {n} " + "word " * 20),
            Message("assistant", (TextPart("looking"), ToolCallPart(f"t{n}", "tool_1", {"path": f"{n}.md"}))),
            Message("tool", (ToolResultPart(f"t{n}", "tool_1", (TextPart("line " * 40),)),)),
            Message("assistant", (TextPart("answer " * 20),)),
        ]
    entries: list[MessageEntry] = []
    for n, message in enumerate(made[:messages]):
        usage = Usage(input=10, cache_read=40 * n) if message.role == "assistant" else None
        parent = entries[-1].id if entries else None
        entries.append(MessageEntry(id=f"{n:08x}", parent_id=parent, message=message, usage=usage))
    return tuple(entries)


async def claws(state: State, provider: object) -> dict[str, object]:
    """One run: the machine, the request, the stream, the fold, the answer."""
    state, commands = step(state, TurnStarted(run="11111111-1111-4111-8111-111111111111", prompt=user("go on")))
    call = next(c for c in commands if isinstance(c, CallModel))
    fold = Fold()
    async for event in provider.call(call.request):  # type: ignore[attr-defined]
        fold.feed(event)
    step(state, ModelFinished(id=call.id, turn=fold.turn()))
    return {}


async def bare(client: anthropic.AsyncAnthropic, arguments: dict[str, object]) -> None:
    stream = await client.messages.create(**arguments, stream=True)  # type: ignore[call-overload]
    async for _ in stream:
        pass


async def ratio(messages: int, rounds: int) -> float:
    body, sent = answer(), []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.content)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    target = Target(provider="anthropic", model=MODEL, window=10_000_000)
    setup = Setup(session="s", targets=(target,), system=(SystemBlock("Be brief. " * 50),), tools=TOOLS)
    entries = history(messages)
    state = State(setup=setup, history=entries, leaf=entries[-1].id)
    providers = SdkProviders(httpx2.MockTransport(handler))
    provider = providers.open("anthropic", base_url=URL, key=KEY)
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    client = anthropic.AsyncAnthropic(api_key=KEY, base_url=URL, max_retries=0, http_client=http)
    await claws(state, provider)
    asked = json.loads(sent[-1])
    arguments = {k: v for k, v in asked.items() if k != "stream"}
    await bare(client, arguments)
    gc.collect()
    gc.disable()
    added = []
    for _ in range(rounds):
        began = time.process_time()
        await bare(client, arguments)
        middle = time.process_time()
        await claws(state, provider)
        added.append((time.process_time() - middle) / (middle - began) - 1)
    gc.enable()
    return statistics.median(added)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    for messages, most in ((10, 1.0), (1_000, 0.5)):
        found = asyncio.run(ratio(messages, rounds))
        print(f"{messages:>5} messages: claw adds {found:.2f}x the bare call (at most {most:g}x)")


if __name__ == "__main__":
    main()
