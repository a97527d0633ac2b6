"""The control API under `/__sim__`: accounts are set up, read and moved in time over HTTP.

Bodies are YAML 1.2, of which JSON is a part; answers are JSON. Every refusal is
`{"ok": false, "error": {"path", "line", "message", "did_you_mean"}}`, where path and line are places in the body.
"""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pkgutil import get_data
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from simulators.core.answer import SimulatedAnswer
from simulators.core.document import Document, DocumentError, load_yaml
from simulators.core.journal import MAX_EXCHANGES, redact
from simulators.core.wire import Answer, Chunk, Head, Headers, Request
from simulators.shells.http import CONTROL

if TYPE_CHECKING:
    from simulators.shells.simulator import Simulator

_PAGE_HEADERS = (
    ("content-type", "text/html; charset=utf-8"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                                "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
)  # fmt: skip


class Refusal(Exception):
    """Leaves a call with this status and error."""

    def __init__(self, status: int, message: str, *, path: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"path": path, "line": line, "message": message, "did_you_mean": None}


class Control:
    """Answers what is asked under `/__sim__`; `simulator` is what it controls."""

    def __init__(self, simulator: "Simulator") -> None:
        self._simulator = simulator

    def handle(self, request: Request, target: bytes) -> Answer:
        """The answer to one request; `target` is its path as it was sent."""
        if target == f"{CONTROL}/".encode() and request.method in ("GET", "HEAD"):
            return _answer(200, get_data("simulators.shells", "inspector.html") or b"", _PAGE_HEADERS)
        try:
            status, made = 200, self._call(request, target)
        except Refusal as refusal:
            status, made = refusal.status, {"ok": False, "error": refusal.error}
        except DocumentError as error:
            status, made = 400, {"ok": False, "error": _of_document(error)}
        return _answer(status, msgspec.json.encode(made), (("content-type", "application/json"),))

    def _call(self, request: Request, target: bytes) -> Any:
        """The answer to one call, or a `Refusal`. Keys may hold any character, escaped: the path as sent is split."""
        if request.oversize:
            raise Refusal(413, "the body is too large")
        method = "GET" if request.method == "HEAD" else request.method
        raw = target.decode("latin-1").removeprefix(CONTROL)
        parts = [unquote(part) for part in raw.split("/")[1:]]
        query, body = dict(request.query), request.body
        match parts:
            case ["health"]:
                _only(method, "GET")
                return {"ok": True, "version": _version()}
            case ["clock"]:
                _only(method, "POST")
                return {"now": self._advance(body, None)}
            case ["accounts"]:
                _only(method, "GET")
                return {"accounts": self._overview()}
            case ["accounts", key] if key:
                return self._account(method, self._key(key, method), body)
            case ["accounts", key, "journal"] if key:
                _only(method, "GET")
                return self._existing(self._key(key, method)).journal.to_dict(_number(query.get("after", "0")))
            case ["accounts", key, "journal", n] if key:
                _only(method, "GET")
                return self._exchange(self._existing(self._key(key, method)), n)
            case ["accounts", key, "clock"] if key:
                _only(method, "POST")
                self._existing(key)
                return {"now": self._advance(body, key)}
        raise Refusal(
            404, f"the control API has no {CONTROL}{raw}; it has health, clock, accounts/KEY[/journal[/N]|/clock]"
        )

    def _account(self, method: str, key: str, body: bytes) -> Any:
        _only(method, "GET", "PUT", "DELETE")
        if method == "PUT":
            self._simulator.account(key, load_yaml(body, source="body"))
            return {"ok": True}
        account = self._existing(key)
        if method == "DELETE":
            self._simulator.engine.forget(key)
            return {"ok": True}
        return account.state(self._simulator.now(key))

    def _key(self, key: str, method: str) -> str:
        """The key that a handle of the overview stands for; only for reading, where no such key exists itself."""
        number = key.removeprefix("~")
        if method != "GET" or number == key or not number.isdecimal() or self._simulator.engine.find(key) is not None:
            return key
        keys = self._simulator.engine.keys()
        return keys[int(number) - 1] if 0 < int(number) <= len(keys) else key

    def _overview(self) -> list[dict[str, Any]]:
        """Every account by a handle (`~1`), as a page that lists them must not give keys away."""
        engine = self._simulator.engine
        found = []
        for n, key in enumerate(engine.keys(), 1):
            state = engine.account(key).state(self._simulator.now(key))
            requests, unmatched = state["totals"]["requests"], state["unmatched"]
            found.append({"handle": f"~{n}", "key": redact(key), "requests": requests, "unmatched": unmatched})
        return found

    def _existing(self, key: str) -> Any:
        account = self._simulator.engine.find(key)
        if account is None:
            raise Refusal(404, "there is no account of this key; PUT one, or let a client call with it")
        return account

    def _exchange(self, account: Any, n: str) -> Any:
        found = account.journal.find(_number(n))
        if found is None:
            raise Refusal(404, f"the journal has no exchange {n}; it keeps the latest {MAX_EXCHANGES}")
        return found.detail()

    def _advance(self, body: bytes, key: str | None) -> float:
        document = load_yaml(body, source="body")
        seconds = document.data.get("advance") if isinstance(document.data, Mapping) else None
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
            raise Refusal(400, "expected `advance`, a number of seconds ≥ 0", path="advance", line=_line(document))
        return self._simulator.advance(seconds, key)


def _only(method: str, *allowed: str) -> None:
    if method not in allowed:
        raise Refusal(405, f"this path takes {' and '.join(allowed)}, not {method}")


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Refusal(400, "expected `after`, the number of an exchange", path="after")


def _line(document: Document) -> int | None:
    return document.line("advance") if isinstance(document.data, Mapping) and "advance" in document.data else 1


def _of_document(error: DocumentError) -> dict[str, Any]:
    return {
        "path": error.path,
        "line": error.line,
        "message": error.message,
        "did_you_mean": error.did_you_mean,
    }


def _version() -> str:
    try:
        return version("clawlab")
    except PackageNotFoundError:  # run from a bare folder
        return "unknown"


def _answer(status: int, body: bytes, headers: Headers) -> Answer:
    head = Head(status, (*headers, ("content-length", str(len(body))), ("cache-control", "no-store")))
    return SimulatedAnswer((head, Chunk(body)))
