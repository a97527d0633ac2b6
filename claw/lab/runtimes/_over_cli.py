"""What the CLI paths over the fakes of codex and gemini share: the agent drives a fake in process."""

from claw.core.messages import Message, TextPart, user
from claw.core.transcript import KnownEntry, MessageEntry
from claw.host import HostProcesses
from claw.lab.parts import account_key, profiles
from claw.lab.runtimes._agent import HOME, SESSION, WORKSPACE, AgentRuntime
from claw.lab.runtimes._world import World
from claw.lab.schema import Scenario
from claw.lab.stage import Stage
from claw.ports import Processes
from claw.sessions import SessionStore
from simulators.shells.cli_processes import FakeProcesses
from simulators.shells.virtual_time import EPOCH


class OverCli(AgentRuntime):
    """A sub-class names its back end and the provider whose models the CLI has."""

    backend = ""
    provider = ""

    # The CLI makes the calls: it retries, compacts, streams and caches as it sees fit.
    without_effect = frozenset(
        {
            "honour_retry_after", "compaction", "stream", "cache", "retry", "profiles", "compaction_coordination",
            "usage_from", "cli_tools",
        }
    )  # fmt: skip

    def accepts(self, scenario: Scenario) -> str | None:
        provider = scenario.given.model.partition("/")[0]
        return None if provider in (self.provider, self.backend) else f"{self.clis[0]} has no models of {provider}"

    def model(self, scenario: Scenario) -> str:
        return f"{self.backend}/{scenario.given.model.partition('/')[2]}"

    def processes(self, stage: Stage, world: World) -> Processes:
        return FakeProcesses(
            stage.provider,
            config=stage.scenario.cli,
            fallback=HostProcesses(),
            seed=stage.seed,
            real_path=world.real_text,
        )

    @property
    def key(self) -> str:
        """The CLI knows one account: the first."""
        return account_key(profiles(self.stage.scenario)[0])

    def write_history(self, turns: list[tuple[str, str]]) -> None:
        """As a session of ours that no session of the CLI holds yet: its first run is told of it."""
        session = SessionStore(self.files, HOME).open(SESSION, workspace=WORKSPACE, now=EPOCH)
        entries: list[KnownEntry] = []
        for asked, told in turns:
            for message in (user(asked), Message("assistant", (TextPart(told),))):
                entry = MessageEntry(
                    id=self._ids.entry(), parent_id=entries[-1].id if entries else None, message=message
                )
                entries.append(entry)
        session.append(entries, now=EPOCH)
