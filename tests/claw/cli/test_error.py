"""`claw error explain`."""

import json

import pytest
from typer.testing import CliRunner

from claw.cli.error import app

OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def explain(*args, stdin=None):
    done = CliRunner().invoke(app, ["explain", *args], input=stdin)
    return done.exit_code, done.stdout


def told(*args, stdin=None):
    code, said = explain(*args, "--json", stdin=stdin)
    assert code == 0
    return json.loads(said)


def test_it_says_kind_wait_and_action():
    found = told("--provider", "anthropic", "--status", "429", "--headers", '{"Retry-After": "7"}', "slow down")
    assert list(found) == ["kind", "retry_after", "replay_safe", "action", "why"]
    assert (found["kind"], found["retry_after"], found["replay_safe"], found["action"]) == (
        "rate_limited", 7.0, True, "retry",
    )  # fmt: skip
    assert "slow down" in found["why"]


def test_for_people_it_is_five_lines():
    code, said = explain("--status", "401", "")
    assert code == 0
    assert [line.split("  ")[0] for line in said.splitlines()] == [
        "kind", "retry after", "replay safe", "action", "why",
    ]  # fmt: skip


def test_a_body_may_come_on_stdin_and_be_json_or_text():
    assert told("-", stdin=json.dumps(OVERLOADED))["kind"] == "overloaded"
    assert told("-", stdin="API Error: 529 overloaded")["kind"] == "overloaded"
    assert told("prompt is too long: 5 tokens > 3 maximum")["action"] == "compact"


def test_batch_answers_a_line_for_a_line(tmp_path):
    lines = [
        {"provider": "anthropic", "status": None, "headers": None, "body": OVERLOADED},
        {"provider": "groq", "status": 413, "headers": {}, "body": '{"error": {"code": "rate_limit_exceeded"}}'},
        {"status": 200, "body": {"error": {"code": 503, "message": "x"}}, "note": "more keys are no matter"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "lines").write_text(text)
    for args, stdin in ((["--batch"], text), (["--batch", str(tmp_path / "lines")], None)):
        code, said = explain(*args, stdin=stdin)
        assert code == 0
        kinds = [json.loads(line)["kind"] for line in said.splitlines()]
        assert kinds == ["overloaded", "rate_limited", "server_error"]


@pytest.mark.parametrize(
    ("args", "stdin"),
    [
        (["--headers", "no", "x"], None),
        (["--headers", "[]", "x"], None),
        (["--status", "7", "x"], None),
        (["--batch"], '{"body": "x"}\nno json\n'),
        (["--batch"], '{"body": "x", "status": "400"}\n'),
        (["--batch"], "[]\n"),
        (["--batch", "/does/not/exist"], None),
    ],
)
def test_bad_input_is_2_and_prints_nothing(args, stdin):
    assert explain(*args, stdin=stdin) == (2, "")


class TestCatalogue:
    def test_list_says_what_each_is_and_looks_like(self) -> None:
        lines = CliRunner().invoke(app, ["list", "--kind", "rate_limited"]).stdout.splitlines()
        (line,) = [line for line in lines if line.startswith("groq/tpm-413 ")]
        assert line.split() == ["groq/tpm-413", "413", "rate_limited", "looks", "like", "context_overflow"]
        assert not any(line.startswith("anthropic/overloaded") for line in lines)

    def test_list_as_json_has_every_field(self) -> None:
        found = {entry["name"]: entry for entry in json.loads(CliRunner().invoke(app, ["list", "--json"]).stdout)}
        assert len(found) > 180
        assert set(found["groq/tpm-413"]) >= {"status", "kind", "looks_like", "dialect", "headers", "body", "note"}

    def test_show_prints_it_as_it_is_sent(self) -> None:
        shown = CliRunner().invoke(app, ["show", "anthropic/input-tokens-per-minute"]).stdout
        assert shown.startswith("anthropic/input-tokens-per-minute: rate_limited")
        assert "status 429" in shown and "retry-after: 12" in shown and '"rate_limit_error"' in shown

    def test_names_that_do_not_exist(self) -> None:
        done = CliRunner().invoke(app, ["show", "groq/tpm-143"])
        assert done.exit_code == 2 and "did you mean 'groq/tpm-413'?" in done.stderr
        assert CliRunner().invoke(app, ["list", "--kind", "rate_limit"]).exit_code == 2
