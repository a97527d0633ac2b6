"""Which models and credentials a run may use, and what it learns about them."""

from collections.abc import Mapping, Sequence

import msgspec

from claw.auth import Book, Credential, Keyring, cooldown, load, ranked, save
from claw.auth.book import PER_MODEL
from claw.core.commands import CallModel
from claw.core.errors import ClawError, ProviderFailure
from claw.core.state import Target
from claw.core.transcript import CompactionEntry, CustomEntry, Entry
from claw.ports import Ports
from claw.providers import SERVERS
from claw.runtime.config import Config, Profile, ProviderOptions

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


PROBE_S = 30.0  # a model whose profiles all rest is tried anyway so often, and once the rest is nearly over
NEARLY_S = 120.0


class Rests:
    """The book of rests, kept in `auth.json`: read again for every change, since other processes write it too."""

    def __init__(self, ports: Ports, home: str) -> None:
        self._ports = ports
        self._file = f"{home}/auth.json"
        self._probed: dict[str, float] = {}

    @property
    def book(self) -> Book:
        return load(self._ports.files, self._file)

    def failed(self, command: CallModel, failure: ProviderFailure) -> None:
        if cooldown(failure.kind, 1):
            book, now = self.book, self._ports.clock.now()
            self._save(book, book.failed(_name(command), command.request.model, failure, now=now))

    def succeeded(self, command: CallModel, *, started: float, several: bool = False) -> None:
        """`several`: the provider has more than one credential, so that it matters when each was used."""
        book = self.book
        after = book.succeeded(_name(command), command.request.model, started=started)
        self._save(book, after.using(_name(command), now=self._ports.clock.now()) if several else after)

    def ordered(self, made: Sequence[Target]) -> tuple[Target, ...]:
        """Models whose credentials all rest go behind those that can be asked at once; the first is probed now and
        then, unless what is wrong with it cannot pass by itself."""
        book, now = self.book, self._ports.clock.now()
        resting = {target.name: self._resting(book, target, now) for target in made}
        first = made[0]
        if all(resting.values()) or not (until := resting[first.name]):
            probing = True
        else:
            passing = all(r.kind in PER_MODEL for r in book.rests if r.profile in first.profiles and r.until > now)
            due = until - now <= NEARLY_S or now - self._probed.get(first.provider, 0.0) >= PROBE_S
            probing = passing and due
            if probing:
                self._probed[first.provider] = now
        ready = [t for t in made if not resting[t.name] or (probing and t is first)]
        return (*ready, *(t for t in made if t not in ready))

    def pause(self, target: Target) -> float:
        """Seconds for which the provider said that it will refuse the first credential of a model."""
        profile = target.profiles[0] or target.provider
        return 0.0 if target.cli else self.book.told(profile, target.model, now=self._ports.clock.now())

    def _resting(self, book: Book, target: Target, now: float) -> float:
        """Until when no credential of a model is ready; 0 if one is."""
        ends = [book.resting(id or target.provider, target.model, now=now) for id in target.profiles]
        return min(ends) if all(ends) and not target.cli else 0.0

    def _save(self, before: Book, after: Book) -> None:
        if after is not before:
            save(self._ports.files, self._file, after)


def _name(command: CallModel) -> str:
    """Of the credential in the book; the environment's has its provider's."""
    return command.profile or command.provider


def split(ref: str) -> tuple[str, str]:
    """`PROVIDER/MODEL` in two. Raises `ClawError`."""
    provider, slash, model = ref.partition("/")
    if not (provider and slash and model):
        raise ClawError(f"model `{ref}`: should be PROVIDER/MODEL, as anthropic/{ref.strip('/') or 'MODEL'}")
    return provider, model


def candidates(config: Config, asked: str | None, fallbacks: Sequence[str] | None = None) -> tuple[str, ...]:
    """The model asked for (else the primary), then the fallbacks behind it, and the primary last; each once.

    `fallbacks` go in the place of the configured ones, without the primary. A model that is not in the configured chain
    has no fallbacks: who asks for it by name wants that one.
    """
    primary = config.model.primary
    if fallbacks is not None:
        return tuple(dict.fromkeys((asked or primary, *fallbacks)))
    chain = list(dict.fromkeys((primary, *config.model.fallbacks)))
    if asked is None:
        return tuple(chain)
    return tuple(dict.fromkeys((*chain[chain.index(asked) :], primary))) if asked in chain else (asked,)


