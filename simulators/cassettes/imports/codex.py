"""Rollout files of Codex (`~/.codex/sessions/Y/M/D/rollout-….jsonl`)."""

from typing import Any

from simulators.cassettes.format import Cassette, CassetteError, Exchange
from simulators.cassettes.imports._json import lines, listed, made, seconds, table

ABOUT = "rollout files of Codex"
URL = "https://api.openai.com/v1/responses"
_SAID = ("reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "compaction")


def read(data: bytes, *, source: str) -> Cassette:
    """An exchange for each run of items that the model gave; a compaction replaces what came before it."""
    history: list[Any] = []
    said: list[Any] = []
    model, at, usage = "unknown", None, dict[str, Any]()
    found: list[Exchange] = []
    known = False

    def close() -> None:
        nonlocal history, said, usage
        if said:
            found.append(_exchange(history, said, model, usage, at))
            history, said, usage = [*history, *said], [], {}

    for _, row in lines(data, source):
        kind, payload = row.get("type"), table(row.get("payload"))
        known = known or kind in ("session_meta", "response_item", "turn_context")
        match kind:
            case "turn_context" | "session_meta":
                model = str(payload.get("model") or model)
            case "response_item":
                is_said = payload.get("type") in _SAID or payload.get("role") == "assistant"
                if is_said:
                    at = at if said else seconds(row.get("timestamp"))
                    said.append(payload)
                else:
                    close()
                    history = [*history, payload]
            case "event_msg" if payload.get("type") == "token_count":
                usage = table(table(payload.get("info")).get("last_token_usage")) or usage
                close()
            case "compacted":
                close()
                history = listed(payload.get("replacement_history")) or [_summary(payload)]
    close()
    if not known:
        raise CassetteError(f"{source}: no rollout of Codex: no line is a session_meta, turn_context or response_item")
    return Cassette(exchanges=found, source=source)


def _summary(payload: dict[str, Any]) -> dict[str, Any]:
    part = {"type": "input_text", "text": str(payload.get("message") or "")}
    return {"type": "message", "role": "user", "content": [part]}


def _exchange(history: list[Any], said: list[Any], model: str, usage: dict[str, Any], at: float | None) -> Exchange:
    figures = {
        "input_tokens": usage.get("input_tokens") or 0,
        "input_tokens_details": {"cached_tokens": usage.get("cached_input_tokens") or 0},
        "output_tokens": usage.get("output_tokens") or 0,
        "output_tokens_details": {"reasoning_tokens": usage.get("reasoning_output_tokens") or 0},
        "total_tokens": usage.get("total_tokens") or 0,
    }
    answer = {"id": "resp_imported", "object": "response", "model": model, "status": "completed", "output": said}
    request = {"model": model, "input": history, "store": False, "stream": False}
    return made(URL, request, {**answer, "usage": figures if usage else None}, at=at)
