"""Roles, parts, the order of calls and responses, signatures."""

from typing import Any

import pytest

from tests.simulators.dialects.gemini.asking import (
    SIGNED,
    account,
    called,
    function,
    generate,
    model,
    refusal_of,
    refused,
    request,
    returned,
    tools,
    user,
)  # fmt: skip

ORDER = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
RESPONSE = "Please ensure that function response turn comes immediately after a function call turn."
COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
Contents = tuple[dict[str, Any], ...]


def said(*contents: dict[str, Any], name: str = "gemini-2.5-flash") -> str:
    """What an account says of a conversation: "taken", or the message of its refusal."""
    reply = generate(account(), *contents, model=name)
    return "taken" if reply.status == 200 else str(reply.error["message"])


@pytest.mark.parametrize(
    ("contents", "verdict"),
    [
        ((user("a"), model(called()), user(returned())), "taken"),
        ((user("a"), model(called()), user(returned()), model(called()), user(returned())), "taken"),
        ((user("a"), model("b"), user("c")), "taken"),
        ((user("a"), user("b")), "taken"),
        ((user("a"), model("b")), "taken"),
        ((user("a"), model("I look.", called()), user(returned(), "and hurry")), "taken"),
        ((model(called()), user(returned())), ORDER),
        ((user("a"), model("b"), model(called()), user(returned())), ORDER),
        ((user("a"), user(returned())), RESPONSE),
        ((user("a"), model(called()), user("b")), COUNT),
        ((user("a"), model(called(), called()), user(returned())), COUNT),
        ((user("a"), model(called(), called()), user(returned()), user(returned())), COUNT),
        ((user("a"), model(called()), user(returned(), returned())), COUNT),
    ],
)
def test_the_order_of_calls_and_responses(contents: Contents, verdict: str) -> None:
    assert said(*contents) == verdict


def test_a_response_that_comes_twice_with_its_id_counts_once() -> None:
    """As Gemini CLI sends it when it resumes a session."""
    twice = {"functionResponse": {"name": "read", "id": "x1", "response": {"output": "done"}}}
    call = {"functionCall": {"name": "read", "id": "x1", "args": {}}}
    assert said(user("a"), model(call), user(twice, twice)) == "taken"


@pytest.mark.parametrize(
    ("contents", "verdict"),
    [
        ((user("a"), model(called(**SIGNED)), user(returned())), "taken"),
        ((user("a"), model(called(**SIGNED), called("write")), user(returned(), returned("write"))), "taken"),
        ((user("a"), model(called(), called(**SIGNED)), user(returned(), returned())), "missing"),
        ((user("a"), model(called()), user(returned())), "missing"),
        ((user("a"), model(called(**SIGNED)), user(returned()), model(called()), user(returned())), "missing"),
        # Only the turn that goes on is looked at.
        ((user("a"), model(called()), user(returned()), model("b"), user("c")), "taken"),
    ],
)
def test_the_first_call_of_each_step_must_be_signed(contents: Contents, verdict: str) -> None:
    found = said(*contents, name="gemini-3.5-flash")
    assert ("missing" if found.startswith("Function call is missing a thought_signature") else found) == verdict


def test_a_missing_signature_is_told_with_name_and_position() -> None:
    found = said(user("a"), model(called("list_files")), user(returned("list_files")), name="gemini-3.8-flash")
    assert "Additional data, function call `default_api:list_files` , position 2. Please refer" in found


def test_older_models_finish_without_an_answer_and_use_up_no_turn() -> None:
    simulator = account({"turns": [{"text": "later"}], "unused": "allow"})
    reply = generate(
        simulator, user("a"), model(called()), user(returned()), model="gemini-3-flash-preview", tools=None
    )
    (candidate,) = reply.json["candidates"]
    assert (reply.status, candidate["finishReason"], candidate["content"]) == (200, "MISSING_THOUGHT_SIGNATURE", {})
    assert simulator.account("k").journal.exchanges[-1].answered_by == "validation"
    again = generate(simulator, user("a"), model(called()), user(returned()), model="gemini-3-flash-preview")
    assert again.json["candidates"][0]["finishReason"] == "MISSING_THOUGHT_SIGNATURE"
    assert generate(simulator, user("a")).json["candidates"][0]["content"]["parts"][0]["text"] == "later"


@pytest.mark.parametrize("name", ["gemini-2.5-pro", "gemini-2.0-flash"])
def test_models_before_three_ask_for_no_signature(name: str) -> None:
    assert said(user("a"), model(called()), user(returned()), name=name) == "taken"


def test_our_own_signature_is_checked_a_strangers_is_not() -> None:
    simulator = account({"turns": [{"tool_calls": [{"name": "read", "input": {}}]}]})
    first = generate(simulator, user("a"), tools=tools(function("read")))
    content = first.json["candidates"][0]["content"]
    assert generate(simulator, user("a"), content, user(returned())).status == 200
    part = content["parts"][0]
    spoilt = {**part, "thoughtSignature": part["thoughtSignature"][:-8] + "AAAAAAA="}
    reply = generate(simulator, user("a"), model(spoilt), user(returned()))
    assert (reply.status, reply.error["message"]) == (400, "Corrupted thought signature.")
    words = {**part, "thoughtSignature": "skip_thought_signature_validator"}
    assert generate(simulator, user("a"), model(words), user(returned())).status == 200


@pytest.mark.parametrize(
    ("content", "said_"),
    [
        ({"role": "system", "parts": [{"text": "x"}]}, "Please use a valid role: user, model."),
        ({"role": "user", "parts": []}, "contents[0].parts: contents.parts must not be empty."),
        (user({"thought": True}), "parts[0].data: required oneof field 'data' must have one initialized field"),
        (user({"text": "a", "fileData": {"fileUri": "u"}}), "oneof field 'data' is already set. Cannot set 'fileData'"),
        (user({"functionResponse": {"response": {}}}), "parts[0].function_response.name: Name cannot be empty."),
        (model({"functionCall": {"args": {}}}), "parts[0].function_call.name: Name cannot be empty."),
    ],
)
def test_contents_one_by_one(content: dict[str, Any], said_: str) -> None:
    assert said_ in refused(content)


def test_a_request_without_contents_is_refused() -> None:
    assert refusal_of(request({"contents": []})) == ("* GenerateContentRequest.contents: contents is not specified\n")
