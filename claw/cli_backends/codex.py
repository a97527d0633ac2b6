"""codex as a back end of claw (`--model codex-cli/MODEL`). Behaviour: release 0.171.0.

The system prompt goes in as `developer_instructions`. codex records the first one with the thread and sends it on
every resume, whatever a later command line says, until it condenses the thread: then it takes those of the running
process. So `always` is right, and `first` loses them at the first compaction. Where the provider is and which key it
takes say codex's own config.toml and environment. `exec resume` takes no `--sandbox` and no `--color`, so that the
sandbox is a `-c` override on every run.
"""

import msgspec

from claw.cli_backends._codex_decoder import CodexDecoder
from claw.core.calls import CliCommand, CliDecoder, CliRun
from claw.core.errors import ClawError

MAX_ARGUMENT = 128 * 1024 - 1  # bytes of one argument on Linux (MAX_ARG_STRLEN)
_EFFORT = {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "xhigh"}


class Codex(msgspec.Struct, frozen=True, kw_only=True):
    """A `CliBackend`. `sandbox`: read-only, workspace-write or danger-full-access."""

    name: str = "codex-cli"
    program: str = "codex"
    clear_env: tuple[str, ...] = ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID")
    sandbox: str = "workspace-write"

    def command(self, run: CliRun) -> CliCommand:
        """The command line of one run; the prompt goes to stdin. Raises `ClawError` for what codex cannot be given."""
        if run.tools != "native":
            raise ClawError(f"codex-cli runs its own tools only: set cli_tools = native, not {run.tools}")
        argv = [self.program, "exec", "--json", "--skip-git-repo-check", "-c", f'sandbox_mode="{self.sandbox}"']
        if run.model and run.model != "default":
            argv += ["-m", run.model]
        if run.thinking in _EFFORT:
            argv += ["-c", f'model_reasoning_effort="{_EFFORT[run.thinking]}"']
        if run.context_window:
            argv += ["-c", f"model_context_window={run.context_window}"]
        argv += self._system(run)
        if run.resume and run.cli_session:
            argv += ["resume", run.cli_session]
        return CliCommand(argv=(*argv, "-"), stdin=run.prompt.encode(), clear_env=self.clear_env)

    def decoder(self, run: CliRun) -> CliDecoder:
        return CodexDecoder(run)

    def _system(self, run: CliRun) -> list[str]:
        wanted = run.prompt_when == "always" or (run.prompt_when == "first" and not run.resume)
        if not run.system or not wanted:
            return []
        word = f"developer_instructions={msgspec.json.encode(run.system).decode()}"  # JSON's strings are TOML's
        if len(word.encode()) > MAX_ARGUMENT:
            raise ClawError(
                f"the system prompt has {len(run.system.encode()):,} bytes and one argument takes {MAX_ARGUMENT:,}; "
                "shorten the workspace files that it is made of"
            )
        return ["-c", word]


BACKEND = Codex()
