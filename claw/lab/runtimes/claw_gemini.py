"""`claw:gemini`: the CLI path. The agent drives the fake `gemini` in process, which calls the simulated provider."""

from claw.lab.runtimes._over_cli import OverCli

NAME = "claw:gemini"


class OverGemini(OverCli):
    name = NAME
    backend, provider = "gemini-cli", "gemini"
    clis = ("gemini",)
    capabilities = frozenset(
        {"cli", "tools", "streaming", "resume", "kill", "report", "virtual_time", "provider:gemini"}
    )

    def environment(self) -> dict[str, str]:
        base = "https://generativelanguage.googleapis.com"
        return super().environment() | {"GEMINI_API_KEY": self.key, "GOOGLE_GEMINI_BASE_URL": base}


def make() -> OverGemini:
    """A fresh one for a play."""
    return OverGemini()
