"""gemini-cli as a back end of claw (`--model gemini-cli/MODEL`). Behaviour: release 0.61.0.

The CLI has no flag for a system prompt, so that it goes before the prompt, marked as instructions; a resumed session
still holds the first one, and with `always` it is said again on every run. The prompt goes to stdin: without a
terminal that is a headless run. Keys and base URL are the environment's.
"""

import msgspec

from claw.cli_backends._gemini_decoder import GeminiDecoder
from claw.core.calls import CliCommand, CliDecoder, CliRun
from claw.core.errors import ClawError


class Gemini(msgspec.Struct, frozen=True, kw_only=True):
    """A `CliBackend`. `approval_mode`: default (no tool that writes), auto_edit or yolo (all tools, the shell too)."""

    name: str = "gemini-cli"
    program: str = "gemini"
    clear_env: tuple[str, ...] = ("GEMINI_CLI", "GEMINI_SYSTEM_MD")
    approval_mode: str = "yolo"

    def command(self, run: CliRun) -> CliCommand:
        """The command line of one run. Raises `ClawError` for what gemini cannot be given."""
        if run.tools != "native":
            raise ClawError(f"gemini-cli runs its own tools only: set cli_tools = native, not {run.tools}")
        argv = [self.program, "--skip-trust", "--approval-mode", self.approval_mode, "--output-format", "stream-json"]
        if run.model and run.model != "default":
            argv += ["--model", run.model]
        if run.resume and run.cli_session:
            argv += ["--resume", run.cli_session]
        return CliCommand(argv=tuple(argv), stdin=self._prompt(run).encode(), clear_env=self.clear_env)

    def decoder(self, run: CliRun) -> CliDecoder:
        return GeminiDecoder(run)

    def _prompt(self, run: CliRun) -> str:
        wanted = run.prompt_when == "always" or (run.prompt_when == "first" and not run.resume)
        if not run.system or not wanted:
            return run.prompt
        return f"<instructions>\n{run.system}\n</instructions>\n\n{run.prompt}"


BACKEND = Gemini()
