"""A scenario file is understood whole, or refused with file, line, reason and the nearest right word."""

from pathlib import Path
from typing import Any

import pytest

from claw.lab.loader import load_all, load_file
from simulators.core.document import DocumentError

STORY = """\
about: The instructions vanish on a resume.
area: resume
source: https://example.com/report
given:
  instructions: "Say BANANA."
  runtime: {stream: true}
provider:
  turns:
    - {text: BANANA}
    - {error: {kind: rate_limited, retry_after: 7}}
  faults:
    - {kind: overloaded, on: {call: 3, times: 2}}
  unused: allow
steps:
  - prompt: "What is the capital of Germany?"
  - restart
  - prompt: "And of France?"
  - kill: {at: tool_start}
  - advance: 5m
  - compact
expect:
  - reply: {contains: BANANA}
    step: 1
  - waited: ">= 7s"
matrix: {stream: [true, false]}
known_bad:
  - {with: {given: {runtime: {clock_in_prompt: true}}}, fails: cache}
  - {mutate: drop_instructions, fails: every_request}
"""

# Each mistake: what stands there, what is written instead, and the error, with F for the file.
MISTAKES = [
    (
        "area: resume",
        "area: resume\ncli: {verion: {}}",
        "F:3: cli.verion: unknown key `verion`; did you mean `version`?",
    ),
    (
        "area: resume",
        'area: resume\ncli: {version: {claude: "2.1.18"}}',
        "F:3: cli.version.claude: version `2.1.18` of",
    ),
    ("about:", "abut:", "F:1: abut: unknown key `abut`; did you mean `about`?"),
    ("area: resume", "area: resum", "F:2: area: `resum` is none of auth, cache, "),
    ("stream: true", "streem: true", "F:6: given.runtime.streem: there is no setting `streem`; did you mean `stream`?"),
    ("stream: true", "stream: maybe", "F:6: given.runtime.stream: expected `bool`, got `str`"),
    ("text: BANANA", "txt: BANANA", "F:9: provider.turns[0].txt: unknown key `txt`; did you mean `text`?"),
    ("retry_after: 7", "retry_after: -7", "F:10: provider.turns[1].error.retry_after: expected"),
    ("kind: overloaded", "kind: overload", "F:12: provider.faults[0].kind: no kind of fault `overload`; did you mean"),
    ("call: 3", "call: 3, cal: 4", "F:12: provider.faults[0].on.cal: unknown key `cal`; did you mean `call`?"),
    ("restart", "restat", "F:16: steps[1].restat: unknown key `restat`; did you mean `restart`?"),
    ("at: tool_start", "at: tool_strat", "F:18: steps[3].kill.at: there is no event `tool_strat`; did you mean"),
    ("advance: 5m", "advance: -5m", "F:19: steps[4]: a duration is not negative"),
    ("advance: 5m", "advance: soon", "F:19: steps[4]: `soon` is no duration; write 90s, 5m or 1h"),
    ("compact\n", "compact\n  - kill: {at: run_end}\n", "F:21: steps[6]: `kill` follows the prompt"),
    ("reply:", "repy:", "F:22: expect[0].repy: there is no check `repy`; did you mean `reply`?"),
    ("contains:", "contain:", "F:22: expect[0].reply.contain: unknown key `contain`; did you mean `contains`?"),
    ("step: 1", "step: lst", "F:23: expect[0].step: `lst` is no step; write its number (from 1), last or all; did you"),
    ("step: 1", "stop: error", "F:22: expect[0]: an item of `expect` has one check (and perhaps `step`); this one has"),
    ('">= 7s"', '">= many"', "F:24: expect[1].waited: `>= many` compares with no number"),
    ("matrix: {stream:", "matrix: {streem:", "F:25: matrix: there is no setting `streem`; did you mean `stream`?"),
    ("[true, false]", "[]", "F:25: matrix.stream: a list of at least one value is needed"),
    ("clock_in_prompt", "clock_in_promt", "F:27: known_bad[0].with.given.runtime.clock_in_promt: there is no setting"),
    ("fails: cache", "fails: cach", "F:27: known_bad[0].fails: there is no check or invariant `cach`; did you mean"),
    (
        "drop_instructions",
        "drop_instruction",
        "F:28: known_bad[1].mutate: there is no mutation `drop_instruction`; did",
    ),
    ("mutate: drop_instructions, ", "", "F:28: known_bad[1]: a known-bad has either `with`"),
    ("given:\n", "given:\n  model: sonnet\n", "F:4: given: `model` is PROVIDER/MODEL"),
    ("given:\n", "given:\n  history: {turns: 3, tokens: -5}\n", "F:5: given.history: `tokens` must be at least"),
    ("given:\n", "given:\n  profiles: [mian]\n", "F:5: given.profiles[0]: `provider.accounts` has no account `mian`;"),
    ("given:\n", "given:\n  workspace: {../x: a}\n", "F:4: given: `workspace` holds paths inside the workspace"),
    ("given:\n", "needs: [emebdded]\ngiven:\n", "F:4: needs[0]: there is no capability `emebdded`; did you mean"),
    ("given:\n", "ignore: {prefix_move: because it must}\ngiven:\n", "F:4: ignore.prefix_move: there is no invariant"),
    ("given:\n", "ignore: {exit_is_true: no}\ngiven:\n", "F:4: ignore.exit_is_true: switching an invariant off needs"),
    ("given:\n", "budget: {calls: -1}\ngiven:\n", "F:4: budget: `calls` and `seconds` must be more than 0"),
    ("given:\n", "about: twice\ngiven:\n", "F:4: about: duplicate key `about`"),
    ("given:\n", "given: [\n", "F:6: not YAML: "),
]


