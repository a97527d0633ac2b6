"""Reads one run of `codex exec --json`.

`turn.completed` has figures that are cumulative over the thread, earlier processes included; this run's are what they
grew by since the last (a thread that overflowed begins to count anew). They are the last call's only if there was one
call; else nothing is told rather than something wrong.
`error` lines are notices unless `turn.failed` follows. A stream that broke after a whole message is asked for again,
and the message comes twice: one that is followed by a reconnect is held back and dropped.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from claw.cli_backends._codex_failures import classify
from claw.cli_backends._lines import JsonLines
from claw.cli_backends._messages import whole_message
from claw.core.calls import CliEvent, CliReply, CliRetry, CliRun, CliSession, CliTool, CliUsage
from claw.core.errors import FailureKind, ProviderFailure
from claw.core.usage import Usage

_RECONNECT = re.compile(r"^Reconnecting(?:\.{3}|…)\s*(\d+)/(\d+)\s*(?:\((.*)\))?$", re.DOTALL)
_STATUS = re.compile(r"\bstatus:? (\d{3})\b")
_TOOL_TEXT = 64 * 1024  # characters of a tool's output that an event carries
_NAMES = {"command_execution": "shell", "file_change": "apply_patch", "web_search": "web_search"}


def usage_of(figures: Any) -> Usage:
    """Usage from codex's keys, in which input includes what was cached or written."""
    if not isinstance(figures, Mapping):
        return Usage()
    read, written = _int(figures.get("cached_input_tokens")), _int(figures.get("cache_write_input_tokens"))
    return Usage(
        input=max(_int(figures.get("input_tokens")) - read - written, 0),
        cache_read=read,
        cache_write_5m=written,
        output=_int(figures.get("output_tokens")),
        reasoning=_int(figures.get("reasoning_output_tokens")),
    )


def _grown(thread: Usage, spent: Usage | None) -> Usage | None:
    """What was added since; None if nobody knows from where. Figures that fell were begun anew."""
    if spent is None:
        return None
    if thread.context_tokens < spent.context_tokens:
        return thread
    return Usage(
        input=max(thread.input - spent.input, 0),
        cache_read=max(thread.cache_read - spent.cache_read, 0),
        cache_write_5m=max(thread.cache_write_5m - spent.cache_write_5m, 0),
        output=max(thread.output - spent.output, 0),
        reasoning=max(thread.reasoning - spent.reasoning, 0),
    )


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