def credentials(
    config: Config, provider: str, env: Mapping[str, str], keys: Keyring | None = None, *, now: float = 0.0
) -> tuple[Credential, ...]:
    """The profiles of a provider: those of the file in its order, then those of `claw auth` that have not
    ended; without any, the key of the environment. Raises `ClawError` when a profile of the file has no key."""
    found = [_profile(profile, env) for profile in config.profiles if profile.provider == provider]
    for stored in (keys or Keyring()).credentials:
        if stored.provider == provider and stored.usable(now) and stored.id not in {c.id for c in found}:
            made = Credential(id=stored.id, provider=provider, key=stored.secret, model=stored.model, type=stored.type)
            found.append(made)
    if found:
        return tuple(found)
    options = config.providers.get(provider)
    kin = (options.api if options else None) or provider
    key = next((env[name] for name in KEYS.get(kin, ()) if env.get(name)), None)
    if key is None and kin in SERVERS and not SERVERS[kin].key_env:
        key = NO_KEY
    return (Credential(id="", provider=provider, key=key),) if key else ()


def _profile(profile: Profile, env: Mapping[str, str]) -> Credential:
    key = profile.key or (env.get(profile.key_env) if profile.key_env else None)
    if not key:
        missing = f"the variable {profile.key_env} is not set" if profile.key_env else "give it key or key_env"
        raise ClawError(f"profiles: `{profile.id}` has no key: {missing}")
    return Credential(id=profile.id, provider=profile.provider, key=key, model=profile.model)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What decides among credentials: those that claw keeps, the rests, what the session has used (by provider), and
    the one that the user insists on."""

    keys: Keyring = Keyring()
    book: Book = Book()
    preferred: Mapping[str, str] = {}
    pinned: str | None = None

    def ids(self, config: Config, found: Sequence[Credential], model: str, now: float) -> tuple[str, ...]:
        provider = found[0].provider
        explicit = self.keys.order.get(provider)
        if explicit is None and config.auth.spread == "order" and any(p.provider == provider for p in config.profiles):
            explicit = tuple(c.id for c in found)
        kinds = [(c.id, c.type) for c in found]
        made = ranked(kinds, self.book, model, now=now, explicit=explicit, preferred=self.preferred.get(provider))
        return made or tuple(c.id for c in found)


def base_url(config: Config, provider: str, env: Mapping[str, str]) -> str | None:
    options = config.providers.get(provider)
    return (options.base_url if options else None) or env.get(BASE_URLS.get(provider, "")) or None


def targets(
    ports: Ports,
    config: Config,
    refs: Sequence[str],
    clis: Mapping[str, object],
    env: Mapping[str, str],
    choice: Choice,
) -> tuple[tuple[Target, ...], dict[tuple[str, str], Credential]]:
    """The models to ask, with their profiles in order, and every credential by (provider, profile).

    A fallback without a credential is left out. Raises `ClawError` if the first model has none, or not the pinned one.
    """
    made: list[Target] = []
    keys: dict[tuple[str, str], Credential] = {}
    for ref in refs:
        provider, model = split(ref)
        facts = ports.models.get(provider, model)
        options = config.providers.get(provider)
        ids: tuple[str, ...] = ("",)
        if provider not in clis:
            now = ports.clock.now()
            usable = [c for c in credentials(config, provider, env, choice.keys, now=now) if c.model in (None, model)]
            if choice.pinned is not None:
                usable = [c for c in usable if c.id == choice.pinned]
            if not usable:
                if made:
                    continue
                if choice.pinned is not None:
                    raise ClawError(f"{provider} has no profile `{choice.pinned}` for {model}; see `claw auth list`")
                raise ClawError(_no_credential(provider, model, clis))
            keys |= {(provider, c.id): c for c in usable}
            ids = choice.ids(config, usable, model, now)
        cli = config.cli.get(provider)
        made.append(
            Target(
                provider=provider,
                model=model,
                profiles=ids,
                window=(cli.context_window if cli else None) or _window(options, model) or facts.context_window,
                max_output=facts.max_output,
                price=facts.price,
                params=options.params | options.models.get(model, {}) if options else {},
                cli=provider in clis,
            )
        )
    return tuple(made), keys


def _window(options: ProviderOptions | None, model: str) -> int | None:
    """What the user says of a model's window goes before what claw knows."""
    return (options.windows.get(model) or options.context_window) if options else None


def _no_credential(provider: str, model: str, clis: Mapping[str, object]) -> str:
    if provider in KEYS:
        return f"no credential for {provider}: set {KEYS[provider][0]}, or add a [[profiles]] entry to config.toml"
    known = ", ".join([*KEYS, *sorted(clis)])
    return f"no credential for {provider}/{model}: add a [[profiles]] entry to config.toml. Known providers: {known}"


def used_profile(path: Sequence[Entry]) -> dict[str, str]:
    """The credential, by provider, that a session should stay with: its prompts are cached there, until a compaction
    has made new ones of them."""
    found: dict[str, str] = {}
    for entry in path:
        if isinstance(entry, CompactionEntry):
            found = {}
        elif isinstance(entry, CustomEntry) and entry.custom_type == "profile":
            found[str(entry.data.get("provider"))] = str(entry.data.get("profile"))
    return found
