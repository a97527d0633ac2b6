"""What the journal tells of an exchange beyond the order of work."""

from simulators.core.journal import Exchange
from tests.simulators.core.plain import ask, engine, say


def last(document: str) -> dict:
    sim = engine(script=document)
    ask(sim, say("hi"), key="a")
    return sim.account("a").journal.exchanges[-1].to_dict()


def test_a_refusal_says_its_kind_and_how_long_to_wait_as_it_was_sent() -> None:
    entry = last("turns: [{error: {kind: rate_limited, retry_after: 7}}]")
    assert (entry["error"]["kind"], entry["error"]["retry_after"]) == ("rate_limited", 7)


def test_a_raw_refusal_has_what_its_headers_and_body_say() -> None:
    body = "{error: {type: odd, message: 'come back'}}"
    entry = last(f"turns: [{{raw: {{status: 529, headers: {{retry-after-ms: '1500'}}, body: {body}}}}}]")
    assert entry["error"] == {"kind": None, "message": "come back", "retry_after": 1.5}


def test_an_answer_is_no_refusal() -> None:
    assert "error" not in last("turns: [{text: hello}]")


def test_of_the_headers_only_those_that_change_the_question_are_kept() -> None:
    headers = (("x-api-key", "secret"), ("anthropic-beta", "one,two"), ("user-agent", "x"))
    entry = Exchange(n=1, at=0.0, key="k…", dialect="plain", path="/plain", headers=headers).to_dict()
    assert entry["headers"] == {"anthropic-beta": "one,two"}
