"""The HTTP door against clients that mean harm, or are broken: no error of its own, no hang, nothing left behind."""

import json
import os
import random
import socket
import struct
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulators import Simulator
from simulators.core.document import DocumentError
from simulators.shells.connection import BODY_LIMIT, HEAD_LIMIT, Limits
from simulators.shells.http import Listener
from simulators.shells.serving import RealClock, ServedOnThread

REQUESTS = 10_000
QUICK = Limits(head=0.3, request=0.6, idle=5.0, linger=0.2)
SCRIPT = "turns: [{text: one two three}]\notherwise: repeat\nunused: allow\nlimits: {concurrency: 1000000}"
GOOD: dict[str, Any] = {"model": "sim-a", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


class Door:
    """The door under attack: `attack` sends bytes and tells the statuses that came back; `sound` looks for damage."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.simulator = Simulator(clock=RealClock(), script=SCRIPT)
        self.listener = Listener(self.simulator.app(), limits=QUICK)
        self.served = ServedOnThread(self.listener)
        self.served.call(lambda: self.listener.loop.set_exception_handler(self._noted))
        host, port = self.served.url.removeprefix("http://").split(":")
        self.address = host, int(port)
        self.seen: Counter[int] = Counter()

    def _noted(self, loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        where = "".join(traceback.format_tb(error.__traceback__)[-2:]) if error is not None else ""
        self.errors.append(f"{error!r}\n{where}")

    def attack(self, sent: bytes, *, stay: bool = True, reset: bool = False) -> list[int]:
        """Statuses of what was answered before the end of the connection. Not `stay`: leave without reading."""
        with socket.create_connection(self.address, timeout=10) as sock:
            got = b""
            try:
                sock.sendall(sent)
                if reset:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if not stay or reset:
                    return []
                sock.shutdown(socket.SHUT_WR)
                while piece := sock.recv(262_144):
                    got += piece
            except TimeoutError:
                raise AssertionError(f"the door hangs on {sent[:300]!r}") from None
            except OSError:
                pass  # the door has closed it already
        found = [int(part[:3]) for part in got.split(b"HTTP/1.1 ")[1:]]
        self.seen.update(found)
        return found

    def sound(self) -> None:
        """No error of its own was answered or logged, and no slot, connection or descriptor is left."""
        assert not self.errors, "\n".join(f"{n} times {error}" for error, n in Counter(self.errors).most_common())
        assert not [status for status in self.seen if status >= 500], self.seen
        until = time.monotonic() + 5
        while self.served.call(lambda: len(self.listener._connections)) and time.monotonic() < until:
            time.sleep(0.02)
        assert self.served.call(lambda: len(self.listener._connections)) == 0
        engine = self.simulator.engine
        assert {engine.account(key).state(0.0)["limits"]["concurrency"]["open"] for key in list(engine.keys())} <= {0}
        ended = {e.ended for key in list(engine.keys()) for e in engine.account(key).journal.exchanges}
        assert None not in ended


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    before = descriptors()
    try:
        yield made
        made.sound()
        assert descriptors() <= before
        assert made.attack(post(json.dumps(GOOD).encode())) == [200], "it still serves"
    finally:
        made.served.close()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def post(body: bytes, *headers: bytes, path: bytes = b"/v1/messages", key: bytes = b"k", close: bool = True) -> bytes:
    lines = [b"POST " + path + b" HTTP/1.1", b"Host: x", b"x-api-key: " + key, b"anthropic-version: 2023-06-01"]
    lines += [b"Content-Length: %d" % len(body), *headers, *([b"Connection: close"] if close else [])]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


# Each makes one request out of chance.
def broken_json(rng: random.Random) -> bytes:
    whole = bytearray(json.dumps({**GOOD, "stream": rng.random() < 0.3}).encode())
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(whole))
        whole[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
    return post(bytes(whole), close=False)


def odd_values(rng: random.Random) -> bytes:
    odd = [None, -1, 1e308, 2**70, "", [], {}, [[]], "\ud800", "\0", True, {"type": 5}, [{"role": []}], "x" * 5000]
    body = dict(GOOD)
    names = ["model", "max_tokens", "messages", "system", "tools", "stream", "stop_sequences", "thinking", "metadata"]
    for _ in range(rng.randint(1, 3)):
        body[rng.choice(names)] = rng.choice(odd)
    return post(json.dumps(body).encode(), close=False)


def deep(rng: random.Random) -> bytes:
    depth = rng.choice([50, 500, 5_000, 100_000])
    opened, closed = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    nest = opened * depth + b"1" + closed * rng.choice([depth, 0])
    return post(rng.choice([nest, b'{"model":"sim-a","max_tokens":9,"messages":%b}' % nest]), close=False)


def bad_head(rng: random.Random) -> bytes:
    lines = [b"POST /v1/messages HTTP/1.1", b"Host: x", b"Content-Length: 2"]
    lines.insert(rng.randint(0, 3), rng.choice([
        b"\xff\xfe: x", b"no colon", b": empty", b"a b: c", b"Content-Length: 3", b"Content-Length: -1",
        b"Content-Length: 99999999999999999999999", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked",
        b"x: \0", b"x: a\rb", b" folded: x", b"Upgrade: websocket\r\nConnection: upgrade", b"Expect: 100-continue",
        b"Host: y", b"x-api-key: \xff\xff", b"anthropic-beta: \x7f", rng.randbytes(20), b"GET / HTTP/9.9",
        b"PRI * HTTP/2.0",
    ]))  # fmt: skip
    return b"\r\n".join(lines) + b"\r\n\r\n{}"


def odd_target(rng: random.Random) -> bytes:
    target = rng.choice([
        b"*", b"//", b"/%", b"/%00%ff", b"/@/v1/messages", b"/@a%2fb/v1/messages", b"http://x/v1/models", b"?", b"/..",
        b"/v1/messages/../../x", b"/__sim__/accounts/%ff", b"/__sim__/accounts/a/journal?after=x", b"/" + b"a" * 9000,
        b"/v1/models?limit=-1", b"/v1/models?limit=9&limit=&&=", b"x:y", b"/__sim__/clock",
        b"/__sim__/accounts//journal",
        b"/v1beta/models/x:generateContent", b"/v1/responses", b"/v1/chat/completions", b"/v1/messages/batches",
    ])  # fmt: skip
    method = rng.choice([b"GET", b"POST", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"HEAD", b"CONNECT", b"TRACE"])
    body = rng.choice([b"", b"{}", b"[1", b"turns: [", b"a: &a [*a]", b"\xff"])
    head = b"%b %b HTTP/1.1\r\nHost: x\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n" % (method, target)
    return head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def odd_chunks(rng: random.Random) -> bytes:
    body = json.dumps(GOOD).encode()
    cut = rng.randrange(len(body))
    size = rng.choice(
        [b"%x", b"%X", b"0%x", b"%x;a=b", b"%x ", b"-%x", b"0x%x", b"%xg", b"%x" + b"f" * 15, b"%x" + b";" * 900]
    )
    parts = [
        size % len(part) + b"\r\n" + part + rng.choice([b"\r\n", b"\r\n", b"\n", b""])
        for part in (body[:cut], body[cut:])
        if part
    ]
    end = rng.choice([b"0\r\n\r\n", b"0\r\nx-trailer: 1\r\n\r\n", b"0\r\n", b""])
    head = post(b"", close=False).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    return head + b"".join(parts) + end


def noise(rng: random.Random) -> bytes:
    return rng.randbytes(rng.randint(1, 400))


def good(rng: random.Random) -> bytes:
    return post(json.dumps({**GOOD, "stream": rng.random() < 0.5}).encode(), close=False)


KINDS: list[Callable[[random.Random], bytes]] = [
    broken_json, odd_values, deep, bad_head, odd_target, odd_chunks, noise, good, good, good,
]  # fmt: skip


@pytest.mark.slow
def test_ten_thousand_hostile_requests(door: Door) -> None:
    """Of every kind, some pipelined, some cut short, some by clients that leave at once; the same ones every time."""
    rng, sent = random.Random(20), 0
    while sent < REQUESTS:
        requests = [rng.choice(KINDS)(rng) for _ in range(rng.choice([1, 1, 3, 8]))]
        data = b"".join(requests)
        if rng.random() < 0.15:
            data = data[: rng.randrange(len(data)) + 1]
        way = rng.random()
        door.attack(data, stay=way > 0.1, reset=way < 0.05)
        sent += len(requests)
    answered = sum(door.seen.values())
    print(f"{sent} requests, {answered} answered: {dict(sorted(door.seen.items()))}")
    assert answered > REQUESTS / 4
    assert door.seen[200] > 500


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    data=st.lists(st.one_of(st.binary(max_size=200), st.sampled_from([post(b"{}"), b"\r\n", b"GET / HTTP/1.1\r\n"])))
)
def test_whatever_comes(door: Door, data: list[bytes]) -> None:
    door.attack(b"".join(data))
    assert not [status for status in door.seen if status >= 500]
    assert not door.errors, door.errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_body_over_the_limit_is_refused_before_its_end(door: Door, framing: str) -> None:
    """In the vendor's words; the account keeps none of it."""
    head = post(b"").replace(b"Content-Length: 0", b"Content-Length: 10000000000")
    if framing == "chunked":
        head = post(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    piece = bytes(2**20) if framing == "length" else b"%x\r\n%b\r\n" % (2**20, bytes(2**20))
    sent = 0
    with socket.create_connection(door.address, timeout=10) as sock:
        sock.sendall(head)
        try:
            while sent < 3 * BODY_LIMIT:
                sock.settimeout(0.001)
                try:
                    answer = sock.recv(65536, socket.MSG_PEEK)
                    break
                except TimeoutError:
                    sock.settimeout(10)
                    sock.sendall(piece)
                    sent += len(piece)
        except (ConnectionResetError, BrokenPipeError):
            answer = b""
        sock.settimeout(10)
        answer = sock.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"request_too_large" in answer
    assert sent <= (2**20 if framing == "length" else BODY_LIMIT + 4 * 2**20)
    assert [len(e.body) for e in door.simulator.account("k").journal.exchanges] == [0]


@pytest.mark.slow
def test_a_body_of_exactly_the_limit_is_read(door: Door) -> None:
    body = json.dumps(GOOD).encode()
    assert door.attack(post(body + b" " * (BODY_LIMIT - len(body)))) == [200]


@pytest.mark.slow
@pytest.mark.parametrize("head", [b"x: " + b"a" * HEAD_LIMIT * 20, b"x: y\r\n" * HEAD_LIMIT, b"a" * HEAD_LIMIT * 2])
def test_a_head_without_end_is_refused(door: Door, head: bytes) -> None:
    assert set(door.attack(b"POST /v1/messages HTTP/1.1\r\n" + head)) <= {431, 400}


@pytest.mark.slow
def test_chunks_of_one_byte_with_long_extensions_are_no_way_past_the_limit(door: Door) -> None:
    sent = (
        post(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        + (b"1;" + b"e" * 60_000 + b"\r\nx\r\n") * 60
    )
    assert set(door.attack(sent)) <= {400}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-a", 408), (post(b"x" * 1000, close=False)[:-990], 408), (b"", None)],
    ids=["in the head", "in the body", "before anything"],
)
def test_who_is_slow_is_given_up(door: Door, sent: bytes, status: int | None) -> None:
    """A byte at a time does not keep a connection for ever."""
    began = time.monotonic()
    with socket.create_connection(door.address, timeout=10) as sock:
        sock.sendall(sent)
        got = b""
        while time.monotonic() - began < 5 and not got:
            sock.settimeout(0.05)
            try:
                if sent:
                    sock.sendall(b"a")
                got = sock.recv(4096)
                if not got:
                    break
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                break
            if not sent:
                break
    assert time.monotonic() - began < (3 if sent else 8)
    assert not got if status is None else got.startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.slow
def test_a_thousand_slow_clients_keep_nobody_out(door: Door) -> None:
    slow = [socket.create_connection(door.address, timeout=10) for _ in range(400)]
    try:
        for sock in slow:
            sock.sendall(b"POST /v1/messages HTTP/1.1\r\nx-a")
        began = time.monotonic()
        assert door.attack(post(json.dumps(GOOD).encode())) == [200]
        assert time.monotonic() - began < 1
    finally:
        for sock in slow:
            sock.close()


@pytest.mark.slow
def test_who_asks_and_does_not_read_is_made_to_wait(door: Door) -> None:
    """Answers do not pile up in memory: the door stops answering, and then reading."""
    one = post(json.dumps(GOOD).encode(), close=False)
    with socket.create_connection(door.address, timeout=0.5) as sock:
        sent = 0
        try:
            while sent < 200_000:
                sent += sock.send(one * 50) // len(one)
        except TimeoutError:
            pass
        assert sent < 200_000
        assert door.simulator.account("k").state(0.0)["totals"]["requests"] < sent


@pytest.mark.slow
def test_who_leaves_frees_what_he_held(door: Door) -> None:
    door.simulator.account("h").load(
        "faults: [{kind: stall, after_events: 2}]\nlimits: {concurrency: 3}\nunused: allow"
    )
    ask = post(json.dumps({**GOOD, "stream": True}).encode(), key=b"h")
    for _ in range(4):
        held = [socket.create_connection(door.address, timeout=10) for _ in range(3)]
        for sock in held:
            sock.sendall(ask)
            assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
        assert door.attack(ask) == [429]
        for sock in held:
            sock.close()
        until = time.monotonic() + 5
        while door.simulator.account("h").state(0.0)["limits"]["concurrency"]["open"] and time.monotonic() < until:
            time.sleep(0.005)
    ended = Counter(e.ended for e in door.simulator.account("h").journal.exchanges if e.status == 200)
    assert ended == {"client_gone": 12}


@pytest.mark.slow
def test_a_document_that_unfolds_without_end_is_refused(door: Door) -> None:
    """Aliases of aliases: a few hundred bytes that stand for billions of items."""
    bomb = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%b]\n" % (now, now, b",".join([b"*%c" % (now - 1)] * 9)) for now in range(ord("b"), ord("k"))
    )
    head = b"PUT /__sim__/accounts/b HTTP/1.1\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(bomb)
    began = time.monotonic()
    assert door.attack(head + bomb) == [400]
    assert time.monotonic() - began < 2
    with pytest.raises(DocumentError):
        door.simulator.account("b", bomb)
