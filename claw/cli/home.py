"""Where a user's claw lives, and how a command ends on a mistake: shared by the commands that run or read the agent."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from claw.core.errors import ClawError
from claw.runtime.config import Config, parse_config


def home() -> Path:
    """`$CLAW_HOME`, else `~/.claw`, absolute. Made, for its owner alone, by whoever writes into it."""
    return Path(os.environ.get("CLAW_HOME") or Path.home() / ".claw").expanduser().absolute()


def load_config(file: Path) -> Config:
    """The configuration in `file`, or the defaults if there is none. Raises `ClawError` naming file and line."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise ClawError(f"{file}: cannot be read: {error}") from None
    return parse_config(text, str(file))


def refuse(command: str, message: str) -> NoReturn:
    """End with exit code 2, bad input; nothing on stdout."""
    sys.stderr.write(f"{command}: {message}\n")
    raise SystemExit(2)


@contextmanager
def told(command: str) -> Iterator[None]:
    """Turns what a user has to put right into a line on stderr and exit code 2, and a closed pipe into a quiet end."""
    try:
        yield
        sys.stdout.flush()
    except ClawError as error:
        refuse(command, str(error))
    except BrokenPipeError:
        # The reader left. Without this the interpreter complains once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
