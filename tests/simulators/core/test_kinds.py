"""Side calls of known clients."""

import pytest

from simulators.core.account_file import WhenTable
from simulators.core.document import Document
from simulators.core.kinds import kind_of
from simulators.core.turn import ModelCall, ToolDecl
from simulators.core.when import compile_when


def call(last_user: str = "hello", system: str = "", tools: bool = False, max_tokens: int | None = 1000) -> ModelCall:
    return ModelCall(
        dialect="plain", operation="generate", model="m", last_user=last_user, system=system, max_tokens=max_tokens,
        tools=(ToolDecl("read"),) if tools else (),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (call(), "main"),
        (call(max_tokens=None), "main"),
        (call("CRITICAL: Respond with TEXT ONLY. More.", tools=True), "summary"),
        (call("Why did it say CRITICAL: Respond with TEXT ONLY?"), "main"),
        (call("You are performing a CONTEXT CHECKPOINT COMPACTION. Go on."), "summary"),
        (call(system="You are a context summarization assistant."), "summary"),
        (call(system="You are a context summarization assistant.", tools=True), "main"),
        (call(system="Generate a concise, sentence-case title (3-7 words)"), "title"),
        (call(system="Extract any file paths that this command reads"), "probe"),
        (call(system="You condense the record of a working session."), "summary"),
        (call("quota", max_tokens=1), "probe"),
        (call("warm", max_tokens=0), "probe"),
    ],
)
def test_known_clients(made: ModelCall, kind: str) -> None:
    assert kind_of(made, 1) == kind


def test_the_accounts_own_table_comes_first() -> None:
    mine = compile_when(WhenTable(last_user="^sum up"), Document({}, source="x"), "kinds.summary")
    main = compile_when(WhenTable(last_user="CRITICAL"), Document({}, source="x"), "kinds.main")
    table = [("summary", mine), ("main", main)]
    assert kind_of(call("sum up, please"), 1, table) == "summary"  # type: ignore[arg-type]
    assert kind_of(call("CRITICAL: Respond with TEXT ONLY"), 1, table) == "main"  # type: ignore[arg-type]
