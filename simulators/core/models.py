"""The models that exist: windows, limits, prices. The facts stand in `models.json` beside this file.

A row has the fields of `ModelInfo`, `aliases`, and in `features` what else is known: `supports_…` flags, `max_input`
where it differs from the window, `tiers` (price steps by total input: `{"200000": {"input": 4.0, …}}`). Prices of
cache writes: a vendor with one write price has it in both fields; one without a write fee has the input price there.
"""

import pkgutil
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from simulators.core.account_file import ModelTable
from simulators.core.turn import ModelInfo, Tokens

ANY = "sim"  # `provider` of a model that every dialect serves
PREFIX = "sim-"
_MILLION = 1_000_000


class Models(Mapping[str, ModelInfo]):
    """Looks up exactly, then by alias, then `sim-…`, which always exists. Iterating gives real ids, no aliases."""

    def __init__(self, rows: Mapping[str, ModelInfo], aliases: Mapping[str, str]) -> None:
        self._rows, self._aliases = rows, aliases
        self._found: dict[str, ModelInfo] = {}

    def __getitem__(self, name: str) -> ModelInfo:
        info = self._found.get(name)
        if info is None:
            info = self._rows.get(name) or self._rows.get(self._aliases.get(name, ""))
            if info is None:
                if not name.startswith(PREFIX):
                    raise KeyError(name)
                return ModelInfo(id=name, provider=ANY, context_window=200_000, max_output=64_000)
            self._found[name] = info
        return info

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def served_by(self, provider: str) -> dict[str, ModelInfo]:
        """The models of a vendor, those of every vendor included, by id."""
        return {name: info for name, info in self._rows.items() if info.provider in (provider, ANY)}

    def with_changes(self, changes: Mapping[str, ModelTable]) -> "Models":
        """These models with an account's `models:` laid over them; an unknown name becomes a model of its own."""
        if not changes:
            return self
        rows, aliases = dict(self._rows), dict(self._aliases)
        for name, table in changes.items():
            base = self.get(name) or ModelInfo(id=name, provider=ANY, context_window=200_000, max_output=64_000)
            given = {f: getattr(table, f) for f in table.__struct_fields__ if getattr(table, f) is not None}
            features = {**base.features, **given.pop("features", {})}
            if "context_window" in given:
                features.pop("max_input", None)  # belonged to the window that is replaced
            given["features"] = features
            changed = msgspec.structs.replace(base, **given)
            rows[changed.id] = changed
        return Models(rows, aliases)


@lru_cache(maxsize=1)
def catalogue() -> Models:
    """The models of `models.json`."""
    data = pkgutil.get_data(__package__, "models.json")
    rows: list[dict[str, Any]] = msgspec.json.decode(data or b"[]")
    aliases = {alias: row["id"] for row in rows for alias in row.pop("aliases", ())}
    return Models({row["id"]: msgspec.convert(row, ModelInfo) for row in rows}, aliases)


def cost_usd(model: ModelInfo, tokens: Tokens) -> float:
    """What a call costs in USD; where the price has steps, the one for this size of prompt."""
    price: Any = model
    tiers = model.features.get("tiers")
    if tiers:
        prompt = tokens.prompt
        for limit in sorted(tiers, key=int):
            if prompt > int(limit):
                price = msgspec.structs.replace(model, **tiers[limit])
    long, twelve_hours = price.cache_write_1h, model.features.get("cache_write_12h")
    if twelve_hours and model.cache_write_1h:
        long *= twelve_hours / model.cache_write_1h  # the longest lifetime of a vendor that has no hour
    return (
        float(
            tokens.input * price.input
            + tokens.output * price.output
            + tokens.cache_read * price.cache_read
            + tokens.cache_write_5m * price.cache_write_5m
            + tokens.cache_write_1h * long
        )
        / _MILLION
    )
