"""What `gemini` prints in each format: the answer as text, one JSON object, or a line for each thing that happens."""

import json
from collections.abc import Generator, Mapping
from typing import Any

from simulators.cli.effects import Effect, Now, Write
from simulators.cli.gemini.session import stamp
from simulators.cli.gemini.stats import Stats

Steps = Generator[Effect, Any, None]


class Output:
    """One run's stdout. `form` is text, json or stream-json."""

    def __init__(self, form: str, session: str) -> None:
        self.form, self.session = form, session
        self.text = ""

    def _line(self, kind: str, **body: Any) -> Steps:
        now = yield Now()
        row = {"type": kind, "timestamp": stamp(now), **body}
        line = json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n"
        yield Write(line.encode("utf-8", "surrogatepass"))

    def opened(self, model: str, prompt: str) -> Steps:
        if self.form == "stream-json":
            yield from self._line("init", session_id=self.session, model=model)
            yield from self._line("message", role="user", content=prompt)

    def said(self, text: str) -> Steps:
        self.text += text
        if self.form == "stream-json":
            yield from self._line("message", role="assistant", content=text, delta=True)
        elif self.form == "text":
            yield Write(text.encode("utf-8", "surrogatepass"))

    def tool_begins(self, id: str, name: str, given: Mapping[str, Any]) -> Steps:
        if self.form == "stream-json":
            yield from self._line("tool_use", tool_name=name, tool_id=id, parameters=given)
        self.text = ""

    def tool_ended(self, id: str, shown: str | None, error: tuple[str, str] | None) -> Steps:
        if self.form != "stream-json":
            return
        body: dict[str, Any] = {"tool_id": id, "status": "success" if error is None else "error"}
        if shown is not None:
            body["output"] = shown
        if error is not None:
            body["error"] = {"type": error[0], "message": error[1] if error[0] != "tool_not_registered" else shown}
        yield from self._line("tool_result", **body)

    def ended(self, stats: Stats, ms: int, invalid: str | None) -> Steps:
        """The run came to its end; `invalid` is what was wrong with the last answer."""
        if self.form == "stream-json":
            if invalid is not None:
                yield from self._line("error", severity="error", message=invalid)
            yield from self._line("result", status="error" if invalid else "success", stats=stats.short(ms))
        elif self.form == "json":
            found: dict[str, Any] = {"session_id": self.session, "response": self.text, "stats": stats.full()}
            if invalid is not None:
                found["error"] = {"type": "INVALID_STREAM", "message": invalid}
            yield Write(json.dumps(found, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        else:
            yield Write(b"\n")

    def failed(self, stats: Stats, message: str, shown: str, code: int | None) -> Steps:
        """The run failed: stream-json says so in its result, json in an object on stderr."""
        if self.form == "stream-json":
            said = {"type": "unknown", "message": shown}
            yield from self._line("result", status="error", error=said, stats=stats.short(0))
        elif self.form == "json":
            error: dict[str, Any] = {"type": "Error", "message": message}
            if code is not None:
                error["code"] = code
            data = json.dumps({"session_id": self.session, "error": error}, indent=2, ensure_ascii=False)
            yield Write(f"{data}\n".encode("utf-8", "surrogatepass"), "stderr")
        else:
            yield Write(b"An unexpected critical error occurred:[object Object]\n", "stderr")
