"""Reads one run of Claude Code (`stream-json`, and the single object or array of `json`).

The final word is the `result` record. Its `usage` is the sum over the run's calls, so the context size is taken from
the last main-thread call instead; its `total_cost_usd` is cumulative over a resumed session in 2.1.332, so the cost
comes from `model_usage_since_last_result` where that is given.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from claw.cli_backends._claude_failures import SESSION_LOST, Evidence, classify
from claw.cli_backends._claude_messages import STOPS, Messages, usage_of
from claw.cli_backends._lines import JsonLines
from claw.core.calls import CliCompaction, CliEvent, CliReply, CliRetry, CliRun, CliSession, CliTool, CliUsage
from claw.core.errors import FailureKind, ProviderFailure
from claw.core.usage import Usage

_TOOL_TEXT = 64 * 1024  # characters of a tool's result that an event carries
_NESTED = 8  # how often a result may be wrapped in the text of another one


class ClaudeDecoder:
    """A `CliDecoder`. Sub-agents' records (`parent_tool_use_id` is set) are left out: they are another conversation."""

    def __init__(self, run: CliRun) -> None:
        self._run = run
        self._lines = JsonLines()
        self._messages = Messages()
        self._session = ""
        self._results: list[Mapping[str, Any]] = []
        self._total = Usage()
        self._synthetic = ""  # the CLI's own words, spoken as if by the model
        self._codes: list[str] = []
        self._retry: CliRetry | None = None  # the last one, as long as nothing came of it
        self._error = ""
        self._names: dict[str, str] = {}  # of tools, by call id
        self._compacting = False
        self._compacted = False

    def feed(self, data: bytes) -> Sequence[CliEvent]:
        out: list[CliEvent] = []
        for record in self._lines.feed(data):
            out += self._record(record)
        return out

    def finish(self, exit_code: int, stderr: bytes) -> Sequence[CliEvent]:
        out: list[CliEvent] = []
        for record in self._lines.close():
            out += self._record(record)
        out += self._messages.close()
        if self._compacting:
            self._compacting = False
            out.append(CliCompaction(phase="end", ok=False))
        if self._results:
            out.append(self._run_total())
        out.append(self._reply(exit_code, stderr.decode("utf-8", "replace")))
        return out

    def _record(self, record: Mapping[str, Any]) -> list[CliEvent]:
        if record.get("parent_tool_use_id"):
            return []
        out: list[CliEvent] = []
        lost = record.get("type") == "result" and SESSION_LOST in str(record.get("errors"))
        session = record.get("session_id")  # 2.1.19 invents one when it cannot find the session that was asked for
        if isinstance(session, str) and session and session != self._session and not lost:
            self._session = session
            out.append(CliSession(session))
        message = record.get("message")
        match record.get("type"):
            case "stream_event" if isinstance(record.get("event"), Mapping):
                out += self._tools_named(self._messages.stream_event(record["event"]))
            case "assistant" if isinstance(message, Mapping):
                out += self._assistant(record, message)
            case "user":
                out += self._messages.close()
                out += self._tool_results(message)
            case "system":
                out += self._system(record)
            case "result":
                out += self._result(record)
            case "error":
                self._error = _text(record.get("error")) or _text(record.get("message")) or "the CLI reported an error"
        return out

    def _tools_named(self, events: list[CliEvent]) -> list[CliEvent]:
        self._names |= {event.id: event.name for event in events if isinstance(event, CliTool)}
        return events

    def _assistant(self, record: Mapping[str, Any], message: Mapping[str, Any]) -> list[CliEvent]:
        if message.get("model") != "<synthetic>":
            self._retry = None
            return self._tools_named(self._messages.snapshot(message))
        self._synthetic = _text(message.get("content"))
        self._codes = [str(record[key]) for key in ("api_error_type", "api_error", "error") if record.get(key)]
        return []

    def _tool_results(self, message: Any) -> list[CliEvent]:
        content = message.get("content") if isinstance(message, Mapping) else None
        out: list[CliEvent] = []
        for block in content if isinstance(content, list) else []:
            if isinstance(block, Mapping) and block.get("type") == "tool_result":
                id = str(block.get("tool_use_id") or "")
                text = _text(block.get("content"))[:_TOOL_TEXT]
                out.append(
                    CliTool(id=id, name=self._names.get(id, ""), phase="end", ok=not block.get("is_error"), text=text)
                )
        return out

    def _system(self, record: Mapping[str, Any]) -> list[CliEvent]:
        match record.get("subtype"):
            case "api_retry":
                self._retry = _retry(record)
                return [*self._messages.retried(), self._retry]
            case "status" if record.get("status") == "compacting":
                if self._compacting:
                    return []
                self._compacting = True
                return [*self._messages.close(), CliCompaction(phase="start")]
            case "status" if record.get("compact_result") == "failed" and self._compacting:
                self._compacting = False
                return [CliCompaction(phase="end", ok=False)]
            case "compact_boundary":
                return self._boundary(record)
        return []

    def _boundary(self, record: Mapping[str, Any]) -> list[CliEvent]:
        facts = record.get("compact_metadata")
        facts = facts if isinstance(facts, Mapping) else {}
        trigger = str(facts.get("trigger") or "auto")
        begun: list[CliEvent] = [] if self._compacting else [CliCompaction(phase="start", trigger=trigger)]
        self._compacting, self._compacted = False, True
        end = CliCompaction(
            phase="end", trigger=trigger, pre_tokens=facts.get("pre_tokens"), post_tokens=facts.get("post_tokens")
        )
        return [*self._messages.close(), *begun, end]

    def _result(self, record: Mapping[str, Any]) -> list[CliEvent]:
        usage = usage_of(record.get("usage"))
        self._total += usage
        self._results.append(record)
        return self._messages.close(usage)

    def _run_total(self) -> CliUsage:
        parts = [result.get("model_usage_since_last_result") for result in self._results]
        if all(isinstance(part, Mapping) for part in parts):
            models = [model for part in parts if isinstance(part, Mapping) for model in part.values()]
            return CliUsage(self._total, "run_total", sum(map(_cost, models)), self._window())
        cost = self._results[-1].get("total_cost_usd")
        return CliUsage(self._total, "run_total", cost if isinstance(cost, int | float) else None, self._window())

    def _window(self) -> int | None:
        models = self._results[-1].get("modelUsage")
        models = models if isinstance(models, Mapping) else {}
        facts = models.get(self._messages.last_model)
        if facts is None and models:
            facts = max(models.values(), key=lambda f: f.get("inputTokens") or 0 if isinstance(f, Mapping) else 0)
        window = facts.get("contextWindow") if isinstance(facts, Mapping) else None
        return window if isinstance(window, int) else self._run.context_window

    def _reply(self, exit_code: int, stderr: str) -> CliReply:
        if not self._results:
            return self._without_result(exit_code, stderr)
        result = _unwrapped(self._results[-1])
        text = str(result.get("result") or "")
        errors = [e for e in result.get("errors") or [] if isinstance(e, str)]
        synthetic_error = bool(self._synthetic) and text == self._synthetic and text.startswith("API Error:")
        failed = result.get("is_error") or errors or str(result.get("subtype")).startswith("error")
        if failed or synthetic_error or result.get("status") == "error":
            return self._failed(text or "\n".join(errors), exit_code, stderr, result)
        if text.strip() == "No response requested." and self._synthetic == text:
            return self._failed(text, exit_code, stderr, result)
        if self._messages.unfinished:
            return self._broken(FailureKind.TRUNCATED, "the CLI took a stream for whole that never ended", result, text)
        text = text or self._messages.last_text
        if not text and not self._compacted and not result.get("local_command"):
            return self._broken(FailureKind.EMPTY_RESPONSE, "the CLI ended well and said nothing", result)
        stop = result.get("stop_reason")
        known = isinstance(stop, str) and stop in STOPS - {"tool_use", "error"}
        return CliReply(text=text, stop=str(stop) if known else "end_turn")

    def _without_result(self, exit_code: int, stderr: str) -> CliReply:
        heard = self._messages
        noise = b"\n".join(self._lines.noise).decode("utf-8", "replace")
        if self._error:
            return self._failed(self._error, exit_code, stderr, {})
        if exit_code == 0 and heard.last_stop == "end_turn" and heard.last_text and not heard.unfinished:
            return CliReply(text=heard.last_text, stop="end_turn")
        if self._synthetic:
            return self._failed(self._synthetic, exit_code, stderr, {})
        if heard.shown or heard.acted or heard.unfinished:
            why = f"the CLI ended with code {exit_code} in the middle of its answer"
            return self._broken(FailureKind.TRUNCATED, why, {}, heard.last_text)
        if exit_code == 0:
            return self._broken(FailureKind.EMPTY_RESPONSE, noise or "the CLI ended well and said nothing", {})
        if self._retry is not None:  # it was ended while it waited to ask again
            self._codes = [self._retry.error]
            return self._failed("", exit_code, stderr, {"api_error_status": self._retry.status})
        return self._failed("", exit_code, stderr or noise, {})

    def _failed(self, text: str, exit_code: int, stderr: str, result: Mapping[str, Any]) -> CliReply:
        status = result.get("api_error_status")
        subtype = str(result.get("subtype") or "").removeprefix("error_")
        failure = classify(
            Evidence(
                text=text,
                stderr=stderr,
                status=status if isinstance(status, int) else None,
                terminal_reason=str(result.get("terminal_reason") or ""),
                codes=(*self._codes, subtype),
                exit_code=exit_code,
                acted=self._messages.shown or self._messages.acted,
                raw=_raw(result) | {"exit_code": exit_code, "codes": self._codes},
            )
        )
        refused = failure.kind is FailureKind.REFUSED and result.get("stop_reason") == "refusal"
        stop = "refusal" if refused else "max_tokens" if "max_output_tokens" in self._codes else "error"
        return CliReply(text=self._messages.last_text, stop=stop, failure=failure)

    def _broken(self, kind: FailureKind, message: str, result: Mapping[str, Any], text: str = "") -> CliReply:
        acted = self._messages.shown or self._messages.acted
        failure = ProviderFailure(kind=kind, message=message, replay_safe=not acted, raw=_raw(result))
        return CliReply(text=text, stop="error", failure=failure)


