"""The HTTP door, seen from a bare socket: framing, breaks, limits, and clients that leave."""

import gc
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from simulators.core.wire import Abort, Chunk, Head, Wait
from simulators.shells.connection import BODY_LIMIT
from simulators.shells.http import HttpDoor, bind, url_of
from simulators.shells.serving import RealClock, ServedOnThread, is_loopback

OK = Head(200, (("content-type", "text/event-stream"),))


@contextmanager
def serving(provider) -> Iterator[Callable[[bytes], bytes]]:
    """`exchange(bytes)` sends on a fresh connection and reads to its end; a reset is told as b"RST"."""
    provider.clock = RealClock()
    with ServedOnThread(HttpDoor(provider)) as served:
        host, port = served.url.removeprefix("http://").split(":")

        def exchange(data: bytes) -> bytes:
            with socket.create_connection((host, int(port)), timeout=5) as sock:
                sock.sendall(data)
                got = b""
                try:
                    while piece := sock.recv(65536):
                        got += piece
                except ConnectionResetError:
                    got += b"RST"
                return got

        exchange.address = (host, int(port))  # type: ignore[attr-defined]
        yield exchange


def request(method: str = "POST", *, version: str = "1.1", close: bool = True, body: bytes = b"{}") -> bytes:
    lines = [f"{method} /v1/messages HTTP/{version}", "Host: x", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *(["Connection: close"] if close else []), "", ""]).encode() + body


def head_and_body(answer: bytes) -> tuple[list[bytes], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b"\r\n"), body


def eventually(true: Callable[[], bool]) -> bool:
    until = time.monotonic() + 5
    while not true() and time.monotonic() < until:
        time.sleep(0.001)
    return true()


def test_an_answer_without_a_wait_is_one_chunk(canned) -> None:
    with serving(canned([OK, Chunk(b"one "), Chunk(b"two")])) as exchange:
        lines, body = head_and_body(exchange(request()))
    assert lines == [
        b"HTTP/1.1 200 OK", b"content-type: text/event-stream", b"transfer-encoding: chunked", b"connection: close",
    ]  # fmt: skip
    assert body == b"7\r\none two\r\n0\r\n\r\n"


def test_each_wait_ends_a_chunk(canned) -> None:
    with serving(canned([OK, Chunk(b"one "), Wait(0.01), Chunk(b"two")])) as exchange:
        assert head_and_body(exchange(request()))[1] == b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"


def test_a_long_answer_leaves_in_pieces(canned) -> None:
    with serving(canned([OK, *[Chunk(b"x" * 50_000)] * 100])) as exchange:
        body = head_and_body(exchange(request()))[1]
    assert body.count(b"x") == 5_000_000
    assert body.startswith(b"%x\r\n" % 100_000)


@pytest.mark.parametrize(
    ("head", "method", "lines", "body"),
    [
        (Head(200, (("content-length", "3"),)), "POST", [b"content-length: 3"], b"one"),
        (Head(200, (("content-length", "3"),)), "HEAD", [b"content-length: 3"], b""),
        (Head(204), "POST", [], b""),
        (Head(529, (("x-note", "caf\u00e9 \u2028"),)), "POST", [b"x-note: caf\xe9 ?", b"transfer-encoding: chunked"],
         b"3\r\none\r\n0\r\n\r\n"),
    ],
    ids=["length", "head", "no content", "odd status and header"],
)  # fmt: skip
def test_framing(canned, head: Head, method: str, lines: list[bytes], body: bytes) -> None:
    with serving(canned([head, Chunk(b"one")])) as exchange:
        seen, got = head_and_body(exchange(request(method)))
    assert seen[1:] == [*lines, b"connection: close"]
    assert got == body


def test_http_1_0_gets_no_chunks(canned) -> None:
    with serving(canned([OK, Chunk(b"one")])) as exchange:
        lines, body = head_and_body(exchange(request(version="1.0", close=False)))
    assert lines[1:] == [b"content-type: text/event-stream", b"connection: close"]
    assert body == b"one"


def test_a_connection_serves_many_requests_pipelined_too(canned) -> None:
    provider = canned([Head(200, (("content-length", "3"),)), Chunk(b"one")])
    with serving(provider) as exchange:
        got = exchange(request(close=False) * 2 + request())
    assert got.count(b"HTTP/1.1 200 OK") == 3
    assert provider.closed == ["complete"] * 3


def test_informational_heads_precede_the_final_one(canned) -> None:
    with serving(canned([Head(103, (("link", "</a>"),)), OK])) as exchange:
        got = exchange(request())
    assert got.startswith(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([Abort("fin")], b""),
        ([Abort("reset")], b"RST"),
        ([OK, Chunk(b"#" * 300_000), Abort("fin")], b"#\r\n"),
        ([OK, Chunk(b"one"), Wait(0.05), Abort("reset")], b"3\r\none\r\nRST"),
        ([OK, *[Chunk(b"#" * 60_000)] * 100, Abort("reset")], b"#\r\nRST"),
    ],
    ids=["fin at once", "rst at once", "fin in the middle", "rst in the middle", "rst after much"],
)
def test_breaks_are_those_of_tcp(canned, events, seen: bytes) -> None:
    """What was written before is delivered first; no 500, no terminator."""
    provider = canned(events)
    with serving(provider) as exchange:
        got = exchange(request())
    assert got == seen if not seen else got.endswith(seen)
    assert got.count(b"#") == sum(event.data.count(b"#") for event in events if isinstance(event, Chunk))
    assert provider.closed == ["cut"]


