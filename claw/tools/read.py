"""Read a file of the workspace: text by lines, images as images."""

import base64
from typing import Annotated

import msgspec
from msgspec import Meta

from claw.core.messages import ImagePart, TextPart
from claw.tools.base import FunctionTool, ToolContext, ToolError, ToolOutcome, inside, said

MAX_LINES, MAX_BYTES = 2000, 50 * 1024  # of one answer
_IMAGES = {b"\x89PNG\r\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


class Input(msgspec.Struct, kw_only=True):
    path: Annotated[str, Meta(description="File to read, relative to the workspace")]
    offset: Annotated[int, Meta(description="First line to read, counted from 1", ge=1)] = 1
    limit: Annotated[int, Meta(description="How many lines at most", ge=1)] = MAX_LINES


async def run(input: Input, context: ToolContext) -> ToolOutcome:
    data = context.files.read(inside(context, input.path))
    if media_type := _image_type(data):
        picture = ImagePart(media_type, base64.b64encode(data).decode())
        return ToolOutcome((TextPart(f"{input.path}: {media_type}, {len(data)} bytes"), picture))
    pieces = data.decode("utf-8", "replace").split("\n")  # no other character ends a line for the tools around us
    lines = [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
    if not lines:
        return said("(the file is empty)")
    if input.offset > len(lines):
        raise ToolError(f"{input.path} has {len(lines)} lines; line {input.offset} is beyond its end")
    return said(_page(lines, input.offset - 1, min(input.limit, MAX_LINES)))


def _page(lines: list[str], start: int, limit: int) -> str:
    shown: list[str] = []
    size = 0
    for line in lines[start : start + limit]:
        size += len(line.encode())
        if size > MAX_BYTES and shown:
            break
        shown.append(line)
    end = start + len(shown)
    text = "".join(shown)
    if len(text) > MAX_BYTES:  # one line alone is longer than a page
        return f"{text[:MAX_BYTES]}\n\n[line {end} is cut after {MAX_BYTES} characters]"
    if end < len(lines):
        text += f"\n[lines {start + 1}–{end} of {len(lines)}; read on with offset={end + 1}]"
    return text


def _image_type(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media for magic, media in _IMAGES.items() if data.startswith(magic)), None)


TOOL = FunctionTool(
    "read",
    f"Read a file. Text comes by lines, at most {MAX_LINES} at a time; png, jpeg, gif and webp come as images.",
    Input,
    run,
    side_effects=False,
)
