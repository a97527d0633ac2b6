"""The agent over fakes and virtual time: whole stories, from the prompt to the result."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from claw.core.calls import Provider
from claw.core.errors import ClawError, FailureKind, ProviderFailure
from claw.core.usage import Price, Usage
from claw.ports import ModelFacts
from claw.runtime.agent import Agent
from claw.runtime.config import Config, ModelChoice, Profile, Settings, Timeouts, ToolOptions
from claw.testing.fakes import FixedModels, MemoryFiles, Reply, ScriptedProvider, ScriptedProviders, fake_ports
from simulators.shells.virtual_time import run

ENV = {"ANTHROPIC_API_KEY": "sk-test"}
FILE = "/home/sessions/s.jsonl"
LIMITED = ProviderFailure(kind=FailureKind.RATE_LIMITED, retry_after=7.0, status=429, message="slow down")
Told = list[dict[str, Any]]


def an_agent(
    provider: Provider | Mapping[str, Provider] | None = None,
    *,
    files: MemoryFiles | None = None,
    emit: Callable[[dict[str, Any]], None] | None = None,
    env: Mapping[str, str] = ENV,
    ports: dict[str, Any] | None = None,
    **config: Any,
) -> Agent:
    made = fake_ports(provider, files=files or MemoryFiles({"/w/notes.md": "the lamp"}), **(ports or {}))
    return Agent(made, Config(**config), "/home", env=env, emit=emit)


def words(told: Told) -> list[str]:
    """Event types, deltas left out."""
    return [e["type"] for e in told if not e["type"].startswith("part")]


def test_a_prompt_is_answered_and_the_result_has_every_key_of_the_contract() -> None:
    facts = FixedModels(ModelFacts(id="any", price=Price(input=3, output=15, cache_read=0.3, cache_write_5m=3.75)))
    answer = Reply(text="Berlin", usage=Usage(input=1, cache_write_5m=500, cache_read=85_000, output=4))
    agent = an_agent(ScriptedProvider([answer]), ports={"models": facts})
    result = run(agent.run("capital?", "s", "/w"))
    assert msgspec.json.decode(msgspec.json.encode(result)) == {
        "session": "s", "reply": "Berlin", "stop": "end_turn", "path": "embedded",
        "model": "anthropic/claude-sonnet-5",
        "usage": {
            "input": 1, "cache_read": 85_000, "cache_write_5m": 500, "cache_write_1h": 0, "output": 4, "reasoning": 0,
            "context_tokens": 85_501, "context_window": 200_000, "context_percent": 43,
        },
        "usage_total": {
            "input": 1, "cache_read": 85_000, "cache_write_5m": 500, "cache_write_1h": 0, "output": 4, "reasoning": 0,
        },
        "cost_usd": 0.027438,
        "attempts": [
            {
                "n": 1, "provider": "anthropic", "model": "claude-sonnet-5", "profile": None, "kind": None,
                "status": None, "waited_s": 0.0, "action": None,
            }
        ],
        "tool_calls": [], "compactions": 0, "failure": None,
    }  # fmt: skip


def test_a_tool_runs_and_its_result_goes_back() -> None:
    call = Reply(text="reading", tool_calls=(("t1", "read", {"path": "notes.md"}),))
    provider = ScriptedProvider([call, "It says: the lamp."])
    told: Told = []
    result = run(an_agent(provider, emit=told.append).run("what?", "s", "/w"))
    assert result.reply == "It says: the lamp."
    assert [(t.id, t.name, t.ok) for t in result.tool_calls] == [("t1", "read", True)]
    assert "the lamp" in provider.requests[1].messages[-1].parts[0].text  # type: ignore[union-attr]
    assert [m.role for m in provider.requests[1].messages] == ["user", "assistant", "tool"]
    assert words(told) == [
        "run_start", "message_start", "message_end", "attempt", "tool_start", "tool_end",
        "message_start", "message_end", "attempt", "run_end",
    ]  # fmt: skip
    assert [e["seq"] for e in told] == list(range(1, len(told) + 1))
    assert len({e["run"] for e in told}) == 1
    assert "".join(e["text"] for e in told if e["type"] == "part_delta").endswith("It says: the lamp.")


def test_a_tool_that_does_not_exist_or_breaks_is_the_models_to_know() -> None:
    calls = Reply(tool_calls=(("t1", "fly", {}), ("t2", "read", {"path": 7})))
    provider = ScriptedProvider([calls, "sorry"])
    result = run(an_agent(provider).run("x", "s", "/w"))
    assert result.reply == "sorry" and [t.ok for t in result.tool_calls] == [False, False]
    texts = [part.text for part in provider.requests[1].messages[-1].parts]  # type: ignore[union-attr]
    assert "no tool fly" in texts[0]


def test_the_next_prompt_goes_on_with_the_same_first_bytes() -> None:
    """Everything that was sent before is sent again unchanged: that is what a prompt cache reads."""
    call = Reply(tool_calls=(("t1", "read", {"path": "notes.md"}),))
    provider = ScriptedProvider([call, "one", "two"])
    files = MemoryFiles({"/w/notes.md": "the lamp", "/w/AGENTS.md": "Be brief."})

    async def story() -> None:
        await an_agent(provider, files=files).run("first", "s", "/w")
        await asyncio.sleep(300)
        await an_agent(provider, files=files).run("second", "s", "/w")

    run(story())
    before, after = provider.requests[1], provider.requests[2]
    assert after.system == before.system and after.tools == before.tools
    assert after.messages[: len(before.messages)] == before.messages
    encode = msgspec.json.encode
    assert encode(after.messages).startswith(encode(before.messages)[:-1])


def test_a_clock_in_the_prompt_is_the_old_mistake() -> None:
    provider = ScriptedProvider(["one", "two"])
    files = MemoryFiles()

    async def story() -> None:
        agent = an_agent(provider, files=files, settings=Settings(clock_in_prompt=True))
        await agent.run("first", "s", "/w")
        await asyncio.sleep(300)
        await agent.run("second", "s", "/w")

    run(story())
    assert provider.requests[0].system[0] != provider.requests[1].system[0]


def test_a_rate_limit_is_waited_out_and_nothing_is_sent_before() -> None:
    provider = ScriptedProvider([LIMITED, "ok"])
    told: Told = []
    result = run(an_agent(provider, emit=told.append).run("x", "s", "/w"))
    assert (result.reply, result.attempts[0].waited_s, result.attempts[0].action) == ("ok", 7.0, "retry")
    limited = next(e["at"] for e in told if e["type"] == "attempt")
    assert next(e["at"] for e in told if e["type"] == "message_start") - limited >= 7.0


PROFILES = tuple(Profile(id=name, provider="anthropic", key=name) for name in ("main", "spare"))


def test_a_profile_that_is_refused_is_left_and_stays_left() -> None:
    """The second run begins with the profile that works."""
    refused = ProviderFailure(kind=FailureKind.AUTH, status=401)
    main, spare = ScriptedProvider([refused, "main again"]), ScriptedProvider(["one", "two"])
    files = MemoryFiles()

    async def story() -> list[str]:
        agent = an_agent({"main": main, "spare": spare}, files=files, profiles=PROFILES)
        first = await agent.run("x", "s", "/w")
        assert [(a.profile, a.action) for a in first.attempts] == [("main", "rotate"), ("spare", None)]
        second = await an_agent({"main": main, "spare": spare}, files=files, profiles=PROFILES).run("y", "s", "/w")
        await asyncio.sleep(3_600)
        third = await agent.run("z", "s", "/w")
        return [first.reply, second.reply, third.reply]

    assert run(story()) == ["one", "two", "main again"]


def test_an_account_that_cannot_pay_is_asked_once() -> None:
    broke = ProviderFailure(kind=FailureKind.BILLING, status=400, message="credit balance is too low")
    provider = ScriptedProvider([broke, "never"])
    result = run(an_agent(provider).run("x", "s", "/w"))
    assert len(provider.requests) == 1
    assert result.failure is not None and result.failure.kind is FailureKind.BILLING
    assert (result.stop, result.reply) == ("error", "")


def test_an_overflow_is_condensed_and_answered_and_the_session_opens_with_the_summary() -> None:
    overflow = ProviderFailure(kind=FailureKind.CONTEXT_OVERFLOW, status=400, tokens=213_456, limit=200_000)
    long = "word " * 20_000
    provider = ScriptedProvider([*["a" + long] * 6, overflow, "done", "again"], summary="They spoke of much.")
    files = MemoryFiles()

    async def story() -> None:
        agent = an_agent(provider, files=files)
        for n in range(6):
            await agent.run(f"q{n} {long}", "s", "/w")
        result = await agent.run("and now?", "s", "/w")
        assert (result.reply, result.compactions, [a.action for a in result.attempts]) == ("done", 1, ["compact", None])
        await agent.run("more", "s", "/w")

    run(story())
    last = provider.requests[-1].messages
    assert "They spoke of much." in last[0].text and last[-1].text == "more"


def test_a_stream_that_is_cut_is_asked_for_again_and_appears_once() -> None:
    provider = ScriptedProvider([Reply(text="half an answer", cut_after=3), "a whole answer"])
    files = MemoryFiles()
    result = run(an_agent(provider, files=files).run("x", "s", "/w"))
    assert result.reply == "a whole answer"
    assert result.attempts[0].kind is FailureKind.TRUNCATED
    assert files.files[FILE].count(b'"assistant"') == 1 and b"half an" not in files.files[FILE]


def test_silence_is_a_time_out_before_the_first_event_and_between_events() -> None:
    late, stalled = Reply(text="x", delay_s=200), Reply(text="x", stall_s=200)
    provider = ScriptedProvider([late, stalled, "ok"])
    result = run(an_agent(provider).run("x", "s", "/w"))
    assert [a.kind for a in result.attempts] == [FailureKind.TIMEOUT, FailureKind.TIMEOUT, None]
    assert provider.open_streams == 0


def test_a_run_has_an_end_in_time() -> None:
    provider = ScriptedProvider([Reply(text="x", delay_s=1e6)])
    agent = an_agent(provider, timeouts=Timeouts(run_s=60, first_event_s=0))
    result = run(agent.run("x", "s", "/w"))
    assert result.failure is not None and result.failure.kind is FailureKind.TIMEOUT
    assert provider.open_streams == 0


def test_runs_of_a_session_follow_each_other_and_other_sessions_do_not_wait() -> None:
    provider = ScriptedProvider([Reply(text="slow", delay_s=50)] * 3)
    told: Told = []

    async def story() -> list[str]:
        agent = an_agent(provider, emit=told.append)
        return [
            r.reply
            for r in await asyncio.gather(*(agent.run(p, s, "/w") for p, s in (("1", "a"), ("2", "a"), ("3", "b"))))
        ]

    assert run(story()) == ["slow"] * 3
    starts = [round(e["at"] - told[0]["at"]) for e in told if e["type"] == "run_start"]
    assert sorted(starts) == [0, 0, 50]
    assert [e["ahead"] for e in told if e["type"] == "queued"] == [1]
    assert [m.text for m in provider.requests[2].messages] == ["1", "slow", "2"]


def test_a_message_to_a_run_at_work_is_seen_by_its_next_call() -> None:
    call = Reply(tool_calls=(("t1", "read", {"path": "notes.md"}),), delay_s=5)
    provider = ScriptedProvider([call, "ok"])

    async def story() -> None:
        agent = an_agent(provider)
        assert not agent.steer("s", "nobody hears")
        going = asyncio.create_task(agent.run("x", "s", "/w"))
        await asyncio.sleep(1)
        assert agent.steer("s", "be quick")
        await going

    run(story())
    assert provider.requests[1].messages[-1].text == "be quick"


def test_a_message_that_comes_in_with_the_last_answer_is_not_lost() -> None:
    provider = ScriptedProvider(["first", "second"])

    async def story() -> Any:
        agent: Agent

        def at_the_end(event: dict[str, Any]) -> None:
            if event["type"] == "message_end" and len(provider.requests) == 1:  # heard behind it, before it is acted on
                asyncio.get_running_loop().call_soon(agent.steer, "s", "one more thing")
            if event["type"] == "run_end":
                assert not agent.steer("s", "too late")

        agent = an_agent(provider, emit=at_the_end)
        return await agent.run("x", "s", "/w")

    assert run(story()).reply == "second"
    assert provider.requests[1].messages[-1].text == "one more thing"


def test_a_run_can_be_stopped_and_keeps_what_was_said() -> None:
    provider = ScriptedProvider([Reply(text="half a sentence", stall_s=100)])
    files = MemoryFiles()

    async def story() -> Any:
        agent = an_agent(provider, files=files)
        assert not agent.abort("s")
        going = asyncio.create_task(agent.run("x", "s", "/w"))
        await asyncio.sleep(1)
        assert agent.abort("s")
        return await going

    result = run(story())
    assert (result.stop, result.reply, result.failure) == ("aborted", "half a sentence", None)
    assert provider.open_streams == 0


def test_a_cancelled_task_closes_the_session_and_leaves_no_stream() -> None:
    provider = ScriptedProvider([Reply(text="half a sentence", stall_s=100), "ok"])
    files = MemoryFiles()

    async def story() -> None:
        agent = an_agent(provider, files=files)
        going = asyncio.create_task(agent.run("x", "s", "/w"))
        await asyncio.sleep(1)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        assert provider.open_streams == 0
        assert (await agent.run("go on", "s", "/w")).reply == "ok"

    run(story())
    assert [m.text for m in provider.requests[1].messages] == ["x", "half a sentence", "go on"]


def test_a_tool_that_was_at_work_when_everything_ended_is_not_run_again() -> None:
    """The process dies during the tool; the next run tells the model that the result is unknown."""
    call = Reply(tool_calls=(("t1", "read", {"path": "notes.md"}),))
    first, second = ScriptedProvider([call]), ScriptedProvider(["ok"])
    files = MemoryFiles()

    class Died(BaseException):
        pass

    def dies(event: dict[str, Any]) -> None:
        if event["type"] == "tool_start":
            raise Died

    with pytest.raises(Died):
        run(an_agent(first, files=files, emit=dies).run("x", "s", "/w"))
    files.crash()
    result = run(an_agent(second, files=files).run("y", "s", "/w"))
    assert result.tool_calls == ()
    shown = second.requests[0].messages
    assert [m.role for m in shown] == ["user", "assistant", "tool", "user"]
    assert "may or may not" in shown[2].parts[0].text  # type: ignore[union-attr]


def test_a_fallback_answers_where_the_first_model_does_not_exist() -> None:
    missing = ProviderFailure(kind=FailureKind.MODEL_NOT_FOUND, status=404)
    provider = ScriptedProvider([missing, "from the other"])
    choice = ModelChoice(primary="anthropic/gone", fallbacks=("anthropic/here", "openai/no-key"))
    result = run(an_agent(provider, model=choice).run("x", "s", "/w"))
    assert (result.reply, result.model) == ("from the other", "anthropic/here")


def test_a_session_is_condensed_on_request() -> None:
    provider = ScriptedProvider(["one " * 500], summary="S")

    async def story() -> None:
        agent = an_agent(provider)
        await agent.run("x", "s", "/w")
        result = await agent.compact("s")
        assert (result.compactions, result.failure, result.reply) == (1, None, "")
        with pytest.raises(ClawError, match="no session `t`"):
            await agent.compact("t")

    run(story())


def test_a_new_session_gets_a_name_and_the_workspace_is_remembered() -> None:
    provider = ScriptedProvider(["one", "two"])
    files = MemoryFiles({"/w/AGENTS.md": "Be brief."})

    async def story() -> None:
        agent = an_agent(provider, files=files)
        result = await agent.run("x", workspace="/w")
        await agent.run("y", result.session)

    run(story())
    assert "Be brief." in provider.requests[1].system[0].text


@pytest.mark.parametrize(
    ("arrange", "says"),
    [
        ({"env": {}}, "ANTHROPIC_API_KEY"),
        ({"profiles": (Profile(id="main", provider="anthropic", key_env="NOT_SET"),)}, "NOT_SET is not set"),
        ({"profiles": (Profile(id="main", provider="anthropic"),)}, "give it key or key_env"),
        ({"model": ModelChoice(primary="claude")}, "anthropic/claude"),
        ({"model": ModelChoice(primary="acme/m")}, "Known providers"),
        ({"tools": ToolOptions(allow=("raed",))}, "did you mean `read`"),
    ],
)
def test_what_the_user_has_to_put_right_is_said_before_anything_is_written(arrange: dict[str, Any], says: str) -> None:
    files = MemoryFiles()
    with pytest.raises(ClawError, match=says):
        run(an_agent(files=files, **arrange).run("x", "s", "/w"))
    assert not files.exists(FILE)


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(ClawError, match="empty"):
        run(an_agent().run("  ", "s"))


def test_a_session_that_is_held_elsewhere_is_named() -> None:
    files = MemoryFiles()

    async def story() -> None:
        async with files.lock(FILE, wait_s=1):
            with pytest.raises(ClawError, match="session `s` is at work elsewhere"):
                await an_agent(ScriptedProvider(["x"]), files=files).run("x", "s", "/w")

    run(story())


def test_keys_and_addresses_come_from_profiles_configuration_or_the_environment() -> None:
    from claw.runtime.config import ProviderOptions

    opened = ScriptedProviders(ScriptedProvider(["1", "2", "3"]))

    async def story() -> None:
        env = {**ENV, "ANTHROPIC_BASE_URL": "http://env"}
        await an_agent(ports={"providers": opened}, env=env).run("x", "a", "/w")
        configured = {"anthropic": ProviderOptions(base_url="http://file", params={"top_k": 1})}
        await an_agent(ports={"providers": opened}, env=env, providers=configured).run("x", "b", "/w")
        await an_agent(ports={"providers": opened}, profiles=PROFILES).run("x", "c", "/w")

    run(story())
    assert opened.opened == [
        ("anthropic", "http://env", "sk-test"),
        ("anthropic", "http://file", "sk-test"),
        ("anthropic", None, "main"),
    ]


def test_closing_frees_what_the_providers_hold() -> None:
    class Closing(ScriptedProviders):
        closed = False

        async def close(self) -> None:
            self.closed = True

    providers = Closing(ScriptedProvider([]))
    run(an_agent(ports={"providers": providers}).close())
    assert providers.closed
    run(an_agent().close())


def test_what_went_wrong_and_what_was_done_about_it_is_on_record() -> None:
    """A run leaves the reason of every decision behind its answer, where no model sees it."""
    files = MemoryFiles()
    provider = ScriptedProvider([LIMITED, "ok", "again"])
    run(an_agent(provider, files=files).run("x", "s", "/w"))
    *_, last = [msgspec.json.decode(line) for line in files.read(FILE).splitlines()]
    (made,) = last["data"]["decisions"]
    assert (last["customType"], made["kind"], made["action"], made["waited_s"]) == (
        "decisions", "rate_limited", "retry", 7.0,
    )  # fmt: skip
    assert "as long as it was told" in made["why"]
    run(an_agent(provider, files=files).run("y", "s", "/w"))
    assert "decisions" not in str(provider.requests[-1].messages)


def test_a_session_stays_with_the_profile_that_answered_it() -> None:
    """The second prompt goes where the first one's prefix is cached, though the first profile is free again."""
    files = MemoryFiles()
    profiles = tuple(Profile(id=n, provider="anthropic", key=f"k-{n}") for n in ("a", "b"))
    first = ScriptedProvider([msgspec.structs.replace(LIMITED, retry_after=60.0), "from a"])
    second = ScriptedProvider(["one", "two", "three"])
    agent = an_agent({"k-a": first, "k-b": second}, files=files, profiles=profiles)

    async def story() -> list[str]:
        replies = [(await agent.run("x", "s", "/w")).reply]
        await asyncio.sleep(3_600)
        replies.append((await agent.run("y", "s", "/w")).reply)
        replies.append((await agent.run("z", "s", "/w", profile="a")).reply)
        return replies

    assert run(story()) == ["one", "two", "from a"]
