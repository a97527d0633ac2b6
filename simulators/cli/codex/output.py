"""What `codex exec` prints: lines of JSON on stdout, or a running report on stderr and the answer on stdout."""

import json
from collections.abc import Generator, Mapping
from typing import Any

from simulators.cli.codex.api import Trouble
from simulators.cli.codex.rollout import stamp
from simulators.cli.codex.run import Listener, Run
from simulators.cli.effects import Effect, Now, Write

Steps = Generator[Effect, Any, None]
_ROOTS = {"workspace-write": "workspace-write [workdir, /tmp, $TMPDIR]"}


class ExecOutput(Listener):
    """A run that is told about. A sub-class says how."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def opened(self) -> Steps:
        yield from ()

    def warning(self, message: str) -> Steps:
        yield from ()

    def turn_started(self) -> Steps:
        yield from ()

    def turn_ended(self, trouble: Trouble | None) -> Steps:
        yield from ()

    def log(self, target: str, message: str) -> Steps:
        now = yield Now()
        at = stamp(now).replace("Z", "000Z")
        yield Write(f"{at} ERROR {target}: {message}\n".encode("utf-8", "surrogatepass"), "stderr")


class JsonOutput(ExecOutput):
    """`--json`: one event a line. Items are numbered as they appear."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._numbers: dict[str, int] = {}
        self._next = 0

    def _event(self, kind: str, **body: Any) -> Steps:
        line = json.dumps({"type": kind, **body}, separators=(",", ":"), ensure_ascii=False) + "\n"
        yield Write(line.encode("utf-8", "surrogatepass"))

    def opened(self) -> Steps:
        yield from self._event("thread.started", thread_id=self.run.thread.id)

    def warning(self, message: str) -> Steps:
        yield from self._event("item.completed", item={"id": self._number(), "type": "error", "message": message})

    def turn_started(self) -> Steps:
        yield from self._event("turn.started")

    def turn_ended(self, trouble: Trouble | None) -> Steps:
        if trouble is None:
            yield from self._event("turn.completed", usage=self.run.thread.totals.public())
            return
        yield from self._event("error", message=trouble.message)
        yield from self._event("turn.failed", error={"message": trouble.message})

    def reconnecting(self, attempt: int, limit: int, why: str) -> Steps:
        yield from self._event("error", message=f"Reconnecting... {attempt}/{limit} ({why})")

    def started(self, item: Mapping[str, Any]) -> Steps:
        if item["type"] in ("commandExecution", "fileChange"):
            self._numbers[item["id"]] = self._next
            yield from self._event("item.started", item={"id": self._number(), **_public(item)})

    def completed(self, item: Mapping[str, Any]) -> Steps:
        public = _public(item)
        if not public:
            return
        known = self._numbers.pop(item["id"], None)
        number = self._number() if known is None else f"item_{known}"
        yield from self._event("item.completed", item={"id": number, **public})

    def _number(self) -> str:
        self._next += 1
        return f"item_{self._next - 1}"


def _public(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as `--json` shows it; {} for one that it does not show."""
    kind = item["type"]
    if kind == "agentMessage":
        return {"type": "agent_message", "text": item["text"]}
    if kind == "reasoning" and item["summary"]:
        return {"type": "reasoning", "text": "\n\n".join(item["summary"])}
    if kind == "commandExecution":
        status = {"inProgress": "in_progress"}.get(item["status"], item["status"])
        shown = {"command": item["command"], "aggregated_output": item.get("output", "")}
        return {"type": "command_execution", **shown, "exit_code": item.get("exitCode"), "status": status}
    if kind == "fileChange":
        status = {"inProgress": "in_progress"}.get(item["status"], item["status"])
        changes = [{"path": change["path"], "kind": change["kind"]} for change in item["changes"]]
        return {"type": "file_change", "changes": changes, "status": status}
    return {}


class PlainOutput(ExecOutput):
    """No `--json`: a report on stderr, the last message alone on stdout."""

    def __init__(self, run: Run, prompt: str) -> None:
        super().__init__(run)
        self._prompt = prompt

    def _say(self, text: str) -> Steps:
        yield Write(f"{text}\n".encode("utf-8", "surrogatepass"), "stderr")

    def opened(self) -> Steps:
        config, run = self.run.config, self.run
        lines = (
            f"OpenAI Codex v{run.version.name}",
            "--------",
            f"workdir: {run.thread.cwd}",
            f"model: {run.model.id}",
            f"provider: {config.provider.id}",
            f"approval: {config.approval}",
            f"sandbox: {_ROOTS.get(config.sandbox, config.sandbox)}",
            f"reasoning effort: {config.effort or 'none'}",
            f"reasoning summaries: {config.summary}",
            f"session id: {run.thread.id}",
            "--------",
            "user",
            self._prompt,
        )
        yield from self._say("\n".join(lines))

    def warning(self, message: str) -> Steps:
        yield from self._say(f"warning: {message}")

    def turn_ended(self, trouble: Trouble | None) -> Steps:
        if trouble is not None:
            for _ in range(2):
                yield from self._say(f"ERROR: {trouble.message}")
            return
        totals = self.run.thread.totals
        yield from self._say(f"tokens used\n{totals.input - totals.cached + totals.output:,}")
        if self.run.turn.last_message is not None:
            yield Write(f"{self.run.turn.last_message}\n".encode("utf-8", "surrogatepass"))

    def reconnecting(self, attempt: int, limit: int, why: str) -> Steps:
        yield from self._say(f"ERROR: Reconnecting... {attempt}/{limit}")

    def started(self, item: Mapping[str, Any]) -> Steps:
        if item["type"] == "fileChange":
            yield from self._say("apply patch")

    def completed(self, item: Mapping[str, Any]) -> Steps:
        if item["type"] == "agentMessage":
            yield from self._say(f"codex\n{item['text']}")
        elif item["type"] == "reasoning" and item["summary"]:
            yield from self._say("\n\n".join(item["summary"]))
        elif item["type"] == "fileChange":
            yield from self._say(f"patch: {item['status']}")
            for change in item["changes"]:
                yield from self._say(f"{change['path']}\n{change['git']}")
