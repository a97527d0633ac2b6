"""`claw sessions list|show`: what the agent has on record."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claw.cli.home import home, told

if TYPE_CHECKING:
    from claw.core.messages import Message, Part
    from claw.core.transcript import Entry
    from claw.sessions import Session, SessionStore

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="List and show sessions.")
COMMAND = "claw sessions"
SHOWN = 72  # characters of a first prompt in the list


@app.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="print them as a JSON array")] = False) -> None:
    """Every session, the one used last first."""
    import msgspec

    with told(COMMAND):
        infos = _store().list()
        if as_json:
            sys.stdout.write(msgspec.json.encode(infos).decode() + "\n")
            return
        if not infos:
            sys.stderr.write(f"{COMMAND}: none in {home() / 'sessions'}; `claw agent PROMPT` begins one\n")
        for info in infos:
            prompt = " ".join(info.first_prompt.split())
            prompt = prompt if len(prompt) <= SHOWN else f"{prompt[: SHOWN - 1]}…"
            damaged = f"  ({info.damaged} damaged lines)" if info.damaged else ""
            sys.stdout.write(f"{info.id}  {info.updated[:19]}  {info.prompts:>4} prompts  {prompt}{damaged}\n")


@app.command()
def show(
    session: Annotated[str, typer.Argument(metavar="ID", help="as `claw sessions list` shows it")],
    as_json: Annotated[bool, typer.Option("--json", help="print header and entries as one JSON object")] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="also thinking, tokens, models, and what models are not shown")
    ] = False,
) -> None:
    """The conversation of a session."""
    import msgspec

    with told(COMMAND):
        opened = _store().load(session)
        if as_json:
            sys.stdout.write(msgspec.json.encode(_object(opened, trace=trace)).decode() + "\n")
            return
        if opened.damaged:
            sys.stderr.write(f"{COMMAND}: {opened.file}: {opened.damaged} lines could not be read and are left out\n")
        for entry in opened.path():
            for line in _lines(entry, trace=trace):
                sys.stdout.write(line + "\n")


def _store() -> "SessionStore":
    from claw.host import HostFiles
    from claw.sessions import SessionStore

    return SessionStore(HostFiles(), str(home()))


def _object(session: "Session", *, trace: bool) -> dict[str, Any]:
    """`{session: header, damaged, entries}`: the conversation's entries, with `trace` those of every branch."""
    from claw.core.transcript import UnknownEntry

    chosen = session.entries if trace else session.path()
    entries = [entry.raw if isinstance(entry, UnknownEntry) else entry for entry in chosen]
    return {"session": session.header, "file": session.file, "damaged": session.damaged, "entries": entries}


def _lines(entry: "Entry", *, trace: bool) -> Iterator[str]:
    from claw.core.transcript import CompactionEntry, CustomEntry, MessageEntry

    place = f"{entry.id} {entry.timestamp} " if trace else ""
    if isinstance(entry, MessageEntry):
        yield from _message(entry.message, place, trace=trace)
        if trace and entry.usage is not None:
            usage = entry.usage
            yield (
                f"  [{entry.model}, {entry.stop}: {usage.context_tokens} in ({usage.cache_read} cached, "
                f"{usage.cache_write_5m + usage.cache_write_1h} written), {usage.output} out]"
            )
    elif isinstance(entry, CompactionEntry):
        yield f"{place}[compacted: {entry.tokens_before} → {entry.tokens_after} tokens, {entry.trigger}]"
        if trace:
            yield from _indented(entry.summary)
    elif trace and isinstance(entry, CustomEntry) and entry.custom_type == "decisions":
        yield f"{place}[what went wrong in this run]"
        yield from (f"  {_decision(made)}" for made in entry.data.get("decisions", ()))
    elif trace and isinstance(entry, CustomEntry):
        yield f"{place}[{entry.custom_type}: {entry.data}]"
    elif trace:
        yield f"{place}[an entry of a kind that this version does not know]"


def _decision(made: dict[str, Any]) -> str:
    """One line of a run's decisions: what failed, what was done, and why."""
    if made.get("type") != "attempt":
        return f"compaction ({made.get('trigger')}) failed: {made.get('why')}"
    status = f" (HTTP {made['status']})" if made.get("status") else ""
    waited = f" after {made['waited_s']:.1f} s" if made.get("waited_s") else ""
    who = f"{made.get('provider')}/{made.get('model')}" + (f" with {made['profile']}" if made.get("profile") else "")
    done = f"{made.get('kind')}{status} → {made.get('action')}{waited}"
    return f"call {made.get('n')} of {who}: {done}: {made.get('why')}"


def _message(message: "Message", place: str, *, trace: bool) -> Iterator[str]:
    texts = [text for part in message.parts if (text := _part(part, trace=trace))]
    yield f"{place}{message.role}:" + ("" if texts else " (nothing visible)")
    for text in texts:
        yield from _indented(text)
    yield ""


def _part(part: "Part", *, trace: bool) -> str:
    from claw.core.messages import ImagePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

    match part:
        case TextPart(text=text):
            return text
        case ThinkingPart(text=text, redacted=redacted):
            return "" if not trace else "[thinking, encrypted]" if redacted else f"[thinking] {text}"
        case ImagePart(media_type=media_type):
            return f"[image {media_type}]"
        case ToolCallPart(id=id, name=name, input=input, broken=broken):
            arguments = broken if broken is not None else _json(input)
            return f"→ {name} {arguments}" + (f"  ({id})" if trace else "")
        case ToolResultPart(name=name, is_error=is_error):
            return f"← {name}{' failed' if is_error else ''}: {part.text}"


def _json(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def _indented(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"  {line}" if line else ""
