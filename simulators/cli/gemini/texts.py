"""Texts that gemini puts into a conversation; what is the vendor's prose there is filler of the same length here."""

from collections.abc import Sequence
from datetime import UTC, datetime

from simulators.cli.prose import prose

_MODES = {"default": 3, "plan": -154, "auto_edit": 2, "yolo": 0}  # characters more or less of the system prompt
TRUST = (
    "Gemini CLI is not running in a trusted directory. To proceed, either use `--skip-trust`, set the "
    "`GEMINI_CLI_TRUST_WORKSPACE=true` environment variable, or trust this directory in interactive mode. For more "
    "details, see https://geminicli.com/docs/cli/trusted-folders/#headless-and-automated-environments"
)
NO_KEY = (
    "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\n"
    "Update your environment and try again (no reload needed if using .env)!"
)
WAIT = (
    "\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio, "
    "or switch to another /auth method"
)
EMPTY_AGAIN = f"\n[System: {prose('gemini empty', 131)}]"  # said with the next try after an empty answer
ROUTER = prose("gemini router", 2175)


def system(model: str, mode: str, extra: str) -> str:
    """The system prompt; `extra` is what the user's own GEMINI.md says."""
    length = (23325 if "2.5" in model else 30336) + _MODES[mode]
    return prose(f"gemini system {model} {mode}", length) + (f"\n\n{extra}" if extra else "")


def session_context(now: float, cwd: str, temp: str, names: Sequence[str], loaded: str) -> str:
    """Where the agent is, and what the project's GEMINI.md says."""
    day = datetime.fromtimestamp(now, UTC)
    shown = "".join(f"{'└' if name == names[-1] else '├'}───{name}\n" for name in names)
    intro = prose("gemini context", 75)
    more = f"<loaded_context>\n{loaded}\n</loaded_context>\n" if loaded else "\n"
    return (
        f"<session_context>\n{intro}\nToday's date is {day:%A, %B} {day.day}, {day.year} "
        f"({prose('gemini locale', 40)})\nMy operating system is: linux\n"
        f"The project's temporary directory is: {temp}\n- **Workspace Directories:**\n  - {cwd}\n"
        f"- **Directory Structure:**\n\n{prose('gemini tree', 42)}\n\n{cwd}/\n{shown}\n\n{more}</session_context>"
    )


def project_context(files: Sequence[tuple[str, str]]) -> str:
    """What the project's files say, each with its place."""
    parts = [
        f"--- Context from: {path} ---\n{text.strip()}\n--- End of Context from: {path} ---" for path, text in files
    ]
    return "<project_context>\n" + "\n\n".join(parts) + "\n</project_context>" if parts else ""
