"""Model providers: one file per wire API, named like the provider, found by listing this folder.

Each file has `connect(*, base_url, key, http_client, facts) -> Provider`, which imports its vendor's SDK.
"""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from claw.core.calls import Provider
from claw.core.errors import ClawError
from claw.ports import ModelFacts
from claw.providers._compatible import SERVERS as SERVERS


class Adapter(Protocol):
    """What a file in this folder is: a module that can connect."""

    def connect(
        self, *, base_url: str | None, key: str, http_client: Any, facts: Callable[[str], ModelFacts]
    ) -> Provider:
        """An adapter over the vendor's SDK. `http_client` is an `httpx2.AsyncClient`; `facts` tells of a model id."""


def apis() -> list[str]:
    """The wire APIs there are: the files of this folder."""
    return sorted(m.name.replace("_", "-") for m in iter_modules(__path__) if not m.name.startswith("_"))


def names() -> list[str]:
    """The providers there are, as `--model NAME/…` takes them: the APIs, and the servers known to speak one of them."""
    return sorted({*apis(), *SERVERS})


def load(name: str, api: str | None = None) -> Adapter:
    """The adapter of a provider; its SDK is imported by `connect`, not here.

    `api`: which API, or whose manners, a provider of another name has. Raises `ClawError` if there is none.
    """
    wanted = api or name
    if wanted not in names():
        near = get_close_matches(wanted, names(), n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        what = f"providers.{name}: there is no api `{wanted}`" if api else f"there is no provider `{wanted}`"
        raise ClawError(f"{what}{hint}. Known: {', '.join(names())}")
    if wanted in SERVERS:
        return cast(Adapter, _Server(wanted if wanted != "openai-chat" or api is None else name))
    return cast(Adapter, import_module(f"{__name__}.{wanted.replace('-', '_')}"))


class _Server:
    """The Chat Completions adapter of one server."""

    def __init__(self, name: str) -> None:
        self._name = name

    def connect(
        self, *, base_url: str | None, key: str, http_client: Any, facts: Callable[[str], ModelFacts]
    ) -> Provider:
        from claw.providers import openai_chat

        return openai_chat.connect(base_url=base_url, key=key, http_client=http_client, facts=facts, name=self._name)
