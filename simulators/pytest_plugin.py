"""pytest fixtures that put any code under test before the simulators.

`claw_sim` serves the providers and sets the environment variables that SDKs and CLIs read; `claw_cli` puts the CLI
fakes on PATH; `claw_time` runs code under virtual time; `@pytest.mark.claw(turns=[…])` loads an account document.
Nothing heavy is imported before it is used.
"""

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from simulators import Simulator
    from simulators.core.account import Account
    from simulators.shells.cli_processes import FakeProcesses
    from simulators.shells.recording import RecordingProxy
    from simulators.shells.serving import ServedOnThread
    from simulators.shells.virtual_time import VirtualClock
    from simulators.verdict import Finding

T = TypeVar("T")

_SIM = pytest.StashKey["ClawSim"]()
_BASES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
_UNSERVED = "http://claw-sim.invalid"  # nothing listens there: under virtual time only the transport answers


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("claw").addoption(
        "--claw-record",
        choices=("none", "once", "new_episodes", "all"),
        help="record mode of tests marked with claw(cassette=FILE); a marker's own record_mode comes first",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "claw(document=None, **keys): what the simulated provider of this test answers, as an account document "
        "(`turns`, `rules`, `faults`, `limits`, …); a closer marker replaces the keys of an outer one. "
        "claw(cassette=FILE, record_mode=none|once|new_episodes|all, upstream=URL): recorded traffic answers, or is "
        "recorded; FILE stands beside the test",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    """A test that failed tells what does not fit as well, as the reason may be there."""
    report = yield
    if report.when == "call" and report.failed and _SIM in item.stash:
        problems = item.stash[_SIM].problems()
        del item.stash[_SIM]
        if problems:
            report.sections.append(("claw_sim", _misfit(problems)))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """An async test that asks for `claw_time` runs under virtual time; no other plugin is needed."""
    if "claw_time" not in pyfuncitem.fixturenames or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    claw_time: Any = pyfuncitem.funcargs["claw_time"]
    claw_time.run(pyfuncitem.obj(**wanted))
    return True


class ClawSim:
    """The simulated providers as one test sees them: an account of its own, whose key is made from the test's id.

    `url` is where it is served and `key` what to call with; both are in the environment already.
    """

    def __init__(self, simulator: "Simulator", key: str, url: str, call: Callable[[Callable[[], Any]], Any]) -> None:
        self.simulator, self.key, self.url = simulator, key, url
        self._call = call  # runs a function where it meets no request at work
        self._call(lambda: simulator.account(key))

    @property
    def account(self) -> "Account":
        return self.simulator.account(self.key)

    def script(self, document: Any = None, /, **keys: Any) -> "ClawSim":
        """Load what the provider answers; script, cache and journal start afresh.

        A list is `turns`, a string in it a turn of that text; else an account document, as a mapping or YAML text.
        Raises `DocumentError`.
        """
        made = _document(document, keys)
        self._call(lambda: self.account.load(made))
        return self

    def fault(self, kind: str, /, *, call: int | None = None, times: int | None = None, **params: Any) -> "ClawSim":
        """Add a fault of this kind: on generation call `call` (from 1) and for `times` calls, else on every call."""
        on = {name: value for name, value in (("call", call), ("times", times)) if value is not None}
        fault = {"kind": kind, **({"on": on} if on else {}), **params}
        self._call(lambda: self.account.add_fault(fault))
        return self

    @property
    def journal(self) -> list[dict[str, Any]]:
        """What was asked and answered so far, one exchange a request."""
        return self._call(lambda: [exchange.to_dict() for exchange in self.account.journal.exchanges])  # type: ignore[no-any-return]

    def verdict(self) -> "list[Finding]":
        """What the journal says of the code under test: a finding for each check."""
        from simulators.verdict import judge

        return list(judge(self.journal))

    def advance(self, seconds: float) -> None:
        """Move this account's clock: cache entries age and buckets refill. Waits under way are not shortened."""
        self._call(lambda: self.simulator.advance(seconds, self.key))

    def transport(self) -> Any:
        """A transport for `httpx2.Client` and `httpx2.AsyncClient`: the same account without a socket."""
        return self.simulator.transport(account=self.key)

    def transport_httpx(self) -> Any:
        """The same for `httpx`."""
        return self.simulator.transport_httpx(account=self.key)

    def problems(self) -> list[str]:
        """What the test fails for at its end: unmatched calls with the nearest miss, unused turns and faults."""
        return self._call(lambda: self.account.problems())  # type: ignore[no-any-return]


class RecordingSim(ClawSim):
    """The same while a cassette is recorded: the real providers answer through `proxy`, keys are the user's own."""

    def __init__(self, sim: ClawSim, url: str, proxy: "RecordingProxy") -> None:
        super().__init__(sim.simulator, sim.key, url, sim._call)
        self._proxy = proxy

    @property
    def journal(self) -> list[dict[str, Any]]:
        """What was recorded so far."""
        from simulators.shells.recorded_journal import journal_of

        recorder = self._proxy.session.recorder
        return [] if recorder is None else journal_of(recorder.cassette)

    def problems(self) -> list[str]:
        return list(self._proxy.failures)


class ClawTime:
    """Virtual time in process: it begins at 2026-01-01T00:00:00Z, and waiting costs nothing."""

    def __init__(self, clock: "VirtualClock") -> None:
        self.clock = clock

    def now(self) -> float:
        """Unix seconds."""
        return self.clock.now()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """`asyncio.run` under virtual time; a second run goes on where the first ended."""
        from simulators.shells.virtual_time import run

        async def main() -> T:
            self.clock.now()  # from here on it follows this loop
            return await coroutine

        return run(main(), epoch=self.clock.now())

    def advance(self, seconds: float) -> None:
        """Move the clock at once. To let things happen at their own moment, await `asyncio.sleep` instead."""
        self.clock.advance(seconds)


class ClawCli:
    """The CLI fakes as one test sees them: commands in `folder`, which is first on PATH, with a `home` of their own."""

    def __init__(self, folder: Path, home: Path, setenv: Callable[[str, str], None], sim: "Any") -> None:
        self.folder, self.home = folder, home
        self._setenv, self._sim = setenv, sim
        self._document: dict[str, Any] = {}
        self._processes: Any = None

    def configure(self, document: Mapping[str, Any] | None = None, /, **keys: Any) -> "ClawCli":
        """Set keys of the fakes' document (`version`, `answer`, `auto_compact_window`, `misbehave`, …) from now on.

        Raises `DocumentError`.
        """
        from simulators.cli.config import parse_config

        made = {**self._document, **(document or {}), **keys}
        config = parse_config(made, source="claw_cli")
        self._document = made
        self._setenv("CLAW_FAKE_CONFIG", json.dumps(made))
        if self._processes is not None:
            self._processes.config = config
        return self

    @property
    def processes(self) -> "FakeProcesses":
        """The same fakes in process, for code that takes a port to start programs with. They ask `claw_sim`."""
        if self._processes is None:
            from simulators.shells.cli_processes import FakeProcesses

            if self._sim is None:
                raise pytest.UsageError("claw_cli.processes needs the fixture claw_sim, which answers the fakes")
            self._processes = FakeProcesses(self._sim.simulator, config=self._document)
        return self._processes  # type: ignore[no-any-return]


def _document(document: Any, keys: Mapping[str, Any]) -> Any:
    """An account document out of what `.script()` or the marker was given."""
    if isinstance(document, Sequence) and not isinstance(document, str | bytes):
        document = {"responder": "script", "turns": document}  # an empty list: no call is expected
    if document is None or isinstance(document, Mapping):
        document = {**(document or {}), **keys}
        if "turns" in document:
            turns = [{"text": turn} if isinstance(turn, str) else turn for turn in document["turns"]]
            document = {**document, "turns": turns}
        return document
    if keys:
        raise TypeError("give a text, or keys, not both")
    return document


def _marked(request: pytest.FixtureRequest) -> Any:
    """The document of the test's markers, or None."""
    found: Any = None
    for marker in reversed(list(request.node.iter_markers("claw"))):
        if len(marker.args) > 1:
            raise pytest.UsageError("@pytest.mark.claw takes one document, and keys of it")
        made = _document(marker.args[0] if marker.args else None, marker.kwargs)
        found = {**found, **made} if isinstance(found, Mapping) and isinstance(made, Mapping) else made
    return found


@pytest.fixture(scope="session")
def _claw_served() -> "Iterator[tuple[Simulator, ServedOnThread]]":
    """One server for the whole session: its accounts share nothing."""
    from simulators import Simulator
    from simulators.shells.serving import RealClock, ServedOnThread

    simulator = Simulator(clock=RealClock())
    with ServedOnThread(simulator.app()) as served:
        yield simulator, served


@pytest.fixture
def claw_time() -> ClawTime:
    """Virtual time, in process. An async test that asks for it runs under it; others use `claw_time.run(coroutine)`."""
    from simulators.shells.virtual_time import VirtualClock

    return ClawTime(VirtualClock())


@pytest.fixture
def claw_cli(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClawCli:
    """The CLI fakes (`claude`, `codex`, `gemini`) on PATH, with a HOME that is this test's alone.

    They ask whatever their base-URL variable points at, which `claw_sim` sets (for codex, which has none, it stands in
    the HOME's config.toml); without it they answer by themselves.
    """
    from simulators.cli.start import BASE_URLS
    from simulators.shells import shims

    folder, home = tmp_path / "claw-cli" / "bin", tmp_path / "claw-cli" / "home"
    home.mkdir(parents=True)
    shims.install(folder)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAW_FAKE_CONFIG", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    if "claw_sim" not in request.fixturenames:
        for name in BASE_URLS.values():
            monkeypatch.delenv(name, raising=False)
    sim = request.getfixturevalue("claw_sim") if "claw_sim" in request.fixturenames else None
    if sim is not None:
        (home / ".codex").mkdir()
        (home / ".codex/config.toml").write_text(f'openai_base_url = "{sim.url}/v1"\n')
    return ClawCli(folder, home, monkeypatch.setenv, sim)


@pytest.fixture
def claw_sim(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClawSim]:
    """The simulated providers, served, with the environment pointing at them.

    Together with `claw_time` it is not served, but answers in process (`claw_sim.transport()`) under virtual time.
    At the end, calls that nothing answered and turns and faults that were never used fail the test.
    """
    from simulators.shells.environment import RIVALS, variables

    key = "sim-" + hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:24]
    if "claw_time" in request.fixturenames:
        from simulators import Simulator

        clock = request.getfixturevalue("claw_time").clock
        sim = ClawSim(Simulator(clock=clock), key, _UNSERVED, lambda function: function())
    else:
        simulator, served = request.getfixturevalue("_claw_served")
        sim = ClawSim(simulator, key, served.url, served.call)
    before = dict(os.environ)
    for name, value in variables(sim.url, key).items():
        monkeypatch.setenv(name, value)
    for name in RIVALS:
        monkeypatch.delenv(name, raising=False)
    document = _marked(request)
    with _taped(request, document, sim, monkeypatch, before) as (sim, document):
        if document is not None:
            sim.script(document)
        request.node.stash[_SIM] = sim
        yield sim
    problems = sim.problems()
    sim._call(lambda: sim.simulator.engine.forget(key))
    if problems and _SIM in request.node.stash:
        pytest.fail(_misfit(problems), pytrace=False)


@contextmanager
def _taped(
    request: pytest.FixtureRequest,
    document: Any,
    sim: ClawSim,
    monkeypatch: pytest.MonkeyPatch,
    before: Mapping[str, str],
) -> Iterator[tuple[ClawSim, Any]]:
    """Where a marker names a cassette: the document that replays it, or a proxy in front of the real providers.

    `before` is the environment as the user has it: its base URLs and keys are those that are recorded with.
    """
    if not isinstance(document, Mapping) or not document.get("cassette"):
        yield sim, document
        return
    from simulators.cassettes.format import CassetteError
    from simulators.cassettes.recording import MODES, Session

    document = dict(document)
    file = request.node.path.parent / document["cassette"]
    mode = document.pop("record_mode", None) or request.config.getoption("--claw-record") or "none"
    upstream = document.pop("upstream", None)
    if mode not in MODES:
        raise pytest.UsageError(f"record_mode={mode!r}: one of {', '.join(MODES)}")
    if mode != "none":
        file.parent.mkdir(parents=True, exist_ok=True)
    try:
        session = Session(file, mode, claw={"origin": "recorded", "by": "pytest"})
    except CassetteError as error:
        pytest.fail(f"claw_sim: {error}", pytrace=False)
    if not session.records:
        yield sim, {**document, "cassette": str(file)}
        return
    if "claw_time" in request.fixturenames:
        pytest.fail("claw_sim: real providers cannot be recorded under virtual time", pytrace=False)
    from simulators.shells.environment import RIVALS
    from simulators.shells.recording import VENDORS, RecordingProxy
    from simulators.shells.serving import ServedOnThread

    known = {name: before.get(variable) or VENDORS[name] for name, variable in _BASES.items()}
    proxy = RecordingProxy(session, known, default=upstream)
    with ServedOnThread(proxy) as served:
        for name, variable in _BASES.items():
            version = "/v1" if name == "openai" and upstream is None and known[name] == VENDORS[name] else ""
            version = "/v1" if name == "openai" and upstream is not None else version
            monkeypatch.setenv(variable, f"{served.url}{'' if upstream else f'/@{name}'}{version}")
        for variable in (*_KEYS, *RIVALS):
            if variable in before:
                monkeypatch.setenv(variable, before[variable])
        yield RecordingSim(sim, served.url, proxy), None


def _misfit(problems: Sequence[str]) -> str:
    return "\n".join(["claw_sim: the script and the calls do not fit:", *(f"  {problem}" for problem in problems)])
