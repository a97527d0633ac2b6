"""Servers that speak OpenAI's Chat Completions, and how each of them differs, as data.

`--model NAME/MODEL` reaches one by its name; `[providers.X] api = "openai-chat"` makes any other address one, and
`api = "NAME"` one that behaves as a server of this list does.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One server. `key_env`: the variable with its key; "" where none is needed.

    `developer`: it knows the role. `usage`: figures come only when asked for with `stream_options`. `efforts`: it takes
    `reasoning_effort`. `thinks_back`: the reasoning of earlier turns of a tool loop has to be sent back.
    """

    base_url: str | None
    key_env: str = ""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    developer: bool = False
    usage: bool = True
    efforts: bool = False
    cache_key: bool = False
    store: bool = False
    thinks_back: bool = False
    images: bool = True


OPENAI = Server(
    base_url="https://api.openai.com/v1",
    key_env="OPENAI_API_KEY",
    max_tokens="max_completion_tokens",
    developer=True,
    efforts=True,
    cache_key=True,
    store=True,
)
ANY = Server(base_url=None)

SERVERS: Mapping[str, Server] = {
    "openai-chat": OPENAI,
    "openrouter": Server(base_url="https://openrouter.ai/api/v1", key_env="OPENROUTER_API_KEY", efforts=True),
    "groq": Server(
        base_url="https://api.groq.com/openai/v1",
        key_env="GROQ_API_KEY",
        max_tokens="max_completion_tokens",
        efforts=True,
    ),
    "deepseek": Server(base_url="https://api.deepseek.com", key_env="DEEPSEEK_API_KEY", thinks_back=True, images=False),
    "xai": Server(base_url="https://api.x.ai/v1", key_env="XAI_API_KEY", efforts=True),
    "mistral": Server(base_url="https://api.mistral.ai/v1", key_env="MISTRAL_API_KEY", usage=False),
    "together": Server(base_url="https://api.together.xyz/v1", key_env="TOGETHER_API_KEY"),
    "fireworks": Server(base_url="https://api.fireworks.ai/inference/v1", key_env="FIREWORKS_API_KEY"),
    "cerebras": Server(
        base_url="https://api.cerebras.ai/v1",
        key_env="CEREBRAS_API_KEY",
        max_tokens="max_completion_tokens",
        images=False,
    ),
    "moonshot": Server(base_url="https://api.moonshot.ai/v1", key_env="MOONSHOT_API_KEY", thinks_back=True),
    "zai": Server(base_url="https://api.z.ai/api/paas/v4", key_env="ZAI_API_KEY"),
    "qwen": Server(
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1", key_env="DASHSCOPE_API_KEY", images=True
    ),
    "minimax": Server(base_url="https://api.minimax.io/v1", key_env="MINIMAX_API_KEY"),
    "copilot": Server(base_url="https://api.githubcopilot.com", key_env="COPILOT_API_KEY"),
    "ollama": Server(base_url="http://127.0.0.1:11434/v1"),
    "lmstudio": Server(base_url="http://127.0.0.1:1234/v1"),
    "llamacpp": Server(base_url="http://127.0.0.1:8080/v1"),
    "vllm": Server(base_url="http://127.0.0.1:8000/v1"),
}
