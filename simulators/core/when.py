"""Conditions on a call: the `when:` of a rule, and the table that tells side calls."""

import re
from collections.abc import Callable
from fnmatch import translate

from simulators.core.account_file import WhenTable
from simulators.core.document import Document
from simulators.core.turn import ModelCall

Test = Callable[[ModelCall, int], bool]


class When:
    """A compiled condition: every key of it must fit."""

    def __init__(self, tests: dict[str, Test]) -> None:
        self._tests = tuple(tests.items())

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it looks at."""
        return tuple(key for key, _ in self._tests)

    def matches(self, call: ModelCall, n: int) -> bool:
        """Whether generation call `n` fits."""
        return all(test(call, n) for _, test in self._tests)

    def misses(self, call: ModelCall, n: int) -> list[str]:
        """The keys that do not fit, in the order of `keys`."""
        return [key for key, test in self._tests if not test(call, n)]


def compile_when(table: WhenTable, document: Document, at: str) -> When:
    """The working form of a `when:` that stands at `at`; a bad pattern is a `DocumentError` naming its place."""
    tests: dict[str, Test] = {}
    if table.call is not None:
        calls = frozenset([table.call] if isinstance(table.call, int) else table.call)
        tests["call"] = lambda _, n: n in calls
    if table.kind is not None:
        kind = table.kind
        tests["kind"] = (lambda c, _: c.kind != "main") if kind == "side" else (lambda c, _: c.kind == kind)
    if table.model is not None:
        tests["model"] = _glob(table.model, lambda c: c.model)
    if table.path is not None:
        tests["path"] = _glob(table.path, lambda c: c.path)
    if table.last_user is not None:
        tests["last_user"] = _search(table.last_user, lambda c: c.last_user, document, f"{at}.last_user")
    if table.system is not None:
        tests["system"] = _search(table.system, lambda c: c.system, document, f"{at}.system")
    if table.header is not None:
        tests["header"] = _header(table.header, document, f"{at}.header")
    if table.tool_result_for is not None:
        names = _pattern(translate(table.tool_result_for), document, f"{at}.tool_result_for")
        tests["tool_result_for"] = lambda c, _: any(names.match(name) for name in c.tool_results)
    if table.has_tools is not None:
        has_tools = table.has_tools
        tests["has_tools"] = lambda c, _: bool(c.tools) is has_tools
    if table.stream is not None:
        stream = table.stream
        tests["stream"] = lambda c, _: c.stream is stream
    return When(tests)


def _pattern(text: str, document: Document, at: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise document.error(at, f"not a regular expression: {error}") from None


def _glob(text: str, read: Callable[[ModelCall], str]) -> Test:
    pattern = re.compile(translate(text))
    return lambda call, _: pattern.match(read(call)) is not None


def _search(text: str, read: Callable[[ModelCall], str], document: Document, at: str) -> Test:
    pattern = _pattern(text, document, at)
    return lambda call, _: pattern.search(read(call)) is not None


def _header(wanted: str | dict[str, str], document: Document, at: str) -> Test:
    if isinstance(wanted, str):
        line = _pattern(wanted, document, at)
        return lambda call, _: any(line.search(f"{name}: {value}") for name, value in call.headers)
    patterns = {name.lower(): _pattern(text, document, f"{at}.{name}") for name, text in wanted.items()}

    def test(call: ModelCall, _: int) -> bool:
        return all(
            any(name == key and pattern.search(value) for key, value in call.headers)
            for name, pattern in patterns.items()
        )

    return test