class CodexDecoder:
    """A `CliDecoder`."""

    def __init__(self, run: CliRun) -> None:
        self._run = run
        self._lines = JsonLines()
        self._held: tuple[str, str] | None = None  # id and text of a message that may come again
        self._text = ""
        self._shown = self._acted = False
        self._open: set[str] = set()
        self._error = ""  # the last error line
        self._warnings: list[str] = []
        self._failed: str | None = None
        self._done: Mapping[str, Any] | None = None
        self._tools = 0

    def feed(self, data: bytes) -> Sequence[CliEvent]:
        return [event for record in self._lines.feed(data) for event in self._record(record)]

    def finish(self, exit_code: int, stderr: bytes) -> Sequence[CliEvent]:
        out = [event for record in self._lines.close() for event in self._record(record)]
        out += self._let_go()
        if self._done is not None:
            out += self._usage(self._done)
        out.append(self._reply(exit_code, stderr.decode("utf-8", "replace")))
        return out

    def _usage(self, figures: Mapping[str, Any]) -> list[CliEvent]:
        thread = usage_of(figures)
        out: list[CliEvent] = [CliUsage(thread, "session_total")]
        used = _grown(thread, self._run.spent) if self._run.resume else thread
        if used is None:
            return out
        if not self._tools and used.context_tokens:
            out.append(CliUsage(used, "last_call", context_window=self._run.context_window))
        return [*out, CliUsage(used, "run_total")]

    def _record(self, record: Mapping[str, Any]) -> list[CliEvent]:
        item = record.get("item")
        match record.get("type"):
            case "thread.started" if record.get("thread_id"):
                return [CliSession(str(record["thread_id"]))]
            case "item.started" | "item.updated" | "item.completed" if isinstance(item, Mapping):
                return self._item(str(record["type"]), item)
            case "turn.completed":
                usage = record.get("usage")
                self._done = usage if isinstance(usage, Mapping) else {}
                return self._let_go()
            case "turn.failed":
                error = record.get("error")
                said = error.get("message") if isinstance(error, Mapping) else None
                self._failed = str(said or self._error or "the turn failed")
            case "error":
                return self._notice(str(record.get("message") or ""))
        return []

    def _notice(self, message: str) -> list[CliEvent]:
        found = _RECONNECT.match(message)
        if not found:
            self._error = message
            return []
        self._held = None
        status = _STATUS.search(found[3] or "")
        code = int(status[1]) if status else None
        return [CliRetry(attempt=int(found[1]), delay_s=0.0, status=code, error=found[3] or "reconnecting")]

    def _item(self, phase: str, item: Mapping[str, Any]) -> list[CliEvent]:
        kind, id = str(item.get("type") or ""), str(item.get("id") or "")
        if kind in ("agent_message", "reasoning", "error", ""):
            return self._spoken(kind, id, item) if phase == "item.completed" else []
        out = self._let_go()
        name = _NAMES.get(kind) or str(item.get("tool") or kind)
        if id not in self._open and phase != "item.updated":
            self._open.add(id)
            self._acted = True
            self._tools += 1
            out.append(CliTool(id=id, name=name, phase="start", input=_input(item)))
        if phase == "item.completed":
            self._open.discard(id)
            ok = item.get("status") not in ("failed", "declined")
            text = str(item.get("aggregated_output") or "")[:_TOOL_TEXT]
            out.append(CliTool(id=id, name=name, phase="end", ok=ok, text=text))
        return out

    def _spoken(self, kind: str, id: str, item: Mapping[str, Any]) -> list[CliEvent]:
        if kind == "error":
            self._warnings.append(str(item.get("message") or ""))
            return []
        out = self._let_go()
        text = str(item.get("text") or "")
        if kind == "reasoning":
            return [*out, *whole_message(id, self._run.model, text, thinking=True)]
        self._held = (id, text)
        return out

    def _let_go(self) -> list[CliEvent]:
        """A held message is one after all."""
        if self._held is None:
            return []
        (id, text), self._held = self._held, None
        self._text, self._shown = text, True
        return whole_message(id, self._run.model, text)

    def _reply(self, exit_code: int, stderr: str) -> CliReply:
        if self._failed is not None or self._done is None:
            return self._unanswered(exit_code, stderr)
        if exit_code != 0:
            return self._failure(stderr.strip() or f"codex ended with code {exit_code}", exit_code)
        if not self._text:
            return self._failure("", 0, kind=FailureKind.EMPTY_RESPONSE, message="the CLI ended well and said nothing")
        return CliReply(text=self._text, stop="end_turn")

    def _unanswered(self, exit_code: int, stderr: str) -> CliReply:
        if self._failed is not None:
            stop = "max_tokens" if "max_output_tokens" in self._failed else "error"
            return self._failure(self._failed, exit_code, stop=stop)
        if self._shown or self._acted:
            why = f"the CLI ended with code {exit_code} in the middle of its answer"
            return self._failure("", exit_code, kind=FailureKind.TRUNCATED, message=why)
        if exit_code == 0 and not self._error:
            noise = b"\n".join(self._lines.noise).decode("utf-8", "replace")
            said = noise or "the CLI ended well and said nothing"
            return self._failure("", 0, kind=FailureKind.EMPTY_RESPONSE, message=said)
        return self._failure(self._error or stderr.strip()[-500:], exit_code)

    def _failure(
        self, text: str, exit_code: int, *, kind: FailureKind | None = None, message: str = "", stop: str = "error"
    ) -> CliReply:
        acted = self._shown or self._acted
        raw = {"exit_code": exit_code, "warnings": self._warnings}
        if kind is not None:
            failure = ProviderFailure(kind=kind, message=message, replay_safe=not acted, raw=raw)
        else:
            failure = classify(text, exit_code, acted=acted, raw=raw)
        return CliReply(text=self._text, stop=stop, failure=failure)


def _input(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in ("command", "changes", "arguments", "query", "server") if key in item}
