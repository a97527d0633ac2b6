"""Account documents: what they mean, and how their mistakes are named."""

from typing import Any

import pytest

from simulators.core.account_document import AccountDocument, as_document, parse_account, parse_accounts, parse_fault
from simulators.core.document import Document, DocumentError, load_yaml
from simulators.core.turn import Failure
from tests.simulators.core.plain import FAULTS

ERRORS = {"groq/tpm-413": Failure(kind="rate_limited", status=413, body=b"{}")}


def parse(text: str, **options: Any) -> AccountDocument:
    return parse_account(load_yaml(text, source="a.yaml"), faults=FAULTS, errors=ERRORS, **options)


def refusal(text: str) -> str:
    with pytest.raises(DocumentError) as caught:
        parse(text)
    return str(caught.value)


def test_the_whole_document() -> None:
    found = parse("""
rules:
  - when: {kind: side}
    reply: {text: "A title"}
turns:
  - {thinking: "…", text: "Done.", stop: end_turn, output_tokens: 900}
  - {tool_calls: [{name: read, input: {path: notes.md}}, {name: exec, input: '{"broken'}]}
  - {error: {kind: rate_limited, retry_after: 7}}
  - {error: {like: groq/tpm-413, retry_after: 3}}
  - {error: {status: 400, headers: {X-A: 1}, body: {a: 1}}}
  - {raw: {status: 200, headers: {content-type: text/event-stream}, body: "event: …"}}
  - {fault: {kind: clipped, events: 4}, text: "cut off"}
otherwise: fail
unused: allow
faults: [{kind: busy, on: {call: 3, times: 2}}, {kind: clipped, on: {probability: 0.1}, events: 2}]
limits: {rpm: 50, itpm: 30000, otpm: 8000, concurrency: 4, spend_usd: 5}
models: {claude-sonnet-4-5: {context_window: 20000}}
cache: {enabled: true, lookback: 20, runs_count_as_one: true, expiry_slack: 0}
pacing: {first_token_ms: 400, tokens_per_s: 60, jitter: 0.2}
tokenizer: words
kinds: {summary: {system: REGEX}, title: [{last_user: a}, {last_user: b}]}
seed: 7
""")
    assert (found.responder, found.unused, found.tokenizer, found.seed) == ("script", "allow", "words", 7)
    done, calls, limited, like, raw_error, raw, cut = found.turns
    assert (done.text, done.stop, done.output_tokens, done.answered_by) == ("Done.", "end_turn", 900, "turns[0]")
    assert [c.input for c in calls.tool_calls] == [{"path": "notes.md"}, '{"broken']
    assert limited.failure == Failure(kind="rate_limited", retry_after=7, answered_by="turns[2]")
    assert like.failure == Failure(kind="rate_limited", status=413, body=b"{}", retry_after=3, answered_by="turns[3]")
    assert raw_error.failure == Failure(
        kind="raw", status=400, headers=(("x-a", "1"),), body=b'{"a":1}', answered_by="turns[4]"
    )
    assert raw.raw == {
        "status": 200, "headers": (("content-type", "text/event-stream"),), "body": "event: …".encode(),
    }  # fmt: skip
    assert (cut.faults[0].params.events, cut.faults[0].place) == (4, "turns[6].fault")
    assert [(f.kind.KIND, f.on.call, f.on.times, f.place) for f in found.faults] == [
        ("busy", 3, 2, "faults[0]"), ("clipped", None, None, "faults[1]"),
    ]  # fmt: skip
    assert found.rules[0].reply.answered_by == "rules[0]"
    assert (found.limits.itpm, found.models["claude-sonnet-4-5"].context_window) == (30000, 20000)
    assert [kind for kind, _ in found.kinds] == ["summary", "title", "title"]


