"""The CLI path: how a CLI is started, read, watched, ended and resumed."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from claw import cli_backends
from claw.core.errors import ClawError, FailureKind
from claw.runtime.agent import Agent
from claw.runtime.config import CliOptions, Config, Settings, Watchdog
from claw.testing.fakes import FakeProcesses, MemoryFiles, Spawned, Spoken, fake_ports
from simulators.shells.virtual_time import run

MODEL = "claude-cli/claude-sonnet-4-5"
SESSION = "33333333-3333-4333-8333-333333333333"
LOST = b"No conversation found with session ID: x\n"


def line(**record: Any) -> bytes:
    return json.dumps({"session_id": SESSION, **record}).encode() + b"\n"


def usage(input: int = 0, created: int = 0, read: int = 0, output: int = 0) -> dict[str, int]:
    return {
        "input_tokens": input,
        "cache_creation_input_tokens": created,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


INIT = line(type="system", subtype="init", model="claude-x", tools=[])


def assistant(text: str, **tokens: int) -> bytes:
    message = {
        "id": f"msg_{text}", "model": "claude-x", "role": "assistant", "type": "message", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": text}], "usage": usage(**tokens),
    }  # fmt: skip
    return line(type="assistant", message=message, parent_tool_use_id=None)


def result(text: str, **tokens: int) -> bytes:
    return line(type="result", subtype="success", is_error=False, result=text, usage=usage(**tokens))


def says(text: str, **tokens: int) -> Spoken:
    return Spoken(stdout=(INIT, assistant(text, **tokens), result(text, **tokens)))


USE = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make"}}
CALL = line(
    type="assistant",
    parent_tool_use_id=None,
    message={"id": "m", "model": "claude-x", "content": [USE], "usage": usage()},
)
COMPACTING = line(type="system", subtype="status", status="compacting")


def boundary(trigger: str, tokens: int) -> bytes:
    return line(type="system", subtype="compact_boundary", compact_metadata={"trigger": trigger, "pre_tokens": tokens})


def streamed(type: str, **event: Any) -> bytes:
    return line(type="stream_event", event={"type": type, **event})


class Story:
    """An agent over a scripted CLI."""

    def __init__(self, *script: Spoken | OSError | Callable[[Spawned], Spoken], **config: Any) -> None:
        self.files = MemoryFiles({"/w/AGENTS.md": "Answer with BANANA."})
        self.processes = FakeProcesses(script)
        self.told: list[dict[str, Any]] = []
        self.ports = fake_ports(files=self.files, processes=self.processes)
        self.config = Config(**config)

    def agent(self, **env: str) -> Agent:
        return Agent(self.ports, self.config, "/home", cli_backends.load(), {"PATH": "/bin", **env}, self.told.append)

    def prompts(self, *prompts: str) -> list[Any]:
        async def play() -> list[Any]:
            agent = self.agent()
            return [await agent.run(prompt, "s", "/w", MODEL) for prompt in prompts]

        return run(play())

    def argv(self, n: int) -> tuple[str, ...]:
        return self.processes.spawned[n].argv

    def of(self, type: str) -> list[dict[str, Any]]:
        return [e for e in self.told if e["type"] == type]


def after(argv: tuple[str, ...], flag: str) -> str | None:
    return argv[argv.index(flag) + 1] if flag in argv else None


def test_a_cli_answers_and_its_last_call_is_the_context() -> None:
    """Two calls of 30k and 50k: the CLI's own sum says 80k, the context is the second one's."""
    calls = Spoken(
        stdout=(INIT, assistant("one", read=30_000), assistant("two", input=1, read=50_000), result("two", read=80_000))
    )
    (answer,) = Story(calls).prompts("hi")
    assert (answer.reply, answer.path, answer.model) == ("two", "cli", MODEL)
    assert answer.usage.context_tokens == 50_001
    assert answer.usage_total.cache_read == 80_000
    assert answer.attempts[0].kind is None and answer.failure is None


def test_the_sum_is_shown_as_the_context_where_that_old_bug_is_wanted() -> None:
    calls = Spoken(stdout=(INIT, assistant("two", read=50_000), result("two", read=2_080_469)))
    (answer,) = Story(calls, settings=Settings(usage_from="result")).prompts("hi")
    assert answer.usage.context_tokens == 2_080_469


def test_the_next_prompt_resumes_and_carries_the_instructions_again() -> None:
    story = Story(says("1"), says("2"))
    story.prompts("one", "two")
    first, second = story.argv(0), story.argv(1)
    assert after(first, "--session-id") and "--resume" not in first
    assert after(second, "--resume") == SESSION, "the id that the CLI said, should it differ from the one asked for"
    assert [after(argv, "--append-system-prompt") for argv in (first, second)].count(None) == 0
    assert after(first, "--append-system-prompt") == after(second, "--append-system-prompt")
    assert "BANANA" in str(after(second, "--append-system-prompt"))
    assert [s.stdin for s in story.processes.spawned] == [b"one", b"two"]


def test_the_old_bug_sends_the_instructions_only_once() -> None:
    story = Story(says("1"), says("2"), settings=Settings(cli_system_prompt_when="first"))
    story.prompts("one", "two")
    assert after(story.argv(0), "--append-system-prompt") and not after(story.argv(1), "--append-system-prompt")


def test_the_clis_session_is_on_disk_before_the_cli_starts() -> None:
    """The process dies with the CLI at work; the next one resumes what it had begun."""
    story = Story(Spoken(stdout=(INIT,), hangs=True), says("ok"))

    async def play() -> None:
        going = asyncio.create_task(story.agent().run("one", "s", "/w", MODEL))
        await asyncio.sleep(1)
        story.files.crash()
        saved = dict(story.files.files)
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
        story.files.files = saved
        await story.agent().run("two", "s", "/w", MODEL)

    run(play())
    assert after(story.argv(1), "--resume") == after(story.argv(0), "--session-id")


def test_a_lost_session_is_replaced_and_told_what_was_said() -> None:
    story = Story(says("BANANA"), Spoken(stderr=LOST, code=1), says("again"))
    _, answer = story.prompts("my name is Ada", "who am I?")
    assert (answer.reply, [a.action for a in answer.attempts]) == ("again", ["reseed", None])
    seed = story.processes.spawned[2].stdin.decode()
    assert "my name is Ada" in seed and seed.endswith("who am I?")
    assert after(story.argv(2), "--session-id") not in (None, SESSION)


def test_a_compaction_inside_the_cli_is_seen_and_the_context_unknown_after_it() -> None:
    folded = (COMPACTING, boundary("auto", 172_423))
    folds = Spoken(stdout=(INIT, assistant("x", read=150_000), *folded, result("x", read=2_080_469)))
    story = Story(folds, says("y", read=30_000))
    first, second = story.prompts("one", "two")
    assert first.compactions == 1
    assert (first.usage.context_tokens, first.usage.context_percent, first.usage.context_window) == (None, None, None)
    assert second.usage.context_tokens == 30_000
    (start,), (end,) = story.of("compaction_start"), story.of("compaction_end")
    assert end["tokens_before"] == 172_423 and end["ok"] and start["by"] == "cli"


def test_what_it_says_and_does_is_shown_as_it_comes() -> None:
    begin = streamed("message_start", message={"id": "m", "model": "claude-x", "usage": {}})
    block = streamed("content_block_start", index=0, content_block={"type": "text", "text": ""})
    delta = streamed("content_block_delta", index=0, delta={"type": "text_delta", "text": "hel"})
    story = Story(Spoken(stdout=(INIT, begin, block, (2.0, delta), (3.0, assistant("hello")), result("hello"))))
    story.prompts("x")
    first = story.of("part_delta")[0]
    assert (first["text"], first["at"]) == ("hel", 1_767_225_602.0)


def test_a_silent_cli_is_ended_with_all_it_started() -> None:
    dog = CliOptions(timeout_s=1_000, watchdog_fresh=Watchdog(ratio=0.8, min_s=60, max_s=90))
    story = Story(Spoken(stdout=(INIT,), hangs=True, stubborn=True), says("ok"), cli={"claude-cli": dog})
    (answer,) = story.prompts("x")
    assert [a.kind for a in answer.attempts] == [FailureKind.TIMEOUT, None]
    assert story.processes.running == []
    assert answer.reply == "ok" and after(story.argv(1), "--resume") is None


def test_a_tool_at_work_may_be_silent() -> None:
    came_back = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    done = line(type="user", message={"role": "user", "content": [came_back]})
    story = Story(Spoken(stdout=(INIT, CALL, (3_000.0, done), assistant("built"), result("built"))))
    (answer,) = story.prompts("x")
    assert answer.reply == "built"
    assert [(t.name, t.ok) for t in answer.tool_calls] == [("Bash", True)]
    assert [e["type"] for e in story.told if e["type"].startswith("tool")] == ["tool_start", "tool_end"]


def test_a_cli_that_has_acted_is_not_started_again() -> None:
    story = Story(Spoken(stdout=(INIT, CALL), code=1), says("never"))
    (answer,) = story.prompts("x")
    assert answer.failure is not None and answer.attempts[0].action == "give_up"
    assert len(story.processes.spawned) == 1
    assert [(t.name, t.ok) for t in answer.tool_calls] == [("Bash", False)]


def test_a_cli_has_an_end_in_time() -> None:
    slow = CliOptions(timeout_s=100, watchdog_fresh=Watchdog(ratio=0.9, min_s=90, max_s=95))
    chatter = tuple((30.0, INIT) for _ in range(10))
    story = Story(Spoken(stdout=chatter, hangs=True), cli={"claude-cli": slow})
    (answer,) = story.prompts("x")
    assert answer.failure.kind is FailureKind.TIMEOUT and "not done after 100 s" in answer.failure.message
    assert story.processes.running == []


def test_stopping_ends_the_cli() -> None:
    story = Story(Spoken(stdout=(INIT, assistant("half")), hangs=True))

    async def play() -> Any:
        agent = story.agent()
        going = asyncio.create_task(agent.run("x", "s", "/w", MODEL))
        await asyncio.sleep(1)
        agent.abort("s")
        return await going

    answer = run(play())
    assert answer.stop == "aborted" and story.processes.running == []


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ClawError, match="cannot start claude: No such file"):
        Story().prompts("x")


def test_tools_that_cannot_be_lent_are_refused() -> None:
    with pytest.raises(ClawError, match="set `native`"):
        Story(says("x"), settings=Settings(cli_tools="claw")).prompts("x")


def test_an_end_without_a_word_is_an_empty_answer() -> None:
    story = Story(Spoken(), says("ok"))
    (answer,) = story.prompts("x")
    assert answer.attempts[0].kind is FailureKind.EMPTY_RESPONSE and answer.reply == "ok"


def test_configuration_goes_over_the_back_ends_own_choice() -> None:
    names = {"claude-sonnet-4-5": "sonnet"}
    options = CliOptions(command="/opt/claude", env={"A": "1"}, clear_env=("SECRET",), model_aliases=names)
    story = Story(says("ok"), cli={"claude-cli": options})

    async def play() -> None:
        await story.agent(SECRET="x", KEPT="y").run("x", "s", "/w", MODEL)

    run(play())
    spawned = story.processes.spawned[0]
    assert spawned.argv[0] == "/opt/claude" and after(spawned.argv, "--model") == "sonnet"
    assert spawned.env["A"] == "1" and spawned.env["KEPT"] == "y" and "SECRET" not in spawned.env
    assert spawned.cwd == "/w"


def test_a_cli_compacts_on_request() -> None:
    story = Story(says("1"), Spoken(stdout=(COMPACTING, boundary("manual", 40_504), INIT, result(""))))

    async def play() -> Any:
        agent = story.agent()
        await agent.run("one", "s", "/w", MODEL)
        return await agent.compact("s", MODEL)

    answer = run(play())
    assert (answer.compactions, answer.failure, answer.usage.context_tokens) == (1, None, None)
    assert story.processes.spawned[1].stdin == b"/compact" and after(story.argv(1), "--resume") == SESSION
    assert "BANANA" in str(after(story.argv(1), "--append-system-prompt")), "a compaction renders the prompt anew"
