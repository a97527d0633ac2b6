"""A runtime under test that is a command, described by a YAML file. Real processes, a served simulator, real time.

    about: Claude Code
    command:
      fresh: [claude, -p, --output-format, json, --session-id, "{session}", "{prompt}"]
      resume: [claude, -p, --output-format, json, --resume, "{session}", "{prompt}"]
    instructions: {flag: --append-system-prompt}     # or {file: AGENTS.md}
    reply: {json: result}                            # or text: all of stdout
    reports: {context_tokens: usage.input_tokens, cost_usd: total_cost_usd, stop: stop_reason}
    capabilities: [cli, tools]

Places in `command` and `env`: {prompt}, {session} (a UUID, the same for all prompts of a play), {model}, {url}, {key},
{workspace}, {home}. The variables that SDKs and CLIs read for the provider's address and key are set already.
"""

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from claw.host import HostProcesses, SeededIds
from claw.lab.evidence import Outcome, Problem, SessionState, Spawn, short
from claw.lab.parts import account_key, profiles
from claw.lab.runtimes.base import Kind
from claw.lab.schema import NEEDS, Kill, Scenario
from claw.lab.stage import Stage
from simulators.core.document import Document, convert, load_yaml
from simulators.shells.environment import RIVALS, variables
from simulators.shells.http import HttpDoor, Listener, bind, url_of

PLACES = ("prompt", "session", "model", "url", "key", "workspace", "home")
PROMPT_S = 300.0  # of one prompt: a command that hangs is ended


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`resume` is for every prompt after the first; without it each prompt begins afresh."""

    fresh: tuple[str, ...]
    resume: tuple[str, ...] = ()


class Instructions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the runtime reads its instructions: an option of the command line, or a file of the workspace."""

    flag: str | None = None
    file: str | None = None


class JsonReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dotted path into the last JSON object on stdout."""

    json: str


class Reports(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Dotted paths into the last JSON object on stdout."""

    context_tokens: str | None = None
    cost_usd: str | None = None
    stop: str | None = None


class RuntimeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    command: Command
    about: str = ""
    env: dict[str, str] = {}
    instructions: Instructions = Instructions(file="AGENTS.md")
    reply: Literal["text"] | JsonReply = "text"
    reports: Reports = Reports()
    capabilities: tuple[str, ...] = ()


def load(path: Path) -> Kind:
    """The runtime that a file describes; its name is the file's. Raises `DocumentError`."""
    document = load_yaml(path.read_bytes(), source=str(path))
    file = convert(document, RuntimeFile)
    _check(document, file)
    return Kind(name=path.stem, make=lambda: CommandRuntime(path.stem, file), source=str(path))


def _check(document: Document, file: RuntimeFile) -> None:
    for i, word in enumerate(file.capabilities):
        if word not in NEEDS and not word.startswith("provider:"):
            raise document.error(f"capabilities[{i}]", f"there is no capability `{word}`", NEEDS, word)
    places = dict.fromkeys(PLACES, "")
    texts = {
        f"command.{name}[{i}]": t for name in ("fresh", "resume") for i, t in enumerate(getattr(file.command, name))
    }
    for at, text in {**texts, **{f"env.{name}": value for name, value in file.env.items()}}.items():
        try:
            text.format_map(places)
        except KeyError as error:
            wrong = str(error.args[0])
            raise document.error(at, f"there is no place `{{{wrong}}}`", PLACES, wrong) from None
        except (ValueError, IndexError, AttributeError):
            raise document.error(at, "a brace that stands for itself is doubled: {{") from None
    if not file.command.fresh:
        raise document.error("command.fresh", "a command has at least a program")


