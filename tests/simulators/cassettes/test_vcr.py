"""The file form: bytes exact, read by vcrpy unchanged, whole or not at all."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import yamlserializer

from simulators.cassettes import vcr
from simulators.cassettes.format import Cassette, CassetteError, Exchange, Frame


def exchange(**changed: object) -> Exchange:
    made = {
        "method": "POST",
        "uri": "https://api.anthropic.com/v1/messages?beta=true",
        "request_headers": (("content-type", "application/json"),),
        "request_body": b'{"model":"m"}',
        "headers": (("content-type", "application/json"), ("set-cookie", "a"), ("set-cookie", "b")),
        "body": b'{"ok":true}',
    }
    return Exchange(**{**made, **changed})  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(body=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda s: s.encode("utf-8", "replace"))))
def test_any_body_comes_back_byte_for_byte(body: bytes) -> None:
    before = Cassette(exchanges=[exchange(body=body, request_body=body)], claw={"origin": "recorded"})
    assert vcr.parse(vcr.dump(before), source="x").exchanges == before.exchanges


def test_frames_cuts_and_messages_come_back() -> None:
    frames = (Frame(at=0.1, head=True), Frame(at=0.2, size=11), Frame(at=0.3, sent="a"), Frame(at=0.4, received=b"\xff"),  # noqa: E501
              Frame(at=0.5, cut="reset"))  # fmt: skip
    before = Cassette(exchanges=[exchange(frames=frames, at=5.0)], claw={"origin": "simulated"})
    assert vcr.parse(vcr.dump(before), source="x").exchanges == before.exchanges


def test_vcrpy_reads_it_unchanged(tmp_path: Path) -> None:
    packed = gzip.compress(b"hello", mtime=0)
    made = exchange(body=packed, headers=(("content-encoding", "gzip"),), frames=(Frame(at=0.1, size=len(packed)),))
    vcr.write(tmp_path / "c.yaml", Cassette(exchanges=[made], claw={"origin": "recorded"}))
    requests, responses = FilesystemPersister.load_cassette(tmp_path / "c.yaml", yamlserializer)
    assert (requests[0].method, requests[0].uri, requests[0].body) == (made.method, made.uri, made.request_body)
    assert responses[0]["body"]["string"] == packed
    assert responses[0]["headers"]["content-encoding"] == ["gzip"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("interactions: [", "c.yaml:2"),
        ("a: 1\n", "`interactions:`"),
        ("interactions:\n- request:\n    method: GET\n  response: {}\n", "c.yaml:3: interactions[0].request.uri"),
        (
            "interactions:\n- request: {method: GET, uri: u}\n  response: {status: x}\n",
            "c.yaml:3: interactions[0].response",
        ),
        (
            "interactions:\n- request: {method: GET, uri: u}\n  response: {status: 200}\n  frames: [{at: x}]\n",
            "c.yaml:4: interactions[0].frames",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(CassetteError, match=said.replace("[", r"\[").replace("]", r"\]")):
        vcr.parse(text, source="c.yaml")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.yaml"
    file.write_bytes(b"old")

    def no(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no)
    with pytest.raises(CassetteError, match="No space left"):
        vcr.write(file, Cassette())
    assert [path.name for path in tmp_path.iterdir()] == ["c.yaml"]
    assert file.read_bytes() == b"old"


def test_parsed_bodies_are_read_as_the_bodies_they_stand_for() -> None:
    text = "interactions:\n- request: {method: POST, uri: u, parsed_body: {a: 1}}\n  response: {status: {code: 200}, parsed_body: [1]}\n"  # noqa: E501
    found = vcr.parse(text, source="c.yaml").exchanges[0]
    assert (found.request_body, found.body) == (b'{"a":1}', b"[1]")
