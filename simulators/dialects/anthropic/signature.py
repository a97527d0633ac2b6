"""Signatures of thinking blocks: the simulator signs its own, and refuses one whose text or prompt was changed.

A signature is base64 of a mark, a nonce, a digest of the prompt that the thinking answered, and one of the thinking
text as it was sent. Signatures without the mark come from elsewhere and are taken as genuine.
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from simulators.core.turn import Block
from simulators.dialects.anthropic.gates import Gates
from simulators.dialects.anthropic.messages import Known
from simulators.dialects.anthropic.refusal import refuse

_MARK = b"\x12\x1dclaw-sim"  # 10 bytes
_SIZE = 8


def prompt_digest(blocks: Iterable[Block]) -> bytes:
    """Identity of a prompt: of all its blocks, whatever their markers."""
    return blake2b(b"".join(block.digest for block in blocks), digest_size=_SIZE).digest()


def sign(thinking: str, blocks: Iterable[Block], nonce: str) -> str:
    """The signature of a thinking text that answers `blocks`."""
    prompt = prompt_digest(blocks)
    salt = blake2b(nonce.encode(), digest_size=_SIZE).digest()
    return base64.b64encode(_MARK + salt + prompt + _seal(thinking, salt, prompt)).decode()


def _seal(thinking: str, salt: bytes, prompt: bytes) -> bytes:
    return blake2b(thinking.encode(), digest_size=_SIZE, key=b"claw", salt=salt, person=prompt).digest()


def check_signatures(messages: Sequence[Known], blocks: tuple[Block, ...], gates: Gates) -> None:
    """Refuse a thinking block of this simulator that is not as it was sent.

    On models with preserved thinking the prompt before it must be the same too: the first block that an edit of
    `system`, `tools` or an earlier message made invalid is named.
    """
    if not any(known.thinks for known in messages):
        return
    latest = max((i for i, known in enumerate(messages) if known.role == "assistant"), default=-1)
    starts: dict[int, int] | None = None
    for index, known in enumerate(messages):
        if known.role != "assistant" or not known.thinks:
            continue
        for position, block in enumerate(known.message["content"]):
            if block["type"] != "thinking":
                continue
            path = f"messages.{index}.content.{position}"
            parts = _read(block["signature"])
            if parts is None:
                continue
            salt, prompt, seal = parts
            if seal != _seal(block["thinking"], salt, prompt):
                if index == latest:
                    refuse(
                        f"{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
                        "modified. These blocks must remain as they were in the original response.",
                        kind="poisoned_history",
                    )
                refuse(f"{path}: Invalid `signature` in `thinking` block", kind="poisoned_history")
            if gates.preserved_thinking:
                if starts is None:
                    starts = _turn_starts(messages, blocks)
                begin = starts.get(index)  # None: before a compaction, no longer part of the prompt
                if begin is not None and prompt != prompt_digest(blocks[:begin]):
                    refuse(f"{path}: Invalid `signature` in `thinking` block", kind="poisoned_history")


def _turn_starts(messages: Sequence[Known], blocks: tuple[Block, ...]) -> dict[int, int]:
    """For each assistant message still in the prompt, how many blocks precede the assistant turn it belongs to."""
    first: dict[str, int] = {}
    for number, block in enumerate(blocks):
        if block.level == "messages":
            first.setdefault(block.path.partition(".")[0], number)
    starts: dict[int, int] = {}
    begin: int | None = None
    previous = ""
    for index, known in enumerate(messages):
        if known.role == "assistant":
            if previous != "assistant":
                begin = first.get(f"messages[{index}]")
            if begin is not None:
                starts[index] = begin
        previous = known.role
    return starts


def _read(signature: str) -> tuple[bytes, bytes, bytes] | None:
    """Salt, prompt digest and seal of a signature of this simulator; None for a foreign one."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return None
    start = len(_MARK)
    if raw[:start] != _MARK or len(raw) != start + 3 * _SIZE:
        return None
    return raw[start : start + _SIZE], raw[start + _SIZE : start + 2 * _SIZE], raw[start + 2 * _SIZE :]
