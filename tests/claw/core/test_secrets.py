import pytest

from claw.core.secrets import HIDDEN, redact, redact_all

KEYS = [
    "sk-ant-api03-aBcD1234efGh5678",
    "sk-proj-aBcD1234efGh5678",
    "AIzaSyA1234567890abcdefghijklmnop",
    "gsk_aBcD1234efGh5678ijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
]


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_every_vendor_go(key):
    assert redact(f"before {key}, after") == f"before {HIDDEN}, after"


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdef123456",
        '"x-api-key": "my-own-gateway-key"',
        "GET /v1beta/models?key=abc123&alt=sse",
    ],
)
def test_what_stands_behind_a_telling_name_goes(text):
    shown = redact(text)
    assert HIDDEN in shown
    assert not any(secret in shown for secret in ("abcdef123456", "my-own-gateway-key", "abc123"))


@pytest.mark.parametrize(
    "text", ["task-force", "the sk- prefix", "invalid x-api-key", "risk-averse-customers", "key: 3"]
)
def test_ordinary_words_stay(text):
    assert redact(text) == text


def test_a_tree_is_cleaned_by_name_and_by_look_and_long_texts_are_cut():
    tree = {"Authorization": "whatever", "list": [f"x {KEYS[0]}", 3, None], "long": "y" * 50}
    assert redact_all(tree, longest=40) == {
        "Authorization": HIDDEN,
        "list": [f"x {HIDDEN}", 3, None],
        "long": "y" * 40 + "…",
    }
