"""From the command line to the exit code."""

import json
from collections.abc import Generator
from typing import Any

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
)
from simulators.cli.gemini import session as sessions
from simulators.cli.gemini import texts
from simulators.cli.gemini.flags import Options, UsageError, parse
from simulators.cli.gemini.output import Output
from simulators.cli.gemini.run import Run
from simulators.cli.gemini.session import Session
from simulators.cli.gemini.turn import Ended, converse
from simulators.cli.gemini.versions import ALIASES, VERSIONS, Version
from simulators.cli.ids import SeededIds
from simulators.cli.settings import Settings

API = "https://generativelanguage.googleapis.com"
_USAGE = "Usage: gemini [options] [command]\n\nGemini CLI - Use -p/--prompt for non-interactive (headless) mode.\n"


class Stop(Exception):
    """The run ends here, with a message on stderr and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def gemini(start: Start, settings: Settings) -> Program:
    """The fake `gemini`: a generator of effects that ends with `Exit`."""
    version = VERSIONS[settings.version]
    try:
        options = parse(start.argv)
        if options.show in ("version", "help"):
            yield Write(f"{version.name if options.show == 'version' else _USAGE}\n".encode())
            code = 0
        else:
            code = yield from _run(start, options, version, settings)
    except UsageError as error:
        yield Write(f"{error}\n{_USAGE}".encode())
        code = 1
    except Stop as stop:
        yield Write(f"{stop}\n".encode(), "stderr")
        code = stop.code
    except Interrupted:
        code = 130
    yield Exit(code)


def _run(start: Start, options: Options, version: Version, settings: Settings) -> Generator[Effect, Any, int]:
    if not options.skip_trust and start.env.get("GEMINI_CLI_TRUST_WORKSPACE") != "true":
        raise Stop(texts.TRUST, 55)
    home = start.env.get("HOME", "/root")
    ids = SeededIds(start.seed)
    project = yield from sessions.project(home, start.cwd)
    folder = sessions.folder(home, project)
    if options.show == "list-sessions":
        return (yield from _list(folder, start.cwd))
    session = yield from _open(folder, options, start, ids)
    prompt = yield from _prompt(options, start)
    output = Output(options.output, session.id)
    key = start.env.get("GEMINI_API_KEY") or start.env.get("GOOGLE_API_KEY") or ""
    if not key and not settings.alone:
        if options.output == "json":
            error = {"type": "Error", "message": texts.NO_KEY, "code": 41}
            raise Stop(json.dumps({"session_id": session.id, "error": error}, indent=2), 41)
        raise Stop(texts.NO_KEY, 41)
    context, memory = yield from _surroundings(start, home, project)
    model = ALIASES.get(options.model or "", options.model) or start.env.get("GEMINI_MODEL") or "auto"
    base = (start.env.get("GOOGLE_GEMINI_BASE_URL") or API).rstrip("/")
    run = Run(start, options, version, settings, session, output, ids, model, base, key or "alone", context, memory)
    yield from session.begin(context)
    yield from output.opened(model, prompt)
    began = yield Now()
    ended = yield from converse(run, prompt)
    return (yield from _finish(run, ended, began))


def _finish(run: Run, ended: Ended, began: float) -> Generator[Effect, Any, int]:
    now = yield Now()
    failure = ended.failure
    if failure is None:
        yield from run.output.ended(run.stats, int((now - began) * 1000), ended.invalid)
        return 0
    known = failure.kind == "ApiError" and failure.status is not None
    code = failure.status if known else None
    shown = f"[API Error: {failure.message}]{texts.WAIT if failure.status == 429 else ''}"
    yield from run.output.failed(run.stats, failure.message, shown, code)
    if code is None or run.options.output == "text":
        return 1
    return code & 0xFF


def _prompt(options: Options, start: Start) -> Generator[Effect, Any, str]:
    """What stands on stdin, then the argument."""
    piped = b"" if start.tty else (yield ReadStdin(all=True, timeout_s=0.5))
    given = options.prompt if options.prompt is not None else " ".join(options.query)
    text = (piped or b"").decode("utf-8", "replace")
    if text.strip():
        return f"{text}\n\n{given}" if given else text
    if not given:
        raise Stop("No input provided via stdin. Input can be provided by piping data into gemini or --prompt.", 42)
    return given


def _open(folder: str, options: Options, start: Start, ids: SeededIds) -> Generator[Effect, Any, Session]:
    now = yield Now()
    if options.resume is None:
        id = options.session_id or ids.uuid()
        return Session(id, sessions.new_path(folder, id, now), start.cwd)
    found = yield from sessions.all_sessions(folder, start.cwd)
    word = options.resume
    if word in ("latest", "") and found:
        return max(found, key=lambda s: str(s.messages[-1].get("timestamp", "")))
    if word.isdigit() and 0 < int(word) <= len(found):
        return found[int(word) - 1]
    for session in found:
        if session.id == word:
            return session
    if not found and word in ("latest", ""):
        raise Stop("Error resuming session: No previous sessions found for this project.", 42)
    raise Stop(
        f'Error resuming session: Invalid session identifier "{word}".\n'
        f"  Searched for sessions in {folder}.\n"
        "  Use --list-sessions to see available sessions, then use --resume {number}, --resume {uuid}, "
        "or --resume latest.",
        42,
    )


def _list(folder: str, cwd: str) -> Generator[Effect, Any, int]:
    found = yield from sessions.all_sessions(folder, cwd)
    lines = [f"\nAvailable sessions for this project ({len(found)}):"]
    for number, session in enumerate(found, 1):
        first = session.messages[0].get("content") or []
        text = first if isinstance(first, str) else " ".join(str(part.get("text", "")) for part in first)
        lines.append(f"  {number}. {' '.join(text.split())[:80]} (Just now) [{session.id}]")
    yield Write(("\n".join(lines if found else ["No previous sessions found for this project."]) + "\n").encode())
    return 0


def _surroundings(start: Start, home: str, project: str) -> Generator[Effect, Any, tuple[dict[str, Any], str]]:
    """The message that tells where the agent is and what the project's GEMINI.md says; the user's own GEMINI.md."""
    now = yield Now()
    own = yield ReadFile(f"{home}/.gemini/GEMINI.md")
    names = yield ListFiles(start.cwd)
    data = yield ReadFile(f"{start.cwd}/GEMINI.md")
    files = [] if data is None else [(f"{start.cwd}/GEMINI.md", data.decode("utf-8", "replace"))]
    shown = [name for name in names if not name.startswith(".")][:200]
    temp = f"{home}/.gemini/tmp/{project}"
    text = texts.session_context(now, start.cwd, temp, shown, texts.project_context(files))
    id = "d04923d38bb0f6017037e74183378ef4"  # the same in every session
    message = {"id": id, "timestamp": sessions.stamp(now), "type": "user", "content": [{"text": text}]}
    return message, (own or b"").decode("utf-8", "replace").strip()
