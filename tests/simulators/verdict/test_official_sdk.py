"""The official SDK before the simulator, in virtual time: what it does right is not held against it."""

from typing import Any

from simulators import Simulator
from simulators.shells.virtual_time import run
from simulators.verdict import Finding, judge


def journal(script: str, prompts: int = 1, **options: Any) -> list[dict[str, Any]]:
    """A short conversation of anthropic's own client, retries as it ships; errors end it."""
    import anthropic
    import httpx2

    sim = Simulator(script=script)

    async def talk() -> None:
        client = anthropic.AsyncAnthropic(
            api_key="sk-test", base_url="http://sim", http_client=httpx2.AsyncClient(transport=sim.transport())
        )
        messages: list[Any] = []
        for n in range(prompts):
            messages.append({"role": "user", "content": f"question {n}"})
            try:
                answer = await client.messages.create(
                    model="claude-opus-5-5",
                    max_tokens=100,
                    messages=messages,
                    system="Answer in one word.",
                    **options,
                )
            except anthropic.APIError:
                return
            messages.append({"role": "assistant", "content": answer.content})

    run(talk())
    return sim.account("sk-test").journal.to_dict()["exchanges"]


def bad(found: list[Finding]) -> list[str]:
    return [f"{finding.check}: {finding.why}" for finding in found if finding.status == "bad"]


def by_name(found: list[Finding]) -> dict[str, str]:
    return {finding.check: finding.status for finding in found}


def test_it_waits_as_it_is_told() -> None:
    exchanges = journal("turns: [{error: {kind: rate_limited, retry_after: 7}}, {text: ok}, {text: ok}]", prompts=2)
    assert exchanges[1]["at"] - exchanges[0]["at"] >= 7
    found = judge(exchanges)
    assert bad(found) == []
    assert by_name(found)["sent_before_retry_after"] == by_name(found)["instructions_vanished"] == "ok"


def test_its_retries_of_an_overload_are_no_storm() -> None:
    exchanges = journal("faults: [{kind: overloaded, on: {call: 1, times: 9}}]\nturns: [{text: ok}]\nunused: allow")
    assert len(exchanges) == 3
    assert bad(judge(exchanges)) == []
    assert by_name(judge(exchanges))["retry_storm"] == "ok"


def test_it_gives_up_at_once_where_nothing_helps() -> None:
    found = judge(journal("turns: [{error: {kind: auth}}, {text: never}]\nunused: allow"))
    assert bad(found) == []
    assert by_name(found)["retried_the_unretryable"] == "ok"


def test_a_request_that_the_api_refuses_is_found() -> None:
    found = judge(journal("turns: [{text: never}]", tool_choice={"type": "any"}))
    assert by_name(found)["refused_by_validation"] == "bad"
