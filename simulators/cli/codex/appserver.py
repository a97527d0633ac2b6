"""`codex app-server`: JSON-RPC over lines of stdin and stdout (without the `jsonrpc` member, as the real one).

Threads, turns with their items as notifications, approvals as requests of the server, interrupts and compaction. While
a turn runs, what the client sends is looked at between the pieces of an answer and while a tool runs: an interrupt
takes effect then, everything else waits until the turn is over.
"""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import Any

from simulators.cli.codex import appserver_items as shapes
from simulators.cli.codex import compaction, rollout
from simulators.cli.codex.api import Trouble
from simulators.cli.codex.config import Config, ConfigError, load
from simulators.cli.codex.flags import Options
from simulators.cli.codex.main import fork_thread, make_run, new_thread
from simulators.cli.codex.run import Run
from simulators.cli.codex.speech import Speech
from simulators.cli.codex.turn import finish, run_turn, start_turn
from simulators.cli.codex.versions import Version
from simulators.cli.effects import Effect, Now, ReadStdin, Start, Write
from simulators.cli.ids import SeededIds
from simulators.cli.settings import Settings

Steps = Generator[Effect, Any, Any]
Message = dict[str, Any]
INVALID = -32600
_SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
_POLICIES = {
    "readOnly": "read-only",
    "workspaceWrite": "workspace-write",
    "dangerFullAccess": "danger-full-access",
    "externalSandbox": "danger-full-access",
}


class RpcError(Exception):
    """A request that is refused; `str()` is the error's message."""

    def __init__(self, message: str, code: int = INVALID) -> None:
        super().__init__(message)
        self.code = code


class Wire:
    """The lines: what is sent, and what came while nobody listened."""

    def __init__(self) -> None:
        self.waiting: list[Message] = []
        self.ended = False
        self._asked = 0

    def send(self, message: Mapping[str, Any]) -> Steps:
        line = json.dumps(message, separators=(",", ":"), ensure_ascii=False) + "\n"
        yield Write(line.encode("utf-8", "surrogatepass"))

    def notify(self, method: str, params: Mapping[str, Any]) -> Steps:
        now = yield Now()
        yield from self.send({"method": method, "params": params, "emittedAtMs": int(now * 1000)})

    def next(self) -> Generator[Effect, Any, Message | None]:
        """The next message, None at the end."""
        if self.waiting:
            return self.waiting.pop(0)
        while True:
            line = yield ReadStdin()
            if not line:
                self.ended = True
                return None
            message = _parsed(line)
            if message is not None:
                return message

    def glance(self) -> Generator[Effect, Any, None]:
        """Take in what has already been sent, without waiting."""
        while not self.ended:
            line = yield ReadStdin(timeout_s=0.0)
            if not line:
                return
            message = _parsed(line)
            if message is not None:
                self.waiting.append(message)

    def ask(self, method: str, params: Mapping[str, Any]) -> Generator[Effect, Any, tuple[int, Any]]:
        """A request to the client; its number and the result (None if the client is gone or refuses)."""
        number = self._asked
        self._asked += 1
        yield from self.send({"method": method, "id": number, "params": params})
        aside: list[Message] = []
        result = None
        while True:
            message = yield from self.next()
            if message is None:
                break
            if message.get("id") == number and "method" not in message:
                result = message.get("result")
                break
            aside.append(message)
        self.waiting = aside + self.waiting
        return number, result


def _parsed(line: bytes) -> Message | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


