"""Model providers: one file per wire API, named like the provider, found by listing this folder.

Each file has `connect(*, base_url, key, http_client, facts) -> Provider`, which imports its vendor's SDK.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from claw.core.calls import Provider
from claw.core.errors import ClawError
from claw.ports import ModelFacts


class Adapter(Protocol):
    """What a file in this folder is: a module that can connect."""

    def connect(
        self, *, base_url: str | None, key: str, http_client: Any, facts: Callable[[str], ModelFacts]
    ) -> Provider:
        """An adapter over the vendor's SDK. `http_client` is an `httpx2.AsyncClient`; `facts` tells of a model id."""


def names() -> list[str]:
    """The providers there are, as `--model NAME/…` takes them."""
    return sorted(m.name.replace("_", "-") for m in iter_modules(__path__) if not m.name.startswith("_"))


def load(name: str) -> Adapter:
    """The adapter of a provider; its SDK is imported by `connect`, not here. Raises `ClawError` if there is none."""
    if name not in names():
        from difflib import get_close_matches

        near = get_close_matches(name, names(), n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise ClawError(f"there is no provider `{name}`{hint}. Known: {', '.join(names())}")
    return cast(Adapter, import_module(f"{__name__}.{name.replace('-', '_')}"))
