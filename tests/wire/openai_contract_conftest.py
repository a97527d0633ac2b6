"""The fixtures that the official SDK's own contract tests ask for, without the plug-ins that its repository brings.

Copied as `conftest.py` beside those tests: this file imports nothing of the project. Coroutines run in one loop that
lives as long as the session; where aiohttp is not installed the tests of that client are skipped. The tests name a
response, a completion and a conversation that nobody made; each test gets real ones, by variables.
"""

import asyncio
import inspect
import os
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI, DefaultAioHttpClient, OpenAI

BASE_URL = os.environ["TEST_API_BASE_URL"]
KEY = "My API Key"
_LOOP = asyncio.new_event_loop()


@pytest.fixture(autouse=True)
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response, a stored completion, a conversation with one item."""
    with httpx2.Client(base_url=BASE_URL, headers={"authorization": f"Bearer {KEY}"}) as client:
        asked: dict[str, Any] = {"model": "gpt-5.4", "input": "Hello"}
        name = request.node.name
        if "cancel" in name or ("retrieve" in name and "overload_2" in name):
            asked |= {"background": True, "stream": "cancel" not in name}
        answer = client.post("/responses", json=asked)
        text = answer.text
        monkeypatch.setenv("RESPONSE_ID", "resp_" + text.partition('"resp_')[2].partition('"')[0])
        messages = [{"role": "user", "content": "Hello"}]
        chat = client.post("/chat/completions", json={"model": "gpt-5.4", "messages": messages, "store": True}).json()
        monkeypatch.setenv("COMPLETION_ID", chat["id"])
        items = {"items": [{"type": "message", "role": "user", "content": "Hello"}]}
        conversation = client.post("/conversations", json=items).json()["id"]
        monkeypatch.setenv("CONVERSATION_ID", conversation)
        listed = client.get(f"/conversations/{conversation}/items").json()
        monkeypatch.setenv("ITEM_ID", listed["data"][0]["id"])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "asyncio: a coroutine")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    _LOOP.run_until_complete(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


@pytest.fixture(scope="session")
def client(request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    strict = getattr(request, "param", True)
    with OpenAI(base_url=BASE_URL, api_key=KEY, admin_api_key=KEY, _strict_response_validation=strict) as made:
        yield made


@pytest.fixture(scope="session")
def async_client(request: pytest.FixtureRequest) -> Iterator[AsyncOpenAI]:
    param = getattr(request, "param", True)
    options: dict[str, Any] = param if isinstance(param, dict) else {"strict": param}
    http_client = None
    if options.get("http_client") == "aiohttp":
        pytest.importorskip("aiohttp")
        http_client = DefaultAioHttpClient()
    made = AsyncOpenAI(
        base_url=BASE_URL,
        api_key=KEY,
        admin_api_key=KEY,
        _strict_response_validation=options.get("strict", True),
        http_client=http_client,
    )
    yield made
    _LOOP.run_until_complete(made.close())
