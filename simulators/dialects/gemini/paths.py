"""Where a request goes: `/v1beta/models/NAME:generateContent`, `/v1/cachedContents`, Vertex AI's longer paths."""

import re

import msgspec

from simulators.core.turn import Operation
from simulators.core.wire import Request

_VERTEX = r"(?:projects/[^/]+/locations/[^/]+/(?:publishers/google/)?)?"
_METHOD = re.compile(rf"/(v1|v1beta1?|v1alpha)/{_VERTEX}(?:tunedModels|models)/([^/:]+):([A-Za-z]+)\Z")
_CACHES = re.compile(rf"/(v1|v1beta1?|v1alpha)/{_VERTEX}(cachedContents)(?:/([^/:]+))?\Z")
_MODELS = re.compile(rf"/(v1|v1beta1?|v1alpha)/{_VERTEX}models(?:/([^/:]+))?\Z")
_OPERATIONS: dict[str, Operation] = {
    "generateContent": "generate",
    "streamGenerateContent": "generate",
    "countTokens": "count_tokens",
}


class Place(msgspec.Struct, frozen=True):
    """What a path asks for: `name` is a model's, or `cachedContents/…`; "" for all of them."""

    operation: Operation
    name: str = ""
    version: str = "v1beta"
    stream: bool = False


def place_of(request: Request) -> Place | None:
    """None if the path is not this vendor's. `/v1/models` is other vendors' too: there its key must be in sight."""
    path = request.path.rstrip("/")
    if found := _METHOD.match(path):
        version, model, method = found.groups()
        return Place(_OPERATIONS.get(method, "other"), model, version, method == "streamGenerateContent")
    if found := _CACHES.match(path):
        version, shelf, name = found.groups()
        return Place("resource", f"{shelf}/{name}" if name else "", version)
    found = _MODELS.match(path)
    if found is None:
        return None
    version, model = found.groups()
    mine = version != "v1" or request.header("x-goog-api-key") is not None or "key" in dict(request.query)
    if not mine:
        return None
    return Place("model" if model else "models", model or "", version)
