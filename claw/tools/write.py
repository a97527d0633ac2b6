"""Write a whole file of the workspace."""

from typing import Annotated

import msgspec
from msgspec import Meta

from claw.tools.base import FunctionTool, ToolContext, ToolOutcome, inside, said


class Input(msgspec.Struct, kw_only=True):
    path: Annotated[str, Meta(description="File to write, relative to the workspace; folders are made")]
    content: Annotated[str, Meta(description="Everything the file is to hold")]


async def run(input: Input, context: ToolContext) -> ToolOutcome:
    data = input.content.encode("utf-8", "surrogatepass")
    context.files.write(inside(context, input.path), data)
    return said(f"Wrote {len(data)} bytes to {input.path}", bytes=len(data))


TOOL = FunctionTool(
    "write",
    "Create a file or replace all of it. To change a part of a file use edit.",
    Input,
    run,
    side_effects=True,
)
