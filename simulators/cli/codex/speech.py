"""How app-server tells its client of a turn: notifications, and requests where somebody has to agree."""

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from simulators.cli.codex import appserver_items as shapes
from simulators.cli.codex.api import Trouble
from simulators.cli.codex.run import Listener, Run, Tell
from simulators.cli.codex.tools import Ran
from simulators.cli.effects import Effect, HearServer, Now, StartServer

if TYPE_CHECKING:
    from simulators.cli.codex.appserver import Wire

_GLANCE_S = 0.1  # how often the client's lines are looked at while a tool runs


class Speech(Listener):
    """One thread's listener. `wire` is the client."""

    def __init__(self, run: Run, wire: "Wire") -> None:
        self.run, self.wire = run, wire
        self._began: dict[str, int] = {}
        self._last: dict[str, Any] | None = None
        self._tools = 0
        self.interrupted = False

    @property
    def _where(self) -> dict[str, str]:
        return {"threadId": self.run.thread.id, "turnId": self.run.turn.id}

    def _status(self, kind: str, *flags: str) -> Tell:
        status: dict[str, Any] = {"type": kind}
        if kind == "active":
            status["activeFlags"] = list(flags)
        yield from self.wire.notify("thread/status/changed", {"threadId": self.run.thread.id, "status": status})

    def opened(self) -> Tell:
        """The turn begins."""
        self._last, self.interrupted = None, False
        yield from self._status("active")
        turn = shapes.turn(self.run, "inProgress", started=True)
        yield from self.wire.notify("turn/started", {"threadId": self.run.thread.id, "turn": turn})

    def closed(self, trouble: Trouble | None) -> Tell:
        """The turn is over."""
        failed = trouble is not None and trouble.retry != "interrupted"
        yield from self._status("systemError" if failed else "idle")
        if failed and trouble is not None:
            said = {"error": shapes.error(trouble), "willRetry": False, **self._where}
            yield from self.wire.notify("error", said)
        now = yield Now()
        status = "completed" if trouble is None else "failed" if failed else "interrupted"
        items = [self._last] if self._last is not None and trouble is None else []
        turn = shapes.turn(self.run, status, started=True, ended=now, items=items, trouble=trouble if failed else None)
        yield from self.wire.notify("turn/completed", {"threadId": self.run.thread.id, "turn": turn})

    def started(self, item: Mapping[str, Any]) -> Tell:
        now = yield Now()
        self._began[item["id"]] = at = int(now * 1000)
        shown = shapes.item(item, at, None)
        yield from self.wire.notify("item/started", {"item": shown, **self._where, "startedAtMs": at})

    def completed(self, item: Mapping[str, Any]) -> Tell:
        now = yield Now()
        at = int(now * 1000)
        shown = shapes.item(item, self._began.pop(item["id"], at), at)
        if item["type"] == "agentMessage":
            self._last = shown
        said = {"item": shown, **self._where, "contentTokenCount": None, "completedAtMs": at}
        yield from self.wire.notify("item/completed", said)

    def delta(self, item: str, text: str) -> Tell:
        yield from self.wire.notify("item/agentMessage/delta", {**self._where, "itemId": item, "delta": text})

    def reconnecting(self, attempt: int, limit: int, why: str) -> Tell:
        info = {"responseStreamDisconnected": {"httpStatusCode": None}}
        error = {"message": f"Reconnecting... {attempt}/{limit}", "codexErrorInfo": info, "additionalDetails": why}
        said = {"error": {**error, "misalignment": None}, "willRetry": True, **self._where}
        yield from self.wire.notify("error", said)

    def tokens(self, run: Run) -> Tell:
        last = (run.thread.info or {}).get("last_token_usage") or {}
        usage = {
            "total": run.thread.totals.camel(),
            "last": shapes.camel_usage(last),
            "modelContextWindow": run.window,
        }
        yield from self.wire.notify("thread/tokenUsage/updated", {**self._where, "tokenUsage": usage})
        yield from self.wire.notify("account/rateLimits/updated", {"rateLimits": shapes.RATE_LIMITS})

    def approve(self, item: Mapping[str, Any]) -> Generator[Effect, Any, str]:
        yield from self._status("active", "waitingOnApproval")
        at = self._began.get(item["id"], 0)
        kind = "commandExecution" if item["type"] == "commandExecution" else "fileChange"
        params = shapes.approval(item, self._where, at)
        number, result = yield from self.wire.ask(f"item/{kind}/requestApproval", params)
        resolved = {"threadId": self.run.thread.id, "requestId": number}
        yield from self.wire.notify("serverRequest/resolved", resolved)
        yield from self._status("active")
        decision = (result or {}).get("decision", "cancel")
        return "acceptForSession" if isinstance(decision, dict) else str(decision)

    def stop(self) -> Generator[Effect, Any, bool]:
        """Look whether the client wants the turn to end; everything else that it sent waits."""
        yield from self.wire.glance()
        for message in list(self.wire.waiting):
            params = message.get("params") or {}
            if message.get("method") == "turn/interrupt" and params.get("threadId") == self.run.thread.id:
                self.wire.waiting.remove(message)
                yield from self.wire.send({"id": message.get("id"), "result": {}})
                self.interrupted = True
        return self.interrupted

    def execute(self, argv: list[str], cwd: str) -> Tell:
        """A command line by line, so that an interrupt is seen while it runs."""
        began = yield Now()
        self._tools += 1
        name, mark = f"tool{self._tools}", f"::{self.run.ids.hex(32)}::"
        script = 'cd "$1" && shift; mark=$1; shift; "$@" 2>&1; printf "%s%d\\n" "$mark" "$?"'
        started = yield StartServer(name, ["/bin/bash", "-c", script, "tool", cwd, mark, *argv], {})
        parts: list[str] = []
        while started:
            line = yield HearServer(name, _GLANCE_S)
            text = bytes(line).decode("utf-8", "replace")
            head, found, code = text.partition(mark)
            if found:
                ended = yield Now()
                return Ran(int(code), "".join(parts) + head, ended - began)
            parts.append(text)
            if (yield from self.stop()):  # what the tool began goes on until the program ends
                ended = yield Now()
                return Ran(130, "".join(parts), ended - began, aborted=True)
        return Ran(127, "")
