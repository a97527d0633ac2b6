"""Signatures of thinking blocks: the simulator signs its own, and refuses one whose text or prompt was changed.

A signature is base64 of a mark, a nonce, a digest of the prompt that the thinking answered, and one of the thinking
text as it was sent. Signatures without the mark come from elsewhere and are taken as genuine.
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from simulators.core.turn import Block
from simulators.dialects.anthropic.gates import Gates
from simulators.dialects.anthropic.messages import Known
from simulators.dialects.anthropic.refusal import refuse

_MARK = b"\x12\x1dclaw-sim"  # 10 bytes
_SUMMARY = b"\x12\x1eclaw-sum"
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


def check_signatures(
    messages: Sequence[Known], blocks: tuple[Block, ...], gates: Gates, *, drop: bool = False
) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """The blocks that stay, and the dotted paths of thinking that was dropped.

    Refuses a thinking block of this simulator whose text was changed. On models with preserved thinking the prompt
    before it must be the same too: the first block that an edit of `system`, `tools` or an earlier message made invalid
    is named, or with `drop` all of them are left out (preserved-thinking pages of the provider's documentation).
    """
    if not any(known.thinks for known in messages):
        return blocks, ()
    latest = max((i for i, known in enumerate(messages) if known.role == "assistant"), default=-1)
    at = {block.path: number for number, block in enumerate(blocks) if block.kind == "thinking"}
    kept: list[Block | None] = list(blocks)
    dropped: list[str] = []
    starts: dict[int, int] | None = None
    for index, known in enumerate(messages):
        if known.role != "assistant" or not known.thinks:
            continue
        for position, block in enumerate(known.message["content"]):
            parts = _read(block["signature"]) if block["type"] == "thinking" else None
            if parts is None:
                continue
            path = f"messages.{index}.content.{position}"
            _check_seal(block["thinking"], parts, path, latest=index == latest)
            number = at.get(f"messages[{index}].content[{position}]")  # None: no longer part of the prompt
            if not gates.preserved_thinking or number is None:
                continue
            if starts is None:
                starts = _turn_starts(messages, blocks)
            if _prompt_fits(parts[1], kept, starts.get(index, number), number):
                continue
            if not drop:
                refuse(
                    f"{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
                    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That '
                    "setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.",
                    kind="poisoned_history",
                )
            kept[number] = None
            dropped.append(path)
    return (tuple(block for block in kept if block is not None) if dropped else blocks), tuple(dropped)


def _check_seal(thinking: str, parts: tuple[bytes, bytes, bytes], path: str, *, latest: bool) -> None:
    salt, prompt, seal = parts
    if seal == _seal(thinking, salt, prompt):
        return
    if latest:
        refuse(
            f"{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response.",
            kind="poisoned_history",
        )
    refuse(f"{path}: Invalid `signature` in `thinking` block", kind="poisoned_history")


def _prompt_fits(prompt: bytes, kept: Sequence[Block | None], start: int, number: int) -> bool:
    """Whether thinking answered what stands before it: before its turn, or, where a paused turn was continued, before
    some later place in that turn."""
    return any(
        prompt == prompt_digest(block for block in kept[:end] if block is not None) for end in range(start, number + 1)
    )


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


class SealedSummary(msgspec.Struct, frozen=True):
    """What the signature of a compaction block recorded."""

    foreign: bool
    content: bytes = b""
    changes: bytes = b""

    def fits_content(self, text: str) -> bool:
        """Whether the summary is the one that was signed."""
        return self.foreign or self.content == _short(text.encode())

    def fits_changes(self, changes: Any) -> bool:
        """Whether the tool changes are those that were signed."""
        return self.foreign or self.changes == _short(msgspec.json.encode(changes or []))


def seal_summary(text: str, changes: Any = None) -> str:
    """The signature of a compaction block."""
    return base64.b64encode(_SUMMARY + _short(text.encode()) + _short(msgspec.json.encode(changes or []))).decode()


def read_summary(signature: str) -> SealedSummary | None:
    """What a signature of a compaction block says; None if it is damaged. Foreign ones are taken as genuine."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return None
    start = len(_SUMMARY)
    if raw[:start] != _SUMMARY:
        return SealedSummary(foreign=True)
    if len(raw) != start + 2 * _SIZE:
        return None
    return SealedSummary(False, raw[start : start + _SIZE], raw[start + _SIZE :])


def _short(data: bytes) -> bytes:
    return blake2b(data, digest_size=_SIZE, key=b"claw").digest()
