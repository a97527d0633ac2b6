"""Message batches: from making one to its results."""

from typing import Any

import msgspec

from tests.simulators.dialects.anthropic.api import Api
from tests.simulators.dialects.anthropic.asking import body, user

PATH = "/v1/messages/batches"


def asked(**requests: Any) -> dict[str, Any]:
    return {"requests": [{"custom_id": name, "params": params} for name, params in requests.items()]}


def made(api: Api, **requests: Any) -> dict[str, Any]:
    reply = api.send("POST", PATH, asked(**requests))
    assert reply.status == 200
    return dict(reply.body)


def results(api: Api, batch: str) -> dict[str, Any]:
    lines = api.send("GET", f"{PATH}/{batch}/results").text.splitlines()
    return {line["custom_id"]: line["result"] for line in map(msgspec.json.decode, lines)}


def test_a_batch_is_made_worked_off_and_read() -> None:
    api = Api()
    batch = made(api, a=body(user("hello there")), b=body(user("x"), model="claude-none"), c=body(stream=True))
    assert (batch["processing_status"], batch["request_counts"]["processing"]) == ("in_progress", 3)
    assert (batch["type"], batch["results_url"], batch["ended_at"]) == ("message_batch", None, None)
    shown = api.send("GET", f"{PATH}/{batch['id']}").body
    assert shown["processing_status"] == "ended"
    assert shown["request_counts"] == {"processing": 0, "succeeded": 1, "errored": 2, "canceled": 0, "expired": 0}
    assert shown["results_url"].endswith(f"{PATH}/{batch['id']}/results")
    told = results(api, batch["id"])
    assert told["a"]["message"]["content"] == [{"type": "text", "text": "hello there"}]
    assert told["a"]["message"]["usage"]["service_tier"] == "batch"
    assert told["b"]["error"]["error"] == {"type": "not_found_error", "message": "model: claude-none"}
    assert told["c"]["type"] == "errored"


def test_it_costs_half() -> None:
    api = Api()
    api.send("POST", "/v1/messages", body(user("hello there")))
    whole = api.account.state(api.now)["totals"]["cost_usd"]
    api.send("GET", f"{PATH}/{made(api, a=body(user('hello there')))['id']}")
    assert abs(api.account.state(api.now)["totals"]["cost_usd"] - 1.5 * whole) < 1e-12


def test_a_cancelled_batch_answers_nothing() -> None:
    api = Api({"turns": [{"text": "kept"}]})
    batch = made(api, a=body())
    assert api.send("POST", f"{PATH}/{batch['id']}/cancel").body["processing_status"] == "canceling"
    assert api.send("GET", f"{PATH}/{batch['id']}").body["request_counts"]["canceled"] == 1
    assert results(api, batch["id"]) == {"a": {"type": "canceled"}}
    assert api.send("POST", "/v1/messages", body()).body["content"][0]["text"] == "kept"


def test_pages_newest_first() -> None:
    api = Api()
    ids = [made(api, a=body())["id"] for _ in range(3)]
    page = api.send("GET", f"{PATH}?limit=2").body
    assert [one["id"] for one in page["data"]] == ids[:0:-1]
    assert page["has_more"] is True
    rest = api.send("GET", f"{PATH}?after_id={page['last_id']}").body
    assert [one["id"] for one in rest["data"]] == ids[:1]


def test_one_that_was_deleted_is_gone() -> None:
    api = Api()
    batch = made(api, a=body())
    assert api.send("DELETE", f"{PATH}/{batch['id']}").body == {"id": batch["id"], "type": "message_batch_deleted"}
    assert api.send("GET", f"{PATH}/{batch['id']}").status == 404


def test_results_are_kept_for_29_days() -> None:
    api = Api()
    batch = made(api, a=body())
    api.now += 29 * 86_400
    assert api.send("GET", f"{PATH}/{batch['id']}/results").status == 404
    assert api.send("GET", f"{PATH}/{batch['id']}").body["archived_at"] is not None


def test_what_is_no_batch_is_refused() -> None:
    api = Api()
    assert api.send("POST", PATH, {}).message == "requests: Field required"
    assert api.send("POST", PATH, {"requests": [{"custom_id": "a"}]}).message == "requests.0.params: Field required"
    twice = {"requests": asked(a=body())["requests"] * 2}
    assert api.send("POST", PATH, twice).message == "requests.1.custom_id: must be unique within the batch"
    assert api.send("PUT", PATH).status == 404
