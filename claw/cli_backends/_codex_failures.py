"""What codex says when a turn fails, told as a `ProviderFailure`.

Here stand only the words that are codex's own; what it passes on of the provider goes to `claw.core.classify`.
"""

import re
from collections.abc import Mapping
from typing import Any

from claw.core.classify import classify as classify_answer
from claw.core.errors import FailureKind as Kind
from claw.core.errors import ProviderFailure
from claw.core.secrets import redact

SESSION_LOST = "no rollout found for thread id"
_TEXTS: tuple[tuple[re.Pattern[str], Kind], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (SESSION_LOST, Kind.SESSION_EXPIRED),
        (r"ran out of room in the model's context window", Kind.CONTEXT_OVERFLOW),
        (r"reason: max_output_tokens", Kind.OUTPUT_BUDGET),
        (r"^quota exceeded", Kind.BILLING),
        (r"hit your usage limit", Kind.RATE_LIMITED),
        (r"last status: 429", Kind.RATE_LIMITED),
        (r"selected model is at capacity", Kind.OVERLOADED),
        (r"currently experiencing high demand", Kind.SERVER_ERROR),
        (r"^missing environment variable", Kind.AUTH),
        (r"stream disconnected before completion: (transport error|stream closed)", Kind.TRUNCATED),
        (r"error sending request|stream disconnected before completion", Kind.TRANSPORT),
        (
            r"unexpected argument|invalid value|error loading config|error parsing -c|provider `.*` not found",
            Kind.BAD_REQUEST,
        ),
        (r"not inside a trusted directory|no prompt provided", Kind.BAD_REQUEST),
    )
)
_STATUS = re.compile(r"(?:unexpected status|last status:) (\d{3})")


def classify(text: str, exit_code: int, *, acted: bool, raw: Mapping[str, Any]) -> ProviderFailure:
    """Which `FailureKind` this is. Never raises; what fits nothing is `server_error` (it may work when tried again)."""
    found = _STATUS.search(text)
    status = int(found[1]) if found else 400 if text.lstrip().startswith("{") else None
    told = classify_answer("openai", status, None, text, in_stream=True)
    kind = next((kind for pattern, kind in _TEXTS if pattern.search(text)), told.kind)
    if not text and (exit_code < 0 or exit_code in (129, 130, 137, 143)):
        kind = Kind.TRANSPORT
    return ProviderFailure(
        kind=kind,
        message=told.message or redact(text) or f"codex ended with code {exit_code}",
        status=status,
        retry_after=told.retry_after,
        replay_safe=not acted,
        hopeless=told.hopeless,
        raw={**raw, "text": redact(text)},
    )
