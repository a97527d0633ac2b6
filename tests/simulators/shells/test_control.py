"""The control API: accounts are set up, read and moved in time over HTTP, and every refusal says where and why."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from simulators import Simulator
from simulators.shells.serving import ServedOnThread
from simulators.shells.virtual_time import EPOCH, VirtualClock

Call = Callable[..., httpx2.Response]
TWO_TURNS = {"tokenizer": "words", "turns": [{"text": "one"}, {"text": "two"}]}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    with (
        ServedOnThread(Simulator(seed=1, clock=VirtualClock()).app()) as served,
        httpx2.Client(base_url=served.url) as client,
    ):
        yield client


@pytest.fixture
def key(client: httpx2.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """A key of this test's own, as it stands in a path."""
    yield request.node.name
    client.delete(f"/__sim__/accounts/{request.node.name}")


def ask(client: httpx2.Client, key: str, **body: Any) -> httpx2.Response:
    asked = {"model": "sim-test", "max_tokens": 9, "messages": [{"role": "user", "content": "a b c"}], **body}
    return client.post("/v1/messages", json=asked, headers={"x-api-key": key, "anthropic-version": "2023-06-01"})


def test_health(client: httpx2.Client) -> None:
    answer = client.get("/__sim__/health")
    assert answer.status_code == 200
    assert answer.json()["ok"] is True
    assert answer.json()["version"]


def test_an_account_is_put_used_read_and_forgotten(client: httpx2.Client, key: str) -> None:
    path = f"/__sim__/accounts/{key}"
    assert client.get(path).status_code == 404
    put = client.put(path, json={**TWO_TURNS, "faults": [{"kind": "overloaded", "on": {"call": 9}}]})
    assert (put.status_code, put.json()) == (200, {"ok": True})
    assert ask(client, key).json()["content"] == [{"type": "text", "text": "one"}]
    state = client.get(path).json()
    assert state["script"] == {"next": 1, "turns": 2, "unused": ["turns[1]", "faults[0]"]}
    assert state["unmatched"] == 0
    assert state["totals"]["requests"] == 1
    assert set(state) == {"script", "unmatched", "limits", "cache", "totals", "now"}
    assert "entries" in state["cache"]
    assert client.delete(path).json() == {"ok": True}
    assert client.get(path).status_code == 404
    assert client.delete(path).status_code == 404


def test_the_journal_is_read_from_a_number_on(client: httpx2.Client, key: str) -> None:
    client.put(f"/__sim__/accounts/{key}", json=TWO_TURNS)
    for _ in range(3):
        ask(client, key)
    journal = client.get(f"/__sim__/accounts/{key}/journal").json()
    assert [e["n"] for e in journal["exchanges"]] == [1, 2, 3]
    assert [e["answered_by"] for e in journal["exchanges"]] == ["turns[0]", "turns[1]", "unmatched"]
    assert journal["exchanges"][0]["ended"] == "complete"
    assert journal["dropped"] == 0
    later = client.get(f"/__sim__/accounts/{key}/journal", params={"after": 2}).json()
    assert [e["n"] for e in later["exchanges"]] == [3]


def test_a_document_may_be_yaml(client: httpx2.Client, key: str) -> None:
    text = "turns:\n  - text: no  # a string, as YAML 1.2 has it\n"
    put = client.put(f"/__sim__/accounts/{key}", content=text, headers={"content-type": "application/yaml"})
    assert put.status_code == 200
    assert ask(client, key).json()["content"][0]["text"] == "no"


def test_a_bad_document_is_told_by_place_and_changes_nothing(client: httpx2.Client, key: str) -> None:
    """The account goes on where it was; an unknown key gets no account by it."""
    path = f"/__sim__/accounts/{key}"
    client.put(path, json=TWO_TURNS)
    ask(client, key)
    text = "turns:\n  - text: new\nfaults:\n  - kind: overlaoded\n"
    put = client.put(path, content=text, headers={"content-type": "application/yaml"})
    assert put.status_code == 400
    error = put.json()["error"]
    assert put.json()["ok"] is False
    assert (error["path"], error["line"], error["did_you_mean"]) == ("faults[0].kind", 4, "overloaded")
    assert "overlaoded" in error["message"]
    assert ask(client, key).json()["content"][0]["text"] == "two"
    assert client.put("/__sim__/accounts/never", content="{").status_code == 400
    assert client.get("/__sim__/accounts/never").status_code == 404


@pytest.mark.parametrize(
    "body", ["", "[]", "turns: {", "\x00", "a: 1\na: 2", '{"turns": 3}', "\ud800".encode("utf-8", "surrogatepass")]
)
def test_no_body_makes_the_control_api_fail(client: httpx2.Client, key: str, body: Any) -> None:
    put = client.put(f"/__sim__/accounts/{key}", content=body)
    assert put.status_code in (200, 400)
    if put.status_code == 400:
        assert set(put.json()["error"]) == {"path", "line", "message", "did_you_mean"}