def test_a_client_that_leaves_while_nothing_is_sent_is_noticed(canned) -> None:
    provider = canned([OK, Chunk(b"one"), Wait(float("inf"))])
    with serving(provider) as exchange, socket.create_connection(exchange.address) as sock:
        sock.sendall(request())
        assert sock.recv(4096)
        assert provider.closed == []
        sock.close()
        assert eventually(lambda: provider.closed == ["client_gone"])


def test_a_client_that_leaves_in_its_request_was_never_there(canned) -> None:
    provider = canned([OK])
    with serving(provider) as exchange:
        with socket.create_connection(exchange.address) as sock:
            sock.sendall(request(body=b"x" * 100)[:-50])
        exchange(request())
    assert len(provider.requests) == 1


def test_a_body_over_the_limit_is_answered_without_reading_on(canned) -> None:
    """The client need not send the rest; the provider is told, and gets none of it."""
    provider = canned([Head(413, (("content-length", "0"),))])
    with serving(provider) as exchange, socket.create_connection(exchange.address, timeout=5) as sock:
        sock.sendall(request(body=b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        piece = b"%x\r\n%s\r\n" % (2**20, bytes(2**20))
        for _ in range(BODY_LIMIT // 2**20 + 1):
            sock.sendall(piece)
        assert sock.recv(4096).startswith(b"HTTP/1.1 413 ")
    assert (provider.requests[0].oversize, provider.requests[0].body) == (True, b"")


def test_a_body_that_says_it_will_be_over_the_limit_is_not_even_begun(canned) -> None:
    provider = canned([Head(413, (("content-length", "0"),))])
    with serving(provider) as exchange, socket.create_connection(exchange.address, timeout=5) as sock:
        sock.sendall(request(body=b"", close=False).replace(b"Length: 0", b"Length: 99000000\r\nExpect: 100-continue"))
        got = b""
        while piece := sock.recv(4096):
            got += piece
    assert got.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in got


def test_a_header_cannot_smuggle_a_line(canned) -> None:
    with serving(canned([Head(200, (("x-a", "1\r\nx-b: 2"),))])) as exchange:
        assert b"x-b" not in exchange(request())


def test_what_is_not_http_gets_a_400(canned) -> None:
    with serving(canned([OK])) as exchange:
        assert exchange(b"\x16\x03\x01 TLS\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_closing_the_door_drops_what_is_open(canned) -> None:
    provider = canned([OK, Wait(float("inf"))])
    with serving(provider) as exchange:
        sock = socket.create_connection(exchange.address, timeout=5)
        sock.sendall(request())
        assert sock.recv(4096)
    assert provider.closed == ["client_gone"]
    with sock:
        assert sock.recv(4096) in (b"",)


def test_a_port_in_use_is_refused() -> None:
    with bind() as taken, pytest.raises(OSError, match="in use"):
        bind(port=taken.getsockname()[1])


def test_addresses() -> None:
    with bind("::1") as sock:
        assert url_of(sock).startswith("http://[::1]:")
    with bind("0.0.0.0") as sock:
        assert url_of(sock).startswith("http://127.0.0.1:")
    assert [is_loopback(host) for host in ("127.0.0.9", "::1", "localhost", "0.0.0.0", "10.0.0.1", "example.org")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


def test_a_call_runs_on_the_thread_of_the_door(canned) -> None:
    with ServedOnThread(HttpDoor(canned([], clock=RealClock()))) as served:
        import threading

        assert served.call(lambda: threading.current_thread().name) == "simulators"
        with pytest.raises(ZeroDivisionError):
            served.call(lambda: 1 / 0)
    served.close()


def test_a_fast_clock_shortens_waits(canned) -> None:
    clock = RealClock(rate=1000.0)
    began = clock.now()
    with ServedOnThread(HttpDoor(canned([OK, Wait(10), Chunk(b"x")], clock=clock))) as served:
        import httpx2

        started = time.monotonic()
        assert httpx2.get(served.url).text == "x"
        assert time.monotonic() - started < 5
    assert clock.now() - began >= 10


def test_a_request_leaves_no_work_for_the_collector_of_cycles(canned) -> None:
    """At thousands of requests a second that would be a tenth of the time."""
    with serving(canned([OK, Chunk(b"one")])) as exchange, socket.create_connection(exchange.address) as sock:
        sock.settimeout(5)
        gc.collect()
        gc.disable()
        try:
            for _ in range(50):
                sock.sendall(request(close=False))
                while not sock.recv(4096).endswith(b"0\r\n\r\n"):
                    pass
            assert gc.collect() < 50
        finally:
            gc.enable()
