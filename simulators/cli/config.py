"""The document of a CLI fake (`CLAW_FAKE_CONFIG`, a scenario's `cli:`), typed and checked."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from simulators.cli.claude import versions as claude
from simulators.cli.codex import versions as codex
from simulators.cli.gemini import versions as gemini
from simulators.core.document import Document, convert, load_yaml

Kind = Literal[
    "hang", "die", "glue", "split", "noise", "huge_line", "wrong_session", "lost_session", "no_result", "error_exit_0",
    "empty_success", "bad_utf8", "drip", "orphan", "ignore_sigterm",
]  # fmt: skip
Point = Literal["start", "init", "text", "tool", "result"]
VERSIONS_OF: Mapping[str, tuple[str, ...]] = {
    "claude": tuple(claude.VERSIONS),
    "codex": tuple(codex.VERSIONS),
    "gemini": tuple(gemini.VERSIONS),
}
DEFAULTS: Mapping[str, str] = {"claude": claude.DEFAULT, "codex": codex.DEFAULT, "gemini": gemini.DEFAULT}


class On(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which runs of the fake: from `run` on (counted from 1), `times` of them; None means all that follow."""

    run: Annotated[int, msgspec.Meta(ge=1)] = 1
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Misbehaviour(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to be a bad program. `at` says when (before the first output, after init, …); `code` and `signal` are
    for `die`, `bytes_per_s` for `drip`, `seconds` for `orphan`."""

    kind: Kind
    at: Point = "start"
    on: On = On()
    code: Annotated[int, msgspec.Meta(ge=0, le=255)] | None = None
    signal: Literal["TERM", "KILL", "INT", "SEGV", "ABRT", "HUP"] | None = None
    bytes_per_s: Annotated[float, msgspec.Meta(gt=0)] = 200.0
    seconds: Annotated[float, msgspec.Meta(ge=0)] = 30.0

    def active(self, run: int) -> bool:
        """Whether the fake's `run`-th start (from 1) behaves so."""
        return run >= self.on.run and (self.on.times is None or run < self.on.run + self.on.times)


class FakeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a fake is told besides its command line. `provider` is an account document, used with `answer: alone`."""

    version: dict[str, str] = {}
    answer: Literal["alone", "http"] | None = None
    provider: dict[str, Any] | None = None
    auto_compact_window: Annotated[int, msgspec.Meta(gt=0)] | None = None
    misbehave: tuple[Misbehaviour, ...] = ()

    def version_of(self, cli: str, default: str | None = None) -> str:
        """The release that a fake plays: this document's, else `default`, else the newest known."""
        return self.version.get(cli) or default or DEFAULTS[cli]


def parse_config(document: Document | Mapping[str, Any] | str, *, source: str = "cli", at: str = "") -> FakeConfig:
    """Check a document (text, or data already read). Raises `DocumentError` with place and nearest right word."""
    if isinstance(document, str):
        document = load_yaml(document, source=source)
    elif not isinstance(document, Document):
        document = Document(dict(document), source=source)
    data = document.data if document.data is not None else {}
    config = convert(document, FakeConfig, data=data, at=at)
    base = f"{at}.version" if at else "version"
    for cli, version in config.version.items():
        if cli not in VERSIONS_OF:
            raise document.error(f"{base}.{cli}", f"there is no fake of `{cli}`", VERSIONS_OF, cli)
        if version not in VERSIONS_OF[cli]:
            known = VERSIONS_OF[cli]
            said = f"version `{version}` of {cli} is not known; known are {', '.join(known)}"
            raise document.error(f"{base}.{cli}", said, known, version)
    return config
