"""`claw bench cache`."""

import json
from pathlib import Path

from typer.testing import CliRunner

from claw.cli.bench import app
from tests.claw.lab.test_bench import small


def bench(*args: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["cache", *args])
    return done.exit_code, done.stdout, done.stderr


def test_a_table_on_the_terminal_and_json_in_a_file(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    code, shown, _ = bench("--workload", str(small(tmp_path)), "--runtime", "claw", "--json", str(target))
    assert code == 0
    assert "small" in shown and "of ideal" in shown
    assert json.loads(target.read_text())["results"][0]["runtime"] == "claw"


def test_json_on_stdout_is_alone_there(tmp_path: Path) -> None:
    code, shown, told = bench("--workload", str(small(tmp_path)), "--runtime", "claw", "--json", "-")
    assert (code, list(json.loads(shown))) == (0, ["results"])
    assert "of ideal" in told


def test_bad_input_is_2() -> None:
    for args, said in (
        (["--runtime", "claws"], "did you mean `claw`"),
        (["--workload", "none"], "no such workload"),
        (["--json", "/none/x"], "no folder /none"),
    ):
        code, _, told = bench(*args)
        assert (code, said in told) == (2, True), told


def test_a_workload_not_played_to_its_end_is_1(tmp_path: Path) -> None:
    path = small(tmp_path)
    path.write_text(path.read_text().replace('{text: "Better."}', '{text: "Better."}, {text: "Left over."}'))
    code, shown, _ = bench("--workload", str(path), "--runtime", "claw")
    assert (code, "turns[2] never used" in shown) == (1, True)
