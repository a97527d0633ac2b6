"""Replace pieces of a file of the workspace. All edits refer to the file as it was; it changes once or not at all."""

from itertools import pairwise
from typing import Annotated

import msgspec
from msgspec import Meta

from claw.tools.base import FunctionTool, ToolContext, ToolError, ToolOutcome, inside, said

BOM = "\ufeff"


class Edit(msgspec.Struct, rename="camel"):
    old_text: Annotated[str, Meta(description="Text as it stands in the file; must occur exactly once")]
    new_text: Annotated[str, Meta(description="What stands there afterwards")]


class Input(msgspec.Struct, kw_only=True):
    path: Annotated[str, Meta(description="File to change, relative to the workspace")]
    edits: Annotated[list[Edit], Meta(description="Replacements; they must not overlap", min_length=1)]


async def run(input: Input, context: ToolContext) -> ToolOutcome:
    path = inside(context, input.path)
    try:
        text = context.files.read(path).decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"{input.path} is no UTF-8 text and cannot be edited")
    changed = apply(text, input.edits, input.path)
    context.files.write(path, changed.encode())
    return said(f"Replaced {len(input.edits)} piece(s) in {input.path}", edits=len(input.edits))


def apply(text: str, edits: list[Edit], name: str) -> str:
    """`text` with every edit made. A byte order mark and CRLF line ends stay as they are. Raises `ToolError`."""
    mark, body = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    crlf = "\r\n" in body
    body = body.replace("\r\n", "\n") if crlf else body
    places = sorted(_place(body, edit, number, name) for number, edit in enumerate(edits))
    for (_, end, first, _), (start, _, second, _) in pairwise(places):
        if start < end:
            raise ToolError(f"edits[{first}] and edits[{second}] overlap in {name}; make them one edit")
    result = body
    for start, end, _, new in reversed(places):
        result = result[:start] + new + result[end:]
    if result == body:
        raise ToolError(f"nothing in {name} would change; the new text equals the old")
    return mark + (result.replace("\n", "\r\n") if crlf else result)


def _place(body: str, edit: Edit, number: int, name: str) -> tuple[int, int, int, str]:
    old, new = edit.old_text.replace("\r\n", "\n"), edit.new_text.replace("\r\n", "\n")
    if not old:
        raise ToolError(f"edits[{number}].oldText must not be empty in {name}")
    count = body.count(old)
    if count != 1:
        problem = "does not occur" if count == 0 else f"occurs {count} times"
        remedy = "copy it exactly, with its white space" if count == 0 else "take in more of the lines around it"
        raise ToolError(f"edits[{number}].oldText {problem} in {name}; {remedy}")
    start = body.index(old)
    return start, start + len(old), number, new


TOOL = FunctionTool(
    "edit",
    "Change a file by replacing exact pieces of its text. Each oldText must occur once, in the file as it is now.",
    Input,
    run,
    side_effects=True,
)