@pytest.mark.parametrize(
    ("text", "responder"),
    [("", "persona"), ("turns: [{text: a}]", "script"), ("rules: [{when: {}, reply: {}}]", "script"),
     ("cassette: f.yaml", "cassette"), ("{responder: echo, turns: [{text: a}]}", "echo")],
)  # fmt: skip
def test_who_answers(text: str, responder: str) -> None:
    assert parse(text).responder == responder


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trns: []", "a.yaml:1: trns: unknown key `trns`; did you mean `turns`?"),
        ("turns:\n  - txt: hi", "a.yaml:2: turns[0].txt: unknown key `txt`; did you mean `text`?"),
        ("faults:\n  - kind: bussy", "a.yaml:2: faults[0].kind: no kind of fault `bussy`; did you mean `busy`?"),
        ("faults:\n  - {events: 3}", "a.yaml:2: faults[0]: a fault needs `kind`"),
        ("faults:\n  - kind: clipped\n    event: 3", "a.yaml:3: faults[0].event: unknown key `event`; did you mean"),
        ("faults:\n  - kind: busy\n    onn: {call: 1}", "faults[0].onn: unknown key `onn`; did you mean `on`?"),
        ("faults:\n  - kind: busy\n    on: {cal: 1}", "a.yaml:3: faults[0].on.cal: unknown key `cal`; did you mean"),
        ("faults:\n  - kind: busy\n    on: {call: -1}", "a.yaml:3: faults[0].on.call: expected `int` >= 1"),
        ("limits: {rpm: -5}", "a.yaml:1: limits.rpm: expected `int` >= 1"),
        ("turns: [{output_tokens: -1}]", "turns[0].output_tokens: expected `int` >= 0"),
        ("turns: [{stop: tool_uze}]", "did you mean `tool_use`?"),
        ("turns: [{error: {kind: rate_limit}}]", "turns[0].error.kind: no kind of error `rate_limit`; did you mean"),
        ("turns: [{error: {like: grog/tpm-413}}]", "no such error `grog/tpm-413`; did you mean `groq/tpm-413`?"),
        ("turns: [{error: {message: hm}}]", "turns[0].error: an error needs `kind`, `like` or `status`"),
        ("turns: [{error: {kind: auth}, text: hi}]", "turns[0].text: `error` answers alone"),
        ("turns: [{raw: {}, tool_calls: [{name: x}]}]", "turns[0].tool_calls: `raw` answers alone"),
        ("rules:\n  - when:\n      last_user: '('\n    reply: {}", "a.yaml:3: rules[0].when.last_user: not a regular"),
        ("rules: [{when: {kind: sidecar}, reply: {}}]", "rules[0].when.kind: `sidecar` is none of"),
        ("rules: [{when: {header: {x-a: '['}}, reply: {}}]", "rules[0].when.header.x-a: not a regular expression"),
        ("kinds: {summary: {system: '*'}}", "kinds.summary.system: not a regular expression"),
        ("kinds: {sumary: {system: a}}", "kinds"),
        ("responder: cassette", "responder: `responder: cassette` needs `cassette: FILE`"),
        ("models: {m: {context_window: 0}}", "models.m.context_window: expected `int` >= 1"),
        ("pacing: {tokens_per_s: 0}", "pacing.tokens_per_s"),
        ("cache: {lookback: 0}", "cache.lookback: expected `int` >= 1"),
        ("- a", "a.yaml:1: expected `object`, got `array`"),
    ],
)  # fmt: skip
def test_mistakes_are_named(text: str, said: str) -> None:
    assert said in refusal(text)


def test_several_accounts() -> None:
    found = parse_accounts("accounts: {main: {turns: [{text: a}]}, spare: }", faults=FAULTS)
    assert [(name, len(d.turns)) for name, d in found.items()] == [("main", 1), ("spare", 0)]
    assert list(parse_accounts("turns: []", faults=FAULTS)) == [None]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("turns: []\naccounts: {a: {}}", "a.yaml:1: turns: `accounts` stands alone"),
        ("accounts: []", "a.yaml:1: accounts: expected a mapping of names"),
        ("accounts: {}", "accounts: expected a mapping"),
        ("accounts: {1: {}}", "accounts: expected a mapping of names (strings)"),
        ("accounts:\n  main: {}\n  sp.are:\n    trns: []", "a.yaml:4: accounts.sp.are.trns: unknown key `trns`"),
    ],
)
def test_mistakes_in_several_accounts(text: str, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_accounts(load_yaml(text, source="a.yaml"), faults=FAULTS)
    assert said in str(caught.value)


def test_an_account_inside_a_larger_document() -> None:
    scenario = load_yaml("about: x\nprovider:\n  turns:\n    - {text: 3}", source="s.yaml")
    with pytest.raises(DocumentError, match=r"s.yaml:4: provider.turns\[0\].text: expected `str | null`, got `int`"):
        parse_account(scenario, faults=FAULTS, at=("provider",))
    with pytest.raises(DocumentError, match=r"s.yaml:4: provider.turns\[0\].text"):
        parse_accounts(scenario, faults=FAULTS, at=("provider",))


def test_any_form_is_a_document() -> None:
    assert as_document({"a": 1}).data == as_document("a: 1").data == as_document(b"a: 1").data == {"a": 1}
    document = Document({}, source="x")
    assert as_document(document) is document


def test_a_fault_alone() -> None:
    fault = parse_fault(as_document({}), {"kind": "clipped", "events": 2}, faults=FAULTS, place="faults[9]")
    assert (fault.params.events, fault.place, fault.on.covers(5)) == (2, "faults[9]", True)
    with pytest.raises(DocumentError, match="kind: no kind of fault `clip`; did you mean `clipped`"):
        parse_fault(as_document({}), {"kind": "clip"}, faults=FAULTS, place="faults[0]")
