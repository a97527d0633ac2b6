"""The Anthropic Messages API, versions 2023-06-01 and 2026-10-21.

Reading: `reading` (bytes), `shape` (fields and types), `messages` (one message), `rules`, `markers` and `conversation`
(what the API refuses), `render` and `prompt` (the prompt as blocks). Writing: `encode`, `failures`, `headers`,
`catalogue`. What a model can do stands in `gates`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from simulators.core.store import Desk, Served
from simulators.core.turn import Failure, ModelCall, ModelInfo, ModelTurn, Operation, Refused, Stamp, Tokens
from simulators.core.wire import Chunk, Headers, Request
from simulators.dialects.anthropic import batches, catalogue, encode, failures, headers
from simulators.dialects.anthropic.beta import BINDING_CONTROLS, CACHE_SCOPE, check_beta, has_beta
from simulators.dialects.anthropic.context_edits import edit
from simulators.dialects.anthropic.diagnostics import FINGERPRINTS, diagnose, fingerprint
from simulators.dialects.anthropic.gates import Gates, gates
from simulators.dialects.anthropic.markers import ttl_of
from simulators.dialects.anthropic.messages import Known, know
from simulators.dialects.anthropic.notes import Notes
from simulators.dialects.anthropic.prepare import prepare
from simulators.dialects.anthropic.prompt import instructions, last_words, prompt_blocks
from simulators.dialects.anthropic.reading import Memo, decode_message, open_body
from simulators.dialects.anthropic.refusal import refuse
from simulators.dialects.anthropic.render import declared_tools, settings
from simulators.dialects.anthropic.rules import check_rules
from simulators.dialects.anthropic.shape import check_count, check_message, check_scopes, check_shape
from simulators.dialects.anthropic.signature import check_signatures
from simulators.dialects.anthropic.usage import usage

_OLD_VERSION = "2023-06-01"


class Anthropic:
    """Implements `simulators.core.turn.Dialect`. What it remembers of messages changes how fast it reads, no answer."""

    name = "anthropic"

    def __init__(self) -> None:
        self._memo = Memo()

    def route(self, request: Request) -> Operation | None:
        """`/v1/messages…` is always this vendor's; `/v1/models` with one of its headers."""
        path = request.path.rstrip("/")
        if path == "/v1/messages":
            return "generate"
        if path == "/v1/messages/count_tokens":
            return "count_tokens"
        if path == batches.PATH or path.startswith(f"{batches.PATH}/"):
            return "resource"
        if path.startswith("/v1/messages/"):
            return "other"
        if path == "/v1/models" or path.startswith("/v1/models/"):
            if request.header("anthropic-version") is None and request.header("x-api-key") is None:
                return None
            return "models" if path == "/v1/models" else "model"
        return None

    def key(self, request: Request) -> str | None:
        """`x-api-key`, or what `Authorization: Bearer` carries (the SDK since 2.0 sends the latter)."""
        key = request.header("x-api-key")
        if key:
            return key
        scheme, _, token = (request.header("authorization") or "").partition(" ")
        return token.strip() or None if scheme.lower() == "bearer" else None

    def parse(self, request: Request, operation: Operation, models: Mapping[str, ModelInfo]) -> ModelCall:
        """Validate and translate; `Refused` carries the first thing that is wrong. Without a version header the
        request is read as 2023-06-01."""
        if operation == "other":
            raise Refused(Failure(kind="not_found"))
        if operation == "resource":
            return self._parse_batches(request)
        expected = "POST" if operation in ("generate", "count_tokens") else "GET"
        if request.method != expected:
            raise Refused(Failure(kind="method_not_allowed"))
        if operation == "models":
            page = catalogue.read_page(request.query)
            return ModelCall(dialect=self.name, operation=operation, model="", headers=request.headers, private=page)
        if operation == "model":
            name = request.path.rstrip("/").removeprefix("/v1/models/")
            info = _resolve(name, models)
            return ModelCall(
                dialect=self.name, operation=operation, model=name, headers=request.headers, private=Notes(model=info)
            )
        return self._parse_messages(request, operation, models)

    def _parse_batches(self, request: Request) -> ModelCall:
        wanted = batches.read(request)
        body: Any = {}
        if wanted.action == "create":
            check_beta(request)
            body = decode_message(request.body, request.body)
            batches.check(body)
        return ModelCall(
            dialect=self.name, operation="resource", model="", body=body, headers=request.headers, private=wanted
        )

    def _parse_messages(self, request: Request, operation: Operation, models: Mapping[str, ModelInfo]) -> ModelCall:
        body, raw = open_body(request.body)
        beta = check_beta(request)
        old_version = (request.header("anthropic-version") or _OLD_VERSION) <= _OLD_VERSION
        counting = operation == "count_tokens"
        # Only the size of images depends on the model, and an unknown one is refused before that matters.
        named = models.get(body.get("model", "")) if type(body) is dict and type(body.get("model")) is str else None
        can = gates(named) if named is not None else Gates()
        known: list[Known] = []

        def check_messages() -> None:
            if raw is None:
                check_count(body["messages"])
            else:
                known.extend(self._read(raw, request.body, can))
                body["messages"] = [one.message for one in known]
                check_count(body["messages"])

        check_shape(body, check_messages, beta=beta, counting=counting, sampling=old_version)
        if b'"scope"' in request.body and CACHE_SCOPE not in beta:
            check_scopes(body)
        info = _resolve(body["model"], models)
        check_rules(body, known, info, can, counting=counting, old_version=old_version)
        call = _translate(body, known, request, operation, info, can)
        if body.get("context_management") or body.get("diagnostics") is not None:
            call.revise = partial(_revise, messages=known)
        return call

    def _read(self, raw: Sequence[bytes], data: bytes, can: Gates) -> Iterator[Known]:
        """Each message: as it is remembered, or read and remembered."""
        memo, edge = self._memo, can.image_edge
        for index, one in enumerate(raw):
            key = (index, edge, one)
            found = memo.get(key)
            if found is None:
                message = decode_message(one, data)
                check_message(message, index)
                found = know(message, index, can)
                memo.put(key, found)
            yield found

    def recall(self, call: ModelCall, desk: Desk) -> ModelCall:
        """Nothing that is kept is put into a request of this API."""
        return call

    def keep(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, desk: Desk) -> None:
        """Remember a request that asked for diagnostics by the id of its answer."""
        if isinstance(call.private, Notes) and call.private.fingerprint is not None:
            desk.store.put(FINGERPRINTS, f"msg_01{desk.stamp.message_id}", call.private.fingerprint)

    def serve(self, call: ModelCall, desk: Desk) -> Served:
        """Message batches."""
        return batches.serve(call, desk)

    def encode_stream(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
        return encode.encode_stream(call, turn, tokens, stamp)

    def encode_json(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
        return encode.encode_json(call, turn, tokens, stamp)

    def prepare(self, call: ModelCall, turn: ModelTurn, tokens: Tokens) -> Callable[[Stamp], Iterable[Chunk]] | None:
        return prepare(call, turn, tokens)

    def encode_count(self, call: ModelCall, tokens: int, stamp: Stamp) -> bytes:
        """`{"input_tokens": N}`, and what it was before the edits when context management was asked for."""
        found: dict[str, Any] = {"input_tokens": tokens}
        if call.body.get("context_management"):
            original = call.private.original_tokens if isinstance(call.private, Notes) else None
            found["context_management"] = {"original_input_tokens": tokens if original is None else original}
        return msgspec.json.encode(found)

    def encode_models(self, call: ModelCall, models: Mapping[str, ModelInfo], stamp: Stamp) -> bytes:
        if call.operation == "models":
            page = call.private if isinstance(call.private, catalogue.Page) else catalogue.Page()
            return catalogue.encode_list(models, page)
        return msgspec.json.encode(catalogue.describe(_resolve(call.model, models)))

    def encode_failure(self, failure: Failure, stamp: Stamp) -> tuple[int, Headers, bytes]:
        return failures.encode_failure(failure, stamp)

    def error_event(self, failure: Failure, stamp: Stamp) -> Chunk:
        return failures.error_event(failure, stamp)

    def headers(self, call: ModelCall | None, limits: Mapping[str, Any], stamp: Stamp) -> Headers:
        found = headers.answer_headers(limits, stamp)
        if call is not None and call.body and call.body.get("speed") == "fast":
            found += headers.fast_headers(limits, stamp)
        return found

    def usage(self, call: ModelCall, tokens: Tokens) -> Mapping[str, Any]:
        return usage(call, tokens)


DIALECT = Anthropic()


def _resolve(name: str, models: Mapping[str, ModelInfo]) -> ModelInfo:
    info = models.get(name)
    if info is None or not catalogue.served(info):
        refuse(f"model: {name}", kind="model_not_found", model=name)
    return info


def _translate(
    body: dict[str, Any],
    messages: Sequence[Known],
    request: Request,
    operation: Operation,
    info: ModelInfo,
    can: Gates,
) -> ModelCall:
    blocks = prompt_blocks(body, messages, can)
    thinking = body.get("thinking") or {}
    binding = thinking.get("block_binding") or {}
    drop = binding.get("prefix_mismatch_behavior") == "drop_block"
    blocks, dropped = check_signatures(messages, blocks, can, drop=drop)
    said = thinking.get("display")
    last_user, results = last_words(messages)
    cites, images = any(known.cites for known in messages), any(known.images for known in messages)
    return ModelCall(
        dialect="anthropic",
        operation=operation,
        model=body["model"],
        stream=bool(body.get("stream")),
        max_tokens=body.get("max_tokens"),
        stop_sequences=tuple(body.get("stop_sequences") or ()),
        blocks=blocks,
        settings=settings(body, can, cites=cites, images=images),
        automatic_breakpoint=ttl_of(body.get("cache_control")),
        system=instructions(body, messages),
        last_user=last_user,
        tools=declared_tools(body),
        tool_choice=_tool_choice(body),
        answer_schema=((body.get("output_config") or {}).get("format") or {}).get("schema"),
        tool_results=results,
        strict_window=can.overlong_is_error,
        side="summary" if body.get("compaction") and operation == "generate" else None,
        body=body,
        headers=request.headers,
        private=Notes(
            model=info,
            thinking_shown=can.thinking_shown if said is None else said != "omitted",
            dropped=dropped if has_beta(request, BINDING_CONTROLS) else None,
            summarize=bool(body.get("compaction")) and operation == "generate",
        ),
    )


def _revise(call: ModelCall, desk: Desk, messages: Sequence[Known]) -> ModelCall:
    """What depends on how long the prompt is: diagnostics, context editing, compaction."""
    body, model = call.body, call.private.model
    if body.get("diagnostics") is not None:
        seen = fingerprint(model.id, call, desk.count(call.blocks, model))
        previous = body["diagnostics"].get("previous_message_id")
        before = desk.store.get(FINGERPRINTS, previous, desk.now) if previous is not None else None
        notes = msgspec.structs.replace(
            call.private, fingerprint=seen, diagnosis=None if previous is None else diagnose(seen, before)
        )
        call = msgspec.structs.replace(call, private=notes)
    if body.get("context_management"):
        call = edit(call, lambda blocks: desk.count(blocks, model), messages)
    return call


def _tool_choice(body: dict[str, Any]) -> str:
    choice = body.get("tool_choice") or {"type": "auto"}
    return f"tool:{choice['name']}" if choice["type"] == "tool" else str(choice["type"])
