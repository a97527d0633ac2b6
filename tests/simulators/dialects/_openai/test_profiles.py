"""Compatible servers: each answers and refuses in its own accent, and a new one is nothing but data."""

import json
from typing import Any

import msgspec
import pytest

from simulators.core.document import DocumentError
from simulators.core.simulator import Engine
from simulators.core.turn import Failure, Stamp
from simulators.dialects._openai.profile import Profile, profiles
from simulators.dialects.openai_chat import OpenAIChat
from simulators.shells.simulator import parts
from tests.simulators.dialects._openai.asking import Asker, function, user

STAMP = Stamp(request_id="r" * 20, message_id="m" * 22, now=1_767_225_600.0, organization="o" * 24)
NAMES = ("azure", "deepseek", "groq", "llamacpp", "lmstudio", "mistral", "ollama", "openrouter", "vllm", "xai")
OVERFLOWS = {
    "openrouter": "This endpoint's maximum context length is 10 tokens. However, you requested about 11 tokens",
    "groq": "Please reduce the length of the messages or completion.",
    "xai": "This model's maximum prompt length is 10 but the request contains 11 tokens.",
    "mistral": "Prompt contains 11 tokens and 0 draft tokens, too large for model with 10 maximum context length",
    "deepseek": "This model's maximum context length is 10 tokens. However, you requested 11 tokens (11 in the "
    "messages",
    "llamacpp": "request (11 tokens) exceeds the available context size (10 tokens), try increasing it",
    "vllm": "This model's maximum context length is 10 tokens. However, you requested",
    "lmstudio": "Message too long: 11 tokens exceeds the 10-token context window.",
    "azure": "This model's maximum context length is 10 tokens.",
}


def message_of(body: Any) -> str:
    error = body.get("error", body)
    return error if isinstance(error, str) else error["message"]


def test_every_server_is_there() -> None:
    assert set(profiles()) >= {*NAMES, "openai"}
    assert set(OVERFLOWS) == set(NAMES) - {"ollama"}


@pytest.mark.parametrize("name", NAMES)
def test_a_server_is_chosen_by_path_and_by_account(name: str) -> None:
    by_path = Asker().chat(path=f"/{name}/v1/chat/completions", model="sim-x")
    by_account = Asker(profile=name).chat(model="sim-x")
    assert by_path.status == by_account.status == 200
    assert by_path.body == by_account.body
    assert Asker().chat(model="sim-x").body != by_path.body


@pytest.mark.parametrize("name", OVERFLOWS)
def test_overflow(name: str) -> None:
    asker = Asker(profile=name, models={"sim-x": {"context_window": 10}})
    refused = asker.chat(user("w " * 11), model="sim-x")
    assert refused.status == 400
    assert message_of(refused.body).startswith(OVERFLOWS[name])


def test_ollama_cuts_what_does_not_fit() -> None:
    asker = Asker(profile="ollama", models={"sim-x": {"context_window": 10}})
    answered = asker.chat(user("w " * 6), {"role": "assistant", "content": "a b c"}, user("x y"), model="sim-x")
    assert answered.status == 200
    assert answered.body["usage"]["prompt_tokens"] == 5


def test_what_looks_like_overflow_and_is_a_rate_limit() -> None:
    refused = Asker(profile="groq", limits={"tpm": 10}).chat(user("w " * 11), model="sim-x")
    assert (refused.status, refused.error["type"], refused.error["code"]) == (413, "tokens", "rate_limit_exceeded")
    assert "Limit 10, Requested 11, please reduce your message size and try again." in refused.error["message"]


def test_usage_fields_and_finish_reasons() -> None:
    asker = Asker(profile="deepseek")
    long = user("w " * 100)
    asker.chat(long, model="sim-x")
    usage = asker.chat(long, {"role": "assistant", "content": "yes"}, user("on"), model="sim-x").body["usage"]
    assert (usage["prompt_cache_hit_tokens"], usage["prompt_cache_miss_tokens"]) == (64, 38)
    full = Asker(profile="mistral", models={"sim-x": {"context_window": 12}}, turns=[{"text": "a b c d"}])
    assert full.chat(user("w " * 10), model="sim-x").body["choices"][0]["finish_reason"] == "model_length"


