"""`claw`: the embedded path. The agent calls the simulated provider through the vendor's own SDK, in process."""

import msgspec

from claw.core.messages import Message, TextPart, user
from claw.core.transcript import MessageEntry
from claw.host import HostProcesses
from claw.lab.runtimes._agent import SESSION, WORKSPACE, AgentRuntime
from claw.lab.runtimes._world import World
from claw.lab.schema import Scenario
from claw.lab.stage import Stage
from claw.ports import Processes
from claw.sessions import SessionStore
from simulators.shells.virtual_time import EPOCH

NAME = "claw"


class Embedded(AgentRuntime):
    name = NAME
    capabilities = frozenset(
        {
            "embedded", "tools", "streaming", "resume", "compaction", "profiles", "fallback", "kill", "report",
            "virtual_time", "provider:anthropic", "provider:openai", "provider:openai-chat", "provider:gemini",
        }
    )  # fmt: skip
    without_effect = frozenset({"cli_system_prompt_when", "usage_from", "compaction_coordination", "cli_tools", "cli"})

    def model(self, scenario: Scenario) -> str:
        return scenario.given.model

    def processes(self, stage: Stage, world: World) -> Processes:
        return HostProcesses()

    def write_history(self, turns: list[tuple[str, str]]) -> None:
        """As entries of the session, without usage: nobody has counted them yet."""
        from claw.lab.runtimes._agent import HOME

        session = SessionStore(self.files, HOME).open(SESSION, workspace=WORKSPACE, now=EPOCH)
        parent: str | None = None
        entries = []
        for asked, told in turns:
            for message in (user(asked), Message("assistant", (TextPart(told),))):
                entry = MessageEntry(id=self._ids.entry(), parent_id=parent, message=message)
                if message.role == "assistant":
                    model = self.model(self.stage.scenario)
                    entry = msgspec.structs.replace(entry, model=model, stop="end_turn")
                entries.append(entry)
                parent = entry.id
        session.append(entries, now=EPOCH)


def make() -> Embedded:
    """A fresh one for a play."""
    return Embedded()
