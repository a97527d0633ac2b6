"""Which paths are this vendor's, and what they ask for."""

import pytest

from simulators.core.wire import Request
from simulators.dialects.gemini import DIALECT
from simulators.dialects.gemini.paths import Place, place_of

VERTEX = "/v1/projects/p/locations/us-central1/publishers/google"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/v1beta/models/gemini-3.8-flash:generateContent", Place("generate", "gemini-3.8-flash", "v1beta")),
        ("/v1/models/gemini-3.8-flash:streamGenerateContent", Place("generate", "gemini-3.8-flash", "v1", True)),
        ("/v1/models/gemini-3.8-flash:countTokens", Place("count_tokens", "gemini-3.8-flash", "v1")),
        ("/v1/models/gemini-3.8-flash:predict", Place("other", "gemini-3.8-flash", "v1")),
        ("/v1beta/models", Place("models")),
        ("/v1beta/models/", Place("models")),
        ("/v1beta/models/gemini-2.5-pro", Place("model", "gemini-2.5-pro")),
        ("/v1beta/cachedContents", Place("resource")),
        ("/v1/cachedContents/abc", Place("resource", "cachedContents/abc", "v1")),
        (f"{VERTEX}/models/gemini-2.5-pro:generateContent", Place("generate", "gemini-2.5-pro", "v1")),
        ("/v1/messages", None),
        ("/v1/chat/completions", None),
        ("/v1/models", None),
        ("/v1/models/gpt-5.5", None),
    ],
)
def test_places(path: str, place: Place | None) -> None:
    assert place_of(Request(method="POST", path=path)) == place


@pytest.mark.parametrize("request_", [{"headers": (("x-goog-api-key", "k"),)}, {"query": (("key", "k"),)}])
def test_the_list_of_models_under_v1_goes_to_whoever_brings_this_key(request_: dict[str, object]) -> None:
    assert DIALECT.route(Request(method="GET", path="/v1/models", **request_)) == "models"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("headers", "query", "key"),
    [
        ((("x-goog-api-key", "a"),), (("key", "b"),), "a"),
        ((), (("key", "b"),), "b"),
        ((("authorization", "Bearer c"),), (), "c"),
        ((("authorization", "Basic c"),), (), None),
        ((), (), None),
    ],
)
def test_keys(headers: tuple[tuple[str, str], ...], query: tuple[tuple[str, str], ...], key: str | None) -> None:
    asked = Request(method="POST", path="/v1/models/sim-a:generateContent", headers=headers, query=query)
    assert DIALECT.key(asked) == key
