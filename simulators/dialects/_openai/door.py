"""Who speaks on a path, whose key a request carries, and the body that it brings."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.turn import Failure, ModelCall, ModelInfo, Operation, Refused
from simulators.core.wire import Request
from simulators.dialects._openai import catalogue, profile
from simulators.dialects._openai.profile import Profile
from simulators.dialects._openai.refusal import refuse

_BAD_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library "
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble "
    "figuring out how to fix this, please contact us through our help center at help.openai.com.)"
)
_VERB = re.compile(r":[a-z]+[A-Z]\w*$")  # `…:generateContent`: another vendor's
_RIVALS = ("anthropic-version", "x-api-key", "x-goog-api-key")
_decode = msgspec.json.Decoder().decode


class Door:
    """The servers that may be spoken for; `default` is the one behind paths that name none."""

    def __init__(self, profiles: Mapping[str, Profile] | None, default: str) -> None:
        self.profiles = profile.profiles() if profiles is None else profiles
        self._default = self.profiles[default]

    def split(self, path: str) -> tuple[Profile | None, str]:
        """The server that a path names, and its path from `/v1` on."""
        return profile.split(path.partition("?")[0], self.profiles)

    def speaker(self, path: str) -> tuple[Profile, str]:
        """The server that answers on a path, and its path from `/v1` on. What an account names comes first."""
        named, rest = self.split(path)
        return (named if named is not None and self._default.name == profile.DEFAULT else self._default), rest

    def key(self, request: Request) -> str | None:
        """The credential: `Authorization: Bearer`, or `api-key`."""
        scheme, _, token = (request.header("authorization") or "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return token.strip()
        return request.header("api-key") or None

    def models_operation(self, request: Request, path: str) -> Operation | None:
        """`/v1/models…`, unless another vendor's header or path says that it is that one's."""
        if _VERB.search(path) or any(request.header(name) for name in _RIVALS):
            return None
        if any(name == "key" for name, _ in request.query):
            return None
        return "models" if path == "/v1/models" else "model"

    def models_call(
        self, dialect: str, request: Request, operation: Operation, path: str, models: Mapping[str, ModelInfo]
    ) -> ModelCall:
        """A list of models, or one."""
        name = path.rstrip("/").removeprefix("/v1/models").removeprefix("/")
        if request.method == "DELETE" and name:
            resolve(name, models, self.speaker(request.path)[0])
            refuse("You have insufficient permissions for this operation.", kind="permission")
        if request.method != "GET":
            raise Refused(Failure(kind="method_not_allowed", details={"method": request.method, "path": request.path}))
        if operation == "model":
            resolve(name, models, self.speaker(request.path)[0])
        return ModelCall(dialect=dialect, operation=operation, model=name, headers=request.headers)

    def unknown(self, request: Request) -> Failure:
        """The 404 of a path that does not exist."""
        return Failure(kind="not_found", details={"method": request.method, "path": request.path})


def read_body(request: Request) -> dict[str, Any]:
    """The body as an object; refuses what is no JSON."""
    try:
        body = _decode(request.body) if request.body else {}
    except (msgspec.DecodeError, RecursionError):
        refuse(_BAD_JSON)
    if type(body) is not dict:
        refuse(_BAD_JSON)
    deployment = _deployment(request.path)
    if deployment is not None and "model" not in body:
        body["model"] = deployment
    return body


def _deployment(path: str) -> str | None:
    """The model that Azure has in the path."""
    parts = path.split("/")
    return parts[parts.index("deployments") + 1] if "deployments" in parts[:-1] else None


def resolve(name: str, models: Mapping[str, ModelInfo], speaker: Profile) -> ModelInfo:
    """The model of that name that this server has; its 404 otherwise."""
    info = models.get(name)
    if info is None or not catalogue.served(info, speaker):
        refuse("", kind="model_not_found", code="model_not_found", model=name)
    return info
