"""Cache diagnostics: the first difference between a request and the one that it names."""

from typing import Any

from tests.simulators.dialects.anthropic.api import Api
from tests.simulators.dialects.anthropic.asking import assistant, tool, user

TOLD = (user("one two three"), assistant("four"), user("five"))
ASK: dict[str, Any] = {"system": "be brief", "tools": [tool("read")]}


def compared(api: Api, *told: dict[str, Any], previous: str | None, **fields: Any) -> Any:
    return api.post(*told, **{**ASK, "diagnostics": {"previous_message_id": previous}, **fields}).body["diagnostics"]


def first(api: Api) -> str:
    reply = api.post(*TOLD, **ASK, diagnostics={"previous_message_id": None})
    assert reply.body["diagnostics"] is None
    return str(reply.body["id"])


def reason(kind: str, lost: int | None = None) -> dict[str, Any]:
    return {"cache_miss_reason": {"type": kind} | ({} if lost is None else {"cache_missed_input_tokens": lost})}


def test_going_on_is_no_difference() -> None:
    api = Api()
    assert compared(api, *TOLD, assistant("six"), user("seven"), previous=first(api)) is None


def test_the_first_difference_is_named_with_its_price() -> None:
    """tools 2 | system 2 | messages 3 + 1 + 1 words."""
    api = Api()
    id_ = first(api)
    assert compared(api, *TOLD, previous=id_, model="claude-opus-5") == reason("model_changed", 9)
    assert compared(api, *TOLD, previous=id_, tools=[tool("write")]) == reason("tools_changed", 9)
    assert compared(api, *TOLD, previous=id_, system="be long") == reason("system_changed", 7)
    assert compared(api, user("one two"), *TOLD[1:], previous=id_) == reason("messages_changed", 5)
    assert compared(api, *TOLD[:2], user("5"), previous=id_) == reason("messages_changed", 1)


def test_other_settings_are_not_diagnosed() -> None:
    api = Api()
    assert compared(api, *TOLD, previous=first(api), tool_choice={"type": "any"}) == reason("unavailable")


def test_only_requests_that_take_part_are_remembered() -> None:
    api = Api()
    plain = api.post(*TOLD, **ASK).body
    assert "diagnostics" not in plain
    assert compared(api, *TOLD, previous=plain["id"]) == reason("previous_message_not_found")
    assert compared(api, *TOLD, previous="msg_unknown") == reason("previous_message_not_found")


def test_a_stream_says_it_at_its_start() -> None:
    api = Api()
    reply = api.post(*TOLD, **ASK, stream=True, diagnostics={"previous_message_id": "msg_unknown"})
    assert reply.events[0][1]["message"]["diagnostics"] == reason("previous_message_not_found")


def test_accounts_know_nothing_of_each_other() -> None:
    api = Api()
    id_ = first(api)
    api.headers["x-api-key"] = "sk-other"
    assert compared(api, *TOLD, previous=id_) == reason("previous_message_not_found")
