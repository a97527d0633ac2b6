"""Documents that people write: YAML 1.2 (JSON included) read into typed values, with errors that name the line.

Only the core schema of YAML 1.2 is known: `true` and `false` are the booleans, while `on`, `no`, `yes`, dates and
`1:30` stay strings. Duplicate keys are refused. Errors say file, line, path, what is wrong and the nearest right word.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import yaml

T = TypeVar("T")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STR, _INT, _FLOAT = "tag:yaml.org,2002:str", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_BOOL, _NULL = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"
_SEQ, _MAP = "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"
_WORDS = {
    "": _NULL, "~": _NULL, "null": _NULL, "Null": _NULL, "NULL": _NULL,
    "true": _BOOL, "True": _BOOL, "TRUE": _BOOL, "false": _BOOL, "False": _BOOL, "FALSE": _BOOL,
}  # fmt: skip
_INT_TEXT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT_TEXT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_NUMBER_START = frozenset("-+.0123456789")
_INDEX = re.compile(r"\[(\d+)\]")
_PATH_PART = re.compile(r"\[(\d+)\]|\[\.\.\.\]|\.?([^.\[\]]+)")


class DocumentError(ValueError):
    """What is wrong with a document, and where.

    `path` is like `faults[0].kind` ("" for the whole), `line` counts from 1 and is None where the document was never
    text; `did_you_mean` is the nearest word that would be right, or None.
    """

    def __init__(self, source: str, path: str, line: int | None, message: str, did_you_mean: str | None = None) -> None:
        self.source, self.path, self.line, self.message, self.did_you_mean = source, path, line, message, did_you_mean
        super().__init__(source, path, line, message, did_you_mean)

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        where = f"{place}: {self.path}: " if self.path else f"{place}: "
        hint = f"; did you mean `{self.did_you_mean}`?" if self.did_you_mean else ""
        return f"{where}{self.message}{hint}"


class Document:
    """A parsed document: `data` is plain dicts, lists and scalars; `source` names it in errors."""

    def __init__(self, data: Any, *, source: str, text: str | None = None) -> None:
        self.data, self.source, self.text = data, source, text

    def line(self, path: str) -> int | None:
        """The line (from 1) of a path such as `turns[2].text`, or of its nearest ancestor that exists.

        None if the document did not come from text. The text is composed again here, because only errors ask.
        """
        if self.text is None:
            return None
        try:
            node = _loader(self.text).get_single_node()
        except yaml.YAMLError:
            return None
        return _line_of(node, path) if node is not None else 1

    def error(self, path: str, message: str, words: Iterable[str] = (), wrong: str | None = None) -> DocumentError:
        """An error at `path`; `words` are what would be right, `wrong` the word that stands there."""
        return DocumentError(self.source, path, self.line(path), message, nearest(wrong, words) if wrong else None)


def nearest(wrong: str, words: Iterable[str]) -> str | None:
    """The most similar of `words`, or None if none is similar."""
    found = difflib.get_close_matches(wrong, list(words), n=1, cutoff=0.5)
    return found[0] if found else None


def _split_path(path: str) -> list[str | int]:
    """msgspec's `$.faults[0].kind` as `["faults", 0, "kind"]`; `[...]`, the unnamed key of a mapping, as -1."""
    path = path.removeprefix("$")
    return [m[2] if m[2] is not None else int(m[1] or -1) for m in _PATH_PART.finditer(path)]


