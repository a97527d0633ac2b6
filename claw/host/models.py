"""What is known of models: windows, limits and prices, out of `models.json` beside this file."""

from functools import cached_property
from pathlib import Path

import msgspec

from claw.core.usage import Price
from claw.ports import ModelFacts

# whose models a provider name serves; a name that is not here is its own vendor
VENDORS = {"claude-cli": "anthropic", "codex-cli": "openai", "openai-chat": "openai", "gemini-cli": "gemini"}


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `models.json`: tokens, and USD per million tokens."""

    id: str
    provider: str
    aliases: tuple[str, ...] = ()
    context_window: int = 200_000
    max_output: int = 32_000
    price: Price
    thinking: str

    def facts(self) -> ModelFacts:
        return ModelFacts(
            id=self.id,
            context_window=self.context_window,
            max_output=self.max_output,
            price=self.price,
            thinking=self.thinking,
        )


class HostModels:
    """`claw.ports.Models`. A model is looked up by id, then by alias, at its vendor and then at any: a gateway that
    sells Claude under its own name still gets Claude's window. An unknown model gets the defaults and no price."""

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = Path(path) if path else Path(__file__).with_name("models.json")

    def get(self, provider: str, model: str) -> ModelFacts:
        vendor = VENDORS.get(provider, provider)
        bare = model.rpartition("/")[2]  # "anthropic/claude-…", as routers write it
        row = self._rows.get((vendor, model)) or self._rows.get(("", model)) or self._rows.get(("", bare))
        return row.facts() if row else ModelFacts(id=model)

    def names(self, provider: str) -> list[str]:
        """The ids known for a provider, sorted."""
        vendor = VENDORS.get(provider, provider)
        return sorted({row.id for (of, _), row in self._rows.items() if of == vendor})

    @cached_property
    def _rows(self) -> dict[tuple[str, str], ModelRow]:
        rows = msgspec.json.decode(self._path.read_bytes(), type=list[ModelRow])
        table: dict[tuple[str, str], ModelRow] = {}
        for row in rows:
            for of in (row.provider, ""):
                table[of, row.id] = row
        for row in rows:
            for alias in row.aliases:
                for of in (row.provider, ""):
                    table.setdefault((of, alias), row)
        return table
