"""Cached contents: made, kept, paid for, read from, gone; and the cache that nobody asks for."""

from typing import Any

import pytest

from simulators import Simulator
from tests.simulators.dialects.gemini.asking import (
    Reply,
    account,
    ask,
    body,
    function,
    generate,
    model,
    request,
    tools,
    user,
)

BOOK = {"model": "models/gemini-3.8-flash", "contents": [user("word " * 5000)]}
FLASH = "gemini-3.8-flash"


def create(simulator: Simulator, at: float = 0.0, **fields: Any) -> Reply:
    made = {name: value for name, value in {**BOOK, **fields}.items() if value is not None}
    return ask(simulator, request(made, path="/v1beta/cachedContents"), at=at)


def change(simulator: Simulator, name: str, given: Any, *query: tuple[str, str], at: float = 0.0) -> Reply:
    return ask(simulator, request(given, path=f"/v1beta/{name}", verb="PATCH", query=query), at=at)


def look(simulator: Simulator, name: str, at: float = 0.0) -> Reply:
    return ask(simulator, request(path=f"/v1beta/{name}", verb="GET"), at=at)


class TestMaking:
    def test_it_is_shown_without_what_is_in_it(self) -> None:
        made = create(account(), displayName="book", ttl="120s").json
        assert made.pop("name").startswith("cachedContents/")
        assert made == {
            "model": "models/gemini-3.8-flash",
            "displayName": "book",
            "createTime": "2026-01-01T00:00:00.000000Z",
            "updateTime": "2026-01-01T00:00:00.000000Z",
            "expireTime": "2026-01-01T00:02:00.000000Z",
            "usageMetadata": {"totalTokenCount": 5000},
        }

    def test_an_hour_is_the_default(self) -> None:
        assert create(account()).json["expireTime"] == "2026-01-01T01:00:00.000000Z"

    def test_a_time_may_be_said_instead(self) -> None:
        made = create(account(), expireTime="2026-01-01T05:00:00.5Z")
        assert made.json["expireTime"] == "2026-01-01T05:00:00.500000Z"

    def test_tools_and_instructions_count(self) -> None:
        more = {"systemInstruction": {"parts": [{"text": "be brief"}]}, "tools": tools(function("read"))}
        assert create(account(), **more).json["usageMetadata"]["totalTokenCount"] == 5000 + 2 + 2

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            (
                {"contents": [user("word " * 477)]},
                "Cached content is too small. total_token_count=477, min_total_token_count=4096",
            ),
            ({"contents": [*BOOK["contents"], model("yes")]}, "Cached content must not end with a model turn."),
            ({"model": None}, "CachedContentRequest.cached_content.model: model is not specified"),
            ({"ttl": "soon"}, "Illegal duration format; duration must end with 's': \"soon\""),
            ({"ttl": "0s"}, "CachedContent ttl must be positive."),
            ({"ttl": "5s", "expireTime": "2027-01-01T00:00:00Z"}, "oneof field 'expiration' is already set."),
            ({"expireTime": "tomorrow"}, "Invalid time format"),
            ({"expireTime": "2025-01-01T00:00:00Z"}, "CachedContent expire_time must be in the future."),
            ({"nonsense": 1}, 'Unknown name "nonsense": Cannot find field.'),
            ({"contents": [{"role": "system", "parts": [{"text": "x"}]}]}, "Please use a valid role: user, model."),
        ],
    )
    def test_what_is_refused(self, fields: dict[str, Any], said: str) -> None:
        simulator = account()
        reply = create(simulator, **fields)
        assert reply.status == 400
        assert said in reply.error["message"]
        assert ask(simulator, request(path="/v1beta/cachedContents", verb="GET")).json == {}

    def test_a_model_that_is_not_there(self) -> None:
        reply = create(account(), model="models/gemini-0")
        assert (reply.status, reply.error["status"]) == (404, "NOT_FOUND")
        assert (
            "models/gemini-0 is not found for API version v1beta, or is not supported for createCachedContent"
            in (reply.error["message"])
        )

    def test_input_and_storage_are_paid_for(self) -> None:
        """5,000 tokens at 0.75 USD a million, and kept for two hours at 1 USD a million and hour."""
        simulator = account()
        name = create(simulator, ttl="7200s").json["name"]
        entry = simulator.account("k").journal.exchanges[-1]
        assert entry.answered_by == "store"
        assert entry.cost_usd == pytest.approx(5000 * (0.75 + 2 * 1.0) / 1e6)
        change(simulator, name, {"ttl": "10800s"})
        assert simulator.account("k").journal.exchanges[-1].cost_usd == pytest.approx(5000 * 1.0 / 1e6)
        change(simulator, name, {"ttl": "60s"})
        assert simulator.account("k").journal.exchanges[-1].cost_usd == 0


