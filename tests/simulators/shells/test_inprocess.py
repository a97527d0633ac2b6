"""The in-process doors: what a client sees is what it sees on a socket, and waiting costs nothing."""

from typing import Any

import pytest

from simulators.core.wire import Abort, Chunk, Head, Wait
from simulators.shells.virtual_time import EPOCH, DeadEnd

SSE = (("content-type", "text/event-stream"),)
OK = Head(200, SSE)


def in_words(seen: list[Any]) -> list[Any]:
    """An observation that can be compared: pieces joined (sockets join them as they like), exceptions as words."""
    pieces = b"".join(item for item in seen if isinstance(item, bytes))
    rest = [f"{type(i).__name__}: {i}" if isinstance(i, Exception) else i for i in seen if not isinstance(i, bytes)]
    return [pieces, *rest]


BREAKS = {
    "proper end": [OK, Chunk(b"one "), Chunk(b"two")],
    "length given": [Head(200, (("content-length", "3"),)), Chunk(b"one")],
    "no body": [Head(204)],
    "nothing at all": [],
    "closed at once": [Abort("fin")],
    "reset at once": [Abort("reset")],
    "closed after the head": [OK, Abort("fin")],
    "reset after the head": [OK, Abort("reset")],
    "closed in the middle": [OK, Chunk(b"one "), Abort("fin")],
    "reset in the middle": [OK, Chunk(b"one "), Abort("reset")],
    "shorter than said": [Head(200, (("content-length", "10"),)), Chunk(b"one ")],
    "closed before the length": [Head(200, (("content-length", "10"),)), Chunk(b"one "), Abort("fin")],
    "informational first": [Head(103, (("link", "</style>"),)), OK, Chunk(b"one")],
    "after a pause": [OK, Wait(0.01), Chunk(b"one "), Wait(0.01), Chunk(b"two")],
    "stalls": [OK, Chunk(b"one "), Wait(60), Chunk(b"two")],
    "slow to begin": [Wait(60), OK, Chunk(b"one")],
    "slow in two steps": [OK, Wait(0.06), Wait(0.06), Chunk(b"one")],
    "hangs": [Wait(float("inf"))],
}


@pytest.mark.parametrize("events", BREAKS.values(), ids=BREAKS.keys())
def test_a_client_sees_what_it_sees_on_a_socket(canned, read_in_process, read_on_socket, events) -> None:
    """Same status, bytes, exception and words; and both doors book the same end."""
    here, there = canned(events), canned(events)
    seen = in_words(read_in_process(here, timeout=0.1))
    assert seen == in_words(read_on_socket(there, timeout=0.1))
    assert len(here.closed) == 1
    assert here.closed == there.closed


def test_each_event_arrives_by_itself_and_at_its_time(canned, read_in_process) -> None:
    provider = canned([OK, Chunk(b"a"), Chunk(b"b"), Wait(3600), Chunk(b"c")])
    assert read_in_process(provider) == [200, b"a", b"b", b"c"]
    assert (provider.closed, provider.closed_at) == (["complete"], [EPOCH + 3600])


def test_streams_are_not_made_ahead_of_the_reader(canned, read_in_process) -> None:
    """A reader that leaves early is gone before the rest was made."""
    provider = canned([OK, *(Chunk(b"%d" % n) for n in range(100))])
    assert read_in_process(provider, stop_after=2) == [200, b"0", b"1"]
    assert provider.given < 6
    assert provider.closed == ["client_gone"]


def test_a_reader_that_leaves_after_the_last_event_has_seen_it_all(canned, read_in_process) -> None:
    provider = canned([OK, Chunk(b"a"), Chunk(b"b")])
    assert read_in_process(provider, stop_after=2) == [200, b"a", b"b"]
    assert provider.closed == ["complete"]


def test_a_read_timeout_fires_at_its_virtual_second(canned, read_in_process) -> None:
    """It counts from event to event, as on a socket, not over the whole answer."""
    provider = canned([OK, Wait(9), Chunk(b"a"), Wait(9), Chunk(b"b"), Wait(11), Chunk(b"c")])
    *seen, error = read_in_process(provider, timeout=10)
    assert seen == [200, b"a", b"b"]
    assert type(error).__name__ == "ReadTimeout"
    assert (provider.closed, provider.closed_at) == (["client_gone"], [EPOCH + 28])


def test_waiting_for_ever_without_a_timeout_is_a_dead_end(canned, read_in_process) -> None:
    """It is said, instead of hanging the test."""
    with pytest.raises(DeadEnd):
        for item in read_in_process(canned([Wait(float("inf"))])):
            raise item


def test_an_answer_goes_on_while_its_reader_is_busy(canned) -> None:
    """What fell due meanwhile is there at once: pacing does not add to the reader's own time."""
    import asyncio

    import httpx2

    from simulators.shells.inprocess import transport_class
    from simulators.shells.virtual_time import run

    provider = canned([OK, Wait(1), Chunk(b"a"), Wait(1), Chunk(b"b"), Wait(1), Chunk(b"c")])

    async def main() -> None:
        async with (
            httpx2.AsyncClient(transport=transport_class("httpx2")(provider)) as client,
            client.stream("GET", "http://provider/") as response,
        ):
            async for _ in response.aiter_raw():
                await asyncio.sleep(5)

    run(main())
    assert provider.closed_at == [EPOCH + 16]


def test_a_request_arrives_as_on_a_socket(canned, library) -> None:
    """Method, decoded path, query and body; header names in lower case."""
    from simulators.shells.http import HttpDoor
    from simulators.shells.inprocess import transport_class
    from simulators.shells.serving import RealClock, ServedOnThread

    module, name, _ = library
    here, there = canned([Head(200), Chunk(b"x")]), canned([Head(200), Chunk(b"x")], clock=RealClock())
    headers = {"X-Api-Key": "sk"}
    address = "/v1beta/models/a%20b:generate?key=k%2B1&alt=&n=1&n=2"
    with module.Client(transport=transport_class(name)(here)) as client:
        client.put(f"http://provider{address}", headers=headers, content=b"\x00body")
    with ServedOnThread(HttpDoor(there)) as served, module.Client() as client:
        client.put(f"{served.url}{address}", headers=headers, content=b"\x00body")
    [ours], [theirs] = here.requests, there.requests
    assert ours.path == "/v1beta/models/a b:generate"
    assert ours.query == (("key", "k+1"), ("alt", ""), ("n", "1"), ("n", "2"))
    assert ours.header("x-api-key") == "sk"
    assert [h for h in ours.headers if h[0] != "host"] == [h for h in theirs.headers if h[0] != "host"]
    assert (ours.method, ours.path, ours.query, ours.body) == (theirs.method, theirs.path, theirs.query, theirs.body)
