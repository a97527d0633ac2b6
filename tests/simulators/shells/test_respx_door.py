"""respx: the simulators answer what a router leaves, and a router answers clients of httpx2."""

import asyncio
from typing import Any

import anthropic
import httpx
import httpx2
import pytest
import respx

from simulators import Simulator
from simulators.shells.respx_door import router_transport
from simulators.shells.virtual_time import EPOCH, run

ASK = {"model": "sim-test", "max_tokens": 9, "messages": [{"role": "user", "content": "a b c"}]}
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
URL = "https://api.anthropic.com/v1/messages"


@pytest.fixture
def sim() -> Simulator:
    simulator = Simulator()
    simulator.account("k", {"turns": [{"text": "one"}, {"text": "two"}, {"text": "three"}]})
    return simulator


def test_httpx_is_answered_sync_and_async(sim: Simulator) -> None:
    """Routes of the test's own come first."""
    with respx.mock() as router:
        other = router.get("https://example.org/").respond(204)
        route = sim.respx(router)
        first = httpx.post(URL, json=ASK, headers=HEADERS)
        assert httpx.get("https://example.org/").status_code == 204

        async def main() -> httpx.Response:
            async with httpx.AsyncClient() as client:
                return await client.post(URL, json=ASK, headers=HEADERS)

        second = asyncio.run(main())
    assert [r.json()["content"][0]["text"] for r in (first, second)] == ["one", "two"]
    assert (route.call_count, other.call_count) == (2, 1)


def test_streams_stream_and_an_account_can_be_named(sim: Simulator) -> None:
    with respx.mock() as router:
        sim.respx(router, account="k")
        with httpx.stream("POST", URL, json={**ASK, "stream": True}) as response:
            pieces = list(response.iter_raw())
    assert len(pieces) > 3
    assert sim.account("k").journal.exchanges[-1].ended == "complete"


def test_waits_and_timeouts_are_honoured(sim: Simulator) -> None:
    sim.account("k", {"turns": [{"text": "late"}] * 2, "pacing": {"first_token_ms": 20_000}, "unused": "allow"})

    async def main() -> None:
        with respx.mock() as router:
            sim.respx(router)
            meanwhile = asyncio.create_task(wake_after(10))
            async with httpx.AsyncClient(timeout=30) as client:
                assert (await client.post(URL, json=ASK, headers=HEADERS)).status_code == 200
            async with httpx.AsyncClient(timeout=5) as client:
                with pytest.raises(httpx.ReadTimeout):
                    await client.post(URL, json=ASK, headers=HEADERS)
            assert await meanwhile == EPOCH + 10  # other tasks ran while the client waited

    async def wake_after(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return sim.now()

    run(main())
    assert sim.now() == EPOCH + 25


def test_a_router_is_called_from_httpx2_and_so_from_the_sdk(sim: Simulator) -> None:
    """The SDK uses httpx2, which respx does not patch."""
    router = respx.Router()
    limited = router.post(URL, headers={"x-limited": "yes"}).respond(429, json={"error": {"type": "rate_limit_error"}})
    sim.respx(router)
    http_client = httpx2.Client(transport=router_transport(router))
    with anthropic.Anthropic(api_key="k", http_client=http_client, max_retries=0) as client:
        message: Any = client.messages.create(**ASK)  # type: ignore[call-overload]
        assert message.content[0].text == "one"
        events = list(client.messages.create(**ASK, stream=True))  # type: ignore[call-overload]
        assert events[-1].type == "message_stop"
        with pytest.raises(anthropic.RateLimitError):
            client.messages.create(**ASK, extra_headers={"x-limited": "yes"})  # type: ignore[call-overload]
    assert limited.called


def test_async_and_exceptions_translated(sim: Simulator) -> None:
    router = respx.Router()
    router.get("https://example.org/").mock(side_effect=httpx.ConnectError("no route"))
    sim.account("k").add_fault({"kind": "cut", "after_events": 2, "how": "fin"})
    sim.respx(router)

    async def main() -> None:
        async with httpx2.AsyncClient(transport=router_transport(router)) as client:
            with pytest.raises(httpx2.ConnectError, match="no route"):
                await client.get("https://example.org/")
            with pytest.raises(httpx2.RemoteProtocolError, match="incomplete chunked read"):
                await client.post(URL, json={**ASK, "stream": True}, headers=HEADERS)

    asyncio.run(main())
