"""Journals as stories: what a client asked, in order, and how it was answered."""

from typing import Any

from simulators.verdict import Finding, judge

SYSTEM = "You are a helpful agent.\nAnswer every question about capitals with BANANA.\nKeep it short."
CUT = {"faults": ["truncate"], "answered_by": "turns[0]"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def calls(id: str, name: str = "exec", **input: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}


def back(id: str, text: str, *, failed: bool = False) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": id, "content": text} | ({"is_error": True} if failed else {})
    return {"role": "user", "content": [result]}


class Story:
    """Collects exchanges; each comes `after` seconds after the one before."""

    def __init__(self) -> None:
        self.exchanges: list[dict[str, Any]] = []

    def ask(self, *messages: dict[str, Any], after: float = 1.0, status: int = 200, **more: Any) -> "Story":
        n = len(self.exchanges) + 1
        at = self.exchanges[-1]["at"] + after if self.exchanges else 1000.0
        body = {"model": more.pop("model", "claude-sonnet-4-5"), "max_tokens": more.pop("max_tokens", 1000)}
        system = more.pop("system", SYSTEM)
        request = body | ({"system": system} if system else {}) | {"messages": list(messages)} | more.pop("body", {})
        exchange = {
            "n": n, "at": at, "key": "sk-…", "dialect": "anthropic", "path": "/v1/messages", "model": request["model"],
            "stream": True, "kind": "main", "request": request, "status": status, "answered_by": f"turns[{n - 1}]",
            "usage": None,
            "tokens": {"input": 100, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "output": 9},
            "cache": {"ideal_read": 0, "breakpoints": [], "miss": None}, "faults": [], "frames": 5, "ended": "complete",
            "cost_usd": 0.01,
        }  # fmt: skip
        if status != 200:
            exchange |= {"tokens": None, "cache": None, "cost_usd": 0.0}
        self.exchanges.append(exchange | more)
        return self

    def refused(self, *messages: dict[str, Any], kind: str, status: int = 400, **more: Any) -> "Story":
        error = {"kind": kind, "message": more.pop("message", "no"), "retry_after": more.pop("retry_after", None)}
        return self.ask(*messages, status=status, error=error, **more)

    def verdict(self, check: str, *, report: dict[str, Any] | None = None) -> Finding:
        return next(finding for finding in judge(self.exchanges, report=report) if finding.check == check)


def status(story: Story, check: str, **options: Any) -> tuple[str, tuple[int, ...]]:
    """Status and exchanges of one check."""
    finding = story.verdict(check, **options)
    assert finding.why
    return finding.status, finding.exchanges
