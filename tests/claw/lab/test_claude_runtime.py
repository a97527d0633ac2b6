"""The CLI path in process: what only shows when runtime, fake and simulated provider meet."""

from pathlib import Path
from typing import Any

from claw.lab import library, runner, runtimes
from claw.lab.loader import load_file


def test_a_compaction_between_a_tool_and_the_next_call_keeps_call_and_result_together(tmp_path: Path) -> None:
    """A low limit makes the CLI condense right after its tool ran; no request holds a call without its result."""
    text = (library.folder() / "compaction" / "claude_code.yaml").read_text()
    path = tmp_path / "between.yaml"
    path.write_text(text.replace("53000", "39700").replace(", output_tokens: 20000", ""))
    (plan,) = load_file(path)

    evidence = runner.play(plan.scenario, runtimes.named("claw:claude").make())

    third = evidence.steps[2]
    assert [call["kind"] for call in third.exchanges] == ["summary", "main", "summary", "main"]
    assert [call["status"] for call in third.exchanges] == [200] * 4
    assert third.outcome is not None and "BANANA" in (third.outcome.reply or "")


def test_a_history_is_in_both_sessions(plan: Any) -> None:
    """Ours holds it, and the CLI resumes a transcript of it: the model sees all of it before the first prompt."""
    story = plan(
        """
        about: It remembers.
        area: session
        given: {history: {turns: 3, tokens: 300, seed: 5}}
        provider: {tokenizer: words, turns: [{text: Yes}]}
        steps: [{prompt: "Do you remember?"}]
        expect: [{reply: {equals: "Yes"}}]
        """
    )
    for name in runtimes.DEFAULT:
        evidence = runner.play(story.scenario, runtimes.named(name).make())
        said = [m for m in evidence.exchanges[0]["request"]["messages"] if m["role"] in ("user", "assistant")]
        assert [m["role"] for m in said] == ["user", "assistant"] * 3 + ["user"]
        assert evidence.session is not None
        assert sum(entry.role in ("user", "assistant") for entry in evidence.session.entries) == 8
        assert [seen for seen in runner.judge(story, evidence) if seen.status == "fail"] == []
