"""Scenario files are pytest items where they are asked for, and nobody's other YAML is."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

STORY = """\
about: It answers.
area: session
given: {instructions: "Say BANANA."}
provider: {turns: [{text: BANANA}]}
steps: [{prompt: "What is the capital of Germany?"}]
expect: [{reply: {equals: BANANA}}]
"""


def lines(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines)


def play(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rs", *args)


def test_a_marked_file_is_an_item_for_each_runtime(pytester: pytest.Pytester) -> None:
    (pytester.path / "answers.scenario.yaml").write_text(STORY)
    result = play(pytester, "-v")
    result.assert_outcomes(passed=2)
    assert "session/answers[claw]" in lines(result)
    assert "session/answers[claw:claude]" in lines(result)


def test_other_yaml_is_left_alone_even_in_a_folder_of_that_name(pytester: pytest.Pytester) -> None:
    (pytester.path / "scenarios").mkdir()
    (pytester.path / "scenarios" / "deploy.yaml").write_text("kind: Deployment\n")
    (pytester.path / "config.yaml").write_text("a: 1\n")
    play(pytester).assert_outcomes()


def test_a_folder_is_opened_by_the_ini_option(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nclaw_scenarios = mine\nclaw_runtimes = claw\n")
    folder = pytester.path / "mine" / "runtimes"
    folder.mkdir(parents=True)
    (folder / "other.yaml").write_text("command: x\n")
    (folder.parent / "one.yaml").write_text(STORY)
    (folder.parent / "_draft.yaml").write_text("no scenario")
    play(pytester).assert_outcomes(passed=1)


def test_a_failure_names_the_check_and_what_it_saw(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nclaw_runtimes = claw\n")
    (pytester.path / "wrong.scenario.yaml").write_text(STORY.replace("equals: BANANA", "equals: Berlin"))
    result = play(pytester)
    result.assert_outcomes(failed=1)
    assert "reply: reply is 'BANANA'" in lines(result)
    assert "Traceback" not in lines(result)


def test_a_scenario_that_is_not_for_a_runtime_is_skipped(pytester: pytest.Pytester) -> None:
    (pytester.path / "cli.scenario.yaml").write_text("needs: [cli]\n" + STORY)
    result = play(pytester)
    result.assert_outcomes(passed=1, skipped=1)
    assert "claw has no cli" in lines(result)


@pytest.mark.parametrize(
    ("ini", "story", "said"),
    [
        ("", STORY.replace("equals", "equal"), "expect[0].reply.equal: unknown key `equal`; did you mean `equals`?"),
        ("[pytest]\nclaw_runtimes = claw:clod\n", STORY, "there is no runtime `claw:clod`"),
    ],
    ids=["file", "runtime"],
)
def test_a_mistake_is_a_collection_error(pytester: pytest.Pytester, ini: str, story: str, said: str) -> None:
    if ini:
        pytester.makeini(ini)
    (pytester.path / "wrong.scenario.yaml").write_text(story)
    result = play(pytester)
    result.assert_outcomes(errors=1)
    assert said in lines(result)


def test_nothing_of_claw_is_imported_without_scenarios() -> None:
    """The plugin is loaded in every project that has claw installed."""
    source = Path("claw/lab/pytest_plugin.py")
    text = (Path(__file__).parents[3] / source).read_text()
    top = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert not [line for line in top if "claw" in line or "simulators" in line]
