"""A response as events. Order and fields follow recorded streams; every event has the next sequence number."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.core.wire import Chunk
from simulators.dialects._openai.ids import padding
from simulators.dialects._openai.seal import seal
from simulators.dialects.openai_responses import response
from simulators.dialects.openai_responses.notes import Item

_encode = msgspec.json.Encoder().encode
_WORD = re.compile(r"\s*\S+\s?|\s+")
_PIECE = 16  # characters of arguments in one delta
# Items of the provider's own tools: the events between their `added` and their `done`.
_OWN = {
    "web_search_call": ("web_search_call", ("in_progress", "searching", "completed")),
    "file_search_call": ("file_search_call", ("in_progress", "searching", "completed")),
    "code_interpreter_call": ("code_interpreter_call", ("in_progress", "interpreting", "completed")),
    "image_generation_call": ("image_generation_call", ("in_progress", "generating", "completed")),
    "mcp_call": ("mcp_call", ("in_progress", "completed")),
    "mcp_list_tools": ("mcp_list_tools", ("in_progress", "completed")),
    "compaction": ("compaction", ("compacting",)),
}


def encode_stream(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
    """The events of an answer, one chunk each."""
    return _Stream(call, stamp).events(response.finished(call, turn, tokens, stamp))


class _Stream:
    def __init__(self, call: ModelCall, stamp: Stamp) -> None:
        self._call, self._stamp = call, stamp
        self._number = -1
        options = call.body.get("stream_options") or {}
        self._padded = options.get("include_obfuscation") is not False
        self._lane = {"stream_id": call.body["stream_id"]} if call.body.get("stream_id") else {}

    def events(self, whole: dict[str, Any]) -> Iterator[Chunk]:
        """From `response.created` to the end of `whole`."""
        background = bool(whole["background"])
        begun = response.skeleton(self._call, self._stamp, "queued" if background else "in_progress")
        yield self._event("response.created", response=begun)
        if background:
            yield self._event("response.queued", response=begun)
            begun = {**begun, "status": "in_progress"}
        yield self._event("response.in_progress", response=begun)
        for index, item in enumerate(whole["output"]):
            yield from self._item(item, index)
        yield self._event(f"response.{whole['status']}", response=whole)

    def _event(self, name: str, /, **fields: Any) -> Chunk:
        self._number += 1
        body = {"type": name, **fields, "sequence_number": self._number, **self._lane}
        return Chunk(b"event: %b\ndata: %b\n\n" % (name.encode(), _encode(body)), name)

    def _item(self, item: Item, index: int) -> Iterator[Chunk]:
        kind, place = item["type"], {"item_id": item["id"], "output_index": index}
        begun = {**item, "status": "in_progress"} if "status" in item else dict(item)
        if kind == "message":
            yield self._event("response.output_item.added", item={**begun, "content": []}, output_index=index)
            for at, part in enumerate(item["content"]):
                yield from self._part(part, {**place, "content_index": at})
        elif kind == "reasoning":
            # Half-made: the sealed text is another one at the end, as it is on the wire.
            early = {"encrypted_content": seal("", self._stamp.message_id)} if "encrypted_content" in item else {}
            yield self._event("response.output_item.added", item={**begun, "summary": [], **early}, output_index=index)
            for at, part in enumerate(item["summary"]):
                yield from self._summary(part, {**place, "summary_index": at})
            for at, part in enumerate(item.get("content") or ()):
                yield from self._reasoning_text(part["text"], {**place, "content_index": at})
        elif kind in ("function_call", "custom_tool_call"):
            yield from self._called(item, begun, index, place)
        else:
            yield self._event("response.output_item.added", item=_early(begun), output_index=index)
            lead, states = _OWN.get(kind, ("", ()))
            for state in states:
                if not (kind == "compaction" and state == "completed"):
                    yield self._event(f"response.{lead}.{state}", **place)
        yield self._event("response.output_item.done", item=item, output_index=index)

    def _part(self, part: dict[str, Any], place: dict[str, Any]) -> Iterator[Chunk]:
        refused = part["type"] == "refusal"
        key = "refusal" if refused else "text"
        yield self._event(
            "response.content_part.added", part={**part, key: "", **({} if refused else {"annotations": []})}, **place
        )
        name = "response.refusal" if refused else "response.output_text"
        more: dict[str, Any] = {} if refused else {"logprobs": []}
        for word in _WORD.findall(part[key]):
            yield self._delta(name, word, {**place, **more})
        for at, note in enumerate(part.get("annotations") or ()):
            yield self._event("response.output_text.annotation.added", annotation=note, annotation_index=at, **place)
        yield self._event(f"{name}.done", **{key: part[key]}, **more, **place)
        yield self._event("response.content_part.done", part=part, **place)

    def _summary(self, part: dict[str, Any], place: dict[str, Any]) -> Iterator[Chunk]:
        yield self._event("response.reasoning_summary_part.added", part={**part, "text": ""}, **place)
        for word in _WORD.findall(part["text"]):
            yield self._delta("response.reasoning_summary_text", word, place)
        yield self._event("response.reasoning_summary_text.done", text=part["text"], **place)
        yield self._event("response.reasoning_summary_part.done", part=part, **place)

    def _reasoning_text(self, text: str, place: dict[str, Any]) -> Iterator[Chunk]:
        for word in _WORD.findall(text):
            yield self._delta("response.reasoning_text", word, place)
        yield self._event("response.reasoning_text.done", text=text, **place)

    def _called(self, item: Item, begun: Item, index: int, place: dict[str, Any]) -> Iterator[Chunk]:
        custom = item["type"] == "custom_tool_call"
        key = "input" if custom else "arguments"
        name = "response.custom_tool_call_input" if custom else "response.function_call_arguments"
        yield self._event("response.output_item.added", item={**begun, key: ""}, output_index=index)
        text = item[key]
        for at in range(0, len(text), _PIECE):
            yield self._delta(name, text[at : at + _PIECE], place)
        more = {} if custom else {"name": item["name"]}
        yield self._event(f"{name}.done", **{key: text}, **more, **place)

    def _delta(self, name: str, piece: str, place: dict[str, Any]) -> Chunk:
        more = {"obfuscation": padding(self._stamp, self._number, len(piece))} if self._padded else {}
        return self._event(f"{name}.delta", delta=piece, **more, **place)


def _early(item: Item) -> Item:
    """An item of the provider's own as it begins: without what it will find out."""
    return {name: value for name, value in item.items() if name not in ("results", "outputs", "result")}
