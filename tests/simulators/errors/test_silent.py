"""Failures that come as answers: status 200, and what gives them away."""

from typing import Any

import msgspec
import pytest

from simulators.errors import entries
from tests.simulators.dialects.anthropic.api import Api
from tests.simulators.dialects.anthropic.asking import user

SILENT = [name for name, entry in entries().items() if entry.status == 200]


def test_every_kind_of_silence_is_there() -> None:
    """A truncated prompt, usage above the window, an end for want of room, nothing said for want of room."""
    assert {
        "ollama/silent-truncation",
        "zai/silent-overflow",
        "zai/window-exceeded",
        "mimo/length-with-nothing",
    } <= set(SILENT)
    assert all(entries()[name].looks_like == "answer" for name in SILENT)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "body"])
@pytest.mark.parametrize("name", SILENT)
def test_it_is_sent_as_what_was_asked_for(name: str, stream: bool) -> None:
    """A script may name it on any API; as a stream where one was asked for, unless it has none."""
    entry = entries()[name]
    sent = Api({"turns": [{"error": {"like": name}}]}).post(user("hi"), stream=stream)
    assert sent.status == 200
    if stream and entry.events is not None:
        pieces = [line.removeprefix("data: ") for line in sent.text.split("\n\n") if line]
        assert pieces[-1] == "[DONE]"
        whole: dict[str, Any] = {}
        for piece in pieces[:-1]:
            whole |= msgspec.json.decode(piece)
        body: Any = entry.body
        assert whole["usage"] == body["usage"]
        assert whole["choices"][0]["finish_reason"] == body["choices"][0]["finish_reason"]
    else:
        assert sent.body == entry.body


def test_a_refusal_is_no_answer_to_pay_for() -> None:
    api = Api({"turns": [{"error": {"like": "zai/silent-overflow"}}]})
    api.post(user("hi"))
    assert api.account.state(api.now)["totals"]["cost_usd"] == 0
