"""Runs any command before the simulators and judges how it took what they did to it.

A server on a free port, on a thread; the command as a child with our own stdin, stdout and stderr, its environment
pointing at the server. Signals that we get go to the child; the outcome is its own.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from claw.core.errors import ClawError
from claw.lab import live
from claw.lab.judgement import Judgement, judge_all
from claw.lab.live import DETOURS
from simulators import Simulator
from simulators.core.document import Document, load_yaml
from simulators.shells.authority import AuthorityMissing
from simulators.shells.environment import RIVALS, proxy_variables, variables
from simulators.shells.http import Listener
from simulators.shells.proxy import Proxy
from simulators.shells.serving import RealClock, ServedOnThread
from simulators.shells.simulator import parts

KEY = "sk-claw-exec"  # the account of the command, unless the script names its accounts
PASSED_ON = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGWINCH", "SIGCONT")  # the terminal sends them to the child as well
_FAULT = re.compile(r"([a-z0-9_]+)@(\d+)(?:x(\d+))?")


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. `exit` is the command's own code (128 + n for a signal n), `problems` what
    the script did not foresee or had left over."""

    exit: int
    judgement: Judgement
    exchanges: list[dict[str, Any]]
    problems: list[str]


def run(
    command: Sequence[str],
    *,
    script: Path | None = None,
    replay: Path | None = None,
    record: Path | None = None,
    faults: Sequence[str] = (),
    seed: int = 0,
    proxy: bool = False,
) -> Ran:
    """Run `command` to its end; with `proxy` also behind an HTTPS proxy that answers as the vendors.

    `replay` is a cassette that answers in place of a script, `record` one that is made of what passes.
    Raises `ClawError` or `DocumentError` before anything is started.
    """
    document = _document(script, faults, replay)
    simulator = Simulator(seed=seed, clock=RealClock(), script=document)
    named = simulator.engine.keys()
    key = named[0] if named else KEY
    if replay is not None:
        simulator.account(key)  # what nobody asks for is told, though nobody asks
    try:
        tunnels = Proxy() if proxy else None
    except AuthorityMissing as error:
        raise ClawError(str(error)) from None
    with ServedOnThread(Listener(simulator.app(), proxy=tunnels)) as served:
        with live.before(served.url, record) as url:
            env = environment(os.environ, url, key)
            if tunnels is not None:
                env |= proxy_variables(served.url, str(tunnels.authority.path))
            code = _child(command, env)
        exchanges, problems = served.call(lambda: _gather(simulator))
    return Ran(exit=code, judgement=judge_all(exchanges, exit=code), exchanges=exchanges, problems=problems)


def run_live(command: Sequence[str], *, record: Path | None = None) -> Ran:
    """Run `command` before a proxy to the real providers; `record` keeps what passed. Raises `ClawError`."""
    code, exchanges, problems = live.run(lambda env: _child(command, env), record=record)
    return Ran(exit=code, judgement=judge_all(exchanges, exit=code), exchanges=exchanges, problems=problems)


def environment(env: Mapping[str, str], url: str, key: str) -> dict[str, str]:
    """The child's: ours, with every variable that leads to a provider leading here, and none leading past it."""
    made = {name: value for name, value in env.items() if name not in RIVALS and name not in DETOURS}
    return live.past_proxies(made | variables(url, key))


def parse_fault(text: str) -> dict[str, Any]:
    """`rate_limited@2` or `overloaded@1x3` as an account document has it. Raises `ClawError`."""
    found = _FAULT.fullmatch(text)
    if found is None:
        raise ClawError(f"--fault {text}: write KIND@CALL or KIND@CALLxTIMES, such as rate_limited@2 or overloaded@1x3")
    kind, call, times = found[1], int(found[2]), int(found[3] or 1)
    known = parts().faults
    if kind not in known:
        near = get_close_matches(kind, known, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(sorted(known))}"
        raise ClawError(f"--fault {text}: there is no fault `{kind}`; {hint}")
    if call < 1 or times < 1:
        raise ClawError(f"--fault {text}: calls and times count from 1")
    return {"kind": kind, "on": {"call": call, "times": times}}


def _document(script: Path | None, faults: Sequence[str], replay: Path | None = None) -> Document | None:
    """The script, or a cassette, with the faults of the command line added to each of its accounts."""
    more = [parse_fault(text) for text in faults]
    if replay is not None:
        data = {"responder": "cassette", "cassette": str(replay.absolute()), "faults": more}
        return Document(data, source="--replay")
    if script is None:
        return Document({"responder": "persona", "faults": more}, source="--fault") if more else None
    try:
        document = load_yaml(script.read_bytes(), source=str(script))
    except OSError as error:
        raise ClawError(f"{script}: {error.strerror or error}") from None
    if not more or not isinstance(document.data, dict):
        return document
    accounts = document.data.get("accounts")
    for account in accounts.values() if isinstance(accounts, dict) else [document.data]:
        if isinstance(account, dict) and isinstance(account.get("faults", []), list):
            account["faults"] = [*account.get("faults", []), *more]
    return document


def _gather(simulator: Simulator) -> tuple[list[dict[str, Any]], list[str]]:
    """Every account's exchanges in the order of arrival, numbered anew; and where script and calls did not meet."""
    exchanges: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, key in enumerate(simulator.engine.keys(), 1):
        account = simulator.engine.account(key)
        exchanges += [raw | {"account": str(number)} for raw in account.journal.to_dict()["exchanges"]]
        problems += account.problems()
    exchanges.sort(key=lambda raw: (raw["at"], raw["account"], raw["n"]))
    return [raw | {"n": n} for n, raw in enumerate(exchanges, 1)], problems


def _child(command: Sequence[str], env: Mapping[str, str]) -> int:
    try:
        with _signals() as passed:
            child = subprocess.Popen(command, env=env)
            passed.append(child)
            code = child.wait()
    except FileNotFoundError:
        raise ClawError(f"there is no command `{command[0]}` on the PATH") from None
    except PermissionError:
        raise ClawError(f"`{command[0]}` is not executable") from None
    return code if code >= 0 else 128 - code


@contextmanager
def _signals() -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Passes signals on to the children in the list; what a terminal sends to both of us is not sent twice."""
    children: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    terminal = _in_foreground()

    def handler(number: int, frame: FrameType | None) -> None:
        if terminal and signal.Signals(number).name in FROM_TERMINAL:
            return
        for child in children:
            child.send_signal(number)
        if not children:
            early.append(number)

    known = [getattr(signal, name) for name in PASSED_ON if hasattr(signal, name)]
    before = {number: signal.signal(number, handler) for number in known}
    try:
        yield children
    finally:
        for number, old in before.items():
            signal.signal(number, old)
        for number in early:
            signal.raise_signal(number)


def _in_foreground() -> bool:
    """Whether a terminal's keys send signals to our whole process group."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except (OSError, AttributeError):
        return False
