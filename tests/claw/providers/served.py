"""One call of an adapter that gets bytes written out by hand, and the request that it sent."""

import asyncio
import json

import httpx2
import msgspec

from claw import host
from claw.core.calls import ModelRequest, SystemBlock, ToolSpec
from claw.core.errors import ProviderError
from claw.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, assistant, user
from claw.core.stream import Fold

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
HISTORY = (
    user("first"),
    assistant(ThinkingPart("T", "foreign=="), TextPart("A"), ToolCallPart("toolu_0", "read", {"path": "/x"})),
    Message("tool", (ToolResultPart("toolu_0", "read", (TextPart("R"), ImagePart("image/png", "QUFB"))),)),
    user("second"),
)


class Outcome(msgspec.Struct):
    turn: object = None
    failure: object = None
    delivered: bool = False
    sent: object = None


def sse(*data, names=False):
    lines = []
    for item in data:
        text = item if isinstance(item, str) else json.dumps(item)
        lines.append((f"event: {item['type']}\n" if names else "") + f"data: {text}\n\n")
    return "".join(lines).encode()


def served(provider, model, body, *, status=200, content_type="text/event-stream", headers=None, history=None, **asked):
    """The outcome of a call that gets these bytes; `sent` is the body of its request."""
    seen = []

    def handler(request):
        seen.append(json.loads(request.content))
        return httpx2.Response(status, headers={"content-type": content_type, **(headers or {})}, content=body)

    async def call():
        providers = host.SdkProviders(httpx2.MockTransport(handler))
        fold = Fold()
        request = ModelRequest(
            model=model,
            system=(SystemBlock("SYS"),),
            messages=history or (user("go"),),
            tools=(READ,),
            max_tokens=3000,
            session="s1",
            **asked,
        )
        try:
            async for event in providers.open(provider, base_url="http://provider", key="k").call(request):
                fold.feed(event)
        except ProviderError as error:
            return Outcome(failure=error.failure, delivered=fold.delivered, sent=seen[0])
        finally:
            await providers.close()
        return Outcome(turn=fold.turn(), delivered=fold.delivered, sent=seen[0])

    return asyncio.run(call())
