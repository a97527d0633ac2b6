"""A value that fits a JSON Schema: input for a tool call.

Meant for the schemas of tools, not for all of JSON Schema: types, enums, bounds, formats, patterns, objects, arrays,
`anyOf`/`oneOf`/`allOf`, and `$ref` within the document. What would do harm if a real runtime carried it out (a command,
a path) gets a harmless value.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from simulators.responders._dice import Dice
from simulators.responders._patterns import example

_DEPTH = 6  # nested schemas beyond this get their shortest value
_FORMATS = {
    "date": "2026-01-15",
    "date-time": "2026-01-15T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "PT15M",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.10",
    "ipv6": "2001:db8::10",
    "uri": "https://example.com/page",
    "url": "https://example.com/page",
    "uri-reference": "/page",
    "uuid": "7b0c3f5e-8f0a-4c1e-9d53-2f6f1f0f6c11",
}
_COMMANDS = re.compile(r"^(command|cmd|script|code|shell|bash)$|_(command|cmd|script)$", re.IGNORECASE)
_PATHS = re.compile(r"path|file|dir", re.IGNORECASE)
_URLS = re.compile(r"url|uri|link", re.IGNORECASE)


def json_for(schema: Mapping[str, Any], dice: Dice, words: Sequence[str]) -> Any:
    """A value that fits the schema of a whole answer; an object where it says nothing."""
    return _Maker(schema, dice, words).make(schema or {"type": "object"}, "", 0)


def value_for(schema: Mapping[str, Any], dice: Dice, words: Sequence[str]) -> dict[str, Any]:
    """An object that fits the schema of a tool's input."""
    made = _Maker(schema, dice, words).make(schema, "", 0)
    return made if isinstance(made, dict) else {}


class _Maker:
    def __init__(self, root: Mapping[str, Any], dice: Dice, words: Sequence[str]) -> None:
        self.root, self.dice, self.words = root, dice, words

    def make(self, schema: Any, name: str, depth: int) -> Any:
        """A value for the schema of the property `name`."""
        if not isinstance(schema, Mapping):
            return self.dice.pick(self.words)
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self.dice.pick(schema["enum"])
        for either in ("anyOf", "oneOf"):
            if schema.get(either):
                options = [option for option in schema[either] if self._type(self._resolved(option)) != "null"]
                rest = {key: value for key, value in schema.items() if key != either}
                chosen = options[0] if depth > _DEPTH or not options else self.dice.pick(options)
                return self.make(_merged(rest, self._resolved(chosen)), name, depth)
        kind = self._type(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind in ("integer", "number"):
            return self._number(schema, whole=kind == "integer")
        if kind == "boolean":
            return self.dice.roll() < 0.5
        if kind == "null":
            return None
        return self._string(schema, name)

    def _resolved(self, given: Any) -> Mapping[str, Any]:
        """The schema with `$ref` followed and `allOf` merged."""
        if not isinstance(given, Mapping):
            return {}
        schema: Mapping[str, Any] = given
        for _ in range(_DEPTH):
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                break
            target: Any = self.root
            for part in reference.removeprefix("#").strip("/").split("/"):
                target = target.get(part.replace("~1", "/").replace("~0", "~"), {}) if part else target
            schema = _merged({key: value for key, value in schema.items() if key != "$ref"}, target)
        if schema.get("allOf"):
            merged = {key: value for key, value in schema.items() if key != "allOf"}
            for part in schema["allOf"]:
                merged = _merged(merged, self._resolved(part))
            return merged
        return schema

    @staticmethod
    def _type(schema: Mapping[str, Any]) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((k for k in kind if k != "null"), "null")
        if isinstance(kind, str):
            return kind
        if "properties" in schema:
            return "object"
        return "array" if "items" in schema or "prefixItems" in schema else "string"

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """All required properties, and some of the others."""
        properties = schema.get("properties") or {}
        required = set(schema.get("required") or ())
        made: dict[str, Any] = {}
        for name, inner in properties.items():
            if name in required or (depth <= 1 and self.dice.roll() < 0.3):
                made[name] = self.make(inner, name, depth + 1)
        for name in sorted(required - set(properties)):
            made[name] = self.make(schema.get("additionalProperties"), name, depth + 1)
        return made

    def _array(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        fixed = [self.make(part, name, depth + 1) for part in schema.get("prefixItems") or ()]
        low = max(len(fixed), schema.get("minItems", 0 if depth > _DEPTH else 1))
        high = min(max(low, schema.get("maxItems", low + 1)), low + 2)
        wanted = low if depth > _DEPTH else self.dice.between(low, high)
        if schema.get("items") is False:
            return fixed
        made = fixed
        for _ in range(20 * wanted):  # a unique array may have to try again
            if len(made) >= wanted:
                break
            item = self.make(schema.get("items"), name.removesuffix("s"), depth + 1)
            if not schema.get("uniqueItems") or item not in made:
                made.append(item)
        return made

    def _number(self, schema: Mapping[str, Any], *, whole: bool) -> int | float:
        step = schema.get("multipleOf") or 1
        low, high = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        if above is not None and (low is None or above >= low):
            low = above + (step if whole or above + step < (below or high or above + step + 1) else 0)
        if below is not None and (high is None or below <= high):
            high = below - step if whole else below
        if low is None:
            low = 1 if high is None or high >= 1 else high - 100 * step
        if high is None:
            high = low + 100 * step
        if not whole and "multipleOf" not in schema:
            return round(low + self.dice.roll() * (high - low) * 0.99, 3) if high > low else low
        first, last = -(-low // step), high // step
        made = self.dice.between(int(first), int(max(first, last))) * step
        return int(made) if whole else made

    def _string(self, schema: Mapping[str, Any], name: str) -> str:
        if schema.get("pattern"):
            return example(schema["pattern"], self.dice)
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        word = self.dice.pick(self.words)
        if _COMMANDS.search(name):
            text = f"echo {word}"
        elif _URLS.search(name):
            text = f"https://example.com/{word}"
        elif _PATHS.search(name):
            text = f"sim-{word}.md"
        else:
            text = " ".join([word, *(self.dice.pick(self.words) for _ in range(self.dice.between(0, 3)))])
        low, high = schema.get("minLength", 0), schema.get("maxLength")
        while len(text) < low:
            text += " " + self.dice.pick(self.words)
        return text if high is None else text[:high]


def _merged(one: Mapping[str, Any], other: Any) -> dict[str, Any]:
    """Both schemas at once: properties and required names together, of the rest the second's word."""
    if not isinstance(other, Mapping):
        return dict(one)
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *(n for n in other["required"] if n not in one["required"])]
    return merged
