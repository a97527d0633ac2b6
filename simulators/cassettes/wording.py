"""Other words for words: of the same length, case and number of tokens wherever they stand, and none of the old ones.

A word is a run of letters, cut where a capital begins a new one. What it becomes depends on nothing but the word, the
other words and the salt, so equal texts stay equal and a shared beginning stays shared. Tokens are counted as the
vocabulary does, in every surrounding in which the word was seen, plain and within JSON.
"""

import hashlib
import random
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

import msgspec

# Escapes stay, words (with the contraction that the vocabulary takes for a part of them) and numbers are replaced.
TOKEN = re.compile(
    r"(?P<kept>\\u[0-9a-fA-F]{4}|\\[bfnrtv])"
    r"|(?P<word>(?:(?<![^\x00-\x7f])(?>[A-Z]*[a-z]+|[A-Z]+)(?![^\x00-\x7f])|[^\W\d_]+)"
    r"(?:'(?i:s|t|re|ve|m|ll|d)(?![^\W_]))?)|(?P<number>[0-9]+)"
)
_WIDE = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_JSON_WORD = re.compile(r"\"(?:[^\"\\]|\\.)*\"?")
_TRIES = 700
_FOREIGN = re.compile(r"[A-Za-z]+|[^A-Za-z]{1,3}")
_CLASH = 1000  # two short words become one only when there is no other left
_MENDED, _MENDS = 40, 400  # of mending: words looked at, candidates for each
_SURROUNDINGS = 40  # of one word, that are looked at

Surrounding = tuple[str, int]  # what the vocabulary cuts out around a word, and where the word begins in it


class Vocabulary(Protocol):
    """A tokenizer."""

    def count(self, text: str) -> int:
        """Tokens of a text."""

    def pieces(self, text: str) -> Sequence[str]:
        """The text cut where no token reaches across."""

    def words(self) -> Mapping[str, Sequence[str]]:
        """Words that are one token, by `case_of`."""


def case_of(word: str) -> str:
    """Length, case and sizes of a word's letters: `Xxxx` for `Word`; letters of n bytes have an n before them."""
    shape = (("X" if letter.isupper() else "x", len(letter.encode("utf-8", "replace"))) for letter in word)
    return "".join(case if size == 1 else f"{size}{case}" for case, size in shape)


