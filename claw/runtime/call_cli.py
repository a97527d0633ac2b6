"""Performs `CallCli`: starts a CLI, reads it as it speaks, and tells how it ended as one event."""

from collections.abc import Mapping
from typing import Any

from claw.core.calls import (
    CliBackend,
    CliCommand,
    CliCompaction,
    CliDecoder,
    CliEvent,
    CliReply,
    CliRetry,
    CliRun,
    CliSession,
    CliTool,
    CliUsage,
)
from claw.core.commands import CallCli, ToolUse
from claw.core.errors import ClawError, FailureKind, ProviderFailure
from claw.core.events import CliReport, ModelFailed, ModelFinished
from claw.core.messages import Message, TextPart
from claw.core.stream import Fold, MessageStart, ModelTurn, Stop
from claw.core.usage import Usage
from claw.ports import Ports, Process
from claw.runtime.config import CliOptions, Config
from claw.runtime.watch import Watch

GRACE_S = 5.0  # between asking a CLI to end and ending it
STOPS: tuple[Stop, ...] = ("end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn")


class CliCalls:
    """The CLI path. `system` is the whole system prompt, the same text on every run."""

    def __init__(
        self,
        ports: Ports,
        config: Config,
        backends: Mapping[str, CliBackend],
        *,
        system: str,
        workspace: str,
        env: Mapping[str, str],
        watch: Watch,
    ) -> None:
        self._ports = ports
        self._config = config
        self._backends = backends
        self._system = system
        self._workspace = workspace
        self._env = env
        self._watch = watch
        self._seen: Seen | None = None

    def partial(self) -> Message | None:
        return self._seen.partial() if self._seen else None

    async def call(self, command: CallCli) -> ModelFinished | ModelFailed:
        """Never raises for a CLI that fails; cancelling it ends the CLI and everything it started."""
        options = self._config.cli.get(command.backend, CliOptions())
        settings = self._config.settings
        backend = self._backends[command.backend]
        run = CliRun(
            prompt=command.prompt,
            system=self._system,
            model=options.model_aliases.get(command.model, command.model),
            cli_session=command.session,
            resume=command.resume,
            workspace=self._workspace,
            thinking=settings.thinking,
            prompt_when=settings.cli_system_prompt_when,
            tools=settings.cli_tools,
            context_window=options.context_window,
            spent=command.spent,
        )
        start = _with_options(backend.command(run), options)
        seen = self._seen = Seen(self._watch, sums=settings.usage_from == "result")
        try:
            try:
                process = await self._ports.processes.spawn(
                    start.argv, cwd=self._workspace, env=_environment(self._env, start), stdin=start.stdin
                )
            except OSError as error:
                raise ClawError(f"{command.backend}: cannot start {start.argv[0]}: {error.strerror or error}") from None
            failure = await self._read(process, backend.decoder(run), seen, options, command.resume)
        finally:
            self._seen = None
        return seen.told(command.id, failure, model=command.model)

    async def _read(
        self, process: Process, decoder: CliDecoder, seen: "Seen", options: CliOptions, resume: bool
    ) -> ProviderFailure | None:
        """Take everything the CLI says. The failure, if claw had to end it."""
        dog = options.watchdog_resume if resume else options.watchdog_fresh
        quiet_s = dog.seconds(options.timeout_s)
        stderr: list[bytes] = []
        ended = False
        try:
            async with self._ports.clock.timeout(options.timeout_s or None):
                failure = await self._take(process, decoder, seen, quiet_s)
                if failure is None:
                    stderr = [chunk async for chunk in process.stderr()]
                    code = await process.wait()
                    ended = True
        except TimeoutError:
            failure = ProviderFailure(
                kind=FailureKind.TIMEOUT,
                message=f"the CLI was not done after {options.timeout_s:g} s",
                replay_safe=False,
            )
        finally:
            if not ended:
                await self._stop(process)
        if failure is None:
            for event in decoder.finish(code, b"".join(stderr)):
                seen.take(event)
        return failure

    async def _take(
        self, process: Process, decoder: CliDecoder, seen: "Seen", quiet_s: float
    ) -> ProviderFailure | None:
        output = process.stdout()
        while True:
            try:
                # A tool or a compaction at work says nothing for as long as it takes.
                async with self._ports.clock.timeout(None if seen.busy else quiet_s):
                    data = await anext(output, None)
            except TimeoutError:
                message = f"the CLI said nothing for {quiet_s:g} s"
                return ProviderFailure(kind=FailureKind.TIMEOUT, message=message, replay_safe=not seen.acted)
            if data is None:
                return None
            for event in decoder.feed(data):
                seen.take(event)

    async def _stop(self, process: Process) -> None:
        """Ask, wait a little, end the whole group."""
        process.terminate()
        try:
            async with self._ports.clock.timeout(GRACE_S):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            process.kill()


