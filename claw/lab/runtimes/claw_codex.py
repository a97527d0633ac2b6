"""`claw:codex`: the CLI path. The agent drives the fake `codex` in process, which calls the simulated provider."""

from claw.lab.runtimes._agent import HOME
from claw.lab.runtimes._over_cli import OverCli
from claw.lab.stage import Stage

NAME = "claw:codex"
_CONFIG = """\
model_provider = "lab"
[analytics]
enabled = false
[model_providers.lab]
name = "lab"
base_url = "https://api.openai.com/v1"
env_key = "OPENAI_API_KEY"
"""


class OverCodex(OverCli):
    name = NAME
    backend, provider = "codex-cli", "openai"
    clis = ("codex",)
    capabilities = frozenset(
        {"cli", "tools", "streaming", "resume", "kill", "report", "virtual_time", "provider:openai"}
    )

    async def start(self, stage: Stage) -> None:
        await super().start(stage)
        self._put(f"{HOME}/.codex/config.toml", _CONFIG)

    def environment(self) -> dict[str, str]:
        return super().environment() | {"OPENAI_API_KEY": self.key}


def make() -> OverCodex:
    """A fresh one for a play."""
    return OverCodex()
