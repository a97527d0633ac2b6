"""Which models and credentials a run may use, and what it learns about them."""

from collections.abc import Mapping, Sequence

from claw.auth import Book, Credential, load, save
from claw.core.commands import CallModel
from claw.core.errors import ClawError, ProviderFailure
from claw.core.state import Target
from claw.ports import Ports
from claw.providers import SERVERS
from claw.runtime.config import Config

KEYS: Mapping[str, tuple[str, ...]] = {
    **{name: (server.key_env,) for name, server in SERVERS.items() if server.key_env},
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
BASE_URLS: Mapping[str, str] = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "openai-chat": "OPENAI_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
}

NO_KEY = "none"  # what a server that wants no key is sent


class Rests:
    """The book of rests, kept in `auth.json`: read when first needed, written when it changes."""

    def __init__(self, ports: Ports, home: str) -> None:
        self._ports = ports
        self._file = f"{home}/auth.json"
        self._book: Book | None = None

    @property
    def book(self) -> Book:
        if self._book is None:
            self._book = load(self._ports.files, self._file)
        return self._book

    def failed(self, command: CallModel, failure: ProviderFailure) -> None:
        now = self._ports.clock.now()
        self._change(self.book.failed(_name(command), command.request.model, failure, now=now))

    def succeeded(self, command: CallModel, *, started: float) -> None:
        self._change(self.book.succeeded(_name(command), command.request.model, started=started))

    def _change(self, book: Book) -> None:
        if book is not self.book:
            self._book = book
            save(self._ports.files, self._file, book)


def _name(command: CallModel) -> str:
    """Of the credential in the book; the environment's has its provider's."""
    return command.profile or command.provider


def split(ref: str) -> tuple[str, str]:
    """`PROVIDER/MODEL` in two. Raises `ClawError`."""
    provider, slash, model = ref.partition("/")
    if not (provider and slash and model):
        raise ClawError(f"model `{ref}`: should be PROVIDER/MODEL, as anthropic/{ref.strip('/') or 'MODEL'}")
    return provider, model


def candidates(config: Config, asked: str | None) -> tuple[str, ...]:
    """The model asked for (else the primary), then the fallbacks behind it, each once.

    A model that is not in the configured chain has no fallbacks: who asks for it by name wants that one.
    """
    chain = list(dict.fromkeys((config.model.primary, *config.model.fallbacks)))
    if asked is None:
        return tuple(chain)
    return tuple(chain[chain.index(asked) :]) if asked in chain else (asked,)


def credentials(config: Config, provider: str, env: Mapping[str, str]) -> tuple[Credential, ...]:
    """The profiles of a provider in the order of the file; without any, the key of the environment.

    Raises `ClawError` when a profile has no key or its variable is not set.
    """
    found = []
    for profile in config.profiles:
        if profile.provider != provider:
            continue
        key = profile.key or (env.get(profile.key_env) if profile.key_env else None)
        if not key:
            missing = f"the variable {profile.key_env} is not set" if profile.key_env else "give it key or key_env"
            raise ClawError(f"profiles: `{profile.id}` has no key: {missing}")
        found.append(Credential(id=profile.id, provider=provider, key=key, model=profile.model))
    if found:
        return tuple(found)
    options = config.providers.get(provider)
    kin = (options.api if options else None) or provider
    key = next((env[name] for name in KEYS.get(kin, ()) if env.get(name)), None)
    if key is None and kin in SERVERS and not SERVERS[kin].key_env:
        key = NO_KEY
    return (Credential(id="", provider=provider, key=key),) if key else ()


def base_url(config: Config, provider: str, env: Mapping[str, str]) -> str | None:
    options = config.providers.get(provider)
    return (options.base_url if options else None) or env.get(BASE_URLS.get(provider, "")) or None


def targets(
    ports: Ports, config: Config, refs: Sequence[str], clis: Mapping[str, object], env: Mapping[str, str], book: Book
) -> tuple[tuple[Target, ...], dict[tuple[str, str], Credential]]:
    """The models to ask, with their profiles in order, and every credential by (provider, profile).

    A fallback without a credential is left out. Raises `ClawError` if the first model has none.
    """
    made: list[Target] = []
    keys: dict[tuple[str, str], Credential] = {}
    for ref in refs:
        provider, model = split(ref)
        facts = ports.models.get(provider, model)
        options = config.providers.get(provider)
        ids: tuple[str, ...] = ("",)
        if provider not in clis:
            usable = [c for c in credentials(config, provider, env) if c.model in (None, model)]
            if not usable:
                if made:
                    continue
                raise ClawError(_no_credential(provider, model, clis))
            keys |= {(provider, c.id): c for c in usable}
            ids = book.order([c.id for c in usable], model, now=ports.clock.now())
        cli = config.cli.get(provider)
        made.append(
            Target(
                provider=provider,
                model=model,
                profiles=ids,
                window=(cli.context_window if cli else None) or facts.context_window,
                max_output=facts.max_output,
                price=facts.price,
                params=options.params | options.models.get(model, {}) if options else {},
                cli=provider in clis,
            )
        )
    return tuple(made), keys


def _no_credential(provider: str, model: str, clis: Mapping[str, object]) -> str:
    if provider in KEYS:
        return f"no credential for {provider}: set {KEYS[provider][0]}, or add a [[profiles]] entry to config.toml"
    known = ", ".join([*KEYS, *sorted(clis)])
    return f"no credential for {provider}/{model}: add a [[profiles]] entry to config.toml. Known providers: {known}"