class TestKeeping:
    def test_it_is_gone_when_its_time_is_up(self) -> None:
        simulator = account()
        name = create(simulator, ttl="100s").json["name"]
        assert look(simulator, name, at=99).status == 200
        gone = look(simulator, name, at=100)
        assert (gone.status, gone.error["status"]) == (403, "PERMISSION_DENIED")
        assert gone.error["message"] == "CachedContent not found (or permission denied)"

    def test_a_longer_life(self) -> None:
        simulator = account()
        name = create(simulator, ttl="100s").json["name"]
        changed = change(simulator, name, {"ttl": "300s"}, ("updateMask", "ttl"), at=50)
        assert changed.json["expireTime"] == "2026-01-01T00:05:50.000000Z"
        assert changed.json["updateTime"] == "2026-01-01T00:00:50.000000Z"
        assert look(simulator, name, at=349).status == 200
        assert look(simulator, name, at=350).status == 403

    @pytest.mark.parametrize(
        ("given", "query", "said"),
        [
            ({"displayName": "x"}, (), "Only the expiration of a CachedContent can be updated, not `displayName`."),
            ({"ttl": "5s"}, (("updateMask", "display_name"),), "not `display_name`"),
            ({}, (), "ttl or expire_time must be set"),
        ],
    )
    def test_nothing_else_can_be_changed(
        self, given: dict[str, Any], query: tuple[tuple[str, str], ...], said: str
    ) -> None:
        simulator = account()
        reply = change(simulator, create(simulator).json["name"], given, *query)
        assert reply.status == 400
        assert said in reply.error["message"]

    def test_removed_is_gone(self) -> None:
        simulator = account()
        name = create(simulator).json["name"]
        removed = ask(simulator, request(path=f"/v1/{name}", verb="DELETE"))
        assert (removed.status, removed.json) == (200, {})
        assert look(simulator, name).status == 403
        assert ask(simulator, request(path=f"/v1/{name}", verb="DELETE")).status == 403

    def test_the_list_has_the_latest_first_in_pages(self) -> None:
        simulator = account()
        names = [create(simulator, at=float(i)).json["name"] for i in range(3)]
        first = ask(simulator, request(path="/v1beta/cachedContents", verb="GET", query=(("pageSize", "2"),))).json
        assert [cached["name"] for cached in first["cachedContents"]] == names[:0:-1]
        rest = (("pageSize", "2"), ("pageToken", first["nextPageToken"]))
        second = ask(simulator, request(path="/v1beta/cachedContents", verb="GET", query=rest)).json
        assert [cached["name"] for cached in second["cachedContents"]] == names[:1]
        assert "nextPageToken" not in second

    def test_another_account_sees_nothing_of_it(self) -> None:
        simulator = account()
        name = create(simulator).json["name"]
        assert ask(simulator, request(path=f"/v1beta/{name}", verb="GET", key="other")).status == 403

    def test_a_new_document_starts_afresh(self) -> None:
        simulator = account()
        name = create(simulator).json["name"]
        simulator.account("k").load({"otherwise": "echo"})
        assert look(simulator, name).status == 403


