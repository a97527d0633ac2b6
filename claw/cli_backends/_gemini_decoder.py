"""Reads one run of `gemini --output-format stream-json`.

The result's figures are the sum over the run's calls, the router's included. They are the last call's only if there
was one call: a model was named (so nobody asked the router) and no tool ran.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from claw.cli_backends._lines import JsonLines
from claw.cli_backends._messages import Pieces
from claw.core.calls import CliEvent, CliReply, CliRun, CliSession, CliTool, CliUsage
from claw.core.classify import classify
from claw.core.errors import FailureKind, ProviderFailure
from claw.core.secrets import redact
from claw.core.usage import Usage

_TOOL_TEXT = 64 * 1024  # characters of a tool's output that an event carries
_API_ERROR = re.compile(r"^\[API Error: (.*)\]", re.DOTALL)
_EXITS = {41: FailureKind.AUTH, 42: FailureKind.BAD_REQUEST, 52: FailureKind.BAD_REQUEST, 55: FailureKind.BAD_REQUEST}
_SESSION_LOST = ("Invalid session identifier", "No previous sessions found")
_FIRST_STATUS = 400 & 0xFF  # exit codes from here on are an HTTP status less 256


def usage_of(stats: Mapping[str, Any]) -> Usage:
    """Usage from the result's `stats`; `input` there is what was not cached."""
    cached, prompt = _int(stats.get("cached")), _int(stats.get("input_tokens"))
    total, output = _int(stats.get("total_tokens")), _int(stats.get("output_tokens"))
    reasoning = max(total - prompt - output, 0)  # thoughts are in no other figure
    return Usage(input=max(prompt - cached, 0), cache_read=cached, output=output + reasoning, reasoning=reasoning)


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


class GeminiDecoder:
    """A `CliDecoder`."""

    def __init__(self, run: CliRun) -> None:
        self._run = run
        self._lines = JsonLines()
        self._pieces = Pieces(run.model)
        self._names: dict[str, str] = {}
        self._error = ""
        self._result: Mapping[str, Any] | None = None

    def feed(self, data: bytes) -> Sequence[CliEvent]:
        return [event for record in self._lines.feed(data) for event in self._record(record)]

    def finish(self, exit_code: int, stderr: bytes) -> Sequence[CliEvent]:
        out = [event for record in self._lines.close() for event in self._record(record)]
        out += self._pieces.close()
        stats = (self._result or {}).get("stats")
        if isinstance(stats, Mapping):
            usage = usage_of(stats)
            if self._run.model not in ("", "default", "auto") and not self._names and usage.context_tokens:
                out.append(CliUsage(usage, "last_call", context_window=self._run.context_window))
            out.append(CliUsage(usage, "run_total"))
        out.append(self._reply(exit_code, stderr.decode("utf-8", "replace")))
        return out

    def _record(self, record: Mapping[str, Any]) -> list[CliEvent]:
        match record.get("type"):
            case "init" if record.get("session_id"):
                return [CliSession(str(record["session_id"]))]
            case "message" if record.get("role") == "assistant":
                return self._pieces.add(str(record.get("content") or ""))
            case "tool_use":
                id, name = str(record.get("tool_id") or ""), str(record.get("tool_name") or "")
                self._names[id] = name
                given = record.get("parameters")
                begun = CliTool(id=id, name=name, phase="start", input=given if isinstance(given, dict) else {})
                return [*self._pieces.close(), begun]
            case "tool_result":
                id = str(record.get("tool_id") or "")
                text = str(record.get("output") or "")[:_TOOL_TEXT]
                ok = record.get("status") == "success"
                return [CliTool(id=id, name=self._names.get(id, ""), phase="end", ok=ok, text=text)]
            case "error" if record.get("severity") == "error":
                self._error = str(record.get("message") or "the CLI reported an error")
            case "result":
                self._result = record
        return []

    def _reply(self, exit_code: int, stderr: str) -> CliReply:
        result = self._result or {}
        if result.get("status") == "error" or (exit_code != 0 and self._result is None):
            return self._failed(exit_code, stderr, result)
        if self._result is None:
            kind = FailureKind.TRUNCATED if self._pieces.shown or self._names else FailureKind.EMPTY_RESPONSE
            noise = b"\n".join(self._lines.noise).decode("utf-8", "replace")
            return self._broken(kind, noise or "the CLI ended without its result")
        if exit_code != 0:
            return self._failed(exit_code, stderr, result)
        if not self._pieces.text:
            return self._broken(FailureKind.EMPTY_RESPONSE, "the CLI ended well and said nothing")
        return CliReply(text=self._pieces.text, stop="end_turn")

    def _failed(self, exit_code: int, stderr: str, result: Mapping[str, Any]) -> CliReply:
        error = result.get("error")
        said = str(error.get("message") or "") if isinstance(error, Mapping) else ""
        found = _API_ERROR.match(said)
        text = found[1] if found else said or self._error or stderr.strip()[-500:]
        if any(words in text for words in _SESSION_LOST):
            return self._broken(FailureKind.SESSION_EXPIRED, text)
        if text == "terminated":
            return self._broken(FailureKind.TRUNCATED, "the stream broke off")
        if not said and self._error:
            return self._broken(FailureKind.TRUNCATED, text)
        if exit_code in _EXITS:
            return self._broken(_EXITS[exit_code], text)
        status = exit_code + 256 if exit_code >= _FIRST_STATUS else 404 if "not found" in text else None
        if not text and (exit_code < 0 or exit_code in (129, 130, 137, 143)):
            return self._broken(FailureKind.TRANSPORT, f"gemini ended with code {exit_code}")
        told = classify("gemini", status, None, text, in_stream=True)
        failure = ProviderFailure(
            kind=told.kind,
            message=told.message or f"gemini ended with code {exit_code}",
            status=status,
            retry_after=told.retry_after,
            replay_safe=not self._acted,
            tokens=told.tokens,
            limit=told.limit,
            hopeless=told.hopeless,
            raw={"exit_code": exit_code, "text": redact(text)},
        )
        return CliReply(text=self._pieces.text, stop="error", failure=failure)

    def _broken(self, kind: FailureKind, message: str) -> CliReply:
        failure = ProviderFailure(kind=kind, message=redact(message), replay_safe=not self._acted)
        return CliReply(text=self._pieces.text, stop="error", failure=failure)

    @property
    def _acted(self) -> bool:
        return self._pieces.shown or bool(self._names)
