"""`claw cache explain`."""

import json
from pathlib import Path

from typer.testing import CliRunner

from claw.cli.cache import app
from tests.claw.lab.test_cache_explain import LONG, lines, request


def explain(*args: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["explain", *args])
    return done.exit_code, done.output


def test_text_and_json(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(lines(request("10:00 " + LONG, "hi"), request("10:05 " + LONG, "hi", "yes?", "go")))
    code, shown = explain(str(path))
    assert (code, "request 2 at system[0]" in shown, "(inferred)" in shown) == (0, True, True)
    told = json.loads(explain(str(path), "--json")[1])
    assert told["breaks"][0]["certainty"] == "inferred"


def test_bad_input_is_2(tmp_path: Path) -> None:
    assert explain(str(tmp_path / "none"))[0] == 2
    (tmp_path / "x").write_text("[]")
    assert explain(str(tmp_path / "x"))[0] == 2
