"""The environment variables that point SDKs and CLIs at a served simulator."""

import shlex
from collections.abc import Mapping


def variables(url: str, key: str) -> dict[str, str]:
    """Base URLs and keys that the official SDKs and CLIs read.

    OpenAI's base URL carries `/v1`; the others add their version themselves. Claude Code's calls that have nothing to
    do with the model are switched off.
    """
    root = url.rstrip("/")
    return {
        "ANTHROPIC_BASE_URL": root,
        "ANTHROPIC_API_KEY": key,
        "OPENAI_BASE_URL": f"{root}/v1",
        "OPENAI_API_KEY": key,
        "GOOGLE_GEMINI_BASE_URL": root,
        "GEMINI_API_KEY": key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


# Variables that would win over those above, with a real credential in them.
RIVALS = ("ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")


def as_shell(values: Mapping[str, str]) -> str:
    """Lines for `eval "$(…)"`."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def as_lines(values: Mapping[str, str]) -> str:
    """Lines `NAME=value`, as `env` prints them and env files hold them."""
    return "".join(f"{name}={value}\n" for name, value in values.items())
