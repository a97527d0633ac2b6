"""Plumbing of these tests: a call, and a responder made of a document."""

from collections.abc import Mapping
from typing import Any

from simulators import errors, faults, responders
from simulators.core.account_document import parse_account
from simulators.core.chance import Chance
from simulators.core.fault import Responder
from simulators.core.turn import ModelCall, ModelTurn, ToolDecl


def responder(document: Mapping[str, Any]) -> Responder:
    return responders.make(parse_account(document, faults=faults.load(), errors=errors.failures()))


def call(last_user: str = "hi", **fields: Any) -> ModelCall:
    known: dict[str, Any] = {"dialect": "anthropic", "operation": "generate", "model": "claude-sonnet-4-5"}
    return ModelCall(**{**known, "last_user": last_user, **fields})


def tool(name: str, **schema: Any) -> ToolDecl:
    return ToolDecl(name, {"type": "object", **schema})


def ask(who: Responder, asked: ModelCall | None = None, *, n: int = 1, seed: int = 0) -> ModelTurn | None:
    return who.answer(asked or call(), n=n, chance=Chance(seed, n))