class Wording:
    """The dictionary of one cassette, made from all its texts before any of them is rewritten."""

    def __init__(self, texts: Iterable[str], vocabulary: Vocabulary, salt: bytes) -> None:
        self._vocabulary, self._salt = vocabulary, salt
        self._seen: dict[str, set[Surrounding]] = {}
        self._where: dict[str, dict[str, dict[Surrounding, int]]] = {}  # of each word: its surroundings in each text
        self._made: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._texts = list(dict.fromkeys(texts))
        self._variants = list(dict.fromkeys(v for text in self._texts for v in _variants(text)))
        for variant in self._variants:
            self._look(variant)
        self._old = {part for word in self._seen for part in (word.casefold(), word.casefold().partition("'")[0])}
        self._taken: set[str] = set()
        for word in sorted(self._seen, key=lambda w: (len(w), w)):
            self._made[word] = self._other(word, self._seen[word])
        self._mend()

    def __call__(self, text: str, *, json: bool = False, keys: bool = True) -> str:
        """The text in other words, of the same length. `json`: it is JSON, or a part of it, and only what stands in
        quotes is text (without `keys`: values alone)."""
        if not json:
            return TOKEN.sub(self._instead, text)

        def quoted(match: "re.Match[str]") -> str:
            if not keys and text[match.end() :].lstrip()[:1] == ":":
                return match[0]
            return TOKEN.sub(self._instead, match[0])

        return _JSON_WORD.sub(quoted, text)

    def _instead(self, match: "re.Match[str]") -> str:
        return match[0] if match["kept"] is not None else self._made.get(match[0]) or self._unseen(match[0])

    def _unseen(self, word: str) -> str:
        made = self._made[word] = self._other(word, {(word, 0)})
        return made

    def _look(self, text: str) -> None:
        """Note every word's surroundings in a text."""
        borders = [0]
        for piece in self._vocabulary.pieces(text):
            borders.append(borders[-1] + len(piece))
        for match in TOKEN.finditer(text):
            if match["kept"] is not None:
                continue
            word, start = match[0], match.start()
            first = borders[bisect_right(borders, start) - 1]
            last = borders[min(bisect_right(borders, match.end() - 1), len(borders) - 1)]
            around = text[first:last], start - first
            here = self._where.setdefault(word, {}).setdefault(text, {})
            here[around] = here.get(around, 0) + 1
            # renderings of schemas put a name alone, or behind a blank
            seen = self._seen.setdefault(word, {(word, 0), (f" {word}", 1)})
            if len(seen) < _SURROUNDINGS:
                seen.add(around)

    def _other(self, word: str, seen: set[Surrounding]) -> str:
        wanted = [(text, at, self._count(text)) for text, at in sorted(seen)]
        best, least = "", 1 << 30
        for made in self._candidates(word):
            low = made.casefold()
            if low in self._old or (made in self._taken and len(word) > 2) or len(made) != len(word):
                continue
            off = _CLASH * (made in self._taken) + sum(
                abs(self._vocabulary.count(text[:at] + made + text[at + len(word) :]) - tokens)
                for text, at, tokens in wanted
            )
            if off < least:
                best, least = made, off
                if not off:
                    break
        if len(word) == 1 and least:
            best = word  # a letter says nothing, and there may be no other that fits
        best = best or self._last_resort(word)
        self._taken.add(best)
        return best

    def _last_resort(self, word: str) -> str:
        """For words so short that all others are in use: another one of its kind, whatever it is."""
        for made in self._candidates(word):
            if made.casefold() != word.casefold() and len(made) == len(word):
                return made
        return word

    def _candidates(self, word: str) -> Iterator[str]:
        seed = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), key=self._salt[:64], digest_size=16).digest()
        chance = random.Random(seed)
        if word.isdigit():
            for _ in range(_TRIES):
                first = chance.choice("123456789") if word[0] != "0" else "0"
                yield first + "".join(chance.choice("0123456789") for _ in word[1:])
            return
        if word.isascii():
            yield from self._english(word, chance)
            return
        words = self._vocabulary.words()
        whole = words.get(case_of(word), ())
        yield from chance.sample(whole, min(len(whole), 250))
        for n in range(_TRIES):
            parts = _FOREIGN.findall(word) if n % 2 else word
            known = (words.get(case_of(part), ()) if len(part) > 1 else () for part in parts)
            yield "".join(
                chance.choice(found) if found else "".join(_alike(letter, chance) for letter in part)
                for found, part in zip(known, parts, strict=True)
            )

    def _english(self, word: str, chance: random.Random) -> Iterator[str]:
        words, length, case = self._vocabulary.words(), len(word), case_of(word)
        whole = words.get(case, ())
        yield from chance.sample(whole, min(len(whole), 250))
        for _ in range(200):
            at = chance.randint(1, length - 1) if length > 1 else 1
            left, right = words.get(case[:at]), words.get(case[at:])
            if left and right:
                yield chance.choice(left) + chance.choice(right)
        for n in range(_TRIES):
            made = "".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in word)
            if n % 2 and length > 3 and (ending := words.get("xxx")):
                made = made[:-3] + chance.choice(ending)
            yield _cased(made, word)

    def _count(self, text: str) -> int:
        found = self._counts.get(text)
        if found is None:
            found = self._counts[text] = self._vocabulary.count(text)
        return found

    def _mend(self) -> None:
        """Where a word had no equal in tokens: choose others anew that bring the text back to its count, those first
        that stand in few texts."""
        off = {text: delta for text in self._variants if (delta := self._off(text))}
        for text in list(off):
            self._mend_in(text, off)

    def _mend_in(self, text: str, off: dict[str, int]) -> None:
        words = {m[0] for m in TOKEN.finditer(text) if m["kept"] is None}
        for word in sorted(words, key=lambda w: (len(self._where[w]), w))[:_MENDED]:
            if not off.get(text):
                return
            for made in islice(self._candidates(word), _MENDS):
                if made.casefold() in self._old or made in self._taken or len(made) != len(word):
                    continue
                now = {one: off.get(one, 0) + self._change(word, made, seen) for one, seen in self._where[word].items()}
                if sum(map(abs, now.values())) < sum(abs(off.get(one, 0)) for one in now):
                    self._taken.add(made)
                    self._made[word] = made
                    off |= now

    def _change(self, word: str, made: str, seen: Mapping[Surrounding, int]) -> int:
        """Tokens that a text gets more if a word becomes `made` instead of what it is to become."""
        change, former = 0, self._made[word]
        for (text, at), times in seen.items():
            before, after = text[:at], text[at + len(word) :]
            change += times * (self._count(before + made + after) - self._count(before + former + after))
        return change

    def _off(self, text: str) -> int:
        """Tokens that the new text has more than the old one."""
        return self._vocabulary.count(self(text)) - self._count(text)


def _variants(text: str) -> Iterator[str]:
    """A text as it may be counted: plain, and within JSON."""
    yield text
    yield f'":{msgspec.json.encode(text).decode()},"'


def _cased(made: str, like: str) -> str:
    return "".join(new.upper() if old.isupper() else new for new, old in zip(made, like, strict=False))


def _alike(letter: str, chance: random.Random) -> str:
    """A letter of the same script, case and size."""
    if letter.isascii():
        made = chance.choice("abcdefghijklmnopqrstuvwxyz")
        return made.upper() if letter.isupper() else made
    block = 512 if _WIDE.match(letter) else 32
    base = ord(letter) // block * block
    for _ in range(40):
        made = chr(base + chance.randrange(block))
        same = made.isupper() == letter.isupper() and made.islower() == letter.islower()
        if made.isalpha() and same and len(made.encode()) == len(letter.encode()) and len(made.casefold()) == 1:
            return made
    return letter
