"""One badly behaved client for each check, as a real process before the real server."""

import sys
from pathlib import Path

import pytest

from claw.lab import exec as lab

pytestmark = pytest.mark.slow
CLIENT = '''
import json, os, time, urllib.error, urllib.request

TOOLS = [{"name": "pay", "input_schema": {"type": "object"}}]

def send(messages, **fields):
    """(status, content blocks as far as they came) of one streamed call."""
    body = {"model": "claude-sonnet-4-5", "max_tokens": 200, "stream": True, "messages": messages, "tools": TOOLS}
    body |= fields
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", method="POST", data=json.dumps(body).encode(),
        headers={"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01",
                 "content-type": "application/json"})
    try:
        answer = urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as error:
        return error.code, []
    except Exception:
        return None, []
    blocks = []
    for line in answer.splitlines():
        if not line.startswith("data: "):
            continue
        event = json.loads(line[6:])
        if event["type"] == "content_block_start":
            blocks.append(event["content_block"] | {"json": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "text_delta":
                blocks[-1]["text"] += delta["text"]
            elif delta["type"] == "input_json_delta":
                blocks[-1]["json"] += delta["partial_json"]
    for block in blocks:
        written = block.pop("json")
        if block["type"] == "tool_use":
            try:
                block["input"] = json.loads(written or "{}")
            except ValueError:
                block["input"] = {"broken": written}
    return 200, blocks

def user(text):
    return {"role": "user", "content": text}

def assistant(blocks):
    return {"role": "assistant", "content": blocks}

def result(block, text):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": block["id"], "content": text}]}

HI, NEXT = user("hi"), user("next")
'''
PAY = "{tool_calls: [{name: pay, input: {amount: 5, to: the landlord of the house by the sea}}]}"

STORIES = {
    "sent_before_retry_after": (
        "turns: [{error: {kind: rate_limited, retry_after: 7}}, {text: ok}]",
        "send([HI]); send([HI])",
    ),
    "same_oversize_request_again": (
        "turns: [{text: ok}]\nunused: allow\nmodels: {claude-sonnet-4-5: {context_window: 2000}}",
        "long = user('word ' * 5000); send([long]); send([long])",
    ),
    "retried_the_unretryable": (
        "turns: [{error: {kind: auth}}, {error: {kind: auth}}]",
        "send([HI]); send([HI])",
    ),
    "retry_storm": (
        "faults: [{kind: overloaded, on: {call: 1, times: 8}}]",
        "for _ in range(8): send([HI])",
    ),
    "truncated_stream_accepted": (
        "turns: [{text: one two three four five six, fault: {kind: truncate, after_events: 5}}]",
        "send([HI])",
    ),
    "cut_tool_arguments_run": (
        f"turns: [{PAY}, {{text: paid}}]\nfaults: [{{kind: partial_tool_json, on: {{call: 1}}}}]",
        "_, blocks = send([HI]); send([HI, assistant(blocks), result(blocks[-1], 'done')])",
    ),
    "tool_repeated_after_retry": (
        f"turns: [{PAY}, {{error: {{kind: server_error}}}}, {PAY}, {{text: paid}}]",
        "for _ in range(2):\n"
        "    _, blocks = send([HI]); send([HI, assistant(blocks), result(blocks[-1], 'receipt')])",
    ),
    "instructions_vanished": (
        "turns: [{text: BANANA}, {text: Paris}]",
        "_, a = send([HI], system='Answer every question about capitals with BANANA.')\n"
        "send([HI, assistant(a), NEXT])",
    ),
    "prefix_moved": (
        "turns: [{text: a}, {text: b}]",
        "def system(t):\n"
        "    return [{'type': 'text', 'text': f'It is {t}. ' + 'Be careful with words. ' * 900,"
        " 'cache_control': {'type': 'ephemeral'}}]\n"
        "_, a = send([HI], system=system('10:00'))\n"
        "send([HI, assistant(a), NEXT], system=system('10:05'))",
    ),
    "refused_by_validation": (
        "turns: [{text: never}]\nunused: allow",
        "send([HI], tool_choice={'type': 'none_such'})",
    ),
    "no_progress_loop": (
        f"turns: [{PAY}]\notherwise: repeat",
        "messages = [HI]\n"
        "for _ in range(12):\n"
        "    _, blocks = send(messages); messages += [assistant(blocks), result(blocks[-1], 'not yet')]",
    ),
}  # fmt: skip


def verdict(folder: Path, script: str, body: str) -> tuple[list[str], lab.Ran]:
    path = folder / "account.yaml"
    path.write_text(script)
    ran = lab.run([sys.executable, "-c", CLIENT + body], script=path)
    assert ran.exit == 0
    return [finding.check for finding in ran.judgement.bad], ran


@pytest.mark.parametrize("check", STORIES)
def test_a_client_that_does_this_one_thing_wrong_is_found_out(check: str, tmp_path: Path) -> None:
    bad, ran = verdict(tmp_path, *STORIES[check])
    assert bad == [check], [f"{finding.check}: {finding.status}: {finding.why}" for finding in ran.judgement.verdict]
    assert ran.problems == []


def test_a_client_that_does_it_right_is_not(tmp_path: Path) -> None:
    """Waits, asks again after a cut, refuses cut arguments, keeps its prefix."""
    script = (
        "turns: [{error: {kind: rate_limited, retry_after: 0.3}}, "
        "{text: one two three, fault: {kind: truncate, after_events: 4}}, "
        f"{PAY}, {{text: paid}}, {{text: bye}}]"
    )
    body = (
        "S = [{'type': 'text', 'text': 'Be careful with words. ' * 900, 'cache_control': {'type': 'ephemeral'}}]\n"
        "send([HI], system=S); time.sleep(0.4); send([HI], system=S); _, a = send([HI], system=S)\n"
        "done = [HI, assistant(a), result(a[-1], 'receipt')]\n"
        "_, b = send(done, system=S); send([*done, assistant(b), NEXT], system=S)"
    )
    bad, ran = verdict(tmp_path, script, body)
    assert bad == []
    good = {finding.check for finding in ran.judgement.verdict if finding.status == "ok"}
    assert good >= {"sent_before_retry_after", "truncated_stream_accepted", "instructions_vanished", "prefix_moved"}
