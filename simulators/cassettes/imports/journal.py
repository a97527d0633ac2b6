"""Journals of the simulators: what was asked is all there, of what was answered the figures and refusals."""

from typing import Any

import msgspec

from simulators.cassettes.format import Cassette, CassetteError, Exchange
from simulators.cassettes.imports._json import made, table
from simulators.core.wire import Headers

ABOUT = "journals of the simulators; answers have the recorded figures, and no text"
_HOSTS = {"anthropic": "https://api.anthropic.com", "gemini": "https://generativelanguage.googleapis.com"}
_UNKEPT = "(a journal keeps no text of answers)"


def read(data: bytes, *, source: str) -> Cassette:
    """Every exchange with a body: the control API's object, a list, or one exchange a line."""
    try:
        value = msgspec.json.decode(data)
    except msgspec.DecodeError:
        try:
            value = [msgspec.json.decode(line) for line in data.splitlines() if line.strip()]
        except msgspec.DecodeError as error:
            raise CassetteError(f"{source}: neither JSON nor JSON lines: {error}") from None
    rows = value.get("exchanges", [value]) if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise CassetteError(f"{source}: exchanges: a list is needed; a journal is what GET …/journal gives")
    found = []
    for i, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("path"), str):
            raise CassetteError(f"{source}: exchanges[{i}]: no `path`; an exchange has n, at, path, request, status, …")
        if isinstance(row.get("request"), dict):
            found.append(_exchange(row))
    return Cassette(exchanges=found, claw={"origin": "imported"}, source=source)


def _exchange(row: dict[str, Any]) -> Exchange:
    host = _HOSTS.get(str(row.get("dialect")), "https://api.openai.com")
    status = row.get("status") if isinstance(row.get("status"), int) else 200
    error = table(row.get("error"))
    answer = _answer(row) if status == 200 else {"type": "error", "error": {"message": error.get("message") or ""}}
    exchange = made(f"{host}{row['path']}", row["request"], answer, at=row.get("at"), status=status or 200)
    asking: Headers = tuple((n, str(v)) for n, v in table(row.get("headers")).items())
    exchange.request_headers = (*exchange.request_headers, *asking)
    if isinstance(error.get("retry_after"), int | float):
        exchange.headers = (*exchange.headers, ("retry-after", f"{error['retry_after']:g}"))
    return exchange


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    usage, model, path = row.get("usage") or {}, row.get("model"), row["path"]
    if path.endswith("/messages"):
        content = [{"type": "text", "text": _UNKEPT}]
        return {"id": f"msg_{row.get('n')}", "type": "message", "role": "assistant", "model": model, "content": content,
                "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}  # fmt: skip
    if path.endswith("/chat/completions"):
        message = {"role": "assistant", "content": _UNKEPT}
        return {"id": f"chatcmpl-{row.get('n')}", "object": "chat.completion", "model": model, "usage": usage,
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}  # fmt: skip
    if path.endswith("/responses"):
        part = {"type": "output_text", "text": _UNKEPT, "annotations": []}
        item: dict[str, Any] = {
            "type": "message",
            "id": f"msg_{row.get('n')}",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        return {"id": f"resp_{row.get('n')}", "object": "response", "model": model, "status": "completed",
                "output": [item], "usage": usage}  # fmt: skip
    if ":" in path:
        spoken = {"role": "model", "parts": [{"text": _UNKEPT}]}
        return {"candidates": [{"content": spoken, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
    return {"usage": usage} if usage else {}
