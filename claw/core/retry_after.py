"""When the other side says to come back: headers first, then the fields of the body, then its words."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_UNITS = {"ms": 0.001, "millisecond": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60}
_UNITS |= {"h": 3600, "hr": 3600, "hour": 3600, "d": 86400, "day": 86400}
_PART = r"\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b"
_GO = r"(?:\d+(?:\.\d+)?(?:ms|h|m|s))+"  # "8m38.4s", as Go writes durations
_HINT = re.compile(rf"(?:try again|retry|retry again|available|resets?) (?:in|after) (?:about |~ ?)?({_GO}\b|{_PART})")
_ONE = re.compile(r"(\d+(?:\.\d+)?)\s*(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)")
_REGAIN = re.compile(r"regain access on (\d{4})-(\d\d)-(\d\d) at (\d\d):(\d\d) utc")


def retry_after(headers: Mapping[str, str], tree: Any, text: str, *, now: float | None = None) -> float | None:
    """Seconds to wait, or None if nothing was said. `headers` by lower-case name, `text` in lower case.

    A date is counted from the answer's own `date` header, else from `now` (Unix seconds). Of body hints that differ
    (Gemini sends two) the longer one counts.
    """
    told = _header(headers, now)
    if told is not None:
        return told
    hints = [seconds for seconds in _body(tree, now) if seconds is not None]
    hints += [_duration(match[1]) for match in _HINT.finditer(text)]
    if now is not None and (match := _REGAIN.search(text)):
        hints.append(max(0.0, _utc(*(int(part) for part in match.groups())) - now))
    return max(hints) if hints else None


def lower_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Header names in lower case; values as text."""
    return {str(name).lower(): str(value) for name, value in (headers or {}).items()}


def _header(headers: Mapping[str, str], now: float | None) -> float | None:
    millis = _number(headers.get("retry-after-ms"))
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if millis is not None:
        exact = millis / 1000
        return max(exact, seconds) if seconds is not None and abs(seconds - exact) <= 1 else exact  # the same, rounded
    if seconds is not None:
        return seconds
    until, base = _date(value), _date(headers.get("date", ""))
    base = base if base is not None else now
    return max(0.0, until - base) if until is not None and base is not None else None


def _body(tree: Any, now: float | None, depth: int = 0) -> Iterator[float | None]:
    """`retryDelay: "22s"` (Google), `retry_after_seconds`, and headers that a gateway repeats in its body."""
    if depth > 8:
        return
    if isinstance(tree, list):
        for item in tree[:20]:
            yield from _body(item, now, depth + 1)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            name = str(key).lower().replace("-", "_")
            if name == "retrydelay" and isinstance(value, str):
                yield _duration(value)
            elif name in ("retry_after_seconds", "retry_after", "retry_after_s"):
                yield _number(value)
            elif name == "retry_after_ms":
                yield _scaled(_number(value), 0.001)
            elif name == "x_ratelimit_reset" and now is not None:
                at = _scaled(_number(value), 0.001)  # OpenRouter: epoch milliseconds
                yield max(0.0, at - now) if at is not None and at > 1e9 else None
            elif isinstance(value, dict | list):
                yield from _body(value, now, depth + 1)


def _duration(text: str) -> float:
    """Seconds of "84ms", "8m38.4s", "44 seconds", "10 min"."""
    return sum(
        float(number) * _UNITS[unit if unit in _UNITS else unit.rstrip("s")] for number, unit in _ONE.findall(text)
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _scaled(number: float | None, factor: float) -> float | None:
    return None if number is None else number * factor


def _date(value: str) -> float | None:
    if not value:
        return None
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _utc(year: int, month: int, day: int, hour: int, minute: int) -> float:
    from datetime import UTC, datetime

    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