def test_streams_have_their_own_form() -> None:
    turn = {"text": "hi", "thinking": "hm", "tool_calls": [{"name": "read", "input": {"path": "a long path, longer"}}]}
    router = Asker(profile="openrouter", turns=[turn]).chat(model="sim-x", stream=True, tools=[function()])
    assert router.data.startswith(b": OPENROUTER PROCESSING\n\n")
    assert router.events[-1]["usage"]["prompt_tokens"] == 1
    assert any("reasoning" in chunk["choices"][0]["delta"] for chunk in router.events if chunk["choices"])
    mistral = Asker(profile="mistral", turns=[turn]).chat(model="sim-x", stream=True, tools=[function()])
    calls = [c["choices"][0]["delta"]["tool_calls"] for c in mistral.events if "tool_calls" in c["choices"][0]["delta"]]
    assert len(calls) == 1
    assert "usage" in mistral.events[-1]
    assert mistral.events[-1]["choices"][0]["finish_reason"] == "tool_calls"
    groq = Asker(profile="groq", turns=[turn]).chat(model="sim-x", stream=True)
    assert groq.events[-1]["x_groq"]["usage"] == groq.events[-1]["usage"]


def test_azure_takes_the_model_out_of_the_path() -> None:
    path = "/openai/deployments/gpt-4o/chat/completions"
    answered = Asker().send(path, {"messages": [user("hi")]}, authorization="", api_key="sk-test")
    assert (answered.status, answered.body["model"]) == (200, "gpt-4o-2024-08-06")
    limited = Asker(turns=[{"error": {"kind": "rate_limited", "retry_after": 44}}], profile="azure").chat()
    assert limited.error["code"] == "429"
    assert "Please retry after 44 seconds." in limited.error["message"]
    assert (limited.headers["retry-after"], limited.headers["retry-after-ms"]) == ("44", "44000")


KINDS = (
    "rate_limited",
    "overloaded",
    "server_error",
    "context_overflow",
    "auth",
    "billing",
    "bad_request",
    "model_not_found",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_refusal_is_worded(name: str, kind: str) -> None:
    dialect = OpenAIChat(default=name)
    status, _, body = dialect.encode_failure(Failure(kind=kind), STAMP)
    assert status >= 400
    assert b"{" not in body.replace(b'{"', b"").replace(b"{}", b""), "a template that was not filled in"
    assert json.loads(body)


def test_adding_a_server_is_data_only() -> None:
    acme = msgspec.json.decode(
        b"""{"name": "acme", "paths": ["/inference/v2"],
             "envelope": {"failed": {"because": "{message}", "number": "{status}"}},
             "errors": {"rate_limited": {"status": 420, "message": "Calm down for {seconds} s."}},
             "retry_headers": ["x-calm-down"], "usage": {"in": "{prompt}", "out": "{completion}"},
             "finish": {"end_turn": "over"}, "stream": {"usage": "last"}}""",
        type=Profile,
    )
    known = parts()
    dialects = {**known.dialects, "openai-chat": OpenAIChat({**profiles(), "acme": acme})}
    asker = Asker()
    asker.simulator.engine = Engine(msgspec.structs.replace(known, dialects=dialects))
    asker.simulator.account("sk-test").load(
        {"turns": [{"text": "yes"}, {"error": {"kind": "rate_limited", "retry_after": 7}}], "tokenizer": "words"}
    )
    answered = asker.chat(path="/inference/v2/chat/completions", model="sim-x").body
    assert (answered["usage"], answered["choices"][0]["finish_reason"]) == ({"in": 1, "out": 1}, "over")
    refused = asker.chat(path="/acme/chat/completions", model="sim-x")
    assert (refused.status, refused.headers["x-calm-down"]) == (420, "7")
    assert refused.body == {"failed": {"because": "Calm down for 7 s.", "number": 420}}


def test_an_unknown_server_is_refused_by_name() -> None:
    with pytest.raises(DocumentError, match="did you mean `groq`"):
        Asker(profile="grok")
