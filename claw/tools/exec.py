"""Run a shell command in the workspace."""

import codecs
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from msgspec import Meta

from claw.tools.base import FunctionTool, ToolContext, ToolError, ToolOutcome, clip, inside, said

DEFAULT_TIMEOUT_S = 1800.0
KEPT = 200_000  # characters held while the command runs: the last ones
SHOWN = 16_000  # characters that the model gets
_FORBIDDEN = ("LD_", "DYLD_")


class Input(msgspec.Struct, kw_only=True):
    command: Annotated[str, Meta(description="Shell command; its output and errors come back in one text")]
    workdir: Annotated[str, Meta(description="Folder to run it in, relative to the workspace")] = "."
    timeout: Annotated[float, Meta(description="Seconds until it is ended; 0 means no limit", ge=0)] = DEFAULT_TIMEOUT_S
    env: Annotated[dict[str, str], Meta(description="Variables to add to its environment")] = {}


async def run(input: Input, context: ToolContext) -> ToolOutcome:
    if not input.command.strip():
        raise ToolError("exec needs a command")
    _check_env(input.env)
    started = context.clock.monotonic()
    shell = "/bin/bash" if context.files.exists("/bin/bash") else "/bin/sh"
    process = await context.processes.spawn(
        # one pipe for both streams keeps the order in which they were written
        [shell, "-c", f"exec 2>&1\n{input.command}"],
        cwd=inside(context, input.workdir),
        env={**context.env, **input.env, "CLAW_SHELL": "exec"},
    )
    tail = _Tail()
    try:
        async with context.clock.timeout(input.timeout or None):
            await tail.take(process.stdout())
            code = await process.wait()
    except TimeoutError:
        note = f"(ended after {input.timeout:g} seconds, its time limit; give a larger timeout if it needs more)"
        return _outcome(tail.text(), note, None, started, context, timed_out=True)
    finally:
        process.kill()  # the whole group: whatever it left running, and everything when this is cancelled
        await process.wait()
    return _outcome(tail.text(), _end_note(code), code, started, context)


class _Tail:
    """Keeps the end of a long output."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._dropped = 0

    async def take(self, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            self._text += self._decoder.decode(chunk)
            if (excess := len(self._text) - KEPT) > KEPT // 4:
                self._text = self._text[excess:]
                self._dropped += excess

    def text(self) -> str:
        text = self._text + self._decoder.decode(b"", True)
        return f"[{self._dropped} earlier characters dropped]\n{text}" if self._dropped else text


def _check_env(env: dict[str, str]) -> None:
    for name in env:
        if name == "PATH" or name.startswith(_FORBIDDEN):
            raise ToolError(f"exec does not set {name}: it decides which programs run; name the program by its path")


def _end_note(code: int) -> str:
    if code == 0:
        return ""
    if code < 0:
        return f"(ended by signal {-code})"
    meaning = {126: ": not executable", 127: ": command not found"}.get(code, "")
    return f"(exit code {code}{meaning})"


def _outcome(
    text: str, note: str, code: int | None, started: float, context: ToolContext, *, timed_out: bool = False
) -> ToolOutcome:
    shown = clip(text.rstrip("\n"), SHOWN)
    parts = [part for part in (shown or ("" if note else "(no output)"), note) if part]
    return said(
        "\n\n".join(parts),
        is_error=code != 0,
        exit_code=code,
        timed_out=timed_out,
        duration_s=round(context.clock.monotonic() - started, 3),
    )


TOOL = FunctionTool(
    "exec",
    "Run a shell command in the workspace and wait for it. Input is empty; what it leaves running is ended with it.",
    Input,
    run,
    side_effects=True,
)
