"""The proxy door: vendors' names are answered over TLS, everything else is refused at once."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from simulators import Simulator
from simulators.shells.environment import proxy_variables
from simulators.shells.http import Listener
from simulators.shells.proxy import HOSTS, Proxy
from simulators.shells.serving import RealClock, ServedOnThread

ASK = {"model": "sim-test", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


class Open:
    """A proxy that is served: where, and what to trust."""

    def __init__(self, url: str, ca: Path, simulator: Simulator) -> None:
        self.url, self.ca, self.simulator = url, ca, simulator

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def client(self, **options: object) -> httpx2.Client:
        context = ssl.create_default_context(cafile=self.ca)
        return httpx2.Client(proxy=self.url, verify=context, trust_env=False, timeout=10, **options)  # type: ignore[arg-type]

    def raw(self, sent: bytes) -> bytes:
        with socket.create_connection(self.address, timeout=5) as sock:
            sock.sendall(sent)
            got = b""
            while piece := sock.recv(65536):
                got += piece
            return got


@pytest.fixture
def door() -> Iterator[Open]:
    simulator = Simulator(clock=RealClock(), script="turns: [{text: one two}]\notherwise: repeat\nunused: allow")
    proxy = Proxy()
    with ServedOnThread(Listener(simulator.app(), proxy=proxy)) as served:
        yield Open(served.url, proxy.authority.path, simulator)


def test_a_vendors_host_is_answered_streams_too_and_over_one_connection(door: Open) -> None:
    with door.client(headers=HEADERS) as client:
        for _ in range(2):
            answer = client.post("https://api.anthropic.com/v1/messages", json=ASK)
            assert answer.json()["content"] == [{"type": "text", "text": "one two"}]
        with client.stream("POST", "https://api.anthropic.com/v1/messages", json={**ASK, "stream": True}) as stream:
            assert "event: message_stop" in stream.read().decode()
    assert [e.key for e in door.simulator.account("k").journal.exchanges] == ["k…"] * 3


@pytest.mark.parametrize("host", HOSTS)
def test_the_certificate_is_good_for_every_host(door: Open, host: str) -> None:
    with socket.create_connection(door.address, timeout=5) as sock:
        sock.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
        assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
        with ssl.create_default_context(cafile=door.ca).wrap_socket(sock, server_hostname=host) as secured:
            secured.sendall(b"GET /__sim__/health HTTP/1.1\r\nConnection: close\r\n\r\n")
            assert secured.recv(4096).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("authority", ["github.com:443", "api.anthropic.com:22", "api.anthropic.com.evil.org:443", "x"])
def test_every_other_host_is_refused_at_once(door: Open, authority: str) -> None:
    got = door.raw(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 403 Forbidden\r\n")


def test_a_plain_request_for_another_host_is_refused_too(door: Open) -> None:
    got = door.raw(b"GET http://example.org/v1/models HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 403 Forbidden\r\n")


def test_the_door_itself_still_answers(door: Open) -> None:
    assert httpx2.get(f"{door.url}/__sim__/health", trust_env=False).json()["ok"] is True


def test_claude_codes_own_questions_have_an_empty_answer(door: Open) -> None:
    with door.client(headers=HEADERS) as client:
        for path in ("settings", "policy_limits"):
            assert client.get(f"https://api.anthropic.com/api/claude_code/{path}").json() == {"data": []}
    assert door.simulator.engine.find("k") is None


def test_a_client_that_does_not_trust_it_costs_nothing(door: Open) -> None:
    with httpx2.Client(proxy=door.url, trust_env=False) as client, pytest.raises(httpx2.ConnectError):
        client.get("https://api.anthropic.com/v1/models")
    with door.client(headers=HEADERS) as client:
        assert client.post("https://api.anthropic.com/v1/messages", json=ASK).status_code == 200


def test_a_client_that_leaves_in_the_middle_is_noticed_through_tls(door: Open) -> None:
    door.simulator.account("k").load("faults: [{kind: hang}]\nunused: allow")
    with door.client(headers=HEADERS) as client, pytest.raises(httpx2.ReadTimeout):
        client.post("https://api.anthropic.com/v1/messages", json=ASK, timeout=0.2)
    exchange = door.simulator.account("k").journal.exchanges[0]
    for _ in range(2000):
        if exchange.ended is not None:
            break
        httpx2.get(f"{door.url}/__sim__/health", trust_env=False)
    assert exchange.ended == "client_gone"


def test_the_keys_are_private_and_gone_at_the_end() -> None:
    proxy = Proxy()
    folder = proxy.authority.path.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in folder.glob("*key*")] == []
    assert b"PRIVATE" not in b"".join(path.read_bytes() for path in folder.iterdir())
    proxy.authority.close()
    assert not folder.exists()


def test_without_it_a_connect_is_told_what_to_do() -> None:
    with ServedOnThread(Simulator(clock=RealClock()).app()) as served:
        got = Open(served.url, Path(), Simulator()).raw(b"CONNECT api.anthropic.com:443 HTTP/1.1\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 405 ")
    assert b"--proxy" in got


def test_the_variables_send_every_client_through_it() -> None:
    values = proxy_variables("http://127.0.0.1:1/", "/ca.pem")
    assert values["HTTPS_PROXY"] == "http://127.0.0.1:1"
    trusted = {name for name, value in values.items() if value == "/ca.pem"}
    assert trusted >= {"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CODEX_CA_CERTIFICATE"}
    assert "127.0.0.1" in values["NO_PROXY"]
