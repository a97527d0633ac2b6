"""What codex knows of models: the prompt's length, the window, how tools and reasoning are sent."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Model:
    """A model's metadata. Lengths are characters of the vendor's texts, the window is in tokens.

    `known` is false for one that codex has no metadata of: it then says so and takes the fallback's. `inline_tools`:
    the tools and the base instructions are items of the conversation, there is no `tools` key.
    """

    id: str
    base: int  # base instructions as they are sent
    base_recorded: int  # and as the rollout has them, placeholders not yet filled
    skills: int  # without the path of CODEX_HOME
    window: int
    effort: str | None
    verbosity: str | None
    comp_hash: str | None
    known: bool = True
    inline_tools: bool = False
    parallel_tools: bool = True

    @property
    def usable(self) -> int:
        """The window less the share that is kept free."""
        return self.window * 95 // 100


_GPT_5_5 = Model("gpt-5.5", 21299, 21459, 4614, 272_000, "medium", "low", "2911")
_SOL = Model("gpt-6.2-sol", 25933, 25933, 2060, 500_000, "low", "low", "3000", inline_tools=True, parallel_tools=False)
_KNOWN = {model.id: model for model in (_GPT_5_5, _SOL)}


def lookup(name: str) -> Model:
    """The model of that name, or the fallback under it."""
    known = _KNOWN.get(name)
    return known or Model(name, 16979, 20751, 2060, 272_000, None, None, None, known=False)
