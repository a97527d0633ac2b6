"""`claw scenario run|list|show|new` and `claw test`: tables, JSON, files, exit codes."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from claw.cli import main
from claw.cli.scenario import app

STORY = """\
about: It answers.
area: session
source: [https://example.com/report]
given: {instructions: "Say BANANA."}
provider: {turns: [{text: BANANA}]}
steps: [{prompt: "What is the capital of Germany?"}]
expect: [{reply: {equals: BANANA}}, {every_request: {instructions_contain: BANANA}}]
known_bad: [{mutate: drop_instructions, fails: every_request}]
"""


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "answers.yaml"
    path.write_text(STORY)
    return path


def claw(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_the_table_has_a_line_for_each_runtime_and_its_known_bads(story: Path) -> None:
    done = claw("run", story)
    head, first, second, foot = done.stdout.splitlines()
    assert done.exit_code == 0
    assert head.split() == ["scenario", "runtime", "result", "calls", "virtual", "known-bad"]
    assert first.split()[:4] == ["session/answers", "claw", "ok", "1"]
    assert first.endswith("drop_instructions → fails every_request")
    assert second.split()[:3] == ["session/answers", "claw:claude", "ok"]
    assert foot.startswith("2 passed, 0 failed, 2 of 2 known-bads failed as they should in ")


def test_json_has_exactly_the_shape_of_the_contract(story: Path) -> None:
    done = claw("run", story, "--runtime", "claw", "--json")
    told = json.loads(done.stdout)
    assert list(told) == ["results", "summary"]
    assert told["summary"] == {"pass": 1, "fail": 0, "skip": 0, "error": 0}
    (result,) = told["results"]
    assert list(result) == [
        "scenario", "area", "runtime", "variant", "status", "why", "checks", "known_bad", "requests", "virtual_s",
        "wall_s",
    ]  # fmt: skip
    assert (result["scenario"], result["area"], result["runtime"]) == ("session/answers", "session", "claw")
    assert (result["status"], result["why"], result["variant"], result["requests"]) == ("pass", None, "", 1)
    assert result["checks"][0] == {"name": "reply", "status": "pass", "saw": "reply is 'BANANA'"}
    assert {tuple(check) for check in result["checks"]} == {("name", "status", "saw")}
    assert result["known_bad"] == [
        {"mutate": "drop_instructions", "failed_as_expected": True, "by": "every_request"},
    ]


def test_a_patch_is_told_as_with_and_a_skipped_one_is_null(story: Path) -> None:
    patch = "{given: {runtime: {cli_system_prompt_when: first}}}"
    story.write_text(STORY.replace("[{mutate", f"[{{with: {patch}, fails: reply}}, {{mutate"))
    (result,) = json.loads(claw("run", story, "--runtime", "claw", "--json").stdout)["results"]
    assert result["known_bad"][0] == {
        "with": {"given": {"runtime": {"cli_system_prompt_when": "first"}}},
        "failed_as_expected": None,
        "by": None,
    }


def test_a_failure_is_1_and_says_what_was_seen(story: Path) -> None:
    story.write_text(STORY.replace("equals: BANANA", "equals: Berlin"))
    done = claw("run", story, "--runtime", "claw")
    assert done.exit_code == 1
    assert "FAIL" in done.stdout
    assert "  reply: reply is 'BANANA'\n" in done.stdout


def test_a_known_bad_that_passes_fails_its_scenario(story: Path) -> None:
    story.write_text(STORY.replace("fails: every_request", "fails: reply"))
    done = claw("run", story, "--runtime", "claw")
    assert done.exit_code == 1
    assert "drop_instructions → NOT CAUGHT" in done.stdout
    assert "known-bad drop_instructions: reply passed; failed: every_request" in done.stdout


def test_nothing_checked_is_2(story: Path) -> None:
    story.write_text("needs: [cli]\n" + STORY)
    done = claw("run", story, "--runtime", "claw")
    assert (done.exit_code, "claw has no cli" in done.stdout) == (2, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--runtime", "clow"], "there is no runtime `clow`; did you mean `claw`?"),
        (["--area", "resumé"], "there is no area `resumé`; did you mean `resume`?"),
        (["--only", "nothing-like-it"], "no scenario is left: --only nothing-like-it"),
        (["--junit", "/nowhere/at/all.xml"], "there is no folder /nowhere/at"),
        (["absent.yaml"], "absent.yaml: there is no such file or folder"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_bad_input_is_2_and_names_the_right_word(story: Path, args: list[str], said: str) -> None:
    done = claw("run", story, *args)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    assert done.stdout == ""


def test_a_mistake_in_a_file_is_2_with_its_line(story: Path) -> None:
    story.write_text(STORY.replace("equals", "equal"))
    done = claw("run", story)
    assert done.exit_code == 2
    assert done.stderr == (f"claw: {story}:7: expect[0].reply.equal: unknown key `equal`; did you mean `equals`?\n")


def test_reports_are_written_beside_the_table(story: Path, tmp_path: Path) -> None:
    story.write_text(STORY.replace("equals: BANANA", "equals: '<Berlin> \\x01'"))
    claw("run", story, "--runtime", "claw", "--junit", tmp_path / "j.xml", "--html", tmp_path / "r.html")
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite[0].get("name") == "session/answers · claw"
    assert "reply is 'BANANA'" in (suite[0][0].get("message") or "")
    page = (tmp_path / "r.html").read_text()
    assert "session/answers" in page and "reply is &#x27;BANANA&#x27;" in page


def test_fail_fast_stops_at_the_first(story: Path, tmp_path: Path) -> None:
    story.write_text(STORY.replace("equals: BANANA", "equals: Berlin"))
    (tmp_path / "later.yaml").write_text(STORY)
    told = json.loads(claw("run", tmp_path, "--fail-fast", "--json").stdout)
    assert told["summary"] == {"pass": 0, "fail": 1, "skip": 0, "error": 0}


@pytest.mark.slow
def test_more_processes_give_the_same_results(story: Path) -> None:
    def results(*args: str) -> list[dict[str, object]]:
        told = json.loads(claw("run", story, "--json", *args).stdout)["results"]
        return [{key: value for key, value in result.items() if key != "wall_s"} for result in told]

    assert results("-j", "2") == results()


def test_list_and_show(story: Path) -> None:
    assert claw("list", story).stdout == "session/answers  It answers.\n"
    (row,) = json.loads(claw("list", story, "--json").stdout)
    assert row == {
        "scenario": "session/answers", "area": "session", "about": "It answers.",
        "source": ["https://example.com/report"], "needs": [], "variants": [], "known_bad": 1, "file": str(story),
    }  # fmt: skip
    assert claw("show", story).stdout == STORY
    assert "area: resume" in claw("show", "resume/banana").stdout
    done = claw("show", "resume/banan")
    assert (done.exit_code, "did you mean `resume/banana`?" in done.stderr) == (2, True)


def test_new_writes_a_scenario_that_passes_and_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "mine" / "first.yaml"
    assert claw("new", path, "--area", "resume").exit_code == 0
    assert claw("run", path).exit_code == 0
    again = claw("new", path)
    assert (again.exit_code, "is there already" in again.stderr) == (2, True)
    assert claw("new", tmp_path / "x.txt").exit_code == 2
    assert claw("new", tmp_path / "x.yaml", "--area", "no").exit_code == 2


def test_claw_test_is_scenario_run(story: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["test", str(story), "--runtime", "claw"])
    assert ended.value.code == 0
    assert "1 passed" in capsys.readouterr().out