def _with_options(command: CliCommand, options: CliOptions) -> CliCommand:
    argv = (options.command, *command.argv[1:]) if options.command else command.argv
    return CliCommand(
        argv=argv,
        stdin=command.stdin,
        env={**command.env, **options.env},
        clear_env=(*command.clear_env, *options.clear_env),
    )


def _environment(env: Mapping[str, str], command: CliCommand) -> dict[str, str]:
    return {name: value for name, value in {**env, **command.env}.items() if name not in command.clear_env}


class Seen:
    """What one run of a CLI has shown so far. `sums`: take its sum over all calls for the size of the context."""

    def __init__(self, watch: Watch, *, sums: bool) -> None:
        self._watch = watch
        self._sums = sums
        self._fold = Fold()
        self._texts: list[str] = []
        self._session: str | None = None
        self._last: Usage | None = None
        self._calls = Usage()
        self._total: Usage | None = None
        self._session_total: Usage | None = None
        self._cost: float | None = None
        self._window: int | None = None
        self._open: dict[str, CliTool] = {}
        self._tools: list[ToolUse] = []
        self._compactions = 0
        self._compacting = False
        self._reply: CliReply | None = None
        self._said = False

    @property
    def busy(self) -> bool:
        return bool(self._open) or self._compacting

    @property
    def acted(self) -> bool:
        """A tool has run: a repeat would run it twice."""
        return bool(self._open or self._tools)

    def partial(self) -> Message:
        return self._fold.partial()

    def take(self, event: CliEvent) -> None:
        match event:
            case CliSession(id=id):
                self._session = id
            case CliUsage():
                self._usage(event)
            case CliTool():
                self._tool(event)
            case CliCompaction():
                self._compaction(event)
            case CliRetry():
                pass  # the CLI's own affair; if it fails in the end, the reply says so
            case CliReply():
                self._reply = event
            case _:
                if isinstance(event, MessageStart):
                    self._fold = Fold()
                self._fold.feed(event)
                self._said = self._said or self._fold.delivered
                self._watch.stream(event)

    def _usage(self, event: CliUsage) -> None:
        if event.scope == "last_call":
            self._last = event.usage
            self._calls += event.usage
        elif event.scope == "session_total":
            self._session_total = event.usage
        else:
            self._total = event.usage
            self._cost = event.cost_usd
            if self._sums:
                self._last = event.usage
        self._window = event.context_window or self._window

    def _tool(self, event: CliTool) -> None:
        if event.phase == "start":
            self._open[event.id] = event
            self._watch.emit("tool_start", {"id": event.id, "name": event.name, "input": dict(event.input)})
            return
        self._open.pop(event.id, None)
        ok = event.ok is not False
        self._tools.append(ToolUse(event.id, event.name, ok))
        self._watch.emit("tool_end", {"id": event.id, "name": event.name, "ok": ok, "text": event.text})

    def _compaction(self, event: CliCompaction) -> None:
        """After it the size of the context is unknown until the CLI's next call."""
        self._compacting = event.phase == "start"
        fields: dict[str, Any] = {"trigger": event.trigger, "by": "cli", "tokens_before": event.pre_tokens}
        if event.phase == "start":
            self._watch.emit("compaction_start", fields)
            return
        self._watch.emit("compaction_end", {**fields, "ok": event.ok, "tokens_after": event.post_tokens})
        if event.ok:
            self._compactions += 1
            self._last = None

    def _report(self) -> CliReport:
        left = (ToolUse(tool.id, tool.name, ok=False) for tool in self._open.values())
        return CliReport(
            session=self._session,
            usage=self._last,
            total=self._total if self._total is not None else self._calls,
            cost_usd=self._cost,
            window=self._window,
            tools=(*self._tools, *left),
            compactions=self._compactions,
            session_total=self._session_total,
        )

    def told(self, id: str, failure: ProviderFailure | None, *, model: str) -> ModelFinished | ModelFailed:
        """The event that this run of the CLI comes to."""
        reply = self._reply
        failure = failure or (reply.failure if reply else None)
        if failure is None and reply is None:
            failure = ProviderFailure(kind=FailureKind.EMPTY_RESPONSE, message="the CLI ended without a word")
        if failure is not None or reply is None:
            assert failure is not None
            delivered = self.acted or (self._said and failure.kind is not FailureKind.SESSION_EXPIRED)
            return ModelFailed(id=id, failure=failure, delivered=delivered, cli=self._report())
        stop: Stop = next((known for known in STOPS if known == reply.stop), "end_turn")
        parts = (TextPart(reply.text),) if reply.text else ()
        turn = ModelTurn(
            id=self._fold.id,
            model=self._fold.model or model,
            message=Message("assistant", parts),
            stop=stop,
            usage=self._last or Usage(),
        )
        return ModelFinished(id=id, turn=turn, cli=self._report())
