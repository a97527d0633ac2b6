"""One prompt: the router says which model, then the model and its tools take turns."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from simulators.cli.effects import Effect, Now, Wait, Write
from simulators.cli.gemini import texts
from simulators.cli.gemini.api import Failure, Said, headers, send
from simulators.cli.gemini.catalogue import declarations, names
from simulators.cli.gemini.run import Run
from simulators.cli.gemini.session import contents, stamp
from simulators.cli.gemini.tools import run as run_tool

Steps = Generator[Effect, Any, Any]
NO_FINISH = "Model stream ended without a finish reason."
EMPTY = (
    "The model returned an empty response with no text or thoughts. "
    "This may be a transient API issue; please try again."
)
_SAMPLING = {"temperature": 1, "topP": 0.95, "topK": 64}


@dataclass(slots=True)
class Ended:
    """How a prompt ended: answered, with an answer that was no good (`invalid`), or with a failure."""

    failure: Failure | None = None
    invalid: str | None = None


def converse(run: Run, prompt: str) -> Generator[Effect, Any, Ended]:
    """Process one prompt to its end."""
    model = yield from _routed(run, prompt)
    yield from _user(run, [{"text": prompt}])
    while True:
        said = yield from _asked(run, model)
        if isinstance(said, Failure):
            yield from _error(f"Error when talking to Gemini API {said.message}")
            return Ended(said)
        if said.finish is None or not said.parts:
            return Ended(invalid=NO_FINISH if said.finish is None else EMPTY)
        message = yield from _remember(run, model, said)
        if not said.calls:
            return Ended()
        yield from _use_tools(run, message, said)


def _user(run: Run, parts: list[dict[str, Any]]) -> Steps:
    now = yield Now()
    message = {"id": run.ids.uuid(), "timestamp": stamp(now), "type": "user", "content": parts}
    yield from run.session.add(message)


def _remember(run: Run, model: str, said: Said) -> Generator[Effect, Any, dict[str, Any]]:
    now = yield Now()
    usage = said.usage
    tokens = {
        "input": usage.get("promptTokenCount", 0),
        "output": usage.get("candidatesTokenCount", 0),
        "cached": usage.get("cachedContentTokenCount", 0),
        "thoughts": usage.get("thoughtsTokenCount", 0),
        "tool": usage.get("toolUsePromptTokenCount", 0),
        "total": usage.get("totalTokenCount", 0),
    }
    thoughts = [
        {"subject": "", "description": p["text"], "timestamp": stamp(now)} for p in said.parts if p.get("thought")
    ]
    message: dict[str, Any] = {"id": run.ids.uuid(), "timestamp": stamp(now), "type": "gemini", "content": said.text}
    message |= {"thoughts": thoughts, "tokens": tokens, "model": model}
    yield from run.session.add(message)
    return message


def _routed(run: Run, prompt: str) -> Generator[Effect, Any, str]:
    """The model for this prompt. Where the router gives no score, the strong one."""
    if run.model != "auto":
        return run.model
    version = run.version
    history = contents([run.context, *run.session.messages])
    parts = {"parts": [{"text": prompt}], "role": "user"}
    schema = {
        "type": "OBJECT",
        "properties": {
            "complexity_reasoning": {"type": "STRING", "description": "Why the score is what it is."},
            "complexity_score": {"type": "INTEGER", "description": "How hard it is, 1 to 100."},
        },
        "required": ["complexity_reasoning", "complexity_score"],
    }
    config = {**_SAMPLING, "responseMimeType": "application/json", "responseJsonSchema": schema}
    body = {
        "contents": [*history, parts],
        "systemInstruction": {"parts": [{"text": texts.ROUTER}], "role": "user"},
        "generationConfig": {**config, "thinkingConfig": _thinking(version.router)},
    }
    url = f"{run.base}/v1beta/models/{version.router}:generateContent"
    said = yield from send(url, headers(version.name, version.hard, run.key), body, None)
    if isinstance(said, Failure):
        run.stats.failed(version.router, "utility_router", said.kind, said.ms)
        yield from _error(f"[Routing] NumericalClassifierStrategy failed: {said.message}")
        return version.hard
    run.stats.answered(said.model or version.router, "utility_router", said.usage, said.ms)
    try:
        score = int(json.loads(said.text)["complexity_score"])
    except (ValueError, KeyError, TypeError):
        yield from _error("[Routing] NumericalClassifierStrategy failed: the answer has no score")
        return version.hard
    return version.hard if score >= version.hard_from else version.easy


def _thinking(model: str) -> dict[str, Any]:
    if "2.5" in model:
        return {"includeThoughts": True, "thinkingBudget": 8192}
    return {"includeThoughts": True, "thinkingLevel": "HIGH"}


def _asked(run: Run, model: str) -> Generator[Effect, Any, Said | Failure]:
    """One step of the model; an answer without an end is asked for again, with growing pauses."""
    empty = False
    for tries in range(run.version.stream_retries + 1):
        said = yield from _with_retries(run, model, reminded=empty)
        if isinstance(said, Failure):
            return said
        if (said.finish is not None and said.parts) or tries == run.version.stream_retries:
            break
        empty = empty or not said.parts
        yield Wait(float(2**tries))
    if isinstance(said, Said) and (said.finish is None or not said.parts):
        run.stats.failed(model, None, "NO_FINISH_REASON" if said.finish is None else "NO_RESPONSE_TEXT", 0)
    return said


def _with_retries(run: Run, model: str, *, reminded: bool) -> Generator[Effect, Any, Said | Failure]:
    version = run.version
    shown = version.hard if run.model == "auto" else model
    url = f"{run.base}/v1beta/models/{model}:streamGenerateContent?alt=sse"
    wait = version.first_wait_s
    for attempt in range(1, version.attempts + 1):
        said = yield from send(url, headers(version.name, shown, run.key), _body(run, model, reminded), run.output.said)
        if isinstance(said, Said):
            run.stats.answered(said.model or model, "main", said.usage, said.ms)
            return said
        run.stats.failed(said.model or model, "main", said.kind, said.ms)
        again = (
            (said.status is None and said.message != "terminated")
            or said.status in (429, 499)
            or (said.status or 0) >= 500
        )
        if not again or said.terminal:
            return said
        if attempt == version.attempts:
            return Failure(said.shown or said.message, said.status, kind=said.kind)
        if said.delay is not None:
            pause = max(wait, said.delay) * (1 + 0.2 * run.ids.fraction())
            told = f"{said.shown}\nSuggested retry after {said.delay:g}s.. Retrying after {int(pause * 1000)}ms..."
            yield from _error(f"Attempt {attempt} failed: {told}")
        else:
            pause = wait * (0.7 + 0.6 * run.ids.fraction())
            status = f" with status {said.status}" if said.status else ""
            yield from _error(f"Attempt {attempt} failed{status}. Retrying with backoff... {said.message}")
        yield Wait(pause)
        wait = min(wait * 2, version.longest_wait_s)
    raise AssertionError("a call ends by its last attempt")


def _body(run: Run, model: str, reminded: bool) -> dict[str, Any]:
    mode = run.options.mode
    said = contents([run.context, *run.session.messages])
    if reminded:
        said[-1]["parts"] = [*said[-1]["parts"], {"text": texts.EMPTY_AGAIN}]
    return {
        "contents": said,
        "systemInstruction": {"parts": [{"text": texts.system(model, mode, run.memory)}], "role": "user"},
        "tools": [{"functionDeclarations": declarations(mode)}],
        "generationConfig": {**_SAMPLING, "thinkingConfig": _thinking(model)},
    }


def _use_tools(run: Run, message: dict[str, Any], said: Said) -> Steps:
    """Run what was asked for, then tell the model."""
    now = yield Now()
    done: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    pending = []
    for index, part in enumerate(said.calls):
        call = part["functionCall"]
        id = str(call.get("id") or f"{call['name']}_{int(now * 1000)}_{index}")
        pending.append((id, part, call))
    for id, part, call in pending:
        name, given = str(call["name"]), dict(call.get("args") or {})
        line = f"{name}__{id}"
        yield from run.output.tool_begins(line, name, given)
        before = yield Now()
        result = yield from run_tool(name, given, cwd=run.start.cwd, offered=names(run.options.mode))
        after = yield Now()
        if result.error is not None:
            yield from _error(f"Error executing tool {name}: {result.shown}")
        yield from run.output.tool_ended(line, result.shown, result.error)
        run.stats.used(name, ok=result.error is None, ms=int((after - before) * 1000))
        run.stats.lines = (run.stats.lines[0] + result.added, run.stats.lines[1] + result.removed)
        response = {"output": result.output} if result.error is None else {"error": result.told}
        answer = {"functionResponse": {"name": name, "response": response, "id": id}}
        answers.append(answer)
        kept = {"id": line, "name": name, "args": given, "result": [answer], "timestamp": stamp(after)}
        kept["status"] = "success" if result.error is None else "error"
        if "thoughtSignature" in part:
            kept["thoughtSignature"] = part["thoughtSignature"]
        done.append(kept)
    yield from run.session.add({**message, "toolCalls": done})
    yield from _user(run, answers)


def _error(text: str) -> Steps:
    yield Write(f"{text}\n".encode("utf-8", "surrogatepass"), "stderr")
