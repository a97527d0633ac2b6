"""Prompts for tests of the cache: blocks of a known size."""

from hashlib import blake2b
from typing import Any

from simulators.core.account_file import CacheRules
from simulators.core.prompt_cache import Lookup, PromptCache
from simulators.core.turn import Block, ModelCall, ModelInfo, Ttl

MODEL = ModelInfo(id="sim-test", provider="sim", context_window=200_000, max_output=1000, min_cacheable_tokens=1024)
OTHER = ModelInfo(id="sim-other", provider="sim", context_window=200_000, max_output=1000, min_cacheable_tokens=1024)
Piece = tuple[Block, int]


def piece(name: str, tokens: int, *, level: Any = "messages", kind: str = "text", ttl: Ttl | None = None) -> Piece:
    """A block of `tokens` tokens; its name is its identity and its text."""
    digest = blake2b(f"{level}{kind}{name}".encode(), digest_size=16).digest()
    role = "" if level == "tools" else "user"
    block = Block(level=level, path=f"{level}:{name}", kind=kind, role=role, digest=digest, text=name, ttl=ttl)
    return block, tokens


class Play:
    """A cache that is asked one prompt after the other; each answer begins at once."""

    def __init__(self, *, prune_at: int = 100_000, **rules: Any) -> None:
        self.cache = PromptCache(CacheRules(**rules), prune_at=prune_at)
        self.n = 0

    def look(
        self, *pieces: Piece, at: float = 0.0, model: ModelInfo = MODEL, automatic: Ttl | None = None, **settings: str
    ) -> Lookup:
        blocks = tuple(block for block, _ in pieces)
        call = ModelCall(
            dialect="plain", operation="generate", model=model.id, blocks=blocks, settings=settings,
            automatic_breakpoint=automatic,
        )  # fmt: skip
        return self.cache.look(call, [tokens for _, tokens in pieces], model, at)

    def accept(self, found: Lookup) -> Lookup:
        self.n += 1
        self.cache.accept(found, self.n)
        return found

    def send(self, *pieces: Piece, **options: Any) -> Lookup:
        found = self.accept(self.look(*pieces, **options))
        self.cache.begin(found)
        return found


def figures(found: Lookup) -> tuple[int, int, int, int]:
    """(read, 1h write, 5m write, input)."""
    return found.read, found.write_1h, found.write_5m, found.input