class Server:
    """One process: its client, its threads."""

    def __init__(self, start: Start, options: Options, version: Version, settings: Settings) -> None:
        self.start, self.options, self.version, self.settings = start, options, version, settings
        self.wire = Wire()
        self.ids = SeededIds(start.seed)
        self.client: Mapping[str, Any] | None = None
        self.runs: dict[str, Run] = {}
        self.names: dict[str, str] = {}

    def config(self, params: Mapping[str, Any]) -> Generator[Effect, Any, Config]:
        """The configuration with what a request lays over it."""
        cwd = str(params.get("cwd") or self.start.cwd)
        config = yield from load(self.options, self.start.env, self.version, cwd, approval="on-request")
        sandbox = params.get("sandbox") or config.sandbox
        if sandbox not in _SANDBOXES:
            shown = ", ".join(f"`{name}`" for name in _SANDBOXES)
            raise RpcError(f"Invalid request: unknown variant `{sandbox}`, expected one of {shown}")
        return replace(
            config,
            model=params.get("model") or config.model,
            sandbox=sandbox,
            approval=params.get("approvalPolicy") or config.approval,
            base_instructions=params.get("baseInstructions") or config.base_instructions,
            developer_instructions=params.get("developerInstructions") or config.developer_instructions,
        )

    def adopt(self, thread: rollout.Thread, config: Config) -> Generator[Effect, Any, Run]:
        """Take a thread in hand."""
        client = self.client or {}
        name, number = str(client.get("name", "")), str(client.get("version", ""))
        thread.source = "vscode"
        run = yield from make_run(self.start, self.version, self.settings, config, thread, self.ids, name, name, number)
        run.listener = Speech(run, self.wire)
        self.runs[thread.id] = run
        return run

    def run_of(self, params: Mapping[str, Any]) -> Run:
        id = str(params.get("threadId"))
        if id not in self.runs:
            raise RpcError(f"thread not found: {id}")
        return self.runs[id]


def serve(start: Start, options: Options, version: Version, settings: Settings) -> Generator[Effect, Any, int]:
    """Answer until stdin ends."""
    server = Server(start, options, version, settings)
    while True:
        message = yield from server.wire.next()
        if message is None:
            return 0
        if "id" not in message or "method" not in message:
            continue
        try:
            yield from _handle(server, message)
        except RpcError as error:
            said = {"code": error.code, "message": str(error)}
            yield from server.wire.send({"error": said, "id": message["id"]})
        except ConfigError as error:
            yield from server.wire.send({"error": {"code": INVALID, "message": str(error)}, "id": message["id"]})


def _handle(server: Server, message: Message) -> Steps:
    method, params = message["method"], message.get("params") or {}
    if server.client is None and method != "initialize":
        raise RpcError("Not initialized")
    handler = _METHODS.get(method)
    if handler is None:
        known = ", ".join(f"`{name}`" for name in _METHODS)
        raise RpcError(f"Invalid request: unknown variant `{method}`, expected one of {known}")
    yield from handler(server, message["id"], params)


def _reply(server: Server, id: Any, result: Mapping[str, Any]) -> Steps:
    yield from server.wire.send({"id": id, "result": result})


