"""The `anthropic-beta` header: which values the API knows."""

import re

import msgspec

from simulators.core.wire import Request
from simulators.dialects.anthropic.refusal import refuse

# Every beta is named for what it does and the day it began: `context-management-2025-06-27`, `claude-code-20250219`.
_NAME = re.compile(r"[a-z0-9-]+-(\d{4}-\d{2}-\d{2}|\d{8})\Z")

BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"
CONTEXT_MANAGEMENT = "context-management-2025-06-27"
CACHE_SCOPE = "prompt-caching-scope-2026-01-05"  # Claude Code asks for it when it speaks to the vendor itself
COMPACT_ON_THRESHOLD = "compact-2026-01-12"
COMPACT_ON_DEMAND = "compact-2026-09-04"


def has_beta(request: Request, name: str) -> bool:
    """Whether the header asks for this beta."""
    return any(key == "anthropic-beta" and name in value for key, value in request.headers)


class Betas(msgspec.Struct, frozen=True):
    """Which betas are in effect. `?beta=true` without a header stands for all of them here."""

    named: frozenset[str]
    all: bool

    def __bool__(self) -> bool:
        return self.all or bool(self.named)

    def __contains__(self, name: str) -> bool:
        return self.all or name in self.named


def check_beta(request: Request) -> Betas:
    """The betas that a request asks for; refuses values that name none."""
    said = [value.strip() for name, line in request.headers if name == "anthropic-beta" for value in line.split(",")]
    unknown = [value for value in said if value and not _NAME.match(value)]
    if unknown:
        quoted = ", ".join(f"`{value}`" for value in unknown)
        refuse(
            f"Unexpected value(s) {quoted} for the `anthropic-beta` header. Please consult our documentation at "
            "docs.claude.com or try again without the header."
        )
    named = frozenset(value for value in said if value)
    return Betas(named, all=not named and ("beta", "true") in request.query)