def test_the_story_is_read_with_its_variants_and_known_bads(scenario_file: Any) -> None:
    plans = load_file(scenario_file(STORY, "forgets.yaml"))

    assert [(plan.name, plan.variant) for plan in plans] == [
        ("resume/forgets", "stream=true"),
        ("resume/forgets", "stream=false"),
    ]
    first, second = plans
    assert second.scenario.given.runtime == {"stream": False}
    assert [step.kind for step in first.scenario.steps] == ["prompt", "restart", "prompt", "kill", "advance", "compact"]
    assert first.scenario.steps[4].seconds == 300
    assert [(e.check, e.step) for e in first.expectations] == [("reply", 1), ("waited", "all")]
    clock, dropped = second.known_bad
    assert clock.scenario.given.runtime == {"stream": False, "clock_in_prompt": True}
    assert dropped.scenario == second.scenario


@pytest.mark.parametrize(("right", "wrong", "error"), MISTAKES, ids=lambda v: " ".join(str(v).split())[:30])
def test_a_mistake_is_named_with_its_place(scenario_file: Any, right: str, wrong: str, error: str) -> None:
    assert right in STORY
    path = scenario_file(STORY.replace(right, wrong, 1))
    with pytest.raises(DocumentError) as caught:
        load_file(path)
    assert str(caught.value).startswith(error.replace("F:", f"{path}:"))


def test_on_is_a_key_and_no_is_a_word(scenario_file: Any) -> None:
    """YAML 1.1 would read `on:` as true and `no` as false."""
    (plan, _) = load_file(scenario_file(STORY.replace('"Say BANANA."', "no")))
    assert plan.scenario.provider["faults"][0]["on"] == {"call": 3, "times": 2}
    assert plan.scenario.given.instructions == "no"


def test_settings_reach_every_table_of_the_configuration(scenario_file: Any) -> None:
    story = STORY.replace("{stream: true}", "{retry: {attempts: 2}}").replace("matrix: {stream: [true, false]}\n", "")
    (plan,) = load_file(scenario_file(story))
    assert plan.scenario.given.runtime == {"retry": {"attempts": 2}}
    with pytest.raises(DocumentError, match=r"given.runtime.retry.atempts: unknown key `atempts`; did you mean"):
        load_file(scenario_file(story.replace("attempts", "atempts")))


def test_a_dotted_name_of_the_matrix_reaches_any_part(scenario_file: Any) -> None:
    story = STORY.replace("matrix: {stream:", "matrix: {provider.tokenizer:").replace(
        "[true, false]", "[words, chars4]"
    )
    assert [plan.scenario.provider["tokenizer"] for plan in load_file(scenario_file(story))] == ["words", "chars4"]


def test_a_python_file_builds_the_same_scenario(scenario_file: Any) -> None:
    path = scenario_file(
        """
        from claw.lab.schema import Given, Scenario, Step

        story = Scenario(
            about="Built in Python.",
            area="cache",
            given=Given(instructions="Say BANANA."),
            provider={"turns": [{"text": "BANANA"}]},
            steps=(Step(prompt="hi"), Step(restart=True)),
            expect=({"reply": {"contains": "BANANA"}},),
        )
        """,
        "built.py",
    )
    (plan,) = load_file(path)
    assert (plan.name, plan.scenario.about, len(plan.scenario.steps)) == ("cache/built", "Built in Python.", 2)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x = 1\n", "mine.py: it defines no `Scenario`"),
        ("x = 1\ny = 1 / 0\n", "mine.py:2: ZeroDivisionError"),
        ("x = (\n", "mine.py:1: SyntaxError"),
    ],
    ids=["none", "raises", "syntax"],
)
def test_a_python_file_that_is_none_is_refused(scenario_file: Any, text: str, error: str) -> None:
    with pytest.raises(DocumentError, match=error.replace("(", r"\(")):
        load_file(scenario_file(text, "mine.py"))


def test_a_folder_is_searched_and_an_empty_one_is_an_error(scenario_file: Any, tmp_path: Path) -> None:
    story = STORY.replace("matrix: {stream: [true, false]}\n", "")
    scenario_file(story, "one.yaml")
    (tmp_path / "runtimes").mkdir()
    scenario_file("command: x\n", "runtimes/other.yaml")
    scenario_file("not: one\n", "_draft.yaml")
    assert [plan.name for plan in load_all([tmp_path])] == ["resume/one"]
    with pytest.raises(DocumentError, match="no scenario"):
        load_all([tmp_path / "runtimes" / "nothing"] if (tmp_path / "runtimes" / "nothing").mkdir() is None else [])
    with pytest.raises(DocumentError, match="no such file or folder"):
        load_all([tmp_path / "absent.yaml"])
