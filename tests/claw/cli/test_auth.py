"""`claw auth`, `claw models` and `claw doctor`: what a user is told of credentials, models and what is missing."""

import json

import pytest

from claw.auth import Book, save
from claw.cli import main
from claw.core.errors import FailureKind, ProviderFailure
from claw.host import HostFiles

VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")


@pytest.fixture
def claw(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CLAW_HOME", str(tmp_path / "home"))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, stdin=""):
        import io

        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = 0
        try:
            main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        out, err = capsys.readouterr()
        return code or 0, out, err

    return run


def rows(claw):
    return json.loads(claw("auth", "list", "--json")[1])


def config(tmp_path, text):
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "config.toml").write_text(text)


def test_a_key_is_kept_for_its_owner_alone_and_never_shown(claw, tmp_path):
    assert claw("auth", "add", "work", "--provider", "anthropic", stdin="sk-secret\n")[0] == 0
    assert (tmp_path / "home" / "credentials.json").stat().st_mode & 0o077 == 0
    code, out, err = claw("auth", "list")
    assert (code, "sk-secret" in out + err) == (0, False)
    assert out.split()[:4] == ["work", "anthropic", "api_key", "kept"]
    assert claw("auth", "remove", "work")[0] == 0
    assert rows(claw) == []


def test_an_oauth_credential_is_told_as_json(claw):
    given = {"access_token": "A", "refresh_token": "R", "token_url": "https://vendor/token", "expires_at": 1}
    assert claw("auth", "add", "o", "--provider", "openai", "--type", "oauth", stdin=json.dumps(given))[0] == 0
    assert [(r["id"], r["type"], r["state"]) for r in rows(claw)] == [("o", "oauth", "ready")]


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (("add", "w", "--provider", "antropic"), "k", "there is none; known are anthropic"),
        (("add", "w", "--provider", "openai"), "", "nothing came on stdin"),
        (("add", "w", "--provider", "openai", "--type", "key"), "k", "should be one of oauth, token, api_key"),
        (("add", "w", "--provider", "openai", "--type", "oauth"), "{}", "needs at least refresh_token"),
        (("remove", "w"), "", "`w` is not kept here"),
        (("order", "openai", "w"), "", "`w` is no credential of openai"),
        (("clear", "w"), "", "`w` does not rest"),
    ],
)
def test_a_mistake_is_2_and_says_what_is_right(claw, arguments, stdin, said):
    code, out, err = claw("auth", *arguments, stdin=stdin)
    assert (code, out, said in err) == (2, "", True), err


def test_the_file_the_ring_and_the_environment(claw, tmp_path, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "g")
    config(tmp_path, '[[profiles]]\nid = "main"\nprovider = "anthropic"\nkey_env = "NOT_SET"\n')
    claw("auth", "add", "spare", "--provider", "anthropic", stdin="k")
    assert [(r["id"], r["state"]) for r in rows(claw)] == [
        ("main", "no key"), ("spare", "ready"), ("$GEMINI_API_KEY", "ready"),
    ]  # fmt: skip


def test_rests_are_shown_and_can_be_ended(claw, tmp_path):
    import time

    config(tmp_path, '[[profiles]]\nid = "main"\nprovider = "anthropic"\nkey = "k"\n')
    failure = ProviderFailure(kind=FailureKind.RATE_LIMITED, retry_after=500)
    book = Book().failed("main", "opus", failure, now=time.time())
    save(HostFiles(), str(tmp_path / "home" / "auth.json"), book)
    assert "rests: rate_limited for" in claw("auth", "list")[1]
    assert claw("auth", "clear", "main")[0] == 0
    assert rows(claw)[0]["rests"] == []


def test_an_order_goes_before_the_usual_one(claw, tmp_path):
    for name in ("a", "b"):
        claw("auth", "add", name, "--provider", "openai", stdin="k")
    assert claw("auth", "order", "openai", "b", "a")[0] == 0
    kept = json.loads((tmp_path / "home" / "credentials.json").read_text())
    assert kept["order"] == {"openai": ["b", "a"]}
    claw("auth", "order", "openai")
    assert json.loads((tmp_path / "home" / "credentials.json").read_text())["order"] == {}
