"""Servers that speak OpenAI's wire API in their own accent, each described by one JSON file in `profiles/`.

A file says what differs: error envelope and refusals, names of headers and finish reasons, usage fields, how streams
end. In its templates `{name}` stands for a value: alone in a string it keeps its type, `{name?}` drops the key when the
value is null. A new server is one more file, or a `Profile` handed to the dialect. Facts: recorded bodies and the
servers' documentation, as far as they are known; what a file does not say is OpenAI's.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pkgutil import get_data
from typing import Any, Literal

import msgspec

_FIELD = re.compile(r"\{([a-z_]+)(\??)\}")
DEFAULT = "openai"


class Words(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a server refuses: status, the fields of its envelope, or a whole `body` instead."""

    status: int | None = None
    message: str | None = None
    type: Any = None
    code: Any = None
    param: Any = None
    headers: dict[str, str] = {}
    body: Any = None


class StreamForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a stream of chunks looks.

    `usage`: `asked` (a chunk of its own if the client wants it), `always` (the same, unasked), or `last` (in the chunk
    with the finish reason). `comment` goes before everything. `arguments`: tool calls in fragments, or whole.
    """

    usage: Literal["asked", "always", "last"] = "asked"
    comment: str | None = None
    arguments: Literal["fragments", "whole"] = "fragments"
    obfuscation: bool = False
    null_usage: bool = False  # chunks before the usage carry `usage: null`


class CacheForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The server's automatic cache: minimum and step in tokens, lifetime in seconds."""

    minimum: int = 1024
    step: int = 128
    lifetime: float = 300.0


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server. `paths` are the beginnings of paths under which it is known, besides `/NAME`."""

    name: str
    about: str = ""
    paths: tuple[str, ...] = ()
    responses: bool = False  # has the Responses API too
    own_models: bool = False  # serves the vendor's models only
    strict: bool = False  # checks fields as OpenAI does
    envelope: Any = msgspec.field(
        default_factory=lambda: {
            "error": {"message": "{message}", "type": "{type}", "param": "{param}", "code": "{code}"}
        }
    )
    errors: dict[str, Words] = {}
    headers: dict[str, str] = {}  # of every answer
    rate_headers: dict[str, str] = {}
    retry_headers: tuple[str, ...] = ("retry-after",)
    usage: Any = None  # None: OpenAI's
    finish: dict[str, str] = {}
    completion: dict[str, Any] = {}  # more keys of a completion and of every chunk
    message: dict[str, Any] = {}  # more keys of a whole message
    last: dict[str, Any] = {}  # more keys of the whole completion and the chunk with the usage
    bare_message: bool = False  # without `refusal` and `annotations`
    reasoning: str | None = None  # the key that shows the text of thinking
    id: str = "chatcmpl-{id}"
    stream: StreamForm = StreamForm()
    overflow: Literal["refuse", "truncate"] = "refuse"
    counts_output: bool = False  # input and max_tokens together must fit the window
    cache: CacheForm | None = None


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with its fields replaced."""
    if isinstance(template, str):
        whole = _FIELD.fullmatch(template)
        if whole:
            return values.get(whole[1])
        return _FIELD.sub(lambda m: str(values.get(m[1], "")), template) if "{" in template else template
    if isinstance(template, dict):
        made = {}
        for key, inner in template.items():
            value = fill(inner, values)
            if value is None and isinstance(inner, str) and inner.endswith("?}"):
                continue
            made[key] = value
        return made
    return [fill(inner, values) for inner in template] if isinstance(template, list) else template


@lru_cache(maxsize=1)
def profiles() -> Mapping[str, Profile]:
    """Every profile of the folder by its name."""
    found = {}
    for file in sorted(files(__package__).joinpath("profiles").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".json"):
            profile = msgspec.json.decode(get_data(__package__, f"profiles/{file.name}") or b"", type=Profile)
            found[profile.name] = profile
    return found


def split(path: str, known: Mapping[str, Profile]) -> tuple[Profile | None, str]:
    """Which server a path names, and the rest of the path from `/v1` on; None if it names none."""
    first, _, rest = path[1:].partition("/")
    named = known.get(first)
    if named is not None and rest:
        for lead in named.paths:
            if f"/{rest}".startswith(f"{lead}/"):
                return named, _versioned(f"/{rest}"[len(lead) :])
        return named, _versioned(f"/{rest}")
    for profile in known.values():
        for lead in profile.paths:
            if path.startswith(f"{lead}/"):
                return profile, _versioned(path[len(lead) :])
    return None, path


def _versioned(path: str) -> str:
    return path if path.startswith("/v1/") else f"/v1{path}"
