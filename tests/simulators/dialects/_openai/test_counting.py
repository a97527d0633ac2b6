"""Tokens of recorded prompts: half of them come out within 3 %, with tools and without."""

import statistics
from typing import Any

import pytest

from simulators import Simulator
from tests.simulators.dialects._openai.recordings import FOLDER, Player, answer_of, files, turn_of

# What a hosted search puts into the prompt is not in the request.
HOSTED = ("web_search",)


def recorded_tokens(exchange: dict[str, Any]) -> int | None:
    """Tokens of the whole prompt, as the provider counted."""
    body, events = answer_of(exchange)
    usage = body.get("usage") if isinstance(body, dict) else None
    if usage is None:
        usage = next((event["usage"] for event in events if event.get("usage")), body or {})
    return usage.get("prompt_tokens", usage.get("input_tokens"))


def test_counting_agrees_with_recorded_usage(capsys: pytest.CaptureFixture[str]) -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"recordings of real answers are not here ({FOLDER}): nothing was counted")
    errors: dict[str, list[float]] = {"all": [], "with tools": [], "chat": [], "responses": []}
    for _, exchanges in files():
        player = Player(Simulator(seed=3), "recorded")
        player.account.load(
            {"turns": [turn_of(*answer_of(one)) for one in exchanges], "unused": "allow", "otherwise": "echo"}
        )
        for exchange in exchanges:
            asked = exchange["request"].get("parsed_body") or {}
            status, body, _ = player.play(exchange)
            wanted = recorded_tokens(exchange) if status == 200 and exchange["request"]["method"] == "POST" else None
            if not wanted or any(tool["type"] in HOSTED for tool in asked.get("tools") or ()):
                continue
            booked = player.account.journal.exchanges[-1].tokens
            got = booked.prompt if booked is not None else body.get("input_tokens")
            error = abs(got - wanted) / wanted
            errors["all"].append(error)
            errors["chat" if "messages" in asked else "responses"].append(error)
            if asked.get("tools"):
                errors["with tools"].append(error)
    medians = {name: statistics.median(found) for name, found in errors.items()}
    with capsys.disabled():
        shown = ", ".join(f"{name} {medians[name]:.1%} of {len(found)}" for name, found in errors.items())
        print(f" [median error: {shown}]", end="")
    assert all(len(found) > 50 for found in errors.values())
    assert max(medians.values()) <= 0.03
