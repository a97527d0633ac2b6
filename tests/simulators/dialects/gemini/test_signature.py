"""Thought signatures: as long as their thoughts, checked if they are ours."""

import base64

import pytest

from simulators.dialects.gemini.signature import decoded, intact, sealed_tokens, sign


@pytest.mark.parametrize("thoughts", [0, 1, 69, 1169, 5000])
def test_a_signature_tells_how_much_thought_it_seals(thoughts: int) -> None:
    assert abs(sealed_tokens(sign("seed", thoughts)) - thoughts) <= 1


def test_the_same_seed_signs_the_same() -> None:
    assert sign("a", 10) == sign("a", 10) != sign("b", 10)


def test_ours_is_told_from_a_damaged_one_in_either_alphabet() -> None:
    signature = sign("a", 10)
    assert intact(signature)
    assert intact(signature.replace("+", "-").replace("/", "_"))
    data = bytearray(decoded(signature))
    data[20] ^= 1
    assert not intact(base64.b64encode(bytes(data)).decode())


@pytest.mark.parametrize("foreign", ["", "skip_thought_signature_validator", "c2tpcA==", "EtUBCtIBAQw51sfL", "a"])
def test_a_strangers_is_taken_as_genuine(foreign: str) -> None:
    assert intact(foreign)
