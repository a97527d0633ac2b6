"""`reply: {contains, not_contains, equals, matches}` - what the user was told."""

import re
from typing import Annotated

import msgspec

from claw.lab.checks._params import Options, Texts, listed, text_findings
from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing, short

STEP: Which = "last"


class Params(Options, frozen=True):
    contains: Texts | msgspec.UnsetType = msgspec.UNSET
    not_contains: Texts | msgspec.UnsetType = msgspec.UNSET
    equals: str | msgspec.UnsetType = msgspec.UNSET
    matches: Annotated[str, msgspec.Meta(description="a regular expression, searched")] | msgspec.UnsetType = (
        msgspec.UNSET
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.matches, msgspec.UnsetType):
            try:
                re.compile(self.matches)
            except re.error as error:
                raise ValueError(f"`matches` is no regular expression: {error}") from None


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """Each selected prompt's reply must hold. A prompt without a reply has the reply ""."""
    steps = evidence.prompts(step)
    if not steps:
        return nothing(f"no prompt was answered in step {step}")
    return join([part for played in steps for part in _one(params, played.outcome.reply or "")])  # type: ignore[union-attr]


def _one(params: Params, reply: str) -> list[Finding]:
    parts = text_findings("reply", reply, contains=listed(params.contains), not_contains=listed(params.not_contains))
    if not isinstance(params.equals, msgspec.UnsetType):
        parts.append(found(reply == params.equals, f"reply is {short(reply)!r}"))
    if not isinstance(params.matches, msgspec.UnsetType):
        parts.append(found(re.search(params.matches, reply) is not None, f"reply is {short(reply)!r}"))
    return parts
