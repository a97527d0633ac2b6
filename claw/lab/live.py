"""Runs a command before a recording proxy: to the real providers (`--live`), or to the simulators (`--record`)."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from claw.core.errors import ClawError
from simulators.cassettes.format import CassetteError
from simulators.cassettes.recording import Session
from simulators.shells.recorded_journal import journal_of
from simulators.shells.recording import VENDORS, RecordingProxy
from simulators.shells.serving import ServedOnThread

BASES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}
# Switches that would lead Claude Code past its base URL, to a cloud.
DETOURS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


@contextmanager
def before(url: str, record: Path | None) -> Iterator[str]:
    """The URL to point a command at: `url` itself, or a proxy before it that keeps what passes in `record`.

    Raises `ClawError` for a file that cannot be written, before or after.
    """
    if record is None:
        yield url
        return
    session = _session(record, {"origin": "simulated", "by": "claw exec --record"})
    proxy = RecordingProxy(session, {}, default=url)
    with ServedOnThread(proxy) as served:
        yield served.url
    if proxy.failures:
        raise ClawError(f"--record {proxy.failures[0]}")


def run(child: Callable[[dict[str, str]], int], *, record: Path | None) -> tuple[int, list[dict[str, Any]], list[str]]:
    """Run a child with its own keys before the real providers: (exit code, journal, what could not be recorded)."""
    with tempfile.TemporaryDirectory(prefix="claw-live-") as folder:
        file = Path(folder) / "live.yaml" if record is None else record
        session = _session(file, {"origin": "recorded", "by": "claw exec --live --record"})
        proxy = RecordingProxy(session, upstreams(os.environ))
        with ServedOnThread(proxy) as served:
            code = child(environment(os.environ, served.url))
        assert session.recorder is not None
        return code, journal_of(session.recorder.cassette), list(proxy.failures)


def upstreams(env: Mapping[str, str]) -> dict[str, str]:
    """Where each vendor's calls really go: the user's base URLs, else the vendors' own."""
    return {name: env.get(variable) or VENDORS[name] for name, variable in BASES.items()}


def environment(env: Mapping[str, str], url: str) -> dict[str, str]:
    """The child's: ours with every base URL leading through the proxy; keys stay as they are."""
    made = {name: value for name, value in env.items() if name not in DETOURS}
    versioned = "" if urlsplit(upstreams(env)["openai"]).path.strip("/") else "/v1"
    made |= {variable: f"{url}/@{name}{versioned if name == 'openai' else ''}" for name, variable in BASES.items()}
    return past_proxies(made)


def past_proxies(env: dict[str, str]) -> dict[str, str]:
    """A proxy of the user's must not get what is meant for this machine."""
    for name in ("NO_PROXY", "no_proxy"):
        env[name] = ",".join(filter(None, [env.get(name), "127.0.0.1", "localhost"]))
    return env


def _session(file: Path, claw: Mapping[str, Any]) -> Session:
    try:
        return Session(file, "all", claw=claw)
    except CassetteError as error:
        raise ClawError(f"--record {error}") from None
