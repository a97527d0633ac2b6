"""Models as they are listed and shown."""

import pytest

from tests.simulators.dialects.gemini.asking import account, ask, request


def get(path: str, *query: tuple[str, str]) -> tuple[int, dict[str, object]]:
    reply = ask(account(), request(path=path, verb="GET", query=query))
    return reply.status, reply.json


def test_a_list_comes_in_pages() -> None:
    seen: list[str] = []
    token: list[tuple[str, str]] = []
    while True:
        status, page = get("/v1beta/models", ("pageSize", "5"), *token)
        assert status == 200
        names = [model["name"] for model in page["models"]]  # type: ignore[attr-defined]
        assert len(names) <= 5
        seen += names
        if "nextPageToken" not in page:
            break
        token = [("pageToken", str(page["nextPageToken"]))]
    assert len(seen) == len(set(seen)) > 10
    assert "models/gemini-2.5-pro" in seen
    assert not any("claude" in name or "gpt" in name for name in seen)


def test_one_model() -> None:
    status, model = get("/v1beta/models/gemini-2.5-pro")
    assert status == 200
    assert (model["inputTokenLimit"], model["outputTokenLimit"], model["thinking"]) == (1_048_576, 65_536, True)
    assert "generateContent" in model["supportedGenerationMethods"]  # type: ignore[operator]
    assert "thinking" not in get("/v1beta/models/gemini-2.0-flash")[1]


def test_an_alias_is_shown_under_its_real_name() -> None:
    assert get("/v1/models/gemini-2.5-pro-preview-03-25")[1]["name"] == "models/gemini-2.5-pro"


@pytest.mark.parametrize("name", ["gemini-0", "claude-sonnet-4-5"])
def test_a_model_that_is_not_there(name: str) -> None:
    status, body = get(f"/v1beta/models/{name}")
    assert status == 404
    error: dict[str, str] = body["error"]  # type: ignore[assignment]
    assert error["message"] == f"Model is not found: models/{name} for api version v1beta"


@pytest.mark.parametrize("query", [("pageSize", "many"), ("pageSize", "-1"), ("pageToken", "next")])
def test_a_page_that_cannot_be(query: tuple[str, str]) -> None:
    assert get("/v1beta/models", query)[0] == 400
