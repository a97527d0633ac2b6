"""What a run reports at its end: calls and tokens by model, tools by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
_TOKENS = ("input", "prompt", "candidates", "total", "cached", "thoughts", "tool")


def _tokens() -> dict[str, int]:
    return dict.fromkeys(_TOKENS, 0)


def _decisions() -> dict[str, int]:
    return {"accept": 0, "reject": 0, "modify": 0, "auto_accept": 0}


@dataclass(slots=True)
class Stats:
    """Counts while a run goes on. Latencies in milliseconds."""

    models: dict[str, Object] = field(default_factory=dict)
    tools: dict[str, Object] = field(default_factory=dict)
    lines: tuple[int, int] = (0, 0)  # added, removed

    def answered(self, model: str, role: str, usage: Mapping[str, Any], ms: int) -> None:
        """A call that came to its end, under the name that the answer gave itself."""
        entry = self._model(model)
        cached, prompt = usage.get("cachedContentTokenCount", 0), usage.get("promptTokenCount", 0)
        figures = {
            "input": max(0, prompt - cached),
            "prompt": prompt,
            "candidates": usage.get("candidatesTokenCount", 0),
            "total": usage.get("totalTokenCount", 0),
            "cached": cached,
            "thoughts": usage.get("thoughtsTokenCount", 0),
            "tool": usage.get("toolUsePromptTokenCount", 0),
        }
        for part in (entry, self._role(entry, role)):
            api = part.get("api", part)
            api["totalRequests"] += 1
            api["totalLatencyMs"] += ms
            for name, number in figures.items():
                part["tokens"][name] += number

    def failed(self, model: str, role: str | None, kind: str, ms: int) -> None:
        """A call that was refused (`role`), or an answer that was no good (None)."""
        entry = self._model(model)
        parts = [entry] if role is None else [entry, self._role(entry, role)]
        for part in parts:
            api = part.get("api", part)
            api["totalRequests"] += role is not None
            api["totalErrors"] += 1
            api["totalLatencyMs"] += ms
        errors = entry["api"]["errorsByType"]
        errors[kind] = errors.get(kind, 0) + 1

    def used(self, name: str, *, ok: bool, ms: int) -> None:
        """A tool that was run."""
        fresh = {"count": 0, "success": 0, "fail": 0, "durationMs": 0, "decisions": _decisions()}
        entry = self.tools.setdefault(name, fresh)
        entry["count"] += 1
        entry["success" if ok else "fail"] += 1
        entry["durationMs"] += ms
        entry["decisions"]["accept"] += 1

    def _model(self, name: str) -> Object:
        api = {"totalRequests": 0, "totalErrors": 0, "totalLatencyMs": 0, "errorsByType": {}}
        return self.models.setdefault(name, {"api": api, "tokens": _tokens(), "roles": {}})

    def _role(self, entry: Object, role: str) -> Object:
        fresh = {"totalRequests": 0, "totalErrors": 0, "totalLatencyMs": 0, "tokens": _tokens()}
        found: Object = entry["roles"].setdefault(role, fresh)
        return found

    def full(self) -> Object:
        """As `-o json` has it."""
        decisions = _decisions()
        for entry in self.tools.values():
            for name, number in entry["decisions"].items():
                decisions[name] += number
        tools = {
            "totalCalls": sum(e["count"] for e in self.tools.values()),
            "totalSuccess": sum(e["success"] for e in self.tools.values()),
            "totalFail": sum(e["fail"] for e in self.tools.values()),
            "totalDurationMs": sum(e["durationMs"] for e in self.tools.values()),
            "totalDecisions": decisions,
            "byName": self.tools,
        }
        files = {"totalLinesAdded": self.lines[0], "totalLinesRemoved": self.lines[1]}
        return {"models": self.models, "tools": tools, "files": files}

    def short(self, ms: int) -> Object:
        """As the `result` line has it."""
        models = {name: self._sum([entry]) for name, entry in self.models.items()}
        calls = sum(entry["count"] for entry in self.tools.values())
        return {**self._sum(list(self.models.values())), "duration_ms": ms, "tool_calls": calls, "models": models}

    @staticmethod
    def _sum(entries: list[Object]) -> dict[str, int]:
        names = {
            "total_tokens": "total",
            "input_tokens": "prompt",
            "output_tokens": "candidates",
            "cached": "cached",
            "input": "input",
        }
        return {name: sum(e["tokens"][key] for e in entries) for name, key in names.items()}
