"""From the command line to the exit code."""

import json
import re
from collections.abc import Generator
from typing import Any

from simulators.cli.claude import session as sessions
from simulators.cli.claude.commands import slash_command
from simulators.cli.claude.context import Context, Settings
from simulators.cli.claude.control import BadInput
from simulators.cli.claude.flags import Options, UsageError, parse
from simulators.cli.claude.loop import restore, run_turn
from simulators.cli.claude.mcp import McpProblem, connect
from simulators.cli.claude.models import lookup
from simulators.cli.claude.repair import mend
from simulators.cli.claude.session import Session
from simulators.cli.claude.settings_files import BadSettings, read_settings
from simulators.cli.claude.stream import run_stream
from simulators.cli.claude.usage import Counts, usage_object
from simulators.cli.claude.versions import VERSIONS, Version
from simulators.cli.effects import Effect, Exit, Interrupted, Program, ReadFile, ReadStdin, Start, Write

_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")


class _Stop(Exception):
    """The run ends here, with a message on stderr and an exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def claude(start: Start, settings: Settings) -> Program:
    """The fake `claude`: a generator of effects that ends with `Exit`. Sending it `Interrupted` is a SIGINT."""
    version = VERSIONS[settings.version]
    try:
        options = parse(start.argv, settings.version)
        if options.show is not None:
            yield Write(_shown(options, version))
            yield Exit(0)
        _check(options, start)
        yield from _read_files(options)
        context = yield from _open(start, options, version, settings)
        context.mcp = yield from connect(context)
        _check_schema(options)
        code = yield from _run(context)
    except UsageError as error:
        yield Write(f"{error}\n".encode(), "stderr")
        code = 1
    except (McpProblem, BadInput, BadSettings) as problem:
        yield Write(f"{problem}\n".encode(), "stderr")
        code = 1
    except _Stop as stop:
        if str(stop):
            yield Write(f"{stop}\n".encode(), "stderr")
        code = stop.code
    yield Exit(code)


def _shown(options: Options, version: Version) -> bytes:
    if options.show == "version":
        return f"{version.name} (Claude Code)\n".encode()
    return (
        b"Usage: claude [options] [command] [prompt]\n\nA fake of the CLI for tests. It knows the real one's flags.\n"
    )


def _check(options: Options, start: Start) -> None:
    """Combinations that the CLI refuses before it does anything."""
    if not options.print and options.output_format == "text" and options.input_format == "text":
        options.print = True  # stdout is no terminal: the CLI prints and exits
    if options.output_format == "stream-json" and not options.verbose:
        raise _Stop("Error: When using --print, --output-format=stream-json requires --verbose")
    if options.input_format == "stream-json" and options.output_format != "stream-json":
        raise _Stop("Error: --input-format=stream-json requires output-format=stream-json.")
    if options.session_id is not None:
        if (options.resume is not None or options.continue_) and not options.fork_session:
            raise _Stop(
                "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."
            )
        if not _UUID.fullmatch(options.session_id):
            raise _Stop("Error: Invalid session ID. Must be a valid UUID.")
    bypasses = options.dangerously_skip_permissions or options.permission_mode == "bypassPermissions"
    if bypasses and start.root and start.env.get("IS_SANDBOX") != "1":
        raise _Stop("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")


def _check_schema(options: Options) -> None:
    if options.json_schema is None:
        return
    try:
        fits = isinstance(json.loads(options.json_schema), dict)
    except ValueError:
        fits = False
    if not fits:
        raise _Stop("Error: --json-schema is not valid JSON")


def _read_files(options: Options) -> Generator[Effect, Any, None]:
    for name in ("system_prompt", "append_system_prompt"):
        path = getattr(options, f"{name}_file")
        if path is None:
            continue
        flag = f"--{name.replace('_', '-')}"
        if getattr(options, name) is not None:
            raise _Stop(f"Error: Cannot use both {flag} and {flag}-file. Please use only one.")
        data = yield ReadFile(path)
        if data is None:
            kind = "System" if name == "system_prompt" else "Append system"
            raise _Stop(f"Error: {kind} prompt file not found: {path}")
        setattr(options, name, data.decode("utf-8", "replace"))


def _open(start: Start, options: Options, version: Version, settings: Settings) -> Generator[Effect, Any, Context]:
    """Find or make the session, and take the model that flags, session and version agree on."""
    home = start.env.get("HOME", "/root")
    old = options.resume
    if options.continue_ and old is None:
        old = yield from sessions.newest(home, start.cwd)
    context = Context(start, options, version, settings, Session(id="", path=""))
    base = sessions.folder(home, start.cwd)
    rows: list[dict[str, Any]] = []
    torn = False
    if old is not None:
        data = yield from sessions.load(home, start.cwd, old)
        if data is None:
            yield from _no_conversation(context, old)
        torn = not (data or b"\n").endswith(b"\n")
        rows = sessions.parse(data or b"", recover_glued=version.rich_events)
    id = old
    if old is None or options.fork_session:
        id = options.session_id or context.ids.uuid()
    assert id is not None
    if options.session_id is not None:
        taken = yield ReadFile(f"{base}/{id}.jsonl")
        if taken is not None:
            raise _Stop(f"Error: Session ID {id} is already in use.")
    context.session = Session(
        id=id,
        path=f"{base}/{id}.jsonl",
        rows=rows if id == old else (),
        persist=not options.no_session_persistence,
        bridges=version.rich_events,
        torn=torn and id == old,
    )
    if rows and id != old:
        yield from context.session.append(*({**r, "sessionId": id} for r in rows))
    yield from read_settings(context)
    context.model = lookup(_model_name(context))
    restore(context)
    if rows:
        yield from mend(context)
    return context


def _model_name(context: Context) -> str:
    version = context.version
    asked = context.options.model or context.env.get("ANTHROPIC_MODEL")
    if asked and asked != "default":
        return version.aliases.get(asked, asked)
    if version.model_on_resume == "session":
        for row in reversed(context.session.rows):
            if row.get("type") == "assistant" and row["message"].get("model", "<")[0] != "<":
                return str(row["message"]["model"])
    return version.default_model


def _no_conversation(context: Context, id: str) -> Generator[Effect, Any, None]:
    said = f"No conversation found with session ID: {id}"
    version, out = context.version, context.out
    if not out.streams:
        raise _Stop(said)
    shown = id if version.resume_missing_echoes_id else context.ids.uuid()
    event: dict[str, Any] = {
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "duration_api_ms": 0,
    }
    event |= {"is_error": True, "num_turns": 0}
    if version.rich_events:
        event["stop_reason"] = None
    event |= {"session_id": shown, "total_cost_usd": 0, "usage": usage_object(Counts(), version), "modelUsage": {}}
    event |= {"permission_denials": [], "uuid": context.ids.uuid(), "errors": [said]}
    if version.rich_events:
        event["result_index"] = 0
    yield from out.result(event)
    raise _Stop(said if version.rich_events else "")


def _run(context: Context) -> Generator[Effect, Any, int]:
    options = context.options
    try:
        if options.input_format == "stream-json":
            return (yield from run_stream(context, _run_prompt))
        prompt = yield from _prompt(options)
        return (yield from _run_prompt(context, prompt))
    except Interrupted:
        content = [{"type": "text", "text": "[Request interrupted by user]"}]
        yield from context.add("user", message={"role": "user", "content": content})
        yield from context.emit("user", message={"role": "user", "content": content}, parent_tool_use_id=None)
        return 0


def _prompt(options: Options) -> Generator[Effect, Any, str]:
    """The prompt: the argument, what stands on stdin, or both."""
    piped = yield ReadStdin(all=True, timeout_s=None if options.prompt is None else 3.0)
    text = (piped or b"").decode("utf-8", "replace")
    parts = [part for part in (options.prompt, text) if part and part.strip()]
    if not parts:
        raise _Stop("Error: Input must be provided either through stdin or as a prompt argument when using --print")
    return "\n".join(parts)


def _run_prompt(context: Context, content: Any) -> Generator[Effect, Any, int]:
    if isinstance(content, str) and content.startswith("/"):
        done = yield from slash_command(context, content)
        if done is not None:
            return 0 if done else 1
    answered = yield from run_turn(context, content)
    if context.session.write_error:
        yield from context.out.error(context.session.write_error)
        return 1
    return 0 if answered else 1
