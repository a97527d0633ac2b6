"""The fixtures that the official SDK's own contract tests ask for, without the plug-ins that its repository brings.

Copied as `conftest.py` beside those tests: this file imports nothing of the project. Coroutines run in one loop that
lives as long as the session; where aiohttp is not installed the tests of that client are skipped. The tests name a
batch that nobody made; each gets a real one of its own, by the variable BATCH_ID.
"""

import asyncio
import inspect
import os
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic, DefaultAioHttpClient

BASE_URL = os.environ["TEST_API_BASE_URL"]
KEY = "my-anthropic-api-key"
_LOOP = asyncio.new_event_loop()


@pytest.fixture(autouse=True)
def batch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.path.name != "test_batches.py" or "respx_mock" in request.fixturenames:
        return  # results are mocked by the tests themselves
    params: Any = {"model": "claude-opus-5-5", "max_tokens": 16, "messages": [{"role": "user", "content": "Hello"}]}
    with httpx2.Client(base_url=BASE_URL, headers={"x-api-key": KEY}) as client:
        answer = client.post("/v1/messages/batches", json={"requests": [{"custom_id": "one", "params": params}]})
    monkeypatch.setenv("BATCH_ID", answer.json()["id"])


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
def client(request: pytest.FixtureRequest) -> Iterator[Anthropic]:
    with Anthropic(base_url=BASE_URL, api_key=KEY, _strict_response_validation=getattr(request, "param", True)) as made:
        yield made


@pytest.fixture(scope="session")
def async_client(request: pytest.FixtureRequest) -> Iterator[AsyncAnthropic]:
    param = getattr(request, "param", True)
    options: dict[str, Any] = param if isinstance(param, dict) else {"strict": param}
    http_client = None
    if options.get("http_client") == "aiohttp":
        pytest.importorskip("aiohttp")
        http_client = DefaultAioHttpClient()
    made = AsyncAnthropic(
        base_url=BASE_URL,
        api_key=KEY,
        _strict_response_validation=options.get("strict", True),
        http_client=http_client,
    )
    yield made
    _LOOP.run_until_complete(made.close())