class TestUsing:
    def test_it_stands_before_what_is_sent_and_is_read(self) -> None:
        simulator = account()
        more = {"systemInstruction": {"parts": [{"text": "be brief"}]}, "tools": tools(function("read"))}
        name = create(simulator, **more).json["name"]
        usage = generate(simulator, user("and then"), cachedContent=name).usage
        assert (usage["promptTokenCount"], usage["cachedContentTokenCount"]) == (5006, 5004)
        entry = simulator.account("k").journal.exchanges[-1].to_dict()
        assert (entry["tokens"]["cache_read"], entry["tokens"]["input"]) == (5004, 2)
        assert entry["cache"]["ideal_read"] == 5004

    def test_counting_knows_it(self) -> None:
        simulator = account()
        name = create(simulator).json["name"]
        inner = {"generateContentRequest": {"contents": [user("a b")], "cachedContent": name}}
        counted = ask(simulator, request(inner, method="countTokens")).json
        assert counted["totalTokens"] == 5002

    def test_rules_see_what_is_in_it(self) -> None:
        rule = {"when": {"system": "brief"}, "reply": {"text": "short"}}
        simulator = account({"rules": [rule]})
        name = create(simulator, systemInstruction={"parts": [{"text": "be brief"}]}).json["name"]
        answer = generate(simulator, cachedContent=name).json
        assert answer["candidates"][0]["content"]["parts"][0]["text"] == "short"

    def test_a_conversation_goes_on_behind_it(self) -> None:
        """Its last content is the user's: a function call may follow, a response may not."""
        simulator = account()
        name = create(simulator, contents=[user("word " * 5000)], tools=tools(function("read"))).json["name"]
        call = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "c2tpcA=="}
        done = {"functionResponse": {"name": "read", "response": {}}}
        assert generate(simulator, model(call), user(done), cachedContent=name).status == 200
        assert generate(simulator, user(done), cachedContent=name).status == 400

    @pytest.mark.parametrize(
        ("fields", "status", "said"),
        [
            ({"model": "gemini-2.5-flash"}, 400, "(models/gemini-3.8-flash) has to be the same."),
            ({"systemInstruction": {"parts": [{"text": "x"}]}}, 400, "CachedContent can not be used with"),
            (
                {"tools": [{"googleSearch": {}}]},
                400,
                "move those values to CachedContent from GenerateContent request.",
            ),
            ({"cachedContent": "cachedContents/nothing"}, 403, "CachedContent not found (or permission denied)"),
        ],
    )
    def test_what_is_refused(self, fields: dict[str, Any], status: int, said: str) -> None:
        simulator = account()
        reply = generate(simulator, **{"cachedContent": create(simulator).json["name"], **fields})
        assert reply.status == status
        assert said in reply.error["message"]

    def test_the_same_request_is_refused_once_it_is_gone(self) -> None:
        """What was read before is not remembered beyond its life."""
        simulator = account()
        name = create(simulator, ttl="100s").json["name"]
        assert generate(simulator, cachedContent=name, at=1).status == 200
        assert generate(simulator, cachedContent=name, at=2).status == 200
        assert generate(simulator, cachedContent=name, at=100).status == 403

    def test_models_without_an_implicit_cache_have_this_one(self) -> None:
        simulator = account()
        name = create(simulator, model="models/gemini-2.0-flash").json["name"]
        for at in (1.0, 2.0):
            usage = generate(simulator, user("a " * 6000), model="gemini-2.0-flash", cachedContent=name, at=at).usage
            assert usage["cachedContentTokenCount"] == 5000