def test_clocks_are_moved_one_or_all(client: httpx2.Client, key: str) -> None:
    client.put(f"/__sim__/accounts/{key}", json={})
    client.put(f"/__sim__/accounts/{key}-other", json={})
    moved = client.post(f"/__sim__/accounts/{key}/clock", json={"advance": 301})
    base = client.get(f"/__sim__/accounts/{key}-other").json()["now"]
    assert moved.json() == {"now": base + 301}
    assert client.post("/__sim__/clock", json={"advance": 9.5}).json() == {"now": base + 9.5}
    assert client.get(f"/__sim__/accounts/{key}").json()["now"] == base + 301 + 9.5
    assert base >= EPOCH


@pytest.mark.parametrize(
    "body", ["", "{}", '{"advance": -1}', '{"advance": true}', '{"advance": "x"}', "advance: .inf"]
)
def test_a_clock_takes_seconds_only(client: httpx2.Client, body: str) -> None:
    answer = client.post("/__sim__/clock", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["path"] == "advance"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "nothing", 404),
        ("GET", "accounts/unknown", 404),
        ("GET", "accounts/unknown/journal", 404),
        ("POST", "accounts/unknown/clock", 404),
        ("GET", "accounts/unknown/what", 404),
        ("GET", "accounts//journal", 404),
        ("POST", "health", 405),
        ("GET", "clock", 405),
        ("PATCH", "accounts/x", 405),
    ],
)
def test_what_does_not_exist_is_said_in_the_same_shape(
    client: httpx2.Client, method: str, path: str, status: int
) -> None:
    answer = client.request(method, f"/__sim__/{path}", content=b'{"advance": 1}' if method == "POST" else None)
    assert answer.status_code == status
    assert answer.json()["ok"] is False
    assert set(answer.json()["error"]) == {"path", "line", "message", "did_you_mean"}


def test_one_exchange_is_shown_with_its_answer(client: httpx2.Client, key: str) -> None:
    client.put(f"/__sim__/accounts/{key}", json=TWO_TURNS)
    sent = ask(client, key).text
    shown = client.get(f"/__sim__/accounts/{key}/journal/1").json()
    assert (shown["n"], shown["answer"], shown["answer_cut"]) == (1, sent, False)
    assert shown["took"] >= 0
    missing = client.get(f"/__sim__/accounts/{key}/journal/2")
    assert (missing.status_code, "no exchange 2" in missing.json()["error"]["message"]) == (404, True)


def test_a_journal_number_is_checked(client: httpx2.Client, key: str) -> None:
    client.put(f"/__sim__/accounts/{key}", json={})
    assert client.get(f"/__sim__/accounts/{key}/journal?after=x").status_code == 400


def test_keys_may_hold_any_character(client: httpx2.Client) -> None:
    path = "/__sim__/accounts/a%2Fb%20c%3F"
    client.put(path, json=TWO_TURNS)
    assert ask(client, "a/b c?").json()["content"][0]["text"] == "one"
    assert len(client.get(f"{path}/journal").json()["exchanges"]) == 1
    client.delete(path)


def test_a_path_prefix_names_the_account(client: httpx2.Client, key: str) -> None:
    """`/@NAME/…` comes before the key that the request carries."""
    client.put(f"/__sim__/accounts/{key}", json=TWO_TURNS)
    headers = {"x-api-key": "sk-real-secret", "anthropic-version": "2023-06-01"}
    asked = {"model": "sim-test", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]}
    assert client.post(f"/@{key}/v1/messages", json=asked, headers=headers).json()["content"][0]["text"] == "one"
    assert client.get("/__sim__/accounts/sk-real-secret").status_code == 404


def test_the_overview_lists_accounts_without_their_keys(client: httpx2.Client) -> None:
    secret = "sk-ant-api03-very-secret-0123456789"
    client.put(f"/__sim__/accounts/{secret}", json=TWO_TURNS)
    ask(client, secret)
    overview = client.get("/__sim__/accounts")
    assert secret not in overview.text
    mine = overview.json()["accounts"][-1]
    assert (mine["requests"], mine["unmatched"]) == (1, 0)
    journal = client.get(f"/__sim__/accounts/{mine['handle']}/journal")
    assert len(journal.json()["exchanges"]) == 1
    assert secret not in journal.text
    assert client.put("/__sim__/accounts/~1", json={}).status_code == 200  # a key like any other when written
    client.delete("/__sim__/accounts/~1")
    client.delete(f"/__sim__/accounts/{secret}")


def test_the_page_needs_nothing_from_elsewhere(client: httpx2.Client) -> None:
    answer = client.get("/__sim__/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "://" not in answer.text
    assert "innerHTML" not in answer.text
    assert client.get("/__sim__").status_code == 404


@pytest.mark.parametrize("path", ["/api/hello", "/api/claude_cli/bootstrap", "/", "/favicon.ico"])
def test_other_paths_get_a_vendors_404(client: httpx2.Client, path: str) -> None:
    """Claude Code asks for some of them; a 404 does it no harm."""
    assert client.head(path).status_code == 404
    answer = client.get(path, headers={"x-api-key": "sk"})
    assert answer.status_code == 404
    assert json.loads(answer.content)["error"]
