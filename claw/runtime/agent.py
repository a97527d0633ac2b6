"""The agent: a session, a prompt, an answer. Everything it touches of the world comes in through `Ports`."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from claw.auth import Credential
from claw.core.calls import CliBackend, SystemBlock
from claw.core.commands import Outcome
from claw.core.errors import ClawError
from claw.core.events import TurnStarted
from claw.core.messages import user
from claw.core.policy import Rules
from claw.core.state import Setup, State, Target, digest
from claw.core.transcript import CustomEntry
from claw.ports import Ports
from claw.prompt import system
from claw.runtime.call_cli import CliCalls
from claw.runtime.call_provider import ProviderCalls
from claw.runtime.config import AgentOptions, CliOptions, Config
from claw.runtime.driver import Driver
from claw.runtime.failover import Choice, Rests, candidates, targets, used_profile
from claw.runtime.lanes import Lanes
from claw.runtime.result import RunResult
from claw.runtime.tokens import Tokens
from claw.runtime.watch import Watch
from claw.sessions import Session, SessionStore
from claw.tools import registry
from claw.tools.base import Tool, ToolContext

Emitter = Callable[[dict[str, Any]], None]


class Agent:
    """Runs prompts in sessions under `home`. One agent may run many sessions at once; each session one run at a time.

    `backends`: the CLIs by provider name (`claude-cli/MODEL` uses `backends["claude-cli"]`); `env`: the environment
    that tools and CLIs get, and where keys and base URLs are looked up; `emit` is handed every line of `--stream-json`.
    """

    def __init__(
        self,
        ports: Ports,
        config: Config,
        home: str,
        backends: Mapping[str, CliBackend] | None = None,
        env: Mapping[str, str] | None = None,
        emit: Emitter | None = None,
    ) -> None:
        self.sessions = SessionStore(ports.files, home)
        self._ports = ports
        self._config = config
        self._home = home
        self._backends = backends or {}
        self._env = env or {}
        self._emit = emit
        self._rests = Rests(ports, home)
        self._tokens = Tokens(ports, home)
        self._lanes = Lanes(config.queue.runs)
        self._active: dict[str, Driver] = {}

    async def run(
        self,
        prompt: str,
        session: str | None = None,
        workspace: str | None = None,
        model: str | None = None,
        *,
        agent: str = "main",
        profile: str | None = None,
    ) -> RunResult:
        """Answer `prompt` in `session` (a new one if None, created if it does not exist).

        `workspace`: absolute path, by default that of the agent's configuration, of the session, or `HOME/workspace`;
        `model`: `PROVIDER/MODEL`, by default the configured one; `profile`: only this credential,
        whatever happens. A failed run is a result with `failure`, no exception.
        Raises `ClawError` for what the user has to put right, another process in the same session included.
        """
        if not prompt.strip():
            raise ClawError("the prompt is empty")
        return await self._run(prompt, session or self._ports.ids.session(), workspace, model, agent, profile)

    async def compact(self, session: str, model: str | None = None, *, agent: str = "main") -> RunResult:
        """Condense a session now. On the CLI path it is the CLI that does it. Raises `ClawError` for a new session."""
        self.sessions.load(session)
        return await self._run(None, session, None, model, agent)

    def steer(self, session: str, text: str) -> bool:
        """Tell the run at work in `session` something; False if there is none."""
        driver = self._active.get(session)
        return driver is not None and driver.steer(text)

    def abort(self, session: str) -> bool:
        """End the run at work in `session`; False if there is none. Its `run` returns with stop `aborted`."""
        driver = self._active.get(session)
        if driver is not None:
            driver.abort()
        return driver is not None

    async def close(self) -> None:
        """Free the connections to providers."""
        close = getattr(self._ports.providers, "close", None)
        if close is not None:
            await close()

    async def _run(
        self,
        prompt: str | None,
        session: str,
        workspace: str | None,
        model: str | None,
        agent: str,
        profile: str | None = None,
    ) -> RunResult:
        options = self._config.agents.get(agent, AgentOptions())
        run = self._ports.ids.session()
        watch = Watch(self._ports.clock, run, self._emit)
        refs = candidates(self._config, model or options.model, options.fallbacks)
        async with (
            self._lanes.enter(session, waiting=lambda ahead: watch.emit("queued", {"ahead": ahead})),
            self._hold(session),
        ):
            now = self._ports.clock.now()
            opened = self.sessions.open(session, workspace=workspace or options.workspace or "", now=now)
            used = used_profile(opened.path())
            choice = Choice(keys=self._tokens.keys, book=self._rests.book, preferred=used, pinned=profile)
            chosen, credentials = targets(self._ports, self._config, refs, self._backends, self._env, choice)
            chosen = self._rests.ordered(chosen)
            if chosen[0].cli and self._config.settings.cli_tools != "native":
                raise ClawError("settings.cli_tools: a CLI can only be run with its own tools so far; set `native`")
            place = workspace or options.workspace or opened.header.cwd or f"{self._home}/workspace"
            tools = registry.load(options.tools if options.tools is not None else self._config.tools.allow)
            blocks = self._system(place, chosen[0], tools)
            driver = self._driver(opened, credentials, place, blocks, tools, watch)
            self._active[session] = driver
            try:
                start = TurnStarted(run=run, prompt=None if prompt is None else user(prompt))
                first = self._state(opened, chosen, place, blocks, tools, self._rests.pause(chosen[0]))
                outcome = await driver.run(first, start)
                self._note_profile(opened, outcome, credentials, used)
            finally:
                del self._active[session]
        result = RunResult.of(session, outcome)
        watch.emit("run_end", {"stop": result.stop, "failure": msgspec.to_builtins(result.failure)})
        return result

    def _note_profile(
        self, session: Session, outcome: Outcome, keys: Mapping[tuple[str, str], Credential], used: Mapping[str, str]
    ) -> None:
        """Where a provider has several credentials the session remembers which one answered."""
        answered = next((a for a in reversed(outcome.attempts) if a.kind is None and a.profile), None)
        if answered is None or sum(provider == answered.provider for provider, _ in keys) < 2:
            return
        if used.get(answered.provider) != answered.profile:
            path = session.path()
            data = {"provider": answered.provider, "profile": answered.profile}
            entry = CustomEntry(
                id=digest(f"{path[-1].id}:profile", 4), parent_id=path[-1].id, custom_type="profile", data=data
            )
            with suppress(OSError):  # a full disk must not cost an answer that is there
                session.append((entry,), now=self._ports.clock.now())

    @asynccontextmanager
    async def _hold(self, session: str) -> AsyncIterator[None]:
        """The session's lock against other processes."""
        lock = self.sessions.lock(session)
        try:
            await lock.__aenter__()
        except TimeoutError as error:
            raise ClawError(f"session `{session}` is at work elsewhere: {error}") from None
        try:
            yield
        finally:
            await lock.__aexit__(None, None, None)

    def _system(self, workspace: str, target: Target, tools: Mapping[str, Tool]) -> tuple[SystemBlock, ...]:
        """The system prompt of a run, the same bytes as long as what it is made of is the same."""
        return system.build(
            files=self._ports.files,
            workspace=workspace,
            now=self._ports.clock.now(),
            tools=() if target.cli else [tool.spec for tool in tools.values()],  # a CLI brings its own
            clock_in_prompt=self._config.settings.clock_in_prompt,
        )

    def _state(
        self,
        session: Session,
        chosen: Sequence[Target],
        workspace: str,
        blocks: tuple[SystemBlock, ...],
        tools: Mapping[str, Tool],
        pause: float,
    ) -> State:
        config, settings = self._config, self._config.settings
        retry, compaction = config.retry, config.compaction
        cli = config.cli.get(chosen[0].provider, CliOptions())
        setup = Setup(
            session=session.id,
            targets=tuple(chosen),
            workspace=workspace,
            system=blocks,
            tools=tuple(tool.spec for tool in tools.values()),
            one_at_a_time=frozenset(name for name, tool in tools.items() if tool.side_effects),
            thinking=settings.thinking,
            stream=settings.stream,
            cache=settings.cache,
            rules=Rules(
                attempts=retry.attempts,
                seconds=retry.seconds,
                base_s=retry.base_s,
                cap_s=retry.cap_s,
                patience_s=retry.patience_s,
                compactions=compaction.attempts,
                honour_retry_after=settings.honour_retry_after,
                compact=settings.compaction == "auto",
                retract=settings.partial_reply == "retract",
            ),
            reserve=compaction.reserve_tokens,
            keep=compaction.keep_recent_tokens,
            reseed_chars=cli.reseed_chars,
            coordination=settings.compaction_coordination,
        )
        path = session.path()
        return State(setup=setup, history=path, leaf=path[-1].id if path else None, pause=pause)

    def _driver(
        self,
        session: Session,
        credentials: Mapping[tuple[str, str], Credential],
        workspace: str,
        blocks: Sequence[SystemBlock],
        tools: Mapping[str, Tool],
        watch: Watch,
    ) -> Driver:
        ports = self._ports
        return Driver(
            clock=ports.clock,
            session=session,
            model=ProviderCalls(ports, self._config, credentials, self._env, self._rests, watch, self._tokens),
            cli=CliCalls(
                ports,
                self._config,
                self._backends,
                system=system.as_text(blocks),
                workspace=workspace,
                env=self._env,
                watch=watch,
            ),
            tools=tools,
            context=ToolContext(
                workspace=workspace, files=ports.files, processes=ports.processes, clock=ports.clock, env=self._env
            ),
            watch=watch,
            run_s=self._config.timeouts.run_s,
        )