class TestImplicit:
    LONG = user("word " * 4096)

    @pytest.mark.parametrize(
        ("name", "minimum"),
        [("gemini-3.8-flash", 4096), ("gemini-3.1-pro-preview", 4096), ("gemini-2.5-flash", 2048), ("sim-x", 1024)],
    )
    def test_each_model_has_its_minimum(self, name: str, minimum: int) -> None:
        for size, read in ((minimum, minimum), (minimum - 1, None)):
            simulator = account()
            for at in (0.0, 1.0):
                usage = generate(simulator, user("word " * size), model=name, at=at).usage
            assert usage.get("cachedContentTokenCount") == read

    def test_nothing_is_paid_for_writing(self) -> None:
        simulator = account({"turns": [{"text": ""}], "otherwise": "repeat"})
        costs = []
        for at in (0.0, 1.0):
            generate(simulator, self.LONG, at=at)
            costs.append(simulator.account("k").journal.exchanges[-1].cost_usd)
        assert costs == [pytest.approx(4096 * 0.75 / 1e6), pytest.approx(4096 * 0.075 / 1e6)]

    @pytest.mark.parametrize(("at", "read"), [(299.0, 4096), (300.0, None)])
    def test_it_lives_five_minutes_after_its_last_use(self, at: float, read: int | None) -> None:
        simulator = account()
        generate(simulator, self.LONG)
        assert generate(simulator, self.LONG, user("b"), at=at).usage.get("cachedContentTokenCount") == read

    def test_a_conversation_is_read_up_to_where_it_goes_on(self) -> None:
        simulator = account()
        generate(simulator, self.LONG)
        usage = generate(simulator, self.LONG, model("yes"), user("go on"), at=1).usage
        assert (usage["promptTokenCount"], usage["cachedContentTokenCount"]) == (4099, 4096)
        assert (
            generate(simulator, self.LONG, model("yes"), user("go on"), user("x"), at=2).usage[
                "cachedContentTokenCount"
            ]
            == 4099
        )

    def test_models_share_nothing(self) -> None:
        simulator = account()
        generate(simulator, self.LONG)
        assert "cachedContentTokenCount" not in generate(simulator, self.LONG, model="gemini-3.5-flash", at=1).usage

    @pytest.mark.parametrize(
        ("changes", "level", "why"),
        [
            ({"tools": tools(function("read"))}, "tools", "block added"),
            ({"systemInstruction": {"parts": [{"text": "new"}]}}, "system", "content changed"),
        ],
    )
    def test_a_miss_is_explained_without_words_of_the_vendor(
        self, changes: dict[str, Any], level: str, why: str
    ) -> None:
        simulator = account()
        plain = {"systemInstruction": {"parts": [{"text": "old"}]}}
        generate(simulator, self.LONG, **plain)
        generate(simulator, self.LONG, user("b"), **{**plain, **changes}, at=1)
        miss = (simulator.account("k").journal.exchanges[-1].cache or {})["miss"]
        assert (miss["level"], miss["why"], miss["vendor_reason"], miss["lost_tokens"]) == (level, why, None, 4097)

    def test_an_expired_prefix_is_told_with_its_age(self) -> None:
        simulator = account()
        generate(simulator, self.LONG)
        generate(simulator, self.LONG, user("b"), at=400)
        miss = (simulator.account("k").journal.exchanges[-1].cache or {})["miss"]
        assert miss["why"] == "expired: 400 s old, kept for 300 s"

    @pytest.mark.parametrize(("at", "read"), [(59.0, 4096), (60.0, None)])
    def test_an_account_may_say_how_long(self, at: float, read: int | None) -> None:
        simulator = account({"cache": {"implicit_ttl": 60}})
        generate(simulator, self.LONG)
        assert generate(simulator, self.LONG, user("b"), at=at).usage.get("cachedContentTokenCount") == read

    def test_it_can_be_switched_off(self) -> None:
        simulator = account({"cache": {"enabled": False}})
        for at in (0.0, 1.0):
            usage = generate(simulator, self.LONG, at=at).usage
        assert "cachedContentTokenCount" not in usage


def test_a_body_of_counting_may_hold_one_of_two() -> None:
    both = {**body(), "generateContentRequest": body()}
    assert ask(account(), request(both, method="countTokens")).status == 400
