"""`claw verdict FILE`."""

import json
from pathlib import Path

from typer.testing import CliRunner

from claw.cli.verdict import app
from tests.simulators.verdict.story import Story, user


def judge(path: Path, *args: str, story: Story | None = None) -> tuple[int, str]:
    if story is not None:
        path.write_text(json.dumps({"exchanges": story.exchanges, "dropped": 0}))
    done = CliRunner().invoke(app, [str(path), *args])
    return done.exit_code, done.output


def test_a_good_journal_is_0_and_a_bad_one_1(tmp_path: Path) -> None:
    assert judge(tmp_path / "j", story=Story().ask(user("hi")))[0] == 0
    refused = Story().refused(user("hi"), kind="auth", status=401).refused(user("hi"), kind="auth", status=401)
    code, said = judge(tmp_path / "j", story=refused)
    assert code == 1
    assert "BAD  retried_the_unretryable: request 1" in said


def test_json_has_the_shape_of_exec_without_a_code(tmp_path: Path) -> None:
    told = json.loads(judge(tmp_path / "j", "--json", story=Story().ask(user("hi")))[1])
    assert list(told) == ["exit", "calls", "verdict", "cache", "cost_usd"]
    assert (told["exit"], told["calls"], told["cost_usd"]) == (None, 1, 0.01)


def test_what_cannot_be_read_is_2(tmp_path: Path) -> None:
    assert judge(tmp_path / "none")[0] == 2
    (tmp_path / "j").write_text("[]")
    code, said = judge(tmp_path / "j")
    assert (code, "no exchange" in said) == (2, True)