def _retry(record: Mapping[str, Any]) -> CliRetry:
    delay, status = record.get("retry_delay_ms"), record.get("error_status")
    return CliRetry(
        attempt=record.get("attempt") or 0,
        delay_s=delay / 1000 if isinstance(delay, int | float) else 0.0,
        status=status if isinstance(status, int) else None,
        error=str(record.get("error") or "unknown"),
    )


def _text(content: Any) -> str:
    """Text of a string, of blocks, or of an error object."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _text(content.get("text") or content.get("message") or content.get("content"))
    return "".join(_text(item) for item in content) if isinstance(content, list) else ""


def _cost(model: Any) -> float:
    value = model.get("costUSD") if isinstance(model, Mapping) else None
    return value if isinstance(value, int | float) else 0.0


def _unwrapped(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The innermost result where one came wrapped in the text of another."""
    for _ in range(_NESTED):
        text = result.get("result")
        if not isinstance(text, str) or not text.lstrip().startswith("{"):
            break
        try:
            inner = msgspec.json.decode(text)
        except msgspec.DecodeError:
            break
        if not isinstance(inner, dict) or inner.get("type") != "result":
            break
        result = inner
    return result


def _raw(result: Mapping[str, Any]) -> dict[str, Any]:
    keys = (
        "subtype",
        "is_error",
        "terminal_reason",
        "api_error_status",
        "stop_reason",
        "num_turns",
        "result",
        "errors",
    )
    return {key: result[key] for key in keys if result.get(key) is not None}
