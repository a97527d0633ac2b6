"""Routes, keys and the list of models."""

from typing import Any

import msgspec
import pytest

from simulators.core.models import catalogue
from simulators.core.turn import Refused
from simulators.core.wire import Request
from simulators.dialects import load
from simulators.dialects.anthropic import DIALECT
from tests.simulators.dialects.anthropic.asking import STAMP

VERSION = (("anthropic-version", "2023-06-01"),)


def get(path: str, headers: tuple[tuple[str, str], ...] = VERSION, **query: str) -> Request:
    return Request(method="GET", path=path, headers=headers, query=tuple(query.items()))


def answer(asked: Request) -> Any:
    operation = DIALECT.route(asked)
    assert operation is not None
    call = DIALECT.parse(asked, operation, catalogue())
    return msgspec.json.decode(DIALECT.encode_models(call, catalogue(), STAMP))


def test_the_dialect_is_found_by_listing() -> None:
    assert load()["anthropic"] is DIALECT


@pytest.mark.parametrize(
    ("path", "headers", "operation"),
    [
        ("/v1/messages", (), "generate"),
        ("/v1/messages/count_tokens", (), "count_tokens"),
        ("/v1/messages/batches", (), "resource"),
        ("/v1/messages/batches/msgbatch_1/results", (), "resource"),
        ("/v1/messages/other", (), "other"),
        ("/v1/models", VERSION, "models"),
        ("/v1/models", (("x-api-key", "k"),), "models"),
        ("/v1/models", (("authorization", "Bearer k"),), None),
        ("/v1/models/claude-opus-5", VERSION, "model"),
        ("/v1/chat/completions", VERSION, None),
    ],
)
def test_routes(path: str, headers: tuple[tuple[str, str], ...], operation: str | None) -> None:
    assert DIALECT.route(get(path, headers)) == operation


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ((("x-api-key", "sk-1"),), "sk-1"),
        ((("authorization", "Bearer sk-2"),), "sk-2"),
        ((("authorization", "Basic abc"),), None),
        ((), None),
    ],
)
def test_keys(headers: tuple[tuple[str, str], ...], key: str | None) -> None:
    assert DIALECT.key(get("/v1/messages", headers)) == key


def test_models_come_in_pages_and_only_this_vendors() -> None:
    first = answer(get("/v1/models", limit="2"))
    assert (len(first["data"]), first["has_more"], first["last_id"]) == (2, True, first["data"][1]["id"])
    after = answer(get("/v1/models", limit="1000", after_id=first["last_id"]))
    assert after["has_more"] is False
    ids = [model["id"] for model in first["data"] + after["data"]]
    assert len(ids) == len(set(ids)) > 10
    assert all(name.startswith("claude-") for name in ids)


def test_a_model_is_one_that_the_sdk_declares() -> None:
    types = pytest.importorskip("anthropic.types", reason="anthropic is not installed: no judge for the model")
    described = answer(get("/v1/models/claude-sonnet-4-5"))
    model = types.ModelInfo.model_validate(described)
    assert model.id == "claude-sonnet-4-5-20250929"
    assert (model.line, model.max_input_tokens, model.lifecycle) == ("sonnet", 200_000, "deprecated")
    assert model.capabilities.thinking.types.enabled.supported is True


def test_an_unknown_model_is_a_404() -> None:
    with pytest.raises(Refused) as refused:
        answer(get("/v1/models/claude-nobody"))
    assert DIALECT.encode_failure(refused.value.failure, STAMP)[0] == 404
