"""Takes credentials out of what is logged, stored or shown."""

import re
from functools import cache
from typing import Any

HIDDEN = "[secret]"

# Whole tokens by the vendors' prefixes, and values that stand behind a telling name.
_TOKENS = (
    r"\b(?:sk|rk|pk)-[A-Za-z0-9_*\-]{8,}",  # Anthropic, OpenAI, OpenRouter, DeepSeek, …
    r"\bAIza[A-Za-z0-9_\-]{20,}",  # Google
    r"\b(?:gsk|xai|csk|hf|ghp|gho|github_pat|r8|nvapi|fw|tgp)[_-][A-Za-z0-9_\-]{12,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # AWS
    r"\bya29\.[A-Za-z0-9_\-]{10,}",  # Google OAuth
    r"\beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]*",  # JWT
)
_NAMED = (
    r"(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=\-]{6,}",
    r"(\b(?:x-api-key|api[_-]?key|x-goog-api-key|authorization|access_token|refresh_token|client_secret|password)"
    r"[\"']?\s*[:=]\s*[\"']?)(?!bearer\b|basic\b)[A-Za-z0-9._~+/=\-]{6,}",
    r"([?&]key=)[^&\s\"']+",
)
_SECRET_NAMES = {
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
    "set-cookie",
}
_SECRET_NAMES |= {"api_key", "apikey", "access_token", "refresh_token", "client_secret", "password"}


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    tokens = ((re.compile(p), HIDDEN) for p in _TOKENS)
    named = ((re.compile(p, re.IGNORECASE), rf"\g<1>{HIDDEN}") for p in _NAMED)
    return (*named, *tokens)


def redact(text: str) -> str:
    """`text` with every credential replaced by `[secret]`."""
    for pattern, replacement in _patterns():
        text = pattern.sub(replacement, text)
    return text


def redact_all(value: Any, *, longest: int = 4000) -> Any:
    """A JSON value with the credentials of all its strings replaced, and strings over `longest` characters cut."""
    if isinstance(value, str):
        return redact(value if len(value) <= longest else f"{value[:longest]}…")
    if isinstance(value, dict):
        return {
            str(key): HIDDEN if str(key).lower() in _SECRET_NAMES and item else redact_all(item, longest=longest)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_all(item, longest=longest) for item in value]
    return value
