"""The result of Claude Code sums the usage of its calls: 24 calls of some 86,000 tokens come to 2,080,469."""

import json
from typing import Any

from claw.lab.schema import Given, KnownBad, Scenario, Step

CALLS = 24
FIRST, OTHERS, LAST = 86_754, 86_737, 85_501  # tokens of the prompts; together 2,080,469


def answer(tokens: int, *, last: bool) -> dict[str, Any]:
    """A streamed answer that reports a prompt of `tokens`, and calls a tool unless it is the last."""
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 500,
        "cache_read_input_tokens": tokens - 501,
        "output_tokens": 1,
    }
    message = {
        "id": f"msg_{tokens}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    if last:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "The lamp is lit."}
    else:
        block = {"type": "tool_use", "id": "toolu_CALL", "name": "Read", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": '{"file_path": "/lab/workspace/notes.md"}'}
    stop = {"stop_reason": "end_turn" if last else "tool_use", "stop_sequence": None}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return {"raw": {"status": 200, "headers": {"content-type": "text/event-stream; charset=utf-8"}, "body": body}}


def turns() -> list[dict[str, Any]]:
    sizes = [FIRST, *[OTHERS] * (CALLS - 2), LAST]
    made = [answer(tokens, last=n == CALLS) for n, tokens in enumerate(sizes, 1)]
    for n, turn in enumerate(made, 1):
        turn["raw"]["body"] = turn["raw"]["body"].replace("toolu_CALL", f"toolu_{n:04d}")
    return made


summed_usage = Scenario(
    about=(
        "A prompt takes 24 calls, each with a context of some 86,000 tokens. The result of Claude Code sums them to "
        "2,080,469, and a runtime that takes the sum for the context shows 1040 % of 200,000. The context is that of "
        "the last call: 85,501 tokens, 43 %."
    ),
    area="compaction",
    source=(
        "https://github.com/justrach/devswarm/pull/372",
        "https://github.com/openclaw/openclaw/issues/77299",
        "https://github.com/openclaw/openclaw/issues/117314",
    ),
    needs=("cli", "report"),
    given=Given(workspace={"notes.md": "The lamp is lit.\n"}),
    provider={"turns": turns()},
    cli={"version": {"claude": "2.1.19"}},
    steps=(Step(prompt="Read the notes as often as you like, then tell me of the lamp."),),
    expect=(
        {"reply": {"contains": "lit"}},
        {"requests": {"main": CALLS}},
        {"usage": {"context_tokens": LAST, "context_window": 200_000, "context_percent": 43}},
        {"usage_total": {"cache_read": FIRST + OTHERS * (CALLS - 2) + LAST - 501 * CALLS}},
    ),
    known_bad=(KnownBad(patch={"given": {"runtime": {"usage_from": "result"}}}, fails="usage"),),
    ignore={"no_progress_loop": "the figures are the point; what the tool reads does not matter"},
)
