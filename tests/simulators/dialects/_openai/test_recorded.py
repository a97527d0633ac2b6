"""Real answers judge: what the provider took is taken, what it refused is refused alike, and every key is there."""

from typing import Any

import pytest

from simulators import Simulator
from tests.simulators.dialects._openai.recordings import FOLDER, Player, absent, answer_of, files, turn_of

# What is not there, and why.
NOT_SIMULATED = {"/v1/realtime/calls": "the Realtime API is not simulated"}
MISSING_KEYS = {
    ".reasoning.generate_summary": "answers of March 2025 had this name for `summary`",
    ".status_details": "answers of March 2025 only",
    ".tool_calls": "answers of March 2025 only",
    ".total_tokens": "answers of March 2025 only",
    ".output[message].content[output_text].annotations[url_citation]": "the script says the text alone",
    ".tools[namespace]": "GPT-5.6 wraps a searched tool in some answers and not in others",
    ".output[message]": "a background response is asked for once and shown later; the script knows the first answer",
}


def test_every_recorded_exchange_is_answered_as_the_provider_did(capsys: pytest.CaptureFixture[str]) -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"recordings of real answers are not here ({FOLDER}): nothing was judged")
    wrong: list[str] = []
    counts = {"files": 0, "taken": 0, "refused": 0, "keys": 0, "events": 0, "exempt": 0, "left out": 0}
    for name, exchanges in files():
        counts["files"] += 1
        simulator = Simulator(seed=3)
        player = Player(simulator, "recorded")
        turns = [turn_of(*answer_of(one)) for one in exchanges if generates(one)]
        player.account.load({"turns": turns, "otherwise": "echo", "unused": "allow"})
        for number, exchange in enumerate(exchanges):
            if any(exchange["request"]["uri"].endswith(path) for path in NOT_SIMULATED):
                counts["left out"] += 1
                continue
            wrong += [f"{name}[{number}]: {problem}" for problem in judged(player, exchange, counts)]
    with capsys.disabled():
        print(f" [{', '.join(f'{value} {key}' for key, value in counts.items())}]", end="")
    assert wrong == []
    assert counts["taken"] > 100
    assert counts["refused"] > 3
    assert counts["events"] > 100


def generates(exchange: dict[str, Any]) -> bool:
    """Whether an exchange uses up a turn of the script."""
    asked = exchange["request"]
    own = asked["uri"].endswith(("conversations", "input_tokens", "compact"))
    return exchange["response"]["status"]["code"] == 200 and asked["method"] == "POST" and not own


def judged(player: Player, exchange: dict[str, Any], counts: dict[str, int]) -> list[str]:
    status = exchange["response"]["status"]["code"]
    theirs, their_events = answer_of(exchange)
    got, ours, our_events = player.play(exchange)
    if got != status:
        return [f"{status}, we say {got} {ours}"]
    if status >= 400:
        counts["refused"] += 1
        return [] if ours == theirs else [f"{theirs}, we say {ours}"]
    counts["taken"] += 1
    problems = list(absent(theirs, ours)) if theirs is not None else []
    counts["keys"] += keys_of(theirs)
    for kind in {event.get("type") for event in their_events}:
        wanted = [event for event in their_events if event.get("type") == kind]
        mine = [event for event in our_events if event.get("type") == kind]
        counts["events"] += len(wanted)
        if not mine:
            problems.append(f"no event {kind}")
            continue
        for event in wanted:
            lacking = min((list(absent(event, one)) for one in mine), key=len)
            problems += [f"{kind}{path}" for path in lacking]
    left = {problem for problem in problems if problem in MISSING_KEYS}
    counts["exempt"] += len(left)
    return sorted(set(problems) - left)


def keys_of(value: Any) -> int:
    """How many keys a body has, at every depth."""
    if isinstance(value, dict):
        return len(value) + sum(keys_of(inner) for inner in value.values())
    return sum(keys_of(inner) for inner in value) if isinstance(value, list) else 0
