"""The call on the side that 2.1.19 makes after each shell command: a small model is asked which paths it touched.

Observed with non-essential traffic switched off as well. Its tokens are in `modelUsage` and the cost, not in `usage`;
its answer has no effect here. Simulators tell it from a main call by how its system prompt begins.
"""

from simulators.cli.claude import request
from simulators.cli.claude.api import Answer, Listener, attempt
from simulators.cli.claude.context import Context, Steps
from simulators.cli.claude.models import lookup
from simulators.cli.claude.session import dump
from simulators.cli.claude.texts import prose
from simulators.cli.claude.usage import counts

_PROMPT = "Extract any file paths that this command reads or modifies. "


def ask_for_paths(context: Context, command: str, output: str) -> Steps:
    """Ask once; whatever comes of it, the conversation goes on."""
    if not context.version.path_probe:
        return
    version, model = context.version, lookup(context.version.aliases["haiku"])
    text = f"Command: {command}\nOutput: {output}\n\n"
    sections = [_PROMPT + prose("paths", 1040 - len(_PROMPT))]
    body = request.body(
        version,
        model,
        messages=[{"role": "user", "content": [{"type": "text", "text": text}]}],
        system=request.system_blocks(version, sections=sections, appended=False, first_user=text, control=None),
        tools=(),
        user_id=request.user_id(version, device=context.device, session=context.session.id),
        max_tokens=context.budget(model),
        effort=None,
        display="omitted",
        control=None,
    )
    headers = request.headers(
        version,
        env=context.env,
        session=context.session.id,
        beta=("interleaved-thinking-2025-05-14",),
        alone=context.settings.alone,
    )
    data = dump(body).encode("utf-8", "surrogatepass")
    url = f"{context.base_url}/v1/messages?beta=true"
    answer = yield from attempt(url, headers, data, stream=True, listener=Listener.deaf())
    if isinstance(answer, Answer):
        spent = counts(answer.message.get("usage"))
        context.turn.ledger.add(model.id, spent)
        context.ledger.add(model.id, spent)
