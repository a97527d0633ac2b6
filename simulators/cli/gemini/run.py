"""What a run of gemini is made of."""

from dataclasses import dataclass, field
from typing import Any

from simulators.cli.effects import Start
from simulators.cli.gemini.flags import Options
from simulators.cli.gemini.output import Output
from simulators.cli.gemini.session import Session
from simulators.cli.gemini.stats import Stats
from simulators.cli.gemini.versions import Version
from simulators.cli.ids import SeededIds
from simulators.cli.settings import Settings


@dataclass(slots=True)
class Run:
    """One start of the program."""

    start: Start
    options: Options
    version: Version
    settings: Settings
    session: Session
    output: Output
    ids: SeededIds
    model: str  # `auto`, or the model's name
    base: str
    key: str
    context: dict[str, Any]  # the message that tells where the agent is
    memory: str  # what the user's own GEMINI.md says
    stats: Stats = field(default_factory=Stats)
