"""Which strings of a request or an answer are text of people, and which belong to the API.

`slots` walks decoded JSON in the order in which it is written and says of every string, keys included, what it is. The
field names are the vendors'. What is unknown is text if it has words in it, and the API's if it is a single word.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from simulators.cassettes.blobs import is_base64

Kind = Literal["kept", "text", "json", "url", "blob"]

_KEPT = frozenset({
    "type", "role", "model", "id", "object", "status", "finish_reason", "finishReason", "stop_reason", "service_tier",
    "media_type", "mime_type", "mimeType", "ttl", "signature", "thoughtSignature", "thought_signature", "version",
    "encrypted_content", "encrypted_stdout", "encrypted_index", "encrypted_reasoning", "created_at", "effort", "format",
    "obfuscation", "system_fingerprint", "modelVersion", "responseId", "include", "verbosity", "truncation",
    "modality",
    "container", "event", "prompt_cache_key", "safety_identifier", "stop_details", "previous_response_id",
    "conversation",
    "allowed_callers", "phase", "detail", "mode", "user", "timestamp", "expires_at", "ranker", "syntax",
    "cachedContent",
    "createTime", "updateTime", "expireTime", "file_data_type", "inference_geo", "speed", "tier", "retention",
    "runtime",
})  # fmt: skip
_TEXT = frozenset({
    "text", "content", "thinking", "summary", "instructions", "system", "description", "title", "input", "output",
    "delta", "partial_json", "arguments", "refusal", "reasoning", "reasoning_content", "cited_text", "query", "queries",
    "stdout", "stderr", "filename", "file_name", "displayName", "display_name", "prompt", "snippet", "caption",
    "transcript", "document_title", "page_title", "page_age", "question", "answer", "context", "suffix", "stop",
    "stop_sequences", "stop_sequence", "stopSequences", "pattern_text", "code", "result", "outcome_text", "logs",
    "search_queries", "webSearchQueries", "renderedContent", "location", "city", "region", "country", "timezone",
})  # fmt: skip
_NAMES = frozenset({
    "name", "tool_name", "toolName", "server_name", "server_label", "mcp_server_name", "allowedFunctionNames",
    "tool_names",
})  # fmt: skip
_URLS = frozenset({"url", "uri", "image_url", "file_url", "fileUri", "file_uri", "server_url"})
_USERS = frozenset({"input", "args", "arguments"})  # objects that are the caller's own
_RESULTS = frozenset({"functionResponse", "function_response"})  # what holds such an object as `response`
_SCHEMAS = frozenset({
    "input_schema", "parameters", "schema", "parametersJsonSchema", "responseSchema", "responseJsonSchema",
    "inputSchema", "outputSchema", "parameters_json_schema", "response_schema", "response_json_schema", "output_schema",
})  # fmt: skip
_SCHEMA_TEXT = frozenset({
    "description", "title", "enum", "const", "default", "examples", "example", "required", "propertyOrdering",
    "property_ordering", "propertyName", "$comment",
})  # fmt: skip
_SCHEMA_NAMED = frozenset({"properties", "$defs", "definitions", "dependentRequired", "mapping"})
_SERVED = frozenset({
    "web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution", "bash", "memory",
    "computer", "str_replace_based_edit_tool", "str_replace_editor", "advisor", "image_generation", "file_search",
    "tool_search_tool_regex", "tool_search_tool_bm25", "tool_search", "code_interpreter", "local_shell", "mcp",
    "google_search", "web_search_preview", "apply_patch", "shell", "computer_use_preview",
})  # fmt: skip
_WORDY = re.compile(r"[^\W\d_]\s+[^\W\d_]|[^\x00-\x7f]")
_ERROR = frozenset({"error", "errors"})


class Slot(NamedTuple):
    """One string in the order of the text; `path` is where it stands, `keys` whether quoted keys in it may change."""

    text: str
    kind: Kind
    path: tuple[Any, ...]
    keys: bool = True


def served_names(tree: Any) -> frozenset[str]:
    """Names of tools that the vendor runs or knows: they are part of the API."""
    found = set(_SERVED)
    for tool in _tools(tree):
        kind = tool.get("type")
        if isinstance(kind, str) and kind not in ("custom", "function", "mcp") and isinstance(tool.get("name"), str):
            found.add(tool["name"])
    return frozenset(found)


def _tools(tree: Any) -> Iterable[dict[str, Any]]:
    listed = tree.get("tools") if isinstance(tree, dict) else None
    return [tool for tool in listed if isinstance(tool, dict)] if isinstance(listed, list) else []


def slots(tree: Any, served: frozenset[str]) -> Iterator[Slot]:
    """Every string of a body, in order."""
    return _Walk(served).value(tree, "", (), "api")


class _Walk:
    def __init__(self, served: frozenset[str]) -> None:
        self.served = served

    def value(self, value: Any, key: str, path: tuple[Any, ...], mode: str) -> Iterator[Slot]:
        """`mode`: api, user (all is text), values (all but keys), schema, error."""
        if isinstance(value, str):
            kind, keys = self._kind(value, key, mode)
            yield Slot(value, kind, path, keys)
        elif isinstance(value, list):
            for i, one in enumerate(value):
                yield from self.value(one, key, (*path, i), mode)
        elif isinstance(value, dict):
            yield from self._table(value, key, path, mode)

    def _table(self, table: dict[str, Any], key: str, path: tuple[Any, ...], mode: str) -> Iterator[Slot]:
        named = mode == "user" or (mode == "schema" and key in _SCHEMA_NAMED)
        is_error = mode == "api" and (table.get("type") == "error" or (key in _ERROR))
        vendors = isinstance(table.get("name"), str) and table["name"] in self.served
        for name, value in table.items():
            yield Slot(name, "text" if named else "kept", (*path, name, "key"))
            inner = "error" if is_error else mode
            if inner == "api":
                if name in _SCHEMAS and isinstance(value, dict):
                    inner = "schema"
                elif isinstance(value, dict) and (name in _USERS or (name == "response" and key in _RESULTS)):
                    inner = "values" if vendors or table.get("type") == "server_tool_use" else "user"
                elif name == "metadata" and isinstance(value, dict):
                    inner = "kept"
            # below `properties` stand schemas under names that are the caller's
            below = "" if mode == "schema" and key in _SCHEMA_NAMED and isinstance(value, dict) else name
            if vendors and name in ("arguments", "partial_json") and isinstance(value, str):
                yield Slot(value, "json", (*path, name), False)
            else:
                yield from self.value(value, below, (*path, name), inner)

    def _kind(self, text: str, key: str, mode: str) -> tuple[Kind, bool]:
        if mode in ("error", "kept"):
            return "kept", True
        if mode == "schema":
            if key == "$ref":
                return "url", True
            return ("text" if key in _SCHEMA_TEXT else "kept"), True
        if mode in ("user", "values"):
            return ("blob" if is_base64(text) and len(text) > 400 else "text"), True
        if key in _KEPT or (key.endswith(("_id", "_ids", "Id")) and not _WORDY.search(text)):
            return "kept", True
        if key in _URLS:
            return ("blob" if text.startswith("data:") else "url"), True
        if key in ("data", "file_data", "b64_json", "partial_image_b64"):
            return (
                "blob" if text.startswith("data:") or is_base64(text) else "text" if _WORDY.search(text) else "kept"
            ), True
        if key in _NAMES:
            return ("kept" if text in self.served or "/" in text else "text"), True
        if key in ("arguments", "partial_json"):
            return "json", True
        if key in _TEXT:
            return ("json" if text.lstrip()[:1] in ("{", "[") else "text"), True
        return ("text" if _WORDY.search(text) else "kept"), True
