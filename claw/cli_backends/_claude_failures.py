"""What Claude Code says when a run fails, told as a `ProviderFailure`.

It has several ways: `terminal_reason`, the `error` code of a synthetic assistant record, `api_error_status`, and texts
that changed between releases (2.1.19: `API Error: 429 {json}`; 2.1.332: `API Error: Request rejected (429) · …`). Here
stand only the words that are the CLI's own; what it passes on of the provider goes to `claw.core.classify`.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from claw.core.classify import classify as classify_answer
from claw.core.errors import FailureKind as Kind
from claw.core.errors import ProviderFailure
from claw.core.secrets import redact

SESSION_LOST = "No conversation found with session ID"

# Stops that Claude Code decides itself: the same prompt again would stop again.
_TURN_STOPS = frozenset(
    {"max_turns", "hook_stopped", "stop_hook_prevented", "aborted_tools", "aborted_streaming", "budget_exhausted"}
)

_TEXTS: tuple[tuple[re.Pattern[str], Kind], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (re.escape(SESSION_LOST), Kind.SESSION_EXPIRED),
        (r"^no response requested\.$", Kind.POISONED_HISTORY),  # the transcript ended inside a tool call
        (r"^credit balance is too low", Kind.BILLING),
        (r"exceeded the \d+ output token maximum", Kind.OUTPUT_BUDGET),
        (r"safeguards flagged", Kind.REFUSED),
        (r"connection lost mid-response", Kind.TRUNCATED),
        (r"session id \S+ is already in use", Kind.BAD_REQUEST),
        (r"unknown option|requires --verbose|cannot be used with root", Kind.BAD_REQUEST),
    )
)

# The CLI's own codes. Those that say less than the text and the status (`invalid_request`, `unknown`) are left out.
_CODES: dict[str, Kind] = {
    "prompt_too_long": Kind.CONTEXT_OVERFLOW,
    "rate_limit": Kind.RATE_LIMITED,
    "overloaded": Kind.OVERLOADED,
    "authentication_failed": Kind.AUTH,
    "billing_error": Kind.BILLING,
    "model_not_found": Kind.MODEL_NOT_FOUND,
    "max_output_tokens": Kind.OUTPUT_BUDGET,
    "connection_failed": Kind.TRANSPORT,
}

_SIZES = re.compile(r"~?(\d{4,}) tokens \(limit (\d{4,})\)")  # 2.1.332's words for "N tokens > M maximum"


class Evidence(msgspec.Struct, kw_only=True):
    """All that a failed run left behind. `codes` are the CLI's own error words, most exact first."""

    text: str = ""
    stderr: str = ""
    status: int | None = None
    terminal_reason: str = ""
    codes: tuple[str, ...] = ()
    exit_code: int = 0
    acted: bool = False  # text was shown or a tool begun: the run must not be replayed blindly
    raw: Mapping[str, Any] = {}


def classify(evidence: Evidence) -> ProviderFailure:
    """Which `FailureKind` this is. Never raises; what fits nothing is `server_error` (it may work when tried again)."""
    words = evidence.text or evidence.stderr.strip()[-500:]
    told = classify_answer("anthropic", evidence.status, None, words, in_stream=True)
    kind = _own_kind(evidence) or told.kind
    if not words and not evidence.status and _ended_from_outside(evidence.exit_code):
        kind = _own_kind(evidence) or Kind.TRANSPORT
    sizes = _SIZES.search(words)
    return ProviderFailure(
        kind=kind,
        message=told.message or f"the CLI ended with code {evidence.exit_code}",
        status=told.status,
        replay_safe=not evidence.acted,
        tokens=int(sizes[1]) if sizes else told.tokens,
        limit=int(sizes[2]) if sizes else told.limit,
        hopeless=told.hopeless,
        raw={key: redact(value) if isinstance(value, str) else value for key, value in evidence.raw.items()},
    )


def _own_kind(evidence: Evidence) -> Kind | None:
    """From the CLI's own words; None where it only passes on what the provider said."""
    if SESSION_LOST in evidence.stderr:
        return Kind.SESSION_EXPIRED
    codes = (evidence.terminal_reason, *evidence.codes)
    if any(code in _TURN_STOPS for code in codes):
        return Kind.REFUSED
    for pattern, kind in _TEXTS:
        if pattern.search(evidence.text or evidence.stderr):
            return kind
    if evidence.text and classify_answer("anthropic", None, None, evidence.text, in_stream=True).kind in _EXACT:
        return None
    return next((_CODES[code] for code in codes if code in _CODES), None)


# Kinds that a text proves and a code may hide: `rate_limit` is what the CLI says of an empty account as well.
_EXACT = frozenset({Kind.BILLING, Kind.POISONED_HISTORY, Kind.OUTPUT_BUDGET, Kind.MODEL_NOT_FOUND})


def _ended_from_outside(exit_code: int) -> bool:
    """A signal, as subprocess (negative) or a shell (128 + n) tells it."""
    return exit_code < 0 or exit_code in (129, 130, 137, 143)
