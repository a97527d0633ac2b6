"""`claw:claude`: the CLI path. The agent drives the fake `claude` in process, which calls the simulated provider."""

from claw.core.messages import Message, TextPart, user
from claw.core.transcript import CustomEntry, KnownEntry, MessageEntry
from claw.host import HostProcesses
from claw.lab.claude_transcript import transcript
from claw.lab.parts import account_key, profiles
from claw.lab.runtimes._agent import HOME, SESSION, WORKSPACE, AgentRuntime
from claw.lab.runtimes._world import World
from claw.lab.schema import Scenario
from claw.lab.stage import Stage
from claw.ports import Processes
from claw.sessions import SessionStore
from simulators.shells.cli_processes import FakeProcesses
from simulators.shells.virtual_time import EPOCH

NAME = "claw:claude"
BACKEND = "claude-cli"


class OverClaude(AgentRuntime):
    name = NAME
    clis = ("claude",)
    capabilities = frozenset(
        {"cli", "tools", "streaming", "resume", "compaction", "kill", "report", "virtual_time", "provider:anthropic"}
    )

    # The CLI makes the calls: it retries, compacts, streams and caches as it sees fit.
    without_effect = frozenset({"honour_retry_after", "compaction", "stream", "cache", "retry", "profiles"})

    def accepts(self, scenario: Scenario) -> str | None:
        provider = scenario.given.model.partition("/")[0]
        return None if provider in ("anthropic", BACKEND) else f"Claude Code has no models of {provider}"

    def model(self, scenario: Scenario) -> str:
        return f"{BACKEND}/{scenario.given.model.partition('/')[2]}"

    def processes(self, stage: Stage, world: World) -> Processes:
        return FakeProcesses(
            stage.provider,
            config=stage.scenario.cli,
            fallback=HostProcesses(),
            seed=stage.seed,
            real_path=world.real_text,
        )

    def environment(self) -> dict[str, str]:
        """The CLI knows one account: the first."""
        key = account_key(profiles(self.stage.scenario)[0])
        return super().environment() | {
            "ANTHROPIC_BASE_URL": "https://api.anthropic.com",
            "ANTHROPIC_API_KEY": key,
        }

    def write_history(self, turns: list[tuple[str, str]]) -> None:
        """As a session of ours that a session of the CLI holds, and as that one's transcript."""
        cli_session = self._ids.session()
        model = self.model(self.stage.scenario)
        entries: list[KnownEntry] = [
            CustomEntry(
                id=self._ids.entry(),
                parent_id=None,
                custom_type="cli_session",
                data={"backend": BACKEND, "session": cli_session, "workspace": WORKSPACE},
            )
        ]
        for asked, told in turns:
            for message in (user(asked), Message("assistant", (TextPart(told),))):
                spoken = {"model": model, "stop": "end_turn"} if message.role == "assistant" else {}
                entries.append(
                    MessageEntry(id=self._ids.entry(), parent_id=entries[-1].id, message=message, **spoken)  # type: ignore[arg-type]
                )
        SessionStore(self.files, HOME).open(SESSION, workspace=WORKSPACE, now=EPOCH).append(entries, now=EPOCH)
        path, data = transcript(
            turns,
            session=cli_session,
            home=HOME,
            cwd=WORKSPACE,
            version=self.stage.scenario.cli.get("version", {}).get("claude"),
            model=model.partition("/")[2],
            count=self.stage.count,
            ids=self._ids,
        )
        self.files.write(path, data)


def make() -> OverClaude:
    """A fresh one for a play."""
    return OverClaude()
