"""OpenAI's Responses API, with the state that it keeps: responses, conversations, background work.

Reading: `shape` (fields and types), `rules` (what the API refuses), `prompt` (the prompt as blocks), `compaction`.
Writing: `items`, `response`, `stream`. State: `kept`, `conversations`. A WebSocket's frames come as requests like any
other; its connection is told by the `sec-websocket-key` that they carry.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from simulators.core.account_document import AccountDocument
from simulators.core.account_file import Pacing
from simulators.core.store import Desk, Served
from simulators.core.turn import Failure, ModelCall, ModelInfo, ModelTurn, Operation, Refused, Stamp, Tokens
from simulators.core.wire import Chunk, Headers, Request
from simulators.dialects._openai import headers, words
from simulators.dialects._openai.door import Door, read_body, resolve
from simulators.dialects._openai.gates import gates
from simulators.dialects._openai.profile import Profile
from simulators.dialects.openai_responses import compaction, conversations, failed, kept, response, stream
from simulators.dialects.openai_responses.notes import Asked, Item, Notes
from simulators.dialects.openai_responses.prompt import translate
from simulators.dialects.openai_responses.rules import check_conversation, check_files, check_links, check_rules
from simulators.dialects.openai_responses.shape import check_shape

_PATH = "/v1/responses"
_CONVERSATIONS = "/v1/conversations"
_GENERATING = (_PATH, f"{_PATH}/compact")
_COUNTING = f"{_PATH}/input_tokens"
_DEFAULT_MODEL = "gpt-4.1"  # counts where a request to count names none


class OpenAIResponses:
    """Implements `simulators.core.turn.Dialect` and `simulators.core.store.Keeper`."""

    name = "openai-responses"

    def __init__(
        self, profiles: Mapping[str, Profile] | None = None, default: str = "openai", pacing: Pacing | None = None
    ) -> None:
        self._door = Door(profiles, default)
        self._pacing = pacing or Pacing()

    def bind(self, document: AccountDocument) -> "OpenAIResponses":
        """The dialect for an account: a profile, and how long background work takes."""
        return OpenAIResponses(self._door.profiles, document.profile or "openai", document.pacing)

    def route(self, request: Request) -> Operation | None:
        """`…/responses…` and `…/conversations…`."""
        path = self._door.split(request.path)[1].rstrip("/")
        if path in _GENERATING:
            return "generate"
        if path == _COUNTING:
            return "count_tokens"
        if path.startswith((f"{_PATH}/", f"{_CONVERSATIONS}/")) or path == _CONVERSATIONS:
            return "resource"
        return None

    def key(self, request: Request) -> str | None:
        """What `Authorization: Bearer` carries; `api-key` (Azure) otherwise."""
        return self._door.key(request)

    def parse(self, request: Request, operation: Operation, models: Mapping[str, ModelInfo]) -> ModelCall:
        """Validate and translate; what the account keeps comes with `recall`."""
        profile, path = self._door.speaker(request.path)
        if not profile.responses:
            raise Refused(self._door.unknown(request))
        if operation == "resource":
            asked = Asked(method=request.method, path=path, query=request.query, body=request.body)
            return ModelCall(dialect=self.name, operation=operation, model="", headers=request.headers, private=asked)
        if request.method != "POST":
            raise Refused(Failure(kind="method_not_allowed", details={"method": request.method, "path": request.path}))
        body = read_body(request)
        check_shape(body, needs_input=operation == "generate")
        info = resolve(body.get("model") or _DEFAULT_MODEL, models, profile)
        can = gates(info)
        check_rules(body, info, can)
        given = body.get("input")
        items: list[Item] = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
        conversation = body.get("conversation")
        notes = Notes(
            profile=profile,
            model=info,
            gates=can,
            new=tuple(items),
            items=tuple(items),
            connection=request.header("sec-websocket-key"),
            conversation=conversation.get("id") if isinstance(conversation, dict) else conversation,
            compacts=path.rstrip("/") == f"{_PATH}/compact",
        )
        check_files(items)
        if not _refers(body, items):
            check_conversation(items)
        return translate(body, notes, operation, request.headers)

    def recall(self, call: ModelCall, desk: Desk) -> ModelCall:
        """The call with the conversation that it goes on with."""
        notes, body = call.private, dict(call.body)
        if not isinstance(notes, Notes):
            return call
        if notes.gates.known:  # a model of nobody's takes what its client sends
            kept.check_lost(notes.new, desk)
        links = {str(item.get("id")): desk.store.get(kept.LINKS, str(item.get("id")), desk.now) for item in notes.new}
        if _refers(body, notes.new):
            before: list[Item] = []
            if body.get("previous_response_id"):
                before = list(kept.previous(body["previous_response_id"], notes, desk).items)
            elif notes.conversation is not None:
                before = conversations.items_of(notes.conversation, desk)
            new = [kept.referred(item, desk) if _is_reference(item) else item for item in notes.new]
            items = [*before, *new]
            check_conversation(items)
            notes = msgspec.structs.replace(notes, items=tuple(items))
            path, kind, told = call.path, call.kind, call.headers
            call = translate(body, notes, call.operation, told)
            call.path, call.kind = path, call.side or kind
        check_links(notes.items, {name: needed for name, needed in links.items() if needed is not None})
        compared = (body.get("prompt_cache_options") or {}).get("comparison_response_id")
        if compared:
            notes = msgspec.structs.replace(call.private, compared=kept.compare(call, compared, desk))
            call = msgspec.structs.replace(call, private=notes)
        return call

    def extend(self, call: ModelCall, turn: ModelTurn, prompt: int, output: int) -> ModelTurn:
        """The turn, with a compaction behind it where the request asks for one and the threshold is passed."""
        return compaction.extend(call, turn, prompt, output)

    def keep(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, desk: Desk) -> None:
        """The response is put by."""
        if call.private.compacts:
            return
        events = b""
        if call.body.get("background") and call.stream:
            events = b"".join(chunk.data for chunk in stream.encode_stream(call, turn, tokens, desk.stamp))
        kept.put_by(call, turn, tokens, desk, takes=self._takes(tokens), events=events)

    def _takes(self, tokens: Tokens) -> float:
        pace = self._pacing
        return pace.first_token_ms / 1000 + (tokens.output / pace.tokens_per_s if pace.tokens_per_s else 0.0)

    def serve(self, call: ModelCall, desk: Desk) -> Served:
        """Responses and conversations that are kept."""
        asked: Asked = call.private
        if asked.path.startswith(_CONVERSATIONS):
            return conversations.serve(asked, desk)
        return kept.serve(asked, desk)

    def encode_stream(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
        return stream.encode_stream(call, turn, tokens, stamp)

    def encode_json(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
        if call.private.compacts:
            return msgspec.json.encode(response.compaction(call, turn, tokens, stamp))
        if call.body.get("background"):
            return msgspec.json.encode(response.skeleton(call, stamp, "queued"))
        made = response.finished(call, turn, tokens, stamp)
        return msgspec.json.encode({"billing": {"payer": "developer"}, **made})

    def encode_count(self, call: ModelCall, tokens: int, stamp: Stamp) -> bytes:
        return msgspec.json.encode({"object": "response.input_tokens", "input_tokens": tokens})

    def encode_models(self, call: ModelCall, models: Mapping[str, ModelInfo], stamp: Stamp) -> bytes:
        """Models are listed by the chat dialect, which serves their path."""
        return b'{"object":"list","data":[]}'

    def encode_failure(self, failure: Failure, stamp: Stamp) -> tuple[int, Headers, bytes]:
        return words.encode_failure(failure, stamp, self._door.speaker(stamp.target)[0], responses=True)

    def error_event(self, failure: Failure, stamp: Stamp) -> Chunk:
        return failed.error_event(failure, stamp, self._door.speaker(stamp.target)[0])

    def headers(self, call: ModelCall | None, limits: Mapping[str, Any], stamp: Stamp) -> Headers:
        return headers.answer_headers(limits, stamp, self._door.speaker(stamp.target)[0])

    def usage(self, call: ModelCall, tokens: Tokens) -> Mapping[str, Any]:
        return response.usage(call, tokens)


def _is_reference(item: Item) -> bool:
    return item.get("type") == "item_reference" or set(item) == {"id"}


def _refers(body: Mapping[str, Any], items: Any) -> bool:
    """Whether the request names something that the account keeps."""
    return bool(body.get("previous_response_id") or body.get("conversation")) or any(map(_is_reference, items))


DIALECT = OpenAIResponses()
