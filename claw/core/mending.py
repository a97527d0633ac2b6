"""What is changed in a conversation, or in how it is asked, when a provider refuses it.

Every change of the conversation is an entry of the session, so that later runs do not have to find it out again.
"""

from claw.core.calls import Thinking
from claw.core.messages import ImagePart, Part, TextPart, ThinkingPart, ToolResultPart
from claw.core.state import State, Step
from claw.core.transcript import CUT_TO, CustomEntry, live


def repairable(state: State) -> bool:
    """Whether a repair would change anything: there is thinking or an image to leave out."""
    _, kept = live(state.history)
    return not state.repaired and any(_refusable(part) for entry in kept for part in entry.message.parts)


def _refusable(part: Part) -> bool:
    inner = part.content if isinstance(part, ToolResultPart) else ()
    return isinstance(part, ThinkingPart | ImagePart) or any(isinstance(p, ImagePart) for p in inner)


def repair(out: Step) -> None:
    """From now on what came before is sent without thinking and images."""
    out.persist(CustomEntry(id=out.entry_id(), parent_id=out.state.leaf, custom_type="repaired"))
    out.set(repaired=True)


def oversized(state: State) -> bool:
    """Whether a tool result is there that could be cut, and none has been in this run."""
    if state.cut:
        return False
    _, kept = live(state.history)
    results = (part for entry in kept for part in entry.message.parts if isinstance(part, ToolResultPart))
    return any(sum(len(p.text) for p in r.content if isinstance(p, TextPart)) > CUT_TO for r in results)


def cut_results(out: Step) -> None:
    """From now on the tool results before are shown with their head and tail only."""
    data = {"chars": CUT_TO}
    out.persist(CustomEntry(id=out.entry_id(), parent_id=out.state.leaf, custom_type="results_cut", data=data))
    out.set(cut=True)


def ask_thinking(out: Step, level: Thinking) -> None:
    """Ask for another level in the rest of the run."""
    out.set(thinking=level, levels_tried=(*out.state.levels_tried, level))
