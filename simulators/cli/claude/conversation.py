"""From the rows of a transcript to the messages of a request, in the form that the model is spoken to.

announced: reminders stand in `role: system` messages behind the user's (2.1.332 with 5.x models); inline: inside the
user's blocks; 2.1.19 has none. Breakpoints go on afterwards (`with_breakpoints`).
"""

from collections.abc import Sequence
from typing import Any

from simulators.cli.claude.session import Row
from simulators.cli.claude.versions import Version

Message = dict[str, Any]
_OPEN, _CLOSE = "<system-reminder>\n", "\n</system-reminder>"


def messages(chain: Sequence[Row], version: Version, *, form: str, effort: str | None) -> list[Message]:
    """The messages that a chain of rows stands for, without breakpoints."""
    if not version.reminders:
        return _plain(chain)
    return _announced(chain, effort) if form == "announced" else _inline(chain)


class _Run:
    """User content that follows one another and becomes one message, with what is announced beside it."""

    def __init__(self) -> None:
        self.before: list[str] = []  # rendered for the user's own message
        self.beside: list[str] = []  # rendered as system
        self.contents: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self.contents)


def _announced(chain: Sequence[Row], effort: str | None) -> list[Message]:
    made: list[Message] = []
    run = _Run()
    first = True

    def flush() -> None:
        nonlocal run, first
        if not run:
            return
        made.append({"role": "user", "content": _joined(run.before, run.contents)})
        texts = [t.removeprefix(_OPEN).removesuffix(_CLOSE) for t in run.beside]
        if texts or first:
            note: Message = {"role": "system", "content": "\n\n".join(texts) if texts else []}
            if first and effort:
                note["output_config"] = {"effort": effort}
            made.append(note)
        run, first = _Run(), False

    for row in chain:
        if row["type"] == "attachment":
            target = run.before if row.get("renderedRole") == "user" else run.beside
            target += [r["content"] for r in row.get("rendered", ())]
        elif row["type"] == "user":
            run.contents.append(row["message"]["content"])
        elif _speaks(row):
            flush()
            _add_assistant(made, row)
    flush()
    return made


def _inline(chain: Sequence[Row]) -> list[Message]:
    made: list[Message] = []
    run = _Run()
    for row in chain:
        if row["type"] == "attachment":
            for rendered in row.get("rendered", ()):
                _place(run, rendered["content"])
        elif row["type"] == "user":
            run.contents.append(row["message"]["content"])
        elif _speaks(row):
            if run:
                made.append({"role": "user", "content": _joined(run.before, run.contents)})
                run = _Run()
            _add_assistant(made, row)
    if run:
        made.append({"role": "user", "content": _joined(run.before, run.contents)})
    return made


def _place(run: _Run, text: str) -> None:
    """A reminder stands before the user's words, but behind the result of a tool, in its content."""
    last = run.contents[-1] if run.contents else ""
    if not isinstance(last, list) or last[-1].get("type") != "tool_result":
        run.before.append(text)
        return
    content = last[-1]["content"]
    more = f"{content}\n\n{text}" if isinstance(content, str) else [*content, {"type": "text", "text": text}]
    run.contents[-1] = [*last[:-1], {**last[-1], "content": more}]


def _plain(chain: Sequence[Row]) -> list[Message]:
    made: list[Message] = []
    lost = _without_result(chain)
    for row in chain:
        if row["type"] == "user":
            content = row["message"]["content"]
            if made and made[-1]["role"] == "user":
                made[-1]["content"] = [*_blocks(made[-1]["content"]), *_blocks(content)]
            else:
                made.append({"role": "user", "content": content})
        elif _speaks(row) and not (row["message"]["content"] and row["message"]["content"][0].get("id") in lost):
            _add_assistant(made, row)
    return made


def _without_result(chain: Sequence[Row]) -> set[str]:
    """Ids of tool calls that the chain has no result for."""
    blocks = [b for r in chain if r["type"] in ("user", "assistant") for b in _blocks(r["message"]["content"])]
    answered = {b.get("tool_use_id") for b in blocks}
    return {b["id"] for b in blocks if b.get("type") == "tool_use" and b["id"] not in answered}


def _speaks(row: Row) -> bool:
    """Whether the model sees this assistant row: API errors are shown to the user alone."""
    return row["type"] == "assistant" and not row.get("isApiErrorMessage")


def _add_assistant(made: list[Message], row: Row) -> None:
    content = list(row["message"]["content"])
    if made and made[-1]["role"] == "assistant":
        made[-1]["content"] = made[-1]["content"] + content
    else:
        made.append({"role": "assistant", "content": content})


def _joined(before: Sequence[str], contents: Sequence[Any]) -> Any:
    """One content from several: a lone text stays a string; every text but the last ends with a newline.

    Results of tools come first: the provider refuses anything between a call and its result.
    """
    if not before and len(contents) == 1:
        return contents[0]
    blocks_of = [_blocks(c) for c in contents]
    results = [b for b in blocks_of if b and b[0]["type"] == "tool_result"]
    spoken = [b for b in blocks_of if b not in results]
    parts = [*results, *([{"type": "text", "text": t}] for t in before), *spoken]
    joined: list[Message] = []
    for i, blocks in enumerate(parts):
        last = i == len(parts) - 1
        joined += [b if last or b["type"] != "text" else {**b, "text": b["text"] + "\n"} for b in blocks]
    return joined


def _blocks(content: Any) -> list[Message]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [dict(b) for b in content]


def with_breakpoints(made: Sequence[Message], control: dict[str, Any] | None, *, at: Sequence[int]) -> list[Message]:
    """The messages with `cache_control` on the last block of those at these places (negative: from the end)."""
    result = list(made)
    if control is None:
        return result
    for place in at:
        if -len(result) <= place < len(result) and result[place]["content"]:
            message = result[place]
            blocks = _blocks(message["content"])
            blocks[-1] = {**blocks[-1], "cache_control": control}
            result[place] = {**message, "content": blocks}
    return result
