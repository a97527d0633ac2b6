"""The Anthropic Messages API, versions 2023-06-01 and 2026-10-21.

Reading: `shape` (fields and types), `rules`, `markers` and `conversation` (what the API refuses), `render` (the prompt
as blocks). Writing: `encode`, `failures`, `headers`, `catalogue`. What a model can do stands in `gates`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from simulators.core.turn import Failure, ModelCall, ModelInfo, ModelTurn, Operation, Refused, Stamp, Tokens
from simulators.core.wire import Chunk, Headers, Request
from simulators.dialects.anthropic import catalogue, encode, failures, headers
from simulators.dialects.anthropic.beta import check_beta
from simulators.dialects.anthropic.gates import gates
from simulators.dialects.anthropic.markers import ttl_of
from simulators.dialects.anthropic.notes import Notes
from simulators.dialects.anthropic.refusal import refuse
from simulators.dialects.anthropic.render import declared_tools, instructions, last_words, render, settings
from simulators.dialects.anthropic.rules import check_rules
from simulators.dialects.anthropic.shape import check_shape
from simulators.dialects.anthropic.signature import check_signatures

_decode = msgspec.json.Decoder().decode
_OLD_VERSION = "2023-06-01"
_BYTE = re.compile(r" \(byte (\d+)\)$")
_LONE_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")


class Anthropic:
    """Implements `simulators.core.turn.Dialect`."""

    name = "anthropic"

    def route(self, request: Request) -> Operation | None:
        """`/v1/messages…` is always this vendor's; `/v1/models` with one of its headers."""
        path = request.path.rstrip("/")
        if path == "/v1/messages":
            return "generate"
        if path == "/v1/messages/count_tokens":
            return "count_tokens"
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
        body = _json(request.body)
        beta = check_beta(request)
        counting = operation == "count_tokens"
        sampling = (request.header("anthropic-version") or _OLD_VERSION) <= _OLD_VERSION
        check_shape(body, beta=beta, counting=counting, sampling=sampling)
        info = _resolve(body["model"], models)
        return _translate(body, request, operation, info, sampling=sampling)

    def encode_stream(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
        return encode.encode_stream(call, turn, tokens, stamp)

    def encode_json(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
        return encode.encode_json(call, turn, tokens, stamp)

    def encode_count(self, call: ModelCall, tokens: int, stamp: Stamp) -> bytes:
        """`{"input_tokens": N}`, and N again as the original when context management was asked for."""
        found: dict[str, Any] = {"input_tokens": tokens}
        if call.body.get("context_management"):
            found["context_management"] = {"original_input_tokens": tokens}
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
        return headers.answer_headers(limits, stamp)

    def usage(self, call: ModelCall, tokens: Tokens) -> Mapping[str, Any]:
        return encode.usage(call, tokens)


DIALECT = Anthropic()


def _json(body: bytes) -> Any:
    try:
        return _decode(body)
    except msgspec.DecodeError as error:
        # The API words these as its JSON parser does, with line, column and character.
        said = str(error)
        if lone := _LONE_SURROGATE.search(body):
            reason, at = "no low surrogate in string", lone.start()
        elif found := _BYTE.search(said):
            reason, at = said[: found.start()].removeprefix("JSON is malformed: "), int(found[1])
        else:
            reason, at = "unexpected end of data", len(body)
        line = body.count(b"\n", 0, at) + 1
        column = at - (body.rfind(b"\n", 0, at) + 1) + 1
        refuse(f"The request body is not valid JSON: {reason}: line {line} column {column} (char {at})")


def _resolve(name: str, models: Mapping[str, ModelInfo]) -> ModelInfo:
    info = models.get(name)
    if info is None or not catalogue.served(info):
        refuse(f"model: {name}", kind="model_not_found", model=name)
    return info


def _translate(
    body: dict[str, Any], request: Request, operation: Operation, info: ModelInfo, *, sampling: bool
) -> ModelCall:
    can = gates(info)
    check_rules(body, info, can, counting=operation == "count_tokens", old_version=sampling)
    blocks = render(body, can)
    check_signatures(body, blocks, can)
    said = (body.get("thinking") or {}).get("display")
    last_user, results = last_words(body)
    return ModelCall(
        dialect="anthropic",
        operation=operation,
        model=body["model"],
        stream=bool(body.get("stream")),
        max_tokens=body.get("max_tokens"),
        stop_sequences=tuple(body.get("stop_sequences") or ()),
        blocks=blocks,
        settings=settings(body, can, blocks),
        automatic_breakpoint=ttl_of(body.get("cache_control")),
        system=instructions(body),
        last_user=last_user,
        tools=declared_tools(body),
        tool_choice=_tool_choice(body),
        tool_results=results,
        strict_window=can.overlong_is_error,
        body=body,
        headers=request.headers,
        private=Notes(model=info, thinking_shown=can.thinking_shown if said is None else said != "omitted"),
    )


def _tool_choice(body: dict[str, Any]) -> str:
    choice = body.get("tool_choice") or {"type": "auto"}
    return f"tool:{choice['name']}" if choice["type"] == "tool" else str(choice["type"])