def load_yaml(text: str | bytes, *, source: str) -> Document:
    """Read one YAML 1.2 document (or JSON). Raises `DocumentError` for bad syntax, duplicate keys, unknown tags."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DocumentError(source, "", 1, f"not UTF-8: {error.reason} at byte {error.start}") from None
    if text.lstrip()[:1] in ("{", "["):
        try:
            return Document(
                json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse), source=source, text=text
            )
        except (ValueError, RecursionError):
            pass  # flow-style YAML, or a mistake that the other reader words better
    try:
        node = _loader(text).get_single_node()
        data = _Builder(source).build(node, "") if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        raise DocumentError(source, "", mark.line + 1 if mark else None, f"not YAML: {said}") from None
    except yaml.YAMLError as error:
        raise DocumentError(source, "", None, f"not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise DocumentError(source, "", None, "nested too deeply") from None
    return Document(data, source=source, text=text)


def convert(document: Document, type: type[T], *, data: Any = ..., at: str = "") -> T:
    """The document's data (or a part of it that stands at `at`) as `type`, strictly.

    Raises `DocumentError` with the path, the line and the nearest right word.
    """
    value = document.data if data is ... else data
    try:
        return msgspec.convert(value, type, strict=True)
    except msgspec.ValidationError as error:
        raise _explain(document, value, type, at, str(error)) from None


_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.S)
_MISSING = re.compile(r"Object missing required field `(.*)`$", re.S)
_INVALID = re.compile(r"Invalid enum value (.*)$", re.S)


def _explain(document: Document, value: Any, type_: Any, at: str, message: str) -> DocumentError:
    """Turn msgspec's `… - at `$.path`` into an error with a line and a suggestion."""
    message, _, place = message.partition(" - at `")
    of_key = place.startswith("key` in `")
    place = place.removeprefix("key` in `").removesuffix("`")
    parts = _fill_in(value, type_, _split_path(place), message)
    path = join_path(at, parts)
    info = _info_at(msgspec.inspect.type_info(type_), parts)
    if of_key:
        return document.error(path, f"a key is wrong: {message[0].lower()}{message[1:]}")
    if unknown := _UNKNOWN.match(message):
        names = [f.encode_name for s in _structs(info) for f in s.fields]
        return document.error(join_path(path, [unknown[1]]), f"unknown key `{unknown[1]}`", names, unknown[1])
    if missing := _MISSING.match(message):
        return document.error(path, f"`{missing[1]}` is missing")
    if invalid := _INVALID.match(message):
        words = [str(w) for w in _literals(info)]
        wrong = invalid[1].strip("'\"")
        return document.error(path, f"`{wrong}` is none of {', '.join(words)}", words, wrong)
    return document.error(path, message[0].lower() + message[1:])


def join_path(base: str, parts: Sequence[str | int]) -> str:
    """`join_path("a", ["b", 0])` is `a.b[0]`."""
    for part in parts:
        if isinstance(part, int):
            base += f"[{part}]"
        else:
            base += f".{part}" if base else part
    return base


def _fill_in(value: Any, type_: Any, parts: list[str | int], message: str) -> list[str | int]:
    """msgspec writes `[...]` for a key of a mapping; find the key: the one that alone still gives the same error."""
    for i, part in enumerate(parts):
        if part != -1:
            continue
        holder = value
        for step in parts[:i]:
            holder = holder[step]
        if not isinstance(holder, Mapping):
            return parts[:i]
        for key in holder:
            try:
                msgspec.convert(_with_only(value, parts[:i], key), type_, strict=True)
            except msgspec.ValidationError as error:
                if str(error).startswith(message):
                    parts[i] = str(key)
                    break
        else:
            return parts[:i]
    return parts


def _with_only(value: Any, parts: Sequence[str | int], key: Any) -> Any:
    """A copy in which the mapping at `parts` has `key` alone."""
    if not parts:
        return {key: value[key]}
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    copy[parts[0]] = _with_only(value[parts[0]], parts[1:], key)
    return copy


