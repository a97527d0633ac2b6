"""What a tool is, and the little that all of them share.

A tool is any object with `spec`, `side_effects` and `run`. A file in this folder with a `TOOL` is found by listing.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from claw.core.calls import ToolSpec
from claw.core.errors import ClawError
from claw.core.messages import ImagePart, TextPart
from claw.ports import Clock, Files, Processes

Input = TypeVar("Input")


class ToolError(Exception):
    """The tool could not do it. The text goes to the model, which is to try something else."""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """Where a tool runs: `workspace` is an absolute path, `env` the whole environment for programs."""

    workspace: str
    files: Files
    processes: Processes
    clock: Clock
    env: Mapping[str, str] = {}


class ToolOutcome(msgspec.Struct, frozen=True):
    """What the model gets back. `details` is for people and reports; the model does not see it."""

    parts: tuple[TextPart | ImagePart, ...] = ()
    is_error: bool = False
    details: Mapping[str, Any] = {}

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class Tool(Protocol):
    """`side_effects` true means that running it twice is not the same as once: no retry may repeat it."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def side_effects(self) -> bool: ...

    async def run(self, input: dict[str, Any], context: ToolContext) -> ToolOutcome:
        """Never raises for what the model asked wrongly; cancelling it ends what it started."""


def said(text: str, *, is_error: bool = False, **details: Any) -> ToolOutcome:
    """An outcome of one text."""
    return ToolOutcome((TextPart(text),), is_error, details)


class FunctionTool(Generic[Input]):
    """A tool made of a typed input and a function. The schema that the model sees comes from the type."""

    def __init__(
        self,
        name: str,
        description: str,
        input_type: type[Input],
        function: Callable[[Input, ToolContext], Awaitable[ToolOutcome]],
        *,
        side_effects: bool,
    ) -> None:
        self.spec = ToolSpec(name, description, schema_of(input_type))
        self.side_effects = side_effects
        self._type = input_type
        self._function = function

    async def run(self, input: dict[str, Any], context: ToolContext) -> ToolOutcome:
        try:
            arguments = msgspec.convert(input, self._type, strict=False)
        except msgspec.ValidationError as error:
            received = msgspec.json.encode(input).decode()
            return said(f"{self.spec.name}: the arguments do not fit: {error}\n\nReceived: {received}", is_error=True)
        try:
            return await self._function(arguments, context)
        except ToolError as error:
            return said(str(error), is_error=True)
        except OSError as error:
            where = relative(context, str(error.filename or ""))
            return said(f"{self.spec.name}: {error.strerror or error}: {where}".rstrip(": "), is_error=True)


def schema_of(input_type: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a struct, without references: not every vendor follows them."""
    (top,), components = msgspec.json.schema_components([input_type], ref_template="{name}")

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return inline(components[node["$ref"]])
        return {key: inline(value) for key, value in node.items() if key != "title"}

    schema: dict[str, Any] = inline(top)
    return {"type": "object", "properties": schema.get("properties", {}), "required": schema.get("required", [])}


def inside(context: ToolContext, path: str) -> str:
    """The absolute path of `path` in the workspace, links followed. Raises `ToolError` if it leads out of it."""
    if not path or "\0" in path:
        raise ToolError("a path must not be empty or hold a NUL character")
    root = os.path.realpath(context.workspace)
    target = os.path.realpath(os.path.join(root, path))
    if target != root and not target.startswith(root.rstrip("/") + "/"):
        raise ToolError(f"{path} lies outside the workspace; only files in it can be reached")
    return target


def relative(context: ToolContext, path: str) -> str:
    """`path` as the model knows it: an absolute one would differ from machine to machine, and with it the prompt."""
    root = os.path.realpath(context.workspace)
    return os.path.relpath(path, root) if path == root or path.startswith(root.rstrip("/") + "/") else path


def clip(text: str, limit: int) -> str:
    """At most `limit` characters: the head and, as errors and totals come last, a third from the tail."""
    if len(text) <= limit:
        return text
    note = f"\n\n[… {len(text) - limit} of {len(text)} characters left out …]\n\n"
    room = max(0, limit - len(note))
    tail = room // 3
    return f"{text[: room - tail]}{note}{text[len(text) - tail :]}"


def pick(tools: Mapping[str, Tool], name: str) -> Tool:
    """The tool of that name. Raises `ClawError` naming the nearest."""
    if name in tools:
        return tools[name]
    from difflib import get_close_matches

    near = get_close_matches(name, tools, n=1)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    raise ClawError(f"there is no tool `{name}`{hint}. Known: {', '.join(sorted(tools))}")
