"""claw's own agent in process, on either path: the same code that `claw agent` runs, over ports made for the play."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from claw import cli_backends
from claw.host import HostModels, LoopClock, SdkProviders, SeededIds
from claw.lab.evidence import Outcome, Problem, SessionState, Spawn
from claw.lab.parts import account_key, configuration, profiles
from claw.lab.runtimes._world import ROOT, Dead, LabFiles, Life, MortalProcesses, WatchedProcesses, World
from claw.lab.schema import Kill, Scenario
from claw.lab.sessions import read_session
from claw.lab.stage import Stage
from claw.ports import Ports, Processes
from claw.runtime.agent import Agent
from claw.runtime.config import Config
from claw.runtime.result import RunResult
from simulators.shells.virtual_time import EPOCH

HOME = f"{ROOT}/home"
WORKSPACE = f"{ROOT}/workspace"
SESSION = "lab"


class AgentRuntime:
    """What both paths share. A sub-class says which model is asked for, and what a CLI is made of."""

    name = ""
    capabilities: frozenset[str] = frozenset()
    without_effect: frozenset[str] = frozenset()
    real_time = False
    clis: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._life = Life()
        self._events: list[dict[str, Any]] = []
        self._watched: WatchedProcesses | None = None
        self._agent: Agent | None = None
        self._kill: Kill | None = None
        self._run: asyncio.Task[RunResult] | None = None

    def accepts(self, scenario: Scenario) -> str | None:
        """Every setting of claw's configuration is known: the loader has read it."""
        return None

    def model(self, scenario: Scenario) -> str:
        """PROVIDER/MODEL as this path takes it."""
        raise NotImplementedError

    def processes(self, stage: Stage, world: World) -> Processes:
        """What starts processes."""
        raise NotImplementedError

    def write_history(self, turns: list[tuple[str, str]]) -> None:
        """Make the session that the scenario begins with."""
        raise NotImplementedError

    async def start(self, stage: Stage) -> None:
        from claw.lab.history import conversation

        self.stage, self.world = stage, World(stage.folder)
        given = stage.scenario.given
        for name, text in given.workspace.items():
            self._put(f"{WORKSPACE}/{name}", text)
        if given.instructions:
            self._put(f"{WORKSPACE}/AGENTS.md", given.instructions + "\n")
        self.config = msgspec.convert(self._configuration(), Config)
        self._ids = SeededIds(stage.seed)
        self._watched = WatchedProcesses(self.world, self.processes(stage, self.world), clis=self.clis)
        self._begin()
        if given.history is not None:
            self.write_history(conversation(given.history, stage.count))

    def _put(self, path: str, text: str) -> None:
        real = self.world.real(path)
        os.makedirs(os.path.dirname(real), exist_ok=True)
        with open(real, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def _configuration(self) -> Mapping[str, Any]:
        scenario = self.stage.scenario
        made = configuration(scenario)
        made["model"] = {"primary": self.model(scenario)} | made.get("model", {})
        provider = self.model(scenario).partition("/")[0]
        made.setdefault(
            "profiles",
            [{"id": name, "provider": provider, "key": account_key(name)} for name in profiles(scenario)],
        )
        return made

    def _begin(self) -> None:
        """A process begins: fresh memory, the same files."""
        assert self._watched is not None
        life = self._life = Life()
        self.files = LabFiles(self.world, life)
        models = HostModels()
        ports = Ports(
            clock=LoopClock(EPOCH),
            files=self.files,
            processes=MortalProcesses(life, self._watched),
            ids=self._ids,
            models=models,
            providers=SdkProviders(self.stage.provider.transport(), models=models),
        )

        def emit(event: dict[str, Any]) -> None:
            self._emit(life, event)

        self._agent = Agent(ports, self.config, HOME, cli_backends.load(), self.environment(), emit)

    def environment(self) -> dict[str, str]:
        """The environment of tools and CLIs."""
        inherited = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ}
        return inherited | {"HOME": HOME, "USER": "lab"}

    def _emit(self, life: Life, event: dict[str, Any]) -> None:
        if life.over:
            return
        self._events.append(event)
        if self._kill is not None and event["type"] == self._kill.at:
            seen = sum(e["type"] == self._kill.at for e in self._events)
            if seen == self._kill.nth and self._run is not None:
                life.over = True
                self._run.cancel()

    async def prompt(self, text: str, *, kill: Kill | None = None) -> Outcome:
        assert self._agent is not None
        return await self._told(self._agent.run(text, SESSION, WORKSPACE), kill)

    async def compact(self) -> Outcome | None:
        assert self._agent is not None
        return await self._told(self._agent.compact(SESSION), None)

    async def _told(self, work: Any, kill: Kill | None) -> Outcome:
        """Run to the end, or to the event at which the process is to die."""
        self._events, self._kill = [], kill
        run = self._run = asyncio.create_task(work, name="run")
        life = self._life
        try:
            result = await run
        except asyncio.CancelledError:
            if not life.over:
                run.cancel()
                raise
            return await self._died()
        except Dead:
            return await self._died()
        finally:
            self._kill = None
        return _outcome(result, self._events)

    async def _died(self) -> Outcome:
        """Nothing of the old process is left; a new one begins."""
        events = self._events
        await self._start_again()
        return Outcome(killed=True, events=events)

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def restart(self) -> None:
        await self._start_again()

    async def _start_again(self) -> None:
        assert self._agent is not None and self._watched is not None
        self._life.over = True
        self._watched.kill_all()
        await self._agent.close()
        self.world.crash()
        self._begin()

    async def session(self) -> SessionState | None:
        path = self.world.real(f"{HOME}/sessions/{SESSION}.jsonl")
        return read_session(path)

    def read_file(self, name: str) -> bytes | None:
        """A file of the workspace."""
        try:
            with open(self.world.real(f"{WORKSPACE}/{name}"), "rb") as file:
                return file.read()
        except OSError:
            return None

    def spawns(self) -> list[Spawn] | None:
        return list(self._watched.spawns) if self._watched else []

    async def close(self) -> list[Spawn] | None:
        if self._agent is not None:
            await self._agent.close()
        return await self._watched.end() if self._watched else []


def _outcome(result: RunResult, events: list[dict[str, Any]]) -> Outcome:
    failure = result.failure
    return Outcome(
        reply=result.reply,
        stop=result.stop,
        failure=Problem(str(failure.kind), failure.message) if failure else None,
        report=msgspec.to_builtins(result),
        events=events,
        exit=1 if failure else 0,
    )
