"""From the command line to the exit code."""

import base64
from collections.abc import Generator
from dataclasses import replace
from typing import Any

from simulators.cli.codex import rollout
from simulators.cli.codex.config import OPENAI, Config, ConfigError, load
from simulators.cli.codex.flags import Options, UsageError, parse
from simulators.cli.codex.ids import uuid7
from simulators.cli.codex.models import lookup
from simulators.cli.codex.output import ExecOutput, JsonOutput, PlainOutput
from simulators.cli.codex.rollout import Item, Thread
from simulators.cli.codex.run import Run
from simulators.cli.codex.texts import base_instructions
from simulators.cli.codex.turn import run_turn, start_turn
from simulators.cli.codex.versions import VERSIONS, Version
from simulators.cli.effects import (
    Effect,
    Exit,
    Interrupted,
    ListFiles,
    Now,
    Program,
    ReadFile,
    ReadStdin,
    Start,
    Write,
    WriteFile,
)
from simulators.cli.ids import SeededIds
from simulators.cli.settings import Settings

Steps = Generator[Effect, Any, Any]


class Stop(Exception):
    """The run ends here, with a message on stderr and exit code 1."""


def codex(start: Start, settings: Settings) -> Program:
    """The fake `codex`: a generator of effects that ends with `Exit`."""
    version = VERSIONS[settings.version]
    try:
        options = parse(start.argv)
        if options.show is not None:
            yield Write(_shown(options, version).encode())
            code = 0
        elif options.command == "app-server":
            from simulators.cli.codex.appserver import serve

            code = yield from serve(start, options, version, settings)
        else:
            code = yield from _exec(start, options, version, settings)
    except UsageError as error:
        yield Write(f"{error}\n".encode(), "stderr")
        code = 1 if str(error).startswith("Error: stdin") else 2
    except (ConfigError, Stop) as error:
        yield Write(f"{error}\n".encode(), "stderr")
        code = 1
    except Interrupted:
        code = 130
    yield Exit(code)


def _shown(options: Options, version: Version) -> str:
    if options.show == "version":
        return f"codex-cli {version.name}\n"
    return f"Usage: codex {options.command} [OPTIONS]\n\nThis stands in for codex {version.name}.\n"


def _exec(start: Start, options: Options, version: Version, settings: Settings) -> Generator[Effect, Any, int]:
    cwd = _folder(start, options)
    config = yield from load(options, start.env, version, cwd, approval="never")
    prompt = yield from _prompt(start, options)
    yield from _check_trusted(options, cwd)
    parts: list[Item] = yield from _images(options, cwd)
    parts.append({"type": "text", "text": prompt})
    run = yield from open_run(start, options, version, settings, config, cwd)
    if "--output-schema" in options.values:
        config.data["output_schema"] = yield from _schema(options, cwd)  # type: ignore[index]
    output: ExecOutput = JsonOutput(run) if "--json" in options.switches else PlainOutput(run, prompt)
    run.listener = output
    return (yield from _play(run, output, options, parts))


def _play(run: Run, output: ExecOutput, options: Options, parts: list[Item]) -> Generator[Effect, Any, int]:
    recorded = run.thread.model
    yield from output.opened()
    if run.thread.origin == "cold_resume" and recorded and recorded != run.model.id:
        yield from output.warning(
            f"This session was recorded with model `{recorded}` but is resuming with `{run.model.id}`. "
            f"Consider switching back to `{recorded}` as it may affect Codex performance."
        )
    if not run.model.known:
        yield from output.warning(
            f"Model metadata for `{run.model.id}` not found. "
            "Defaulting to fallback metadata; this can degrade performance and cause issues."
        )
    yield from output.turn_started()
    yield from start_turn(run)
    trouble = yield from run_turn(run, parts)
    yield from output.turn_ended(trouble)
    if "--output-last-message" in options.values:
        path = options.values["--output-last-message"]
        path = path if path.startswith("/") else f"{run.start.cwd}/{path}"
        yield WriteFile(path, (run.turn.last_message or "").encode() if trouble is None else b"")
    if run.thread.write_error:
        yield from run.listener.log("codex_rollout::recorder", f"failed to write rollout: {run.thread.write_error}")
    return 0 if trouble is None else 1


def _folder(start: Start, options: Options) -> str:
    folder = options.values.get("--cd")
    if folder is None:
        return start.cwd
    return folder.rstrip("/") if folder.startswith("/") else f"{start.cwd}/{folder}".rstrip("/")


def _prompt(start: Start, options: Options) -> Generator[Effect, Any, str]:
    """The argument, what stands on stdin, or both."""
    words = list(options.words)
    if (options.command == "resume" and "--last" not in options.switches and words) or options.command == "fork":
        words = words[1:]
    given = words[0] if words else None
    if given is not None and given != "-":
        if options.command != "exec" or start.tty:
            return given
        yield Write(b"Reading additional input from stdin...\n", "stderr")
        more = yield from _stdin()
        if not more.strip():
            return given
        return f"{given}\n\n<stdin>\n{more if more.endswith(chr(10)) else more + chr(10)}</stdin>"
    if given is None:
        yield Write(b"Reading prompt from stdin...\n", "stderr")
    text = yield from _stdin()
    if not text.strip():
        raise Stop("No prompt provided via stdin.")
    return text


def _stdin() -> Generator[Effect, Any, str]:
    data = yield ReadStdin(all=True)
    return str((data or b"").decode("utf-8", "replace"))


