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


def proxy_variables(url: str, ca: str) -> dict[str, str]:
    """What sends clients to the vendors' own names through the proxy at `url`, and lets them trust the certificate
    authority in the file `ca`: Node, OpenSSL and what is built on it, Python's requests, curl, Codex."""
    root = url.rstrip("/")
    return {
        "HTTPS_PROXY": root,
        "https_proxy": root,
        "NODE_EXTRA_CA_CERTS": ca,
        "SSL_CERT_FILE": ca,
        "REQUESTS_CA_BUNDLE": ca,
        "CURL_CA_BUNDLE": ca,
        "CODEX_CA_CERTIFICATE": ca,
        "NO_PROXY": "127.0.0.1,localhost,::1",
        "no_proxy": "127.0.0.1,localhost,::1",
    }


# Variables that would win over those above, with a real credential in them.
RIVALS = ("ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")


def as_shell(values: Mapping[str, str]) -> str:
    """Lines for `eval "$(…)"`."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def as_lines(values: Mapping[str, str]) -> str:
    """Lines `NAME=value`, as `env` prints them and env files hold them."""
    return "".join(f"{name}={value}\n" for name, value in values.items())
