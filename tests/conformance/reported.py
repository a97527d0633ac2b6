"""The agent before a provider that is written out by hand: answers in order, each request kept."""

import asyncio
import json

import httpx2

from claw import host
from claw.core.compaction import SUMMARY_SYSTEM
from claw.runtime.agent import Agent
from claw.runtime.config import Config, ModelChoice, Profile
from claw.testing.fakes import FixedModels, MemoryFiles, fake_ports
from simulators.shells import virtual_time

FILE = "/home/sessions/s.jsonl"


def refused(status, body, **headers):
    """An answer that refuses: `headers` with `_` for `-`."""
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    named = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return lambda request: httpx2.Response(status, headers={"content-type": "application/json", **named}, content=data)


def api_error(status, kind, message, **headers):
    return refused(status, {"type": "error", "error": {"type": kind, "message": message}}, **headers)


def overflow(text="prompt is too long: 213456 tokens > 200000 maximum"):
    return api_error(400, "invalid_request_error", text)


def start(tokens=10):
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    return {"type": "message_start", "message": {**message, "usage": {"input_tokens": tokens, "output_tokens": 1}}}


def says(text, index=0):
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": index},
    ]


def calls(arguments, name="read", id="t1", index=0):
    block = {"type": "tool_use", "id": id, "name": name, "input": {}}
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        {
            "type": "content_block_delta",
            "index": index,
            "delta": {"type": "input_json_delta", "partial_json": arguments},
        },
        {"type": "content_block_stop", "index": index},
    ]


def end(stop="end_turn"):
    return [
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def anthropic(*events):
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def chunked(*pieces):
    """A stream in just these pieces."""

    class Pieces(httpx2.AsyncByteStream):
        async def __aiter__(self):
            for piece in pieces:
                yield piece

        async def aclose(self):
            pass

    return lambda request: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces())


def stream(*events):
    return chunked(anthropic(*events))


def answer(text="ok"):
    return stream(start(), *says(text), *end())


def data(*chunks):
    """A stream of `data:` lines, as OpenAI and Gemini have it."""
    return chunked("".join(f"data: {c if isinstance(c, str) else json.dumps(c)}\n\n" for c in chunks).encode())


class Provider:
    """Answers main calls in order, the last one again and again; summary calls get `summary`."""

    def __init__(self, *answers, summary=None, by_model=None):
        self.answers = list(answers)
        self.summary = summary or answer("the story so far")
        self.by_model = by_model or {}
        self.main, self.summaries, self.at = [], [], []

    def __call__(self, request):
        body = json.loads(request.content)
        if SUMMARY_SYSTEM[:60] in json.dumps(body.get("system", body.get("instructions", "")), ensure_ascii=False):
            self.summaries.append(body)
            reply = (
                self.summary
                if callable(self.summary)
                else self.summary[min(len(self.summaries), len(self.summary)) - 1]
            )
            return reply(request)
        self.main.append(body)
        self.at.append(asyncio.get_running_loop().time())
        model = body.get("model") or request.url.path.rpartition("/")[2].partition(":")[0]  # Gemini: in the path
        if model in self.by_model:
            return self.by_model[model](request)
        reply = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return reply(request)


class Story:
    """What came of it: results, requests, files, events."""

    def __init__(
        self, provider, *, model="anthropic/m", files=None, fallbacks=(), profiles=("a",), facts=None, **config
    ):
        self.provider, self.told = provider, []
        self.files = files or MemoryFiles({"/w/a": "the file"})
        names = {ref.split("/")[0] for ref in (model, *fallbacks)}
        self.config = Config(
            model=ModelChoice(primary=model, fallbacks=tuple(fallbacks)),
            profiles=tuple(Profile(id=p, provider=n, key=f"k-{p}") for n in sorted(names) for p in profiles),
            **config,
        )
        self.models = FixedModels(facts) if facts else FixedModels()

    def run(self, *prompts, **more):
        """The result of the last of the prompts."""

        async def story():
            providers = host.SdkProviders(httpx2.MockTransport(self.provider))
            ports = fake_ports(None, files=self.files, providers=providers, models=self.models)
            agent = Agent(ports, self.config, "/home", emit=self.told.append)
            began = asyncio.get_running_loop().time()
            try:
                for prompt in prompts:
                    result = await agent.run(prompt, "s", "/w", **more)
            finally:
                await agent.close()
            self.seconds = asyncio.get_running_loop().time() - began
            return result

        self.result = virtual_time.run(story())
        return self

    def entries(self, type=None):
        lines = [json.loads(line) for line in self.files.read(FILE).splitlines()]
        return [e for e in lines if type is None or e["type"] == type or e.get("customType") == type]

    @property
    def kinds(self):
        return [a.kind.value for a in self.result.attempts if a.kind]

    @property
    def rests(self):
        path = "/home/auth.json"
        return json.loads(self.files.read(path))["rests"] if self.files.exists(path) else []

    @property
    def slept(self):
        return [a.waited_s for a in self.result.attempts if a.waited_s]