def _check_trusted(options: Options, cwd: str) -> Steps:
    free = {"--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}
    if free & options.switches:
        return
    at = cwd
    while at:
        names = yield ListFiles(at)
        if ".git" in names:
            return
        at = at.rpartition("/")[0]
    raise Stop("Not inside a trusted directory and --skip-git-repo-check was not specified.")


def _images(options: Options, cwd: str) -> Generator[Effect, Any, list[Item]]:
    found: list[Item] = []
    for word in options.lists.get("--image", []):
        for name in word.split(","):
            path = name if name.startswith("/") else f"{cwd}/{name}"
            data = yield ReadFile(path)
            if data is None:
                raise Stop(f"Error: failed to read image {path}: No such file or directory (os error 2)")
            kind = {"jpg": "jpeg"}.get(path.rpartition(".")[2].lower(), path.rpartition(".")[2].lower())
            url = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
            found.append({"type": "image", "url": url})
    return found


def _schema(options: Options, cwd: str) -> Generator[Effect, Any, Any]:
    import json

    path = options.values["--output-schema"]
    data = yield ReadFile(path if path.startswith("/") else f"{cwd}/{path}")
    if data is None:
        raise Stop(f"Failed to read output schema file {path}: No such file or directory (os error 2)")
    try:
        return json.loads(data)
    except ValueError as error:
        raise Stop(f"Output schema file {path} is not valid JSON: {error}") from None


def open_run(
    start: Start, options: Options, version: Version, settings: Settings, config: Config, cwd: str
) -> Generator[Effect, Any, Run]:
    """Find or make the thread that the command line asks for."""
    ids = SeededIds(start.seed)
    thread: Thread | None = None
    if options.command == "exec":
        thread = yield from new_thread(config, ids, cwd)
    else:
        thread = yield from _find(options, config, cwd)
        if thread is None:
            thread = yield from new_thread(config, ids, cwd)
        elif options.command == "fork":
            yield from fork_thread(thread, config, ids)
    thread.persist = "--ephemeral" not in options.switches
    originator = start.env.get("CODEX_INTERNAL_ORIGINATOR_OVERRIDE") or "codex_exec"
    run = yield from make_run(start, version, settings, config, thread, ids, originator, "codex_exec", version.name)
    run.trigger = "exec"
    return run


def make_run(
    start: Start,
    version: Version,
    settings: Settings,
    config: Config,
    thread: Thread,
    ids: SeededIds,
    originator: str,
    client: str,
    client_version: str,
) -> Generator[Effect, Any, Run]:
    """A thread in this process' hands."""
    from simulators.cli.codex.run import Listener

    installation = yield from _installation(config.home, ids)
    terminal = start.env.get("TERM") or "unknown"
    agent = f"{originator}/{version.name} (Debian 12.0.0; x86_64) {terminal} ({client}; {client_version})"
    if config.provider.base_url == OPENAI and config.provider.key is None:
        settings = Settings(settings.version, settings.auto_compact_window, alone=True)
    if settings.alone and config.provider.key is None:
        config = replace(config, provider=replace(config.provider, key="alone"))
    if config.base_instructions:
        thread.base, thread.base_source = config.base_instructions, {"type": "custom"}
    run = Run(start, config, version, settings, thread, ids, Listener(), originator, agent, None, installation)
    run.new_file = thread.origin in ("new", "cold_fork")
    return run


def new_thread(config: Config, ids: SeededIds, cwd: str) -> Generator[Effect, Any, Thread]:
    """A thread that nobody has said anything in."""
    now = yield Now()
    id = uuid7(ids, now)
    model = lookup(config.model)
    thread = Thread(id, rollout.path_of(config.home, id, now), cwd)
    thread.base = base_instructions(model.id, model.base_recorded)
    thread.base_source = {"type": "model", "model": model.id}
    thread.window_uuid = thread.first_window = uuid7(ids, now)
    return thread


def fork_thread(thread: Thread, config: Config, ids: SeededIds) -> Steps:
    """Make a loaded thread a new one that begins with all that it holds."""
    now = yield Now()
    thread.forked_from = (thread.id, thread.ordinal)
    thread.id = uuid7(ids, now)
    thread.path = rollout.path_of(config.home, thread.id, now)
    thread.origin, thread.torn = "cold_fork", False


def _find(options: Options, config: Config, cwd: str) -> Generator[Effect, Any, Thread | None]:
    if options.command == "resume" and ("--last" in options.switches or not options.words):
        path = yield from rollout.newest(config.home, None if "--all" in options.switches else cwd)
        return (yield from rollout.load(path, config.home)) if path else None
    id = options.words[0] if options.words else ""
    path = yield from rollout.find(config.home, id)
    thread = (yield from rollout.load(path, config.home)) if path else None
    if thread is None:
        verb = f"thread/{options.command}"
        raise Stop(f"Error: {verb}: {verb} failed: no rollout found for thread id {id} (code -32600)")
    thread.cwd = cwd
    return thread


def _installation(home: str, ids: SeededIds) -> Generator[Effect, Any, str]:
    """The id of this CODEX_HOME, made when it is first used."""
    path = f"{home}/installation_id"
    data = yield ReadFile(path)
    if data:
        return str(data.decode("utf-8", "replace").strip())
    id = ids.uuid()
    yield WriteFile(path, id.encode())
    return id
