"""Texts that codex puts into a conversation; what is the vendor's prose there is filler of the same length here."""

from simulators.cli.prose import prose

COMPACT_PROMPT = "You are performing a CONTEXT CHECKPOINT COMPACTION. "
COMPACT_PROMPT += prose("codex compact", 426 - len(COMPACT_PROMPT))
SUMMARY_PREFIX = "Another language model started to solve this problem. "
SUMMARY_PREFIX += prose("codex summary", 399 - len(SUMMARY_PREFIX)) + "\n"
OVERFLOW = (
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."
)
AT_CAPACITY = "Selected model is at capacity. Please try a different model."
HIGH_DEMAND = "We’re currently experiencing high demand, which may cause temporary errors."
QUOTA = "Quota exceeded. Check your plan and billing details."
USAGE_LIMIT = "You’ve hit your usage limit. Try again later."
TOOL_NAMESPACE = prose("codex multi agent", 43)  # what the deferred tools are said to be for


def base_instructions(model: str, length: int) -> str:
    """A model's base instructions."""
    return f"You are a coding agent ({model}). " + prose(f"codex base {model}", length - len(model) - 27)


def skills(body: str) -> str:
    """The list of skills."""
    return f"<skills_instructions>{body}</skills_instructions>"


def skills_body(model: str, length: int, codex_home: str) -> str:
    """The list itself names where the skills are."""
    return f"\nSkills of {model}: {codex_home}\n" + prose("codex skills", length - len(model) - 14)


def agents_md(directory: str, text: str, *, again: bool) -> str:
    """What AGENTS.md says, as a message; `again` when it replaces what was said before."""
    notice = "What AGENTS.md says here stands instead of all that it said before now." if again else ""
    notice = f"{notice}\n\n" if again else ""
    return f"# AGENTS.md instructions for {directory}\n\n<INSTRUCTIONS>\n{notice}{text}\n</INSTRUCTIONS>"


def permissions(mode: str, policy: str, roots: str) -> str:
    """What may be written and who is asked."""
    lengths = {"read-only": 168, "workspace-write": 272, "danger-full-access": 189}
    asks = {"never": 116, "untrusted": 148, "on-request": 1200}
    what = prose(f"codex {mode}", lengths[mode] - len(mode) - 2)
    who = prose(f"codex {policy}", asks.get(policy, 150))
    writable = f"\n The writable roots are {roots}." if roots else ""
    return f"<permissions instructions>\n`{mode}` {what}\n{who}{writable}\n</permissions instructions>"


def deferred_tools(*, removed: bool = False) -> str:
    """The namespaces of tools that can be searched for."""
    line = f"- multi_agent_v1: {TOOL_NAMESPACE}"
    if removed:
        return f"<tools>\nRemoved deferred tool namespaces:\n{line}\nNo deferred tool namespaces remain.\n</tools>"
    return f"<tools>\nDeferred tool namespaces:\n{line}\n</tools>"


def model_switch(base: str) -> str:
    """The new model's instructions, when a thread goes on with another one."""
    return f"<model_switch>\n{prose('codex switch', 122)}\n\n{base}\n</model_switch>"


def environment(cwd: str, date: str, filesystem: str) -> str:
    """Where the agent is."""
    lines = (
        f"  <cwd>{cwd}</cwd>",
        "  <shell>bash</shell>",
        f"  <current_date>{date}</current_date>",
        "  <timezone>Etc/UTC</timezone>",
        f"  {filesystem}",
    )
    return "\n".join(("<environment_context>", *lines, "</environment_context>"))


def filesystem(cwd: str, mode: str) -> str:
    """The permission profile, as the environment tells it."""
    roots = f"<workspace_roots><root>{cwd}</root></workspace_roots>"
    if mode == "danger-full-access":
        inner = '<permission_profile type="disabled"><file_system type="unrestricted" /></permission_profile>'
        return f"<filesystem>{roots}{inner}</filesystem>"
    entries = ['<entry access="read"><special>:root</special></entry>']
    if mode == "workspace-write":
        entries.append(f'<entry access="write"><path>{cwd}</path></entry>')
        entries += [f'<entry access="write"><special>:{name}</special></entry>' for name in ("slash_tmp", "tmpdir")]
        for name in (".git", ".agents", ".codex", ".aws"):
            entries.append(f'<entry access="read"><path>{cwd}/{name}</path></entry>')
    inner = f'<file_system type="restricted">{"".join(entries)}</file_system>'
    return f'<filesystem>{roots}<permission_profile type="managed">{inner}</permission_profile></filesystem>'
