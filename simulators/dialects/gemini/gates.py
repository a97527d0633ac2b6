"""What a model of this vendor does, by its family: thinking, signatures, call ids, tools beside JSON answers.

Told by the name (`gemini-2.5-…`, `gemini-3.5-…`); what no rule knows (`sim-…`, a model of an account's own) is like
the newest. The account's `features:` come first. Facts: the provider's pages on thinking and thought signatures, and
recordings.
"""

import re
from functools import lru_cache
from typing import Any

import msgspec

from simulators.core.turn import ModelInfo

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_NEWEST = (3, 8)
_STRICT_FROM = (3, 5)  # older 3.x answer a missing signature with a finish reason


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """`signatures`: `required` (3.x: a replayed function call must carry one), `given`, or `none`; `missing` is what
    happens without: `refused` with 400, or `finish` (200 with a finish reason). `budget` is the range of a thinking
    budget, None where the model thinks by level; `mixes` says that functions go together with built-in tools and JSON.
    """

    version: tuple[int, int] = _NEWEST
    thinks: bool = True
    levels: bool = True
    budget: tuple[int, int] | None = (0, 32768)
    must_think: bool = False
    signatures: str = "required"
    missing: str = "refused"
    call_ids: bool = True
    mixes: bool = True
    index: bool = True  # candidates say their index
    logprobs: bool = False  # candidates say `avgLogprobs`, usage its details


def gates(model: ModelInfo) -> Gates:
    """The gates of a model."""
    return _gates(model.id, tuple(sorted((k, v) for k, v in model.features.items() if k in Gates.__struct_fields__)))


@lru_cache(maxsize=256)
def _gates(name: str, given: tuple[tuple[str, Any], ...]) -> Gates:
    return msgspec.structs.replace(_family(name), **dict(given))


def _family(name: str) -> Gates:
    found = _VERSION.match(name)
    version = (int(found[1]), int(found[2] or 0)) if found else _NEWEST
    if version >= (3, 0):
        return Gates(version=version, missing="refused" if version >= _STRICT_FROM else "finish")
    if version >= (2, 5):
        pro, lite = "pro" in name, "lite" in name
        return Gates(
            version=version,
            levels=False,
            budget=(128, 32768) if pro else (512, 24576) if lite else (0, 24576),
            must_think=pro,
            thinks=not lite,
            signatures="given",
            call_ids=False,
            mixes=False,
        )
    return Gates(
        version=version, thinks=False, levels=False, budget=None, signatures="none", call_ids=False, mixes=False,
        index=False, logprobs=True,
    )  # fmt: skip
