"""Claude Code as a back end of claw (`--model claude-cli/MODEL`). Behaviour: releases 2.1.19 and 2.1.332.

Beside what the caller's environment holds nothing is taken from it that leads to the provider: `ANTHROPIC_BASE_URL`,
`ANTHROPIC_API_KEY` and `ANTHROPIC_AUTH_TOKEN` go through, because they are how the CLI finds a gateway or a simulator
(OpenClaw removes them, so that a subscription is used; `clear_env` of the configuration can do that). What goes is
the mark of an outer Claude Code, which would make the inner one behave as a part of it.
"""

import msgspec

from claw.cli_backends._claude_decoder import ClaudeDecoder
from claw.core.calls import CliCommand, CliDecoder, CliRun
from claw.core.errors import ClawError

NATIVE_TOOLS = ("Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "TodoWrite", "WebFetch", "WebSearch", "Write")
BORROWED_TOOLS = "mcp__claw"  # the bridge's server, all of its tools
MAX_ARGUMENT = 128 * 1024 - 1  # bytes of one argument on Linux (MAX_ARG_STRLEN)

_EFFORT = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}
_BUDGET = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 16384, "max": 32768}


class Claude(msgspec.Struct, frozen=True, kw_only=True):
    """A `CliBackend`; a runtime's configuration is laid over the command that it makes.

    `permission_mode` None leaves the CLI's default; `bypassPermissions` is refused by it for root. `allowed_tools`
    are the CLI's own tools that need no approval (there is nobody to ask in print mode).
    """

    name: str = "claude-cli"
    program: str = "claude"
    clear_env: tuple[str, ...] = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT")
    permission_mode: str | None = None
    allowed_tools: tuple[str, ...] = NATIVE_TOOLS

    def command(self, run: CliRun) -> CliCommand:
        """The command line of one run; the prompt goes to stdin. Raises `ClawError` for a system prompt too long."""
        argv = [self.program, "-p", "--output-format", "stream-json", "--verbose"]
        argv += ["--include-partial-messages", *self._model(run), *self._session(run), *self._system(run)]
        argv += self._tools(run)
        if self.permission_mode:
            argv += ["--permission-mode", self.permission_mode]
        if run.thinking in _EFFORT:
            argv += ["--effort", _EFFORT[run.thinking]]
        return CliCommand(
            argv=tuple(argv),
            stdin=run.prompt.encode(),
            env=self._environment(run),
            clear_env=self.clear_env,
        )

    def decoder(self, run: CliRun) -> CliDecoder:
        return ClaudeDecoder(run)

    def _model(self, run: CliRun) -> list[str]:
        """On a resumed run as well: 2.1.19 would go back to its default model, and a switch would have no effect."""
        return ["--model", run.model] if run.model and run.model != "default" else []

    def _session(self, run: CliRun) -> list[str]:
        if not run.cli_session:
            return []
        return ["--resume" if run.resume else "--session-id", run.cli_session]

    def _system(self, run: CliRun) -> list[str]:
        """`always` is right on every release: one that keeps a snapshot ignores the repetition until it compacts, and
        then renders the prompt anew from this very command line. `first` is the old behaviour that lost it."""
        wanted = run.prompt_when == "always" or (run.prompt_when == "first" and not run.resume)
        if not run.system or not wanted:
            return []
        if len(run.system.encode()) > MAX_ARGUMENT:
            raise ClawError(
                f"the system prompt has {len(run.system.encode()):,} bytes and one argument takes {MAX_ARGUMENT:,}; "
                "shorten the workspace files that it is made of"
            )
        return ["--append-system-prompt", run.system]

    def _tools(self, run: CliRun) -> list[str]:
        """Strict even without servers, so that the user's own MCP servers do not leak in."""
        argv = ["--strict-mcp-config"]
        if run.tools != "native" and run.mcp_config:
            argv += ["--mcp-config", run.mcp_config]
        if run.tools == "claw":
            argv += ["--tools", ""]
        allowed = () if run.tools == "claw" else self.allowed_tools
        allowed = allowed if run.tools == "native" else (*allowed, BORROWED_TOOLS)
        return [*argv, "--allowedTools", ",".join(allowed)] if allowed else argv

    def _environment(self, run: CliRun) -> dict[str, str]:
        env = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        if run.thinking in _BUDGET:
            env["MAX_THINKING_TOKENS"] = str(_BUDGET[run.thinking])
        if run.context_window:
            env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(run.context_window)
        return env


BACKEND = Claude()
