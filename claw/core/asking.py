"""How a run asks: the next call of a model, or of a CLI, from where the state stands."""

import msgspec

from claw.core import compaction
from claw.core.calls import ModelRequest, SystemBlock
from claw.core.commands import CallCli, CallModel
from claw.core.compaction import summary_prompt
from claw.core.messages import Message
from claw.core.policy import USEFUL_OUTPUT
from claw.core.state import State, Step, derived_uuid
from claw.core.transcript import CustomEntry, MessageEntry, live, replay
from claw.core.usage import Usage
from claw.core.window import DEFAULT_OUTPUT, Fill, budget, fill, reserve

RESEED_LEAD = "This conversation began elsewhere. Its record, for your information:"
RESEED_TASK = "Go on from there. The next message is:"


def fullness(state: State) -> Fill:
    return fill(state.history, fixed=state.fixed, scale=state.scale)


def too_full(state: State) -> bool:
    """The next prompt would leave less than the reserve: compact before it is sent."""
    return fullness(state).at_most > budget(state.size, state.setup.reserve)


def cli_too_full(state: State) -> bool:
    """The same of a CLI's session, as far as its last call has told; False when that is not known."""
    for entry in reversed(state.history):
        if isinstance(entry, CustomEntry) and entry.custom_type == "cli_compaction":
            return False
        if isinstance(entry, MessageEntry) and entry.usage is not None:
            size = state.reported_window or state.size
            return entry.usage.context_tokens + entry.usage.output > budget(size, state.setup.reserve)
    return False


def call_model(out: Step) -> None:
    """The main call: the conversation as it stands."""
    state = out.state
    wanted = state.max_tokens or min(state.at.max_output, DEFAULT_OUTPUT)
    room = state.size - fullness(state).at_most
    request = ModelRequest(
        model=state.at.model,
        system=state.setup.system,
        messages=replay(state.history),
        tools=state.setup.tools,
        max_tokens=min(wanted, room) if room >= USEFUL_OUTPUT else wanted,
        thinking=state.thinking or state.setup.thinking,
        stream=state.setup.stream,
        cache=state.setup.cache,
        session=state.setup.session,
        params=state.at.params,
    )
    out.set(calls=state.calls + 1)
    _begin(out, request)


def call_summary(out: Step) -> None:
    """The call for the piece of a compaction whose turn it is."""
    state = out.state
    job = state.compacting
    assert job is not None
    request = ModelRequest(
        model=state.at.model,
        system=(SystemBlock(compaction.SUMMARY_SYSTEM),),
        messages=summary_prompt(job.plan.pieces[job.piece], job.summary or job.plan.earlier),
        max_tokens=summary_tokens(state),
        purpose="summary",
        stream=state.setup.stream,
        cache="none",
        session=state.setup.session,
        params=state.at.params,
    )
    _begin(out, request)


def summary_tokens(state: State) -> int:
    """How long a summary may be: 0.8 of the reserve, an eighth of the window, what the model can say."""
    most = min(reserve(state.size, state.setup.reserve) * 4 // 5, state.size // 8, state.at.max_output)
    return max(USEFUL_OUTPUT, most)


def _begin(out: Step, request: ModelRequest) -> None:
    at = out.state.at
    id = out.id()
    profile = at.profiles[out.state.profile]
    out.commands.append(CallModel(id=id, provider=at.provider, profile=profile, request=request))
    out.set(phase="asking", awaited=id)


def call_cli(out: Step) -> None:
    """A run of the CLI: its own session is resumed where it holds this conversation, else a new one is told it.

    The id of a new session is on disk before the CLI starts, so that a kill leaves a session that can be resumed.
    """
    state = out.state
    bound = None if state.fresh else (state.cli_session or bound_session(state))
    resume = bound is not None
    if bound is None:
        bound = derived_uuid(out.id())
        bind(out, bound)
    out.set(cli_session=bound, resumed=resume, calls=state.calls + 1)
    prompt = state.prompt if resume else reseed(state)
    _start_cli(out, prompt, bound, resume)


def compact_cli(out: Step) -> bool:
    """Have the CLI compact its own session; False if it has none."""
    bound = out.state.cli_session or bound_session(out.state)
    if bound is None:
        return False
    out.set(cli_session=bound, cli_compacting=True)
    _start_cli(out, "/compact", bound, True)
    return True


def _start_cli(out: Step, prompt: str, session: str, resume: bool) -> None:
    id = out.id()
    at = out.state.at
    command = CallCli(
        id=id,
        backend=at.provider,
        model=at.model,
        prompt=prompt,
        session=session,
        resume=resume,
        spent=_spent(out.state, session) if resume else None,
    )
    out.commands.append(command)
    out.set(phase="asking", awaited=id)


def _spent(state: State, session: str) -> Usage | None:
    """What a CLI had counted in its session by the end of its last run."""
    for entry in reversed(state.history):
        if isinstance(entry, CustomEntry) and entry.custom_type == "cli_usage" and entry.data.get("session") == session:
            return msgspec.convert(entry.data["usage"], Usage)
    return None


def bind(out: Step, session: str | None) -> None:
    """From now on this session of the CLI holds the conversation; None: no session does."""
    state = out.state
    data = {"backend": state.at.provider, "session": session, "workspace": state.setup.workspace}
    out.persist(CustomEntry(id=out.entry_id(), parent_id=state.leaf, custom_type="cli_session", data=data))
    out.set(cli_session=session)


def bound_session(state: State) -> str | None:
    """The CLI's session that holds the conversation so far: bound in this workspace, every answer since its own."""
    for entry in reversed(state.history):
        if isinstance(entry, MessageEntry) and entry.message.role == "assistant":
            if (entry.model or "").partition("/")[0] != state.at.provider:
                return None
        elif isinstance(entry, CustomEntry) and entry.custom_type == "cli_session":
            data = entry.data
            same = data.get("backend") == state.at.provider and data.get("workspace") == state.setup.workspace
            return str(data["session"]) if same and data.get("session") else None
    return None


def reseed(state: State) -> str:
    """The prompt for a new session of a CLI: what was said before (the newest that fits), then the prompt itself."""
    compacted, kept = live(state.history)
    earlier = [entry.message for entry in kept]
    if earlier and earlier[-1].role == "user":
        earlier.pop()
    blocks = [block for block in map(_block, earlier) if block]
    if compacted:
        blocks.insert(0, f"[Summary]\n{compacted.summary}")
    if not blocks:
        return state.prompt
    room, chosen = state.setup.reseed_chars, list[str]()
    for block in reversed(blocks):
        if chosen and len(block) > room:
            break
        chosen.append(block[-max(room, 1) :])
        room -= len(block) + 2
    record = "\n\n".join(reversed(chosen))
    return f"{RESEED_LEAD}\n\n<record>\n{record}\n</record>\n\n{RESEED_TASK}\n\n{state.prompt}"


def _block(message: Message) -> str:
    who = {"user": "User", "assistant": "Assistant"}.get(message.role)
    return f"[{who}]\n{message.text}" if who and message.text else ""
