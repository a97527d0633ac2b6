"""The `anthropic-beta` header: which values the API knows."""

import re

from simulators.core.wire import Request
from simulators.dialects.anthropic.refusal import refuse

# Every beta is named for what it does and the day it began: `context-management-2025-06-27`, `claude-code-20250219`.
_NAME = re.compile(r"[a-z0-9-]+-(\d{4}-\d{2}-\d{2}|\d{8})\Z")

BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"


def has_beta(request: Request, name: str) -> bool:
    """Whether the header asks for this beta."""
    return any(key == "anthropic-beta" and name in value for key, value in request.headers)


def check_beta(request: Request) -> bool:
    """Whether any beta is in effect: by header, or by `?beta=true`, which stands for all of them here."""
    said = [value.strip() for name, line in request.headers if name == "anthropic-beta" for value in line.split(",")]
    unknown = [value for value in said if value and not _NAME.match(value)]
    if unknown:
        quoted = ", ".join(f"`{value}`" for value in unknown)
        refuse(
            f"Unexpected value(s) {quoted} for the `anthropic-beta` header. Please consult our documentation at "
            "docs.claude.com or try again without the header."
        )
    return any(said) or ("beta", "true") in request.query
