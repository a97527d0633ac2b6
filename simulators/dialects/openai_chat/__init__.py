"""OpenAI's Chat Completions API, and the servers that speak it in their own accent.

Reading: `shape` (fields and types), `rules` (what the API refuses), `prompt` (the prompt as blocks). Writing: `encode`,
`stream`. Stored completions: `kept`. What differs from server to server stands in `_openai/profiles`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from simulators.core.account_document import AccountDocument
from simulators.core.store import Desk, Served
from simulators.core.turn import Failure, ModelCall, ModelInfo, ModelTurn, Operation, Refused, Stamp, Tokens
from simulators.core.wire import Chunk, Headers, Request
from simulators.dialects._openai import catalogue, headers, words
from simulators.dialects._openai.door import Door, read_body, resolve
from simulators.dialects._openai.gates import gates
from simulators.dialects._openai.profile import Profile
from simulators.dialects.openai_chat import encode, kept, stream
from simulators.dialects.openai_chat.notes import Notes
from simulators.dialects.openai_chat.prompt import translate
from simulators.dialects.openai_chat.rules import check_rules
from simulators.dialects.openai_chat.shape import check_shape

_PATH = "/v1/chat/completions"
# Resources of the vendor that are not simulated: their paths get its 404, not another vendor's.
_OTHERS = (
    "assistants", "audio", "batches", "chat", "completions", "containers", "embeddings", "evals", "files",
    "fine_tuning", "images", "moderations", "organization", "realtime", "threads", "uploads", "vector_stores", "videos",
)  # fmt: skip


class OpenAIChat:
    """Implements `simulators.core.turn.Dialect` and `simulators.core.store.Keeper`.

    `profiles` are the servers that may be spoken for; `default` names the one behind plain paths.
    """

    name = "openai-chat"

    def __init__(self, profiles: Mapping[str, Profile] | None = None, default: str = "openai") -> None:
        self._door = Door(profiles, default)
        self.profiles = self._door.profiles

    def bind(self, document: AccountDocument) -> "OpenAIChat":
        """The dialect for an account whose document names a profile."""
        return self if document.profile is None else OpenAIChat(self._door.profiles, document.profile)

    def route(self, request: Request) -> Operation | None:
        """`…/chat/completions` of every server, `/v1/models` unless another vendor is named, other paths of OpenAI."""
        named, path = self._door.split(request.path)
        path = path.rstrip("/")
        if path == _PATH or (named is not None and path.endswith("/chat/completions")):
            return "resource" if request.method in ("GET", "DELETE") else "generate"
        if path.startswith(f"{_PATH}/"):
            return "resource"
        if path == "/v1/models" or path.startswith("/v1/models/"):
            return self._door.models_operation(request, path)
        return "other" if path.startswith("/v1/") and path.split("/")[2] in _OTHERS else None

    def key(self, request: Request) -> str | None:
        """What `Authorization: Bearer` carries; `api-key` (Azure) otherwise."""
        return self._door.key(request)

    def parse(self, request: Request, operation: Operation, models: Mapping[str, ModelInfo]) -> ModelCall:
        """Validate and translate; `Refused` carries the first thing that is wrong."""
        profile, path = self._door.speaker(request.path)
        if operation == "other":
            raise Refused(self._door.unknown(request))
        if operation == "resource":
            private: Any = kept.Asked(method=request.method, path=path, query=request.query, body=request.body)
            return ModelCall(dialect=self.name, operation=operation, model="", headers=request.headers, private=private)
        if operation in ("models", "model"):
            return self._door.models_call(self.name, request, operation, path, models)
        if request.method != "POST":
            raise Refused(Failure(kind="method_not_allowed", details={"method": request.method, "path": request.path}))
        body = read_body(request)
        check_shape(body, profile)
        info = resolve(body["model"], models, profile)
        can = gates(info)
        check_rules(body, info, can, profile)
        return translate(body, request, info, can, profile)

    def encode_stream(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
        return stream.encode_stream(call, turn, tokens, stamp)

    def encode_json(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
        return msgspec.json.encode(encode.completion(call, turn, tokens, stamp))

    def encode_count(self, call: ModelCall, tokens: int, stamp: Stamp) -> bytes:
        """This API counts nothing; the Responses API does."""
        return msgspec.json.encode({"input_tokens": tokens})

    def encode_models(self, call: ModelCall, models: Mapping[str, ModelInfo], stamp: Stamp) -> bytes:
        profile = self._door.speaker(call.path)[0]
        if call.operation == "models":
            return catalogue.encode_list(models, profile)
        return msgspec.json.encode(catalogue.describe(call.model, resolve(call.model, models, profile)))

    def encode_failure(self, failure: Failure, stamp: Stamp) -> tuple[int, Headers, bytes]:
        return words.encode_failure(failure, stamp, self._door.speaker(stamp.target)[0], responses=False)

    def error_event(self, failure: Failure, stamp: Stamp) -> Chunk:
        return words.error_chunk(failure, stamp, self._door.speaker(stamp.target)[0])

    def headers(self, call: ModelCall | None, limits: Mapping[str, Any], stamp: Stamp) -> Headers:
        return headers.answer_headers(limits, stamp, self._door.speaker(stamp.target)[0])

    def usage(self, call: ModelCall, tokens: Tokens) -> Mapping[str, Any]:
        profile = call.private.profile if isinstance(call.private, Notes) else self._door.speaker(call.path)[0]
        return encode.usage(call, tokens, profile)

    def recall(self, call: ModelCall, desk: Desk) -> ModelCall:
        return call

    def serve(self, call: ModelCall, desk: Desk) -> Served:
        """Stored completions: show, list, change, remove, and their messages."""
        return kept.serve(call.private, desk)

    def keep(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, desk: Desk) -> None:
        """A completion asked for with `store: true` is put by."""
        kept.keep(call, turn, tokens, desk)


DIALECT = OpenAIChat()
