"""One call of a provider: what its stream does around the answer."""

import asyncio
import json

import httpx2
import pytest

from claw import host
from claw.runtime.agent import Agent
from claw.runtime.config import Config, ModelChoice
from simulators.shells import virtual_time

MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
EVENTS = (
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "whole"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
)


class Silent(httpx2.AsyncByteStream):
    """The first `count` events, then an open connection without a word."""

    def __init__(self, count):
        self.count = count

    async def __aiter__(self):
        for event in EVENTS[: self.count]:
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        await asyncio.sleep(1e6)


@pytest.mark.parametrize(
    ("first_says", "calls", "at_least_s", "at_most_s"), [(len(EVENTS), 1, 0, 2), (len(EVENTS) - 1, 2, 120, 130)]
)
def test_an_answer_is_whole_when_its_message_ends_whatever_the_connection_does_then(
    tmp_path, first_says, calls, at_least_s, at_most_s
):
    """Silence behind the last event costs a second; silence before it is a timeout, and the call is made again."""
    counts = [len(EVENTS), first_says]

    def answer(request):
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Silent(counts.pop()))

    async def story():
        ports = host.ports(transport=httpx2.MockTransport(answer), epoch=virtual_time.EPOCH, seed=1)
        config = Config(model=ModelChoice(primary="anthropic/claude-haiku-4-5"))
        agent = Agent(ports, config, str(tmp_path), env={"ANTHROPIC_API_KEY": "sk-test"})
        began = ports.clock.now()
        result = await agent.run("go")
        took = ports.clock.now() - began
        await agent.close()
        return result, took

    result, took = virtual_time.run(story())
    assert (result.reply, result.failure, 2 - len(counts)) == ("whole", None, calls)
    assert at_least_s <= took <= at_most_s
