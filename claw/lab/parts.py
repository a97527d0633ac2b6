"""The parts of a scenario that others read: the provider's accounts, the CLI fakes, the settings of a runtime."""

from collections.abc import Mapping
from typing import Any, Protocol

from claw.lab.schema import Scenario
from claw.runtime.config import Config, Settings
from simulators.core.document import Document, DocumentError, convert

DEFAULT_ACCOUNT = "main"


class Place(Protocol):
    """Knows where in a file a piece of a scenario stands."""

    document: Document

    def moved(self, error: DocumentError, *, at: str = "") -> DocumentError: ...
    def error(self, path: str, message: str, words: Any = (), wrong: str | None = None) -> DocumentError: ...


def accounts(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """The account documents of `provider:` by name; a single one is called `main`."""
    if "accounts" in scenario.provider:
        named: dict[str, dict[str, Any]] = scenario.provider["accounts"]
        return named
    return {DEFAULT_ACCOUNT: scenario.provider}


def profiles(scenario: Scenario) -> tuple[str, ...]:
    """Names of the accounts that the runtime is given, in the order in which it tries them."""
    return scenario.given.profiles or tuple(accounts(scenario))


def account_key(name: str) -> str:
    """The credential that belongs to an account: what the runtime sends, and what the simulator knows it by."""
    return f"sk-claw-lab-account-{name}"


def configuration(scenario: Scenario) -> dict[str, Any]:
    """`given.runtime` in the shape of `config.toml`: scalars are `[settings]`, a mapping is the table of its name."""
    tables: dict[str, Any] = {"settings": {}}
    for name, value in scenario.given.runtime.items():
        if isinstance(value, Mapping):
            tables[name] = dict(value)
        else:
            tables["settings"][name] = value
    return tables


def read_settings(place: Place, scenario: Scenario) -> None:
    """Refuse a setting that does not exist or has a wrong value. Raises `DocumentError`."""
    for name, value in scenario.given.runtime.items():
        if not isinstance(value, Mapping) and name not in Settings.__struct_fields__:
            message = f"there is no setting `{name}`"
            raise place.error(f"given.runtime.{name}", message, Settings.__struct_fields__, name)
    try:
        convert(Document(configuration(scenario), source=place.document.source), Config)
    except DocumentError as error:
        error.path = error.path.removeprefix("settings.")
        raise place.moved(error, at="given.runtime") from None


def read_cli(place: Place, scenario: Scenario) -> None:
    """Refuse a document of the CLI fakes that they would refuse. Raises `DocumentError`."""
    from simulators.cli.config import parse_config

    try:
        parse_config(scenario.cli)
    except DocumentError as error:
        raise place.moved(error, at="cli") from None


def read_provider(place: Place, scenario: Scenario) -> None:
    """Refuse an account document that the simulators would refuse. Raises `DocumentError`."""
    from simulators.core.account_document import parse_accounts
    from simulators.shells.simulator import parts

    document = Document({"provider": scenario.provider}, source=place.document.source)
    try:
        known = parts()
        parse_accounts(document, faults=known.faults, errors=known.errors, profiles=known.profiles, at=("provider",))
    except DocumentError as error:
        raise place.moved(error) from None
    names = accounts(scenario)
    for i, name in enumerate(scenario.given.profiles):
        if name not in names:
            message = f"`provider.accounts` has no account `{name}`"
            raise place.error(f"given.profiles[{i}]", message, names, name)