class CommandRuntime:
    """Plays by starting the command once for each prompt."""

    without_effect: frozenset[str] = frozenset()
    real_time = True

    def __init__(self, name: str, file: RuntimeFile) -> None:
        self.name, self._file = name, file
        own = {"resume"} if file.command.resume else set()
        self.capabilities = frozenset({*file.capabilities, *own})
        self._spawns: list[Spawn] = []
        self._groups: list[tuple[int, Spawn]] = []
        self._listener: Listener | None = None
        self._asked = 0

    def accepts(self, scenario: Scenario) -> str | None:
        given = scenario.given
        if given.history is not None:
            return f"{self.name} cannot be given a history"
        if given.runtime:
            return f"{self.name} does not take the settings {', '.join(given.runtime)}"
        kinds = {step.kind for step in scenario.steps} & {"kill", "compact"}
        return f"{self.name} cannot {' or '.join(sorted(kinds))}" if kinds else None

    async def start(self, stage: Stage) -> None:
        self._stage = stage
        self.home, self.workspace = stage.folder / "home", stage.folder / "workspace"
        for folder in (self.home, self.workspace):
            folder.mkdir()
        files = dict(stage.scenario.given.workspace)
        if self._file.instructions.file and stage.scenario.given.instructions:
            files[self._file.instructions.file] = stage.scenario.given.instructions + "\n"
        for name, text in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        sock = bind()
        self.url = url_of(sock)
        self._listener = Listener(HttpDoor(stage.provider))
        await self._listener.start([sock])
        self._session = SeededIds(stage.seed).session()

    async def prompt(self, text: str, *, kill: Kill | None = None) -> Outcome:
        argv = self._argv(text)
        spawn = Spawn(argv=tuple(argv), at=self._stage.provider.now(), cli=True)
        self._spawns.append(spawn)
        process = await HostProcesses().spawn(argv, cwd=str(self.workspace), env=self._environment())
        self._groups.append((process.pid, spawn))
        self._asked += 1
        try:
            async with asyncio.timeout(PROMPT_S):
                stdout, stderr = await asyncio.gather(_all(process.stdout()), _all(process.stderr()))
                spawn.code = await process.wait()
        except TimeoutError:
            process.kill()
            spawn.code = await process.wait()
            return Outcome(failure=Problem("timeout", f"not done after {PROMPT_S:g} s"), exit=spawn.code)
        return self._outcome(stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"), spawn.code)

    def _argv(self, prompt: str) -> list[str]:
        command = self._file.command
        template = command.resume if self._asked and command.resume else command.fresh
        argv = [part.format_map(self._places(prompt)) for part in template]
        flag, told = self._file.instructions.flag, self._stage.scenario.given.instructions
        return [argv[0], flag, told, *argv[1:]] if flag and told else argv

    def _places(self, prompt: str) -> Mapping[str, str]:
        model = self._stage.scenario.given.model.partition("/")[2]
        values = (prompt, self._session, model, self.url, self._key, str(self.workspace), str(self.home))
        return dict(zip(PLACES, values, strict=True))

    @property
    def _key(self) -> str:
        return account_key(profiles(self._stage.scenario)[0])

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in RIVALS}
        own = {name: value.format_map(self._places("")) for name, value in self._file.env.items()}
        return {**inherited, "HOME": str(self.home), **variables(self.url, self._key), **own}

    def _outcome(self, stdout: str, stderr: str, code: int) -> Outcome:
        told = _last_object(stdout)
        reply = _at(told, self._file.reply.json) if isinstance(self._file.reply, JsonReply) else stdout.strip()
        reports = self._file.reports
        figures: dict[str, Any] = {}
        if reports.context_tokens:
            figures["usage"] = {"context_tokens": _at(told, reports.context_tokens)}
        if reports.cost_usd:
            figures["cost_usd"] = _at(told, reports.cost_usd)
        stop = _at(told, reports.stop) if reports.stop else None
        return Outcome(
            reply=None if reply is None else str(reply),
            stop=None if stop is None else str(stop),
            failure=Problem("", short(stderr or stdout, 300)) if code else None,
            report=figures or None,
            exit=code,
        )

    async def compact(self) -> Outcome | None:
        raise NotImplementedError("accepts() has refused this scenario")

    async def advance(self, seconds: float) -> None:
        """The provider's clock alone: a command's own cannot be moved."""
        self._stage.provider.simulator.advance(seconds)

    async def restart(self) -> None:
        """Every prompt is a process of its own."""

    async def session(self) -> SessionState | None:
        return None

    def spawns(self) -> list[Spawn] | None:
        return list(self._spawns)

    def read_file(self, name: str) -> bytes | None:
        try:
            return (self.workspace / name).read_bytes()
        except OSError:
            return None

    async def close(self) -> list[Spawn] | None:
        """Whatever still lives in the process group of a command was left behind by it."""
        left = []
        for group, spawn in self._groups:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, 0)
                left.append(spawn)
                os.killpg(group, signal.SIGKILL)
        if self._listener is not None:
            await self._listener.close()
        return left


async def _all(chunks: Any) -> bytes:
    return b"".join([chunk async for chunk in chunks])


def _last_object(text: str) -> Any:
    """The last JSON object on stdout: all of it, or its last line that is one."""
    for candidate in (text, *reversed(text.splitlines())):
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, Sequence) and part.lstrip("-").isdigit() and not isinstance(value, str):
            value = value[int(part)] if -len(value) <= int(part) < len(value) else None
        else:
            return None
    return value
