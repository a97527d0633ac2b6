"""What each Claude model accepts, by its line and version.

The table is that of the provider's documentation as of November 2026 (adaptive thinking, tool choice, mid-conversation
system messages), with recorded behaviour where the two differ. Ids that are no Claude model (`sim-…`, models that an
account adds) accept everything that their catalogue entry does not deny.
"""

import re

import msgspec

from simulators.core.turn import ModelInfo

# claude-opus-4-5-20251101, claude-sonnet-4-20250514, claude-3-5-haiku-20241022, claude-fable-5
_NEW = re.compile(r"claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?(?:-|$)")
_OLD = re.compile(r"claude-(\d)(?:-(\d))?-([a-z]+)")
_FROM_THE_START = {"fable": (5, 0), "mythos": (5, 0), "opus": (5, 5), "sonnet": (5, 5)}  # thinking cannot be off
_UNFORCED = {"fable": (5, 1), "mythos": (5, 1), "opus": (5, 5), "sonnet": (5, 5)}
_MID_SYSTEM = {"fable": (5, 0), "mythos": (5, 0), "opus": (4, 8), "sonnet": (5, 5), "haiku": (5, 5)}
_PRESERVED = {"fable": (5, 1), "mythos": (5, 1), "opus": (5, 5), "sonnet": (5, 5), "haiku": (5, 5)}
_KEEPS_THINKING = {"fable": (5, 0), "mythos": (5, 0), "opus": (4, 5), "sonnet": (4, 6), "haiku": (5, 0)}
_THINKS_UNASKED = {"fable": (5, 0), "mythos": (5, 0), "opus": (5, 0), "sonnet": (5, 0), "haiku": (5, 5)}
_NEVER = (99, 0)


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """The capabilities of one model that decide between an answer and a 400, or change the rendered prompt."""

    sampling: bool = True  # temperature, top_p, top_k (under version 2023-06-01)
    one_sampler: bool = False  # temperature and top_p exclude each other
    prefill: bool = True
    manual_thinking: bool = True  # thinking.type enabled with a budget
    adaptive_thinking: bool = True
    thinking_off: bool = True  # thinking.type disabled is accepted
    thinks_unasked: bool = False  # thinking is on when the request does not say
    forced_tools: bool = True
    mid_system: bool = True  # role "system" inside messages
    preserved_thinking: bool = False  # an edit before a thinking block makes it invalid
    keeps_thinking: bool = True  # thinking of earlier turns stays in the prompt
    thinking_shown: bool = True  # thinking text is sent unless `display` says otherwise
    overlong_is_error: bool = False  # input + max_tokens over the window is a 400
    efforts: tuple[str, ...] = ("high", "low", "max", "medium", "xhigh")  # () = the parameter is not supported
    default_effort: str = "high"
    image_edge: int = 2576  # images are scaled down to this edge before they are counted
    image_cap: int = 4784  # tokens of the largest image


def family(model: str) -> tuple[str, tuple[int, int]] | None:
    """`("opus", (4, 5))` for `claude-opus-4-5-20251101`; None for an id that names no Claude model."""
    if found := _NEW.match(model):
        return found[1], (int(found[2]), int(found[3] or 0))
    if found := _OLD.match(model):
        return found[3], (int(found[1]), int(found[2] or 0))
    return None


def gates(info: ModelInfo) -> Gates:
    """The capabilities of a model of the catalogue."""
    known = family(info.id)
    if known is None:
        return _from_features(info)
    line, version = known

    def since(table: dict[str, tuple[int, int]]) -> bool:
        return version >= table.get(line, _NEVER)

    modern = version >= (4, 7)
    return Gates(
        sampling=not modern,
        one_sampler=version >= (4, 1),
        prefill=version < (4, 6),
        manual_thinking=not modern and version >= (3, 7),
        adaptive_thinking=version >= (4, 6),
        thinking_off=not since(_FROM_THE_START),
        thinks_unasked=since(_THINKS_UNASKED),
        forced_tools=not since(_UNFORCED),
        mid_system=since(_MID_SYSTEM),
        preserved_thinking=since(_PRESERVED),
        keeps_thinking=since(_KEEPS_THINKING),
        thinking_shown=not modern,
        overlong_is_error=version < (4, 5),
        efforts=_efforts(line, version),
        default_effort="medium" if (line, version) == ("opus", (5, 5)) else "high",
        image_edge=2576 if modern else 1568,
        image_cap=4784 if modern else 1568,
    )


def _efforts(line: str, version: tuple[int, int]) -> tuple[str, ...]:
    if version >= (4, 7):
        return ("high", "low", "max", "medium", "xhigh")
    if version == (4, 6):
        return ("high", "low", "max", "medium")
    if (line, version) == ("opus", (4, 5)):
        return ("high", "low", "medium")
    return ()


def _from_features(info: ModelInfo) -> Gates:
    """A model outside the Claude line-up: only what its entry says it cannot do is refused."""
    said = info.features
    return Gates(
        sampling=said.get("supports_sampling_params") is not False,
        prefill=said.get("supports_assistant_prefill") is not False,
        adaptive_thinking=said.get("supports_adaptive_thinking") is not False,
        forced_tools=said.get("supports_forced_tool_use") is not False,
        mid_system=said.get("supports_mid_conversation_system") is not False,
        thinking_off=said.get("thinking_always_on") is not True,
        thinks_unasked=said.get("thinking_always_on") is True,
    )
