"""A cassette answers as it was recorded: bytes, order, timing, breaks; what it does not have is told."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from simulators import Simulator
from simulators.cassettes import vcr
from simulators.cassettes.format import Cassette, Exchange, Frame, header
from simulators.cassettes.migrate import migrated
from simulators.shells.serving import RealClock, ServedOnThread
from tests.simulators.cassettes._recorded import needs_recordings, recordings, some

URL = "https://api.anthropic.com/v1/messages"
EVENTS = b"".join(b'event: e%d\ndata: {"type":"e%d"}\n\n' % (n, n) for n in range(6))


def asked(text: str, answer: bytes = b'{"type":"message"}', **more: Any) -> Exchange:
    body = b'{"model":"sim-x","max_tokens":9,"messages":[{"role":"user","content":"%b"}]}' % text.encode()
    given = {"headers": (("content-type", "application/json"),), "body": answer, **more}
    return Exchange(method="POST", uri=URL, request_body=body, **given)


def served(tmp_path: Path, *exchanges: Exchange, **document: Any) -> Simulator:
    file = tmp_path / "c.yaml"
    vcr.write(file, Cassette(exchanges=list(exchanges), claw={"origin": "recorded"}))
    return Simulator(script={"responder": "cassette", "cassette": str(file), **document})


def send(simulator: Simulator, exchange: Exchange, **changed: Any) -> httpx2.Response:
    with httpx2.Client(transport=simulator.transport()) as client:
        kind = header(exchange.request_headers, "content-type") or "application/json"
        headers = {"x-api-key": "k", "content-type": kind}
        given = {"content": exchange.request_body, "headers": headers, **changed}
        return client.request(exchange.method, given.pop("url", exchange.uri), **given)


def test_equal_requests_are_answered_in_order_and_no_further(tmp_path: Path) -> None:
    simulator = served(tmp_path, asked("a", b"1"), asked("b", b"2"), asked("a", b"3"))
    assert [send(simulator, asked("a")).content for _ in range(2)] == [b"1", b"3"]
    third = send(simulator, asked("a"))
    assert (third.status_code, third.headers["x-sim-unmatched"]) == (400, "1")
    assert "recorded 2 times and asked once more" in third.text
    assert simulator.account("k").problems()[-1] == "interactions[1]: never used"


def test_bodies_are_matched_as_values(tmp_path: Path) -> None:
    """Order of keys, blanks, 9.0 for 9, another host and another base path make no difference."""
    body = b'{"messages": [{"content": "a", "role": "user"}], "max_tokens": 9.0, "model": "sim-x"}'
    other = "http://127.0.0.1:1/proxy/v1/messages"
    assert send(served(tmp_path, asked("a", b"1")), asked("a"), content=body, url=other).content == b"1"


def test_a_miss_names_the_nearest_and_the_difference(tmp_path: Path) -> None:
    simulator = served(tmp_path, asked("something else altogether"), asked("What is new?"))
    said = send(simulator, asked("What is old?")).json()["error"]["message"]
    assert said.startswith("no scripted answer")
    assert "interactions[1]" in said
    assert 'messages[0].content: recorded "What is new?", asked "What is old?"' in said
    assert simulator.account("k").journal.exchanges[0].nearest["exchange"] == 1  # type: ignore[index]


def test_models_limits_of_the_window_and_validation_do_not_count(tmp_path: Path) -> None:
    """A recording of a model that nobody knows, with a request that the vendor would refuse today."""
    odd = Exchange(method="POST", uri=URL, request_body=b'{"model":"no-such-model","messages":7}', body=b"fine")
    assert send(served(tmp_path, odd), odd).content == b"fine"


def test_paths_of_no_known_vendor_are_answered(tmp_path: Path) -> None:
    odd = Exchange(method="PUT", uri="https://example.com/odd/path?x=1", request_body=b"raw \xff", body=b"\x00\xff")
    assert send(served(tmp_path, odd), odd).content == b"\x00\xff"


def test_a_cut_stream_is_cut_again_with_its_timing(tmp_path: Path) -> None:
    size = len(EVENTS) // 2
    frames = (Frame(at=0.5, head=True), Frame(at=0.75, size=size), Frame(at=3.0, cut="reset"))
    stream = asked("a", EVENTS[:size], headers=(("content-type", "text/event-stream"),), frames=frames)
    simulator = served(tmp_path, stream)
    began, seen = simulator.clock.now(), list[tuple[float, int]]()
    with httpx2.Client(transport=simulator.transport()) as client, pytest.raises(httpx2.ReadError):  # noqa: SIM117
        with client.stream("POST", URL, content=stream.request_body, headers={"x-api-key": "k"}) as response:
            for data in response.iter_raw():
                seen.append((round(simulator.clock.now() - began, 6), len(data)))
    assert seen == [(0.75, size)]
    assert simulator.clock.now() - began == pytest.approx(3.0)
    assert simulator.account("k").journal.exchanges[0].ended == "cut"


@pytest.mark.parametrize(("pacing", "seconds"), [({"recorded": 0}, 0.0), ({"recorded": 0.5}, 1.0), ({}, 2.0)])
def test_timing_is_the_recorded_one_or_scaled(tmp_path: Path, pacing: dict[str, Any], seconds: float) -> None:
    frames = (Frame(at=0.5, head=True), Frame(at=2.0, size=1))
    simulator = served(tmp_path, asked("a", b"1", frames=frames), pacing=pacing)
    began = simulator.clock.now()
    send(simulator, asked("a"))
    assert simulator.clock.now() - began == pytest.approx(seconds)


def test_faults_are_laid_over_a_replay(tmp_path: Path) -> None:
    stream = asked("a", EVENTS, headers=(("content-type", "text/event-stream"),))
    faults = [{"kind": "overloaded", "on": {"call": 1}}, {"kind": "truncate", "after_events": 2, "on": {"call": 2}}]
    simulator = served(tmp_path, stream, faults=faults)
    assert send(simulator, stream).status_code == 529
    assert send(simulator, stream).content == EVENTS[: len(EVENTS) // 3]
    assert simulator.account("k").problems() == []


def test_a_turn_fault_changes_what_was_recorded(tmp_path: Path) -> None:
    said = (b'{"id":"m","type":"message","role":"assistant","model":"sim-x","content":[{"type":"text","text":"Hi"}],'
            b'"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1}}')  # fmt: skip
    simulator = served(tmp_path, asked("a", said), faults=[{"kind": "usage_zero"}])
    answer = send(simulator, asked("a")).json()
    assert (answer["content"][0]["text"], answer["usage"]["input_tokens"]) == ("Hi", 0)


def test_rules_come_first_and_otherwise_last(tmp_path: Path) -> None:
    rules = [{"when": {"last_user": "title"}, "reply": {"text": "A title"}}]
    simulator = served(tmp_path, asked("a", b"1"), rules=rules, otherwise="echo")
    assert "A title" in send(simulator, asked("a title please")).text
    assert send(simulator, asked("a")).content == b"1"
    assert "who else" in send(simulator, asked("who else")).text


def test_what_was_recorded_without_a_key_is_asked_without_one(tmp_path: Path) -> None:
    assert send(served(tmp_path, asked("a", b"1")), asked("a"), headers={}).content == b"1"


# --- real recordings ---


def through(client: httpx2.Client, base: str, file: Path) -> Iterator[tuple[Exchange, httpx2.Response]]:
    for exchange in vcr.read(file).exchanges:
        url = f"{base}/{exchange.uri.split('/', 3)[3]}" if base else exchange.uri
        headers = {"x-api-key": file.stem}
        if kind := header(exchange.request_headers, "content-type"):
            headers["content-type"] = kind
        yield exchange, client.request(exchange.method, url, content=exchange.request_body, headers=headers)


@needs_recordings
def test_every_recording_comes_back_in_process(tmp_path: Path) -> None:
    looked = 0
    for file in recordings():
        target = tmp_path / file.name
        vcr.write(target, migrated(vcr.read(file)))
        simulator = Simulator(script={"responder": "cassette", "cassette": str(target)})
        with httpx2.Client(transport=simulator.transport(account=target.stem)) as client:
            for exchange, response in through(client, "", target):
                assert (response.status_code, response.content) == (exchange.status, exchange.body), file.name
                looked += 1
        assert simulator.account(target.stem).problems() == [], file.name
    assert looked >= len(recordings())


@needs_recordings
@pytest.mark.slow
def test_every_recording_comes_back_over_http(tmp_path: Path) -> None:
    simulator, looked = Simulator(clock=RealClock()), 0
    with ServedOnThread(simulator.app()) as door, httpx2.Client() as client:
        for file in recordings():
            target = tmp_path / file.name
            vcr.write(target, migrated(vcr.read(file)))
            document = {"responder": "cassette", "cassette": str(target)}
            door.call(lambda key=target.stem, document=document: simulator.account(key, document))  # type: ignore[misc]
            for exchange, response in through(client, f"{door.url}/@{target.stem}", target):
                assert (response.status_code, response.content) == (exchange.status, exchange.body), file.name
                looked += 1
    assert looked >= len(recordings())


@needs_recordings
@pytest.mark.slow
@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_migrated_recordings_replay_through_plain_vcrpy_and_the_official_sdks(vendor: str, tmp_path: Path) -> None:
    import anthropic
    import openai
    import vcr as vcrpy

    made: dict[str, Any] = {"anthropic": anthropic, "openai": openai}[vendor]
    names = {"anthropic": ("Anthropic", "AsyncAnthropic"), "openai": ("OpenAI", "AsyncOpenAI")}[vendor]
    looked = 0
    for file in [file for file in some(3) if file.parent.name == vendor]:
        target = tmp_path / file.name
        vcr.write(target, migrated(vcr.read(file)))
        cassette = vcr.read(target)
        if any(header(e.request_headers, "content-type") != "application/json" for e in cassette.exchanges):
            continue
        for name in names:
            with vcrpy.VCR(record_mode="none").use_cassette(str(target)) as played:
                client = getattr(made, name)(api_key="k", max_retries=0)
                for exchange in cassette.exchanges:
                    got = client._client.request(exchange.method, exchange.uri, content=exchange.request_body)
                    response = asyncio.run(got) if asyncio.iscoroutine(got) else got
                    assert (response.status_code, response.content) == (exchange.status, exchange.body)
                    looked += 1
                assert played.all_played
    assert looked
