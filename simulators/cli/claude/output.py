"""What the CLI prints: one line an event, one object, or the bare text, by `--output-format`."""

from collections.abc import Generator
from typing import Any

from simulators.cli.claude.flags import Options
from simulators.cli.claude.session import dump
from simulators.cli.effects import Effect, Write

Event = dict[str, Any]
Steps = Generator[Effect, Any, None]


class Output:
    """Writes events as the chosen format has them. In text and json nothing comes before the result."""

    def __init__(self, options: Options) -> None:
        self.streams = options.output_format == "stream-json"
        self.partial = self.streams and options.include_partial_messages
        self._format = options.output_format
        self._keeps = options.output_format == "json" and options.verbose
        self._kept: list[Event] = []
        self.results = 0

    def event(self, event: Event) -> Steps:
        """Print an event, or keep it for the array that `json` with `--verbose` prints."""
        if self.streams:
            yield Write(_line(event))
        elif self._keeps:
            self._kept.append(event)

    def result(self, event: Event) -> Steps:
        """Print the last word of a turn."""
        self.results += 1
        if self.streams:
            yield Write(_line(event))
        elif self._keeps:
            yield Write(_line([*self._kept, event]))
        elif self._format == "json":
            yield Write(_line(event))
        else:
            yield Write((_text(event) + "\n").encode("utf-8", "surrogatepass"))

    def error(self, text: str) -> Steps:
        """A line on stderr."""
        yield Write((text + "\n").encode("utf-8", "surrogatepass"), "stderr")


def _line(value: Any) -> bytes:
    return (dump(value) + "\n").encode("utf-8", "surrogatepass")


def _text(event: Event) -> str:
    if event["subtype"] == "error_max_turns":
        return f"Error: Reached max turns ({event['num_turns'] - 1})"
    if event["subtype"] != "success":
        return "Execution error"
    return str(event.get("result", ""))
