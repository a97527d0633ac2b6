"""A conversation, in claw's own words. A vendor's types stay in that vendor's adapter file."""

from typing import Any, Literal

import msgspec

Role = Literal["user", "assistant", "system", "tool"]


class TextPart(msgspec.Struct, frozen=True, tag="text", tag_field="type"):
    text: str


class ThinkingPart(msgspec.Struct, frozen=True, tag="thinking", tag_field="type", omit_defaults=True):
    """Reasoning that must go back as it came: `signature` is opaque, `redacted` text is the vendor's cipher."""

    text: str
    signature: str | None = None
    redacted: bool = False


class ImagePart(msgspec.Struct, frozen=True, tag="image", tag_field="type"):
    media_type: str  # "image/png"
    data: str  # base64


class ToolCallPart(msgspec.Struct, frozen=True, tag="tool_call", tag_field="type", omit_defaults=True):
    """`broken` holds the text of arguments that were no JSON object; `input` is then empty."""

    id: str
    name: str
    input: dict[str, Any] = {}
    broken: str | None = None


class ToolResultPart(msgspec.Struct, frozen=True, tag="tool_result", tag_field="type", omit_defaults=True):
    call_id: str
    name: str
    content: tuple[TextPart | ImagePart, ...] = ()
    is_error: bool = False

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, TextPart))


Part = TextPart | ThinkingPart | ImagePart | ToolCallPart | ToolResultPart


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One conversation item. Role `tool` carries `ToolResultPart`s only; `raw` keeps unknown vendor fields."""

    role: Role
    parts: tuple[Part, ...]
    raw: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The visible text: thinking, tool calls and results left out."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCallPart))


def user(text: str) -> Message:
    return Message("user", (TextPart(text),))


def assistant(*parts: Part) -> Message:
    return Message("assistant", parts)
