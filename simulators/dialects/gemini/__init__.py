"""The Gemini API (generativelanguage.googleapis.com), `v1` and `v1beta`, and Vertex AI's paths to the same methods.

Reading: `paths`, `shape` (fields and types, by `fields`), `rules` and `conversation` (what the API refuses), `render`
(the prompt as blocks), `media`, `signature`. Writing: `encode`, `usage`, `failures`, `catalogue`. `caches` are prompts
that an account keeps. What a model can do stands in `gates`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from simulators.core.account_document import AccountDocument
from simulators.core.account_file import CacheRules
from simulators.core.store import Desk, Served
from simulators.core.turn import (
    CacheAsk,
    Failure,
    ModelCall,
    ModelInfo,
    ModelTurn,
    Operation,
    Refused,
    Stamp,
    Tokens,
)  # fmt: skip
from simulators.core.wire import Chunk, Headers, Request
from simulators.dialects.gemini import caches, catalogue, encode, failures
from simulators.dialects.gemini.conversation import check_contents, check_turns, missing_signature, unsigned_call
from simulators.dialects.gemini.gates import Gates, gates
from simulators.dialects.gemini.notes import Notes
from simulators.dialects.gemini.paths import Place, place_of
from simulators.dialects.gemini.refusal import refuse
from simulators.dialects.gemini.render import answer_schema, declared_tools, last_words, render, text_of
from simulators.dialects.gemini.rules import check_generation, check_tools
from simulators.dialects.gemini.shape import read_body
from simulators.dialects.gemini.usage import details, usage

_IMPLICIT_FROM = (2, 5)  # models that cache without being asked
_FINISH_UNSIGNED = ModelTurn(
    blocks=({"finishReason": "MISSING_THOUGHT_SIGNATURE"},), stop="end_turn", answered_by="validation"
)
_METHODS: Mapping[Operation, tuple[str, ...]] = {
    "generate": ("POST",),
    "count_tokens": ("POST",),
    "models": ("GET",),
    "model": ("GET",),
    "resource": ("POST", "GET", "PATCH", "DELETE"),
}


class Gemini:
    """Implements `simulators.core.turn.Dialect` and `simulators.core.store.Keeper`."""

    name = "gemini"
    max_body = 20 * 1024 * 1024  # bytes

    def __init__(self, *, implicit_ttl: float = CacheRules().implicit_ttl) -> None:
        self._implicit_ttl = implicit_ttl

    def bind(self, document: AccountDocument) -> "Gemini":
        """The dialect for an account that has its own idea of how long the implicit cache lasts."""
        ttl = document.cache.implicit_ttl
        return self if ttl == self._implicit_ttl else Gemini(implicit_ttl=ttl)

    def route(self, request: Request) -> Operation | None:
        """Paths of this vendor; `/v1/models` with its key alone."""
        place = place_of(request)
        return place.operation if place is not None else None

    def key(self, request: Request) -> str | None:
        """`x-goog-api-key`, `?key=`, or what `Authorization: Bearer` carries (Vertex AI)."""
        key = request.header("x-goog-api-key") or dict(request.query).get("key")
        if key:
            return key
        scheme, _, token = (request.header("authorization") or "").partition(" ")
        return token.strip() or None if scheme.lower() == "bearer" else None

    def parse(self, request: Request, operation: Operation, models: Mapping[str, ModelInfo]) -> ModelCall:
        """Validate and translate; `Refused` carries the first thing that is wrong (of unknown fields, all)."""
        place = place_of(request)
        if place is None or request.method not in _METHODS.get(operation, ()):
            raise Refused(Failure(kind="not_found"))
        if operation == "generate":
            call = _parse_generate(request, place, models)
            if call.cache is not None:
                call.cache = msgspec.structs.replace(call.cache, lifetime=self._implicit_ttl)
            return call
        if operation == "count_tokens":
            return _parse_count(request, place, models)
        if operation == "resource":
            return _parse_resource(request, place, models)
        found = ModelCall(dialect=self.name, operation=operation, model=place.name, headers=request.headers)
        if operation == "models":
            found.private = catalogue.read_page(request.query)
            return found
        info = models.get(place.name)
        if info is None or not catalogue.served(info):
            refuse(f"Model is not found: models/{place.name} for api version {place.version}", kind="not_found")
        found.private = info
        return found

    def recall(self, call: ModelCall, desk: Desk) -> ModelCall:
        """Put a named cached content before the request's own; then look at the turns of the whole."""
        return _checked(caches.unfold(call, desk), desk)

    def serve(self, call: ModelCall, desk: Desk) -> Served:
        """Make, show, list, change or remove cached contents."""
        asked: _Asked = call.private if isinstance(call.private, _Asked) else _Asked(place=Place("resource"))
        if call.blocks or isinstance(call.private, Notes):
            answer = caches.create(call, desk)
        elif asked.method == "PATCH":
            answer = caches.change(asked.place.name, call.body, asked.mask, asked.models, desk)
        elif asked.method == "DELETE":
            answer = caches.remove(asked.place.name, desk)
        elif asked.place.name:
            answer = caches.shown(caches.find(asked.place.name, desk))
        else:
            answer = caches.listing(asked.page, desk)
        return Served(chunks=(Chunk(msgspec.json.encode(answer)),))

    def keep(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, desk: Desk) -> None:
        """Answers are not kept by this API."""

    def extend(self, call: ModelCall, turn: ModelTurn, prompt: int, output: int) -> ModelTurn:
        """What was scripted beside the answer (grounding, feedback, usage) is not generated and costs no output."""
        if not turn.blocks:
            return turn
        parts, beside = encode.apart(turn.blocks)
        return msgspec.structs.replace(turn, blocks=tuple(parts), beside=(*turn.beside, *beside))

    def encode_stream(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
        return encode.encode_stream(call, turn, tokens, stamp)

    def encode_json(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
        return encode.encode_json(call, turn, tokens, stamp)

    def encode_count(self, call: ModelCall, tokens: int, stamp: Stamp) -> bytes:
        """`{"totalTokens": N}` with its parts by modality."""
        notes: Notes = call.private
        found: dict[str, Any] = {"totalTokens": tokens, "promptTokensDetails": details(tokens, notes.media)}
        return msgspec.json.encode(found)

    def encode_models(self, call: ModelCall, models: Mapping[str, ModelInfo], stamp: Stamp) -> bytes:
        if call.operation == "models":
            return msgspec.json.encode(catalogue.paged(call.private, "models", catalogue.listed(models)))
        return msgspec.json.encode(catalogue.describe(call.private))

    def encode_failure(self, failure: Failure, stamp: Stamp) -> tuple[int, Headers, bytes]:
        return failures.encode_failure(failure, stamp)

    def error_event(self, failure: Failure, stamp: Stamp) -> Chunk:
        return failures.error_event(failure, stamp)

    def headers(self, call: ModelCall | None, limits: Mapping[str, Any], stamp: Stamp) -> Headers:
        """This vendor shows no limits and no request id."""
        return (
            ("vary", "Origin, X-Origin, Referer"),
            ("server", "scaffolding on HTTPServer2"),
            ("x-xss-protection", "0"),
            ("x-frame-options", "SAMEORIGIN"),
            ("x-content-type-options", "nosniff"),
            ("server-timing", f"gfet4t7; dur={100 + sum(stamp.request_id.encode()) % 900}"),
        )

    def usage(self, call: ModelCall, tokens: Tokens) -> Mapping[str, Any]:
        return usage(call, tokens)


DIALECT = Gemini()


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request about cached contents."""

    place: Place
    method: str = "GET"
    mask: str = ""
    page: catalogue.Page = catalogue.Page()
    models: Mapping[str, ModelInfo] = {}


def _resolve(place: Place, request: Request, models: Mapping[str, ModelInfo]) -> ModelInfo:
    info = models.get(place.name)
    if info is None or not catalogue.served(info):
        refuse(failures.model_not_found(place.name, request.target), kind="model_not_found")
    return info


def _parse_generate(request: Request, place: Place, models: Mapping[str, ModelInfo]) -> ModelCall:
    body = read_body(request.body, "GenerateContentRequest")
    info = _resolve(place, request, models)
    can = gates(info)
    check_contents(body.get("contents") or (), message="GenerateContentRequest")
    check_generation(body, info, can)
    call = _translate(body, request, place, info, can)
    call.stream = place.stream
    call.framing = "sse" if not place.stream or dict(request.query).get("alt") == "sse" else "array"
    return call


def _parse_count(request: Request, place: Place, models: Mapping[str, ModelInfo]) -> ModelCall:
    given = read_body(request.body, "CountTokensRequest")
    info = _resolve(place, request, models)
    inner = given.get("generateContentRequest")
    if inner is not None and given.get("contents"):
        refuse("generate_content_request and contents are mutually exclusive.")
    body = given if inner is None else inner
    if not body.get("cachedContent") or body.get("contents"):
        check_contents(body.get("contents") or (), message="CountTokensRequest")
    check_tools(body.get("tools") or ())
    return _translate(body, request, place, info, gates(info))


def _parse_resource(request: Request, place: Place, models: Mapping[str, ModelInfo]) -> ModelCall:
    """Cached contents: one to be made has its blocks, everything else is told by method and name."""
    call = ModelCall(dialect="gemini", operation="resource", model="", headers=request.headers)
    allowed = ("GET", "PATCH", "DELETE") if place.name else ("GET", "POST")
    if request.method not in allowed:
        raise Refused(Failure(kind="not_found"))
    if request.method != "POST":
        query = dict(request.query)
        call.body = read_body(request.body, "CachedContent") if request.method == "PATCH" else {}
        call.private = _Asked(
            place=place,
            method=request.method,
            mask=query.get("updateMask", query.get("update_mask", "")),
            page=catalogue.read_page(request.query),
            models=models,
        )
        return call
    body = read_body(request.body, "CachedContent")
    caches.check_creation(body)
    named = Place("resource", body["model"].removeprefix("models/"), place.version)
    info = _resolve(named, msgspec.structs.replace(request, path=f"/{place.version}/:createCachedContent"), models)
    if body.get("contents"):
        check_contents(body["contents"], message="CreateCachedContentRequest.cached_content")
    check_tools(body.get("tools") or ())
    made = _translate(body, request, named, info, gates(info))
    made.operation = "resource"
    return made


def _translate(body: dict[str, Any], request: Request, place: Place, info: ModelInfo, can: Gates) -> ModelCall:
    prompt = render(body, can)
    config = body.get("generationConfig") or {}
    tools = body.get("tools") or ()
    contents = body.get("contents") or ()
    last_user, results = last_words(contents)
    implicit = can.version >= _IMPLICIT_FROM
    functions = declared_tools(tools)
    return ModelCall(
        dialect="gemini",
        operation=place.operation,
        model=place.name,
        max_tokens=min(config.get("maxOutputTokens") or info.max_output, info.max_output),
        stop_sequences=tuple(config.get("stopSequences") or ()),
        blocks=prompt.blocks,
        cache=CacheAsk(regime="automatic" if implicit else "none", minimum=info.min_cacheable_tokens, tells=False),
        system=text_of(body.get("systemInstruction")),
        last_user=last_user,
        tools=functions,
        tool_choice=_tool_choice(body),
        answer_schema=answer_schema(config),
        tool_results=results,
        body=body,
        headers=request.headers,
        private=Notes(
            model=info,
            gates=can,
            body=body,
            media=prompt.media,
            includes_thoughts=bool((config.get("thinkingConfig") or {}).get("includeThoughts")),
            functions=bool(functions),
        ),
    )


def _checked(call: ModelCall, desk: Desk) -> ModelCall:
    """The turns of the whole conversation, what a cached content holds included."""
    if call.operation != "generate":
        return call
    notes: Notes = call.private
    contents = list(notes.body.get("contents") or ())
    if name := notes.body.get("cachedContent"):
        contents = [*(caches.find(name, desk).body.get("contents") or ()), *contents]
    check_turns(contents)
    unsigned = unsigned_call(contents, notes.gates)
    if unsigned is not None:
        if notes.gates.missing == "refused":
            refuse(missing_signature(*unsigned), kind="poisoned_history")
        return msgspec.structs.replace(call, own=_FINISH_UNSIGNED)
    return call


def _tool_choice(body: Mapping[str, Any]) -> str:
    choice = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    allowed = list(choice.get("allowedFunctionNames") or ())
    match choice.get("mode"):
        case "ANY":
            return f"tool:{allowed[0]}" if len(allowed) == 1 else "any"
        case "NONE":
            return "none"
    return "auto"