def _initialize(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    if server.client is not None:
        raise RpcError("Already initialized")
    client = params.get("clientInfo")
    if not isinstance(client, dict) or "name" not in client:
        raise RpcError("Invalid request: missing field `clientInfo`")
    server.client = client
    config = yield from server.config({})
    name, number = client["name"], client.get("version", "")
    terminal = server.start.env.get("TERM") or "unknown"
    agent = f"{name}/{server.version.name} (Debian 12.0.0; x86_64) {terminal} ({name}; {number})"
    result = {"userAgent": agent, "codexHome": config.home, "platformFamily": "unix", "platformOs": "linux"}
    yield from _reply(server, id, result)


def _thread_start(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    config = yield from server.config(params)
    thread = yield from new_thread(config, server.ids, str(params.get("cwd") or server.start.cwd))
    thread.persist = not params.get("ephemeral")
    now = yield Now()
    thread.created = now
    run = yield from server.adopt(thread, config)
    yield from _reply(server, id, shapes.opened(run))
    yield from server.wire.notify("thread/started", {"thread": shapes.thread(run)})


def _loaded(server: Server, params: Mapping[str, Any]) -> Generator[Effect, Any, tuple[rollout.Thread, Config]]:
    config = yield from server.config(params)
    id = str(params.get("threadId"))
    path = yield from rollout.find(config.home, id)
    found = (yield from rollout.load(path, config.home)) if path else None
    if found is None:
        raise RpcError(f"no rollout found for thread id {id}")
    if params.get("cwd"):
        found.cwd = str(params["cwd"])
    return found, config


def _thread_resume(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    known = server.runs.get(str(params.get("threadId")))
    if known is None:
        thread, config = yield from _loaded(server, params)
        known = yield from server.adopt(thread, config)
    yield from _reply(server, id, shapes.opened(known))


def _thread_fork(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    thread, config = yield from _loaded(server, params)
    yield from fork_thread(thread, config, server.ids)
    run = yield from server.adopt(thread, config)
    yield from _reply(server, id, shapes.opened(run))
    yield from server.wire.notify("thread/started", {"thread": shapes.thread(run)})


def _thread_read(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    run = server.runs.get(str(params.get("threadId")))
    if run is None:
        thread, config = yield from _loaded(server, params)
        run = yield from make_run(server.start, server.version, server.settings, config, thread, server.ids, "", "", "")
    yield from _reply(server, id, {"thread": shapes.thread(run)})


def _thread_list(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    config = yield from server.config({})
    paths = yield from rollout.all_paths(config.home)
    found = []
    for path in reversed(paths):
        thread = yield from rollout.load(path, config.home)
        if thread is not None and (not params.get("cwd") or thread.cwd == params["cwd"]):
            make = make_run(server.start, server.version, server.settings, config, thread, server.ids, "", "", "")
            run = server.runs.get(thread.id) or (yield from make)
            found.append(shapes.thread(run))
    limit = params.get("limit")
    shown = found[: int(limit)] if limit else found
    yield from _reply(server, id, {"data": shown, "nextCursor": None, "backwardsCursor": None})


def _loaded_list(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    yield from _reply(server, id, {"data": list(server.runs), "nextCursor": None})


def _unsubscribe(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    gone = server.runs.pop(str(params.get("threadId")), None)
    yield from _reply(server, id, {"status": "unsubscribed" if gone is not None else "notLoaded"})


def _turn_start(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    run = server.run_of(params)
    run.config = replace(
        run.config,
        model=params.get("model") or run.config.model,
        approval=params.get("approvalPolicy") or run.config.approval,
        sandbox=_POLICIES.get((params.get("sandboxPolicy") or {}).get("type", ""), run.config.sandbox),
        effort=params.get("effort") or run.config.effort,
        data={**run.config.data, "output_schema": params.get("outputSchema")},
    )
    run.refresh()
    if params.get("cwd"):
        run.thread.cwd = str(params["cwd"])
    prompt = yield from shapes.prompt(params.get("input") or [])
    yield from start_turn(run)
    yield from _reply(server, id, {"turn": shapes.turn(run, "inProgress")})
    yield from _played(server, run, lambda: run_turn(run, prompt))


def _compact(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    run = server.run_of(params)
    yield from _reply(server, id, {})
    yield from start_turn(run)
    yield from _played(server, run, lambda: _compacted(run))


def _compacted(run: Run) -> Generator[Effect, Any, Trouble | None]:
    trouble = yield from compaction.compact(run, trigger="manual", phase="standalone_turn")
    yield from finish(run, trouble)
    return trouble


def _played(server: Server, run: Run, work: Callable[[], Generator[Effect, Any, Trouble | None]]) -> Steps:
    """A turn, from its first notification to its last."""
    speech = run.listener
    assert isinstance(speech, Speech)
    yield from speech.opened()
    trouble = yield from work()
    yield from speech.closed(trouble)


def _interrupt(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    server.run_of(params)
    raise RpcError("no active turn to interrupt")
    yield


def _model_list(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    yield from _reply(server, id, {"data": shapes.models(server.version.default_model), "nextCursor": None})


def _account(server: Server, id: Any, params: Mapping[str, Any]) -> Steps:
    config = yield from server.config({})
    needed = config.provider.builtin
    result = {"account": None, "userId": None, "requiresOpenaiAuth": needed, "workspaceRouting": None}
    yield from _reply(server, id, result)


_METHODS: Mapping[str, Callable[[Server, Any, Mapping[str, Any]], Steps]] = {
    "initialize": _initialize,
    "thread/start": _thread_start,
    "thread/resume": _thread_resume,
    "thread/fork": _thread_fork,
    "thread/read": _thread_read,
    "thread/list": _thread_list,
    "thread/loaded/list": _loaded_list,
    "thread/unsubscribe": _unsubscribe,
    "thread/compact/start": _compact,
    "turn/start": _turn_start,
    "turn/interrupt": _interrupt,
    "model/list": _model_list,
    "account/read": _account,
}