def _info_at(info: Any, parts: Sequence[str | int]) -> Any:
    """The type information at a path, as far as it can be followed."""
    for part in parts:
        step = None
        for option in _options(info):
            if isinstance(option, msgspec.inspect.StructType):
                step = next((f.type for f in option.fields if f.encode_name == part), None)
            elif isinstance(option, msgspec.inspect.DictType):
                step = option.value_type
            elif isinstance(option, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
                step = option.item_type
            if step is not None:
                break
        if step is None:
            return None
        info = step
    return info


def _options(info: Any) -> Sequence[Any]:
    if isinstance(info, msgspec.inspect.Metadata):
        info = info.type
    return info.types if isinstance(info, msgspec.inspect.UnionType) else (info,)


def _structs(info: Any) -> list[Any]:
    return [o for o in _options(info) if isinstance(o, msgspec.inspect.StructType)]


def _literals(info: Any) -> list[Any]:
    found: list[Any] = []
    for option in _options(info):
        if isinstance(option, msgspec.inspect.LiteralType):
            found += option.values
        elif isinstance(option, msgspec.inspect.EnumType):
            found += [member.value for member in option.cls]
    return found


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("duplicate key")
    return made


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _resolve(self: Any, kind: Any, value: str, implicit: Any) -> str:
    """The tag of a node without one: the core schema, by look-up and two patterns."""
    if kind is not yaml.ScalarNode:
        return _SEQ if kind is yaml.SequenceNode else _MAP
    if not implicit[0]:
        return _STR
    tag = _WORDS.get(value)
    if tag is not None:
        return tag
    if value[0] in _NUMBER_START:
        if _INT_TEXT.fullmatch(value):
            return _INT
        if _FLOAT_TEXT.fullmatch(value):
            return _FLOAT
    return _STR


class _CoreLoader(_Loader):  # type: ignore[misc]
    resolve = _resolve


def _loader(text: str) -> Any:
    return _CoreLoader(text)


class _Builder:
    """Nodes to data. A node that an alias repeats is built once; one inside itself is refused."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.done: dict[int, Any] = {}

    def build(self, node: Any, path: str) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, path)
        known = self.done.get(id(node), self)
        if known is not self:
            if known is None:
                raise self.error(node, path, "an alias that contains itself")
            return known
        self.done[id(node)] = None
        made = self.mapping(node, path) if isinstance(node, yaml.MappingNode) else self.sequence(node, path)
        self.done[id(node)] = made
        return made

    def sequence(self, node: Any, path: str) -> list[Any]:
        if node.tag != _SEQ:
            raise self.error(node, path, f"unknown tag `{node.tag}`")
        return [self.build(item, f"{path}[{i}]") for i, item in enumerate(node.value)]

    def mapping(self, node: Any, path: str) -> dict[Any, Any]:
        if node.tag != _MAP:
            raise self.error(node, path, f"unknown tag `{node.tag}`")
        made: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self.error(key_node, path, "a key must be a scalar")
            key = key_node.value if key_node.tag == _STR else self.scalar(key_node, path)
            place = f"{path}.{key}" if path else str(key)
            if key in made:
                raise self.error(key_node, place, f"duplicate key `{key}`")
            made[key] = value_node.value if value_node.tag == _STR else self.build(value_node, place)
        return made

    def scalar(self, node: Any, path: str) -> Any:
        tag, text = node.tag, node.value
        if tag == _STR:
            return text
        try:
            if tag == _INT:
                return int(text, 8 if text[:2] == "0o" else 16 if text[:2] == "0x" else 10)
            if tag == _FLOAT:
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            raise self.error(node, path, f"`{text}` is not a number") from None
        if tag == _BOOL and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if tag == _NULL:
            return None
        raise self.error(node, path, f"unknown tag `{tag}`" if tag != _BOOL else f"`{text}` is not a boolean")

    def error(self, node: Any, path: str, message: str) -> DocumentError:
        return DocumentError(self.source, path, node.start_mark.line + 1, message)


def _line_of(node: Any, path: str) -> int:
    """Follow a written path; keys may hold dots, so the longest key that fits is taken."""
    line: int = node.start_mark.line + 1
    rest = path.removeprefix("$")
    while rest:
        rest = rest.removeprefix(".")
        step, used = None, 0
        if isinstance(node, yaml.MappingNode):
            for key_node, value_node in node.value:
                key = str(key_node.value)
                if len(key) >= used and rest.startswith(key) and rest[len(key) : len(key) + 1] in ("", ".", "["):
                    step, used, line = value_node, len(key), key_node.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and (index := _INDEX.match(rest)) and int(index[1]) < len(node.value):
            step, used = node.value[int(index[1])], index.end()
            line = step.start_mark.line + 1
        if step is None:
            break
        node, rest = step, rest[used:]
    return line
