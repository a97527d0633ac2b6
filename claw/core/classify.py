"""Tells why a call failed, from what the other side answered. The only place that reads error texts.

Order: false friends → provider table → structured code → body text → status. Everything vendor-specific is data in
`claw.core.failure_tables`. Only errors come here, never a model's prose: a sentence about billing is no billing error.
"""

import re
from ast import literal_eval
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from claw.core import failure_tables as tables
from claw.core.errors import FailureKind as Kind
from claw.core.errors import ProviderFailure
from claw.core.retry_after import lower_headers, retry_after
from claw.core.secrets import redact, redact_all
from claw.core.thinking import offered

# Asking for less output is the remedy where this much room is left (tokens, or this part of a small window), or where
# no more than this is missing.
USEFUL_OUTPUT, USEFUL_PART, NEARLY_FITS = 4096, 0.1, 1024
LONGEST_REPR = 20_000  # characters
_PASSING = {Kind.RATE_LIMITED, Kind.OVERLOADED, Kind.SERVER_ERROR, Kind.TIMEOUT}  # kinds that a retry may get past
_KEPT_HEADERS = ("request-id", "x-request-id", "retry-after", "retry-after-ms", "x-should-retry", "content-type")
_LEADING_STATUS = re.compile(
    r"^(?:(?:api error|http(?: error)?|error(?: code)?|status(?: code)?|unexpected status)[ :=]{0,3})*"
    r"([345]\d\d)\b(?! tokens)"
)


def classify(
    provider: str | None,
    status: int | None,
    headers: Mapping[str, str] | None,
    body: Any,
    *,
    in_stream: bool = False,
    now: float | None = None,
) -> ProviderFailure:
    """Classify one failed call.

    `body` is text, bytes or decoded JSON; `status` None or a 2xx with `in_stream` means that the failure came inside a
    stream or from a process. `now` (Unix seconds) is needed for a `retry-after` that is a date, unless the answer has
    its own `date` header. Never raises.
    """
    answer = _read(body)
    fields = lower_headers(headers)
    if status is None or status < 300:
        found = _LEADING_STATUS.match(answer.text)
        status = int(found[1]) if found else _told_status(answer) or status
    kind = _kind((provider or "").lower(), status, answer, in_stream)
    tokens = limit = asked = None
    if kind in (Kind.CONTEXT_OVERFLOW, Kind.OUTPUT_BUDGET):
        kind, tokens, limit, asked = _sizes(kind, answer.text)
    wait = retry_after(fields, answer.tree, answer.text, now=now)
    hopeless = _hopeless(kind, answer, told=wait is not None)
    hopeless = hopeless or (kind in _PASSING and fields.get("x-should-retry") == "false")
    return ProviderFailure(
        kind=kind,
        message=redact(answer.message[:600]) or _wordless(status, fields),
        status=status,
        retry_after=wait,
        tokens=tokens,
        limit=limit,
        asked=asked,
        hopeless=hopeless,
        levels=offered(answer.text) if kind is Kind.BAD_REQUEST else (),
        raw={
            "status": status,
            "headers": {name: fields[name] for name in _KEPT_HEADERS if name in fields},
            "body": redact_all(answer.tree if answer.tree is not None else answer.message),
        },
    )


def _told_status(answer: "Answer") -> int | None:
    """The status that an error inside a stream gives as its code, as gateways and Google do."""
    return next((int(code) for code in answer.codes if re.fullmatch(r"[45]\d\d", code)), None)


def _wordless(status: int | None, headers: Mapping[str, str]) -> str:
    where = f", to {headers['location']}" if "location" in headers else ""
    return f"HTTP {status} without a word{where}" if status else ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An error answer, taken apart."""

    tree: Any  # the decoded JSON, or None
    message: str  # the vendor's sentence, as it came
    text: str  # every sentence in it, lower case, one space between words
    codes: tuple[str, ...]  # every machine-readable code, lower case, "-" as "_"
    base_resp: int | None = None
    html: bool = False


def _read(body: Any) -> Answer:
    if isinstance(body, bytes | bytearray):
        body = bytes(body).decode("utf-8", "replace")
    if isinstance(body, str):
        start, tree = _embedded_json(body)
        plain = body[:start]
    else:
        plain, tree = "", body
    if not isinstance(tree, dict | list):
        html = bool(re.match(r"\s*<(?:!doctype html|html|head|\?xml)", plain, re.IGNORECASE))
        return Answer(tree=None, message=plain.strip(), text=_flat(plain), codes=(), html=html)
    messages: list[str] = []
    codes: list[str] = []
    _walk(tree, messages, codes, 0)
    base = tree.get("base_resp") if isinstance(tree, dict) else None
    base_code = base.get("status_code") if isinstance(base, dict) else None
    return Answer(
        tree=tree,
        message=messages[0] if messages else plain.strip(),
        text=_flat(" ".join([plain, *messages])),
        codes=tuple(dict.fromkeys(codes)),
        base_resp=base_code if isinstance(base_code, int) else None,
    )


def _embedded_json(text: str) -> tuple[int, Any]:
    """Where the JSON of a body starts, and its object or list of objects; words may precede it (`API Error: 400 {…}`).

    The end of the text and None if there is none. Brackets around numbers are part of a sentence.
    """
    for start in sorted(at for at in (text.find("{"), text.find("[")) if at >= 0):
        value = _decoded(text[start:].strip())
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            return start, value
    return len(text), None


def _decoded(text: str) -> Any:
    """JSON, or the `repr` of it that the SDKs for Python put into their messages."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        pass
    if not text.startswith(("{'", "[{'")) or len(text) > LONGEST_REPR:
        return None
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


_MESSAGE_KEYS = ("message", "msg", "error_description", "status_msg", "detail", "details", "raw", "reason")
_CODE_KEYS = ("type", "code", "status", "__type", "error_code", "reason", "error_type", "name")
_NESTED_KEYS = (
    "error",
    "errors",
    "cause",
    "details",
    "detail",
    "metadata",
    "response",
    "base_resp",
    "raw",
    "incomplete_details",
    "innererror",
)


def _walk(node: Any, messages: list[str], codes: list[str], depth: int) -> None:
    """Collects sentences and codes of an error object, outermost first. Deeper than 25 levels nothing is looked at."""
    if depth > 25:
        return
    if isinstance(node, list):
        for item in node[:20]:
            _walk(item, messages, codes, depth + 1)
        return
    if not isinstance(node, dict):
        return
    values = [node.get(key) for key in _CODE_KEYS]
    codes += [_code_name(str(v)) for v in values if isinstance(v, str | int) and not isinstance(v, bool)]
    messages += [v for key in _MESSAGE_KEYS if isinstance(v := node.get(key), str) and v]
    if isinstance(value := node.get("error"), str):
        messages.append(value)
    for key, value in node.items():
        if str(key).lower().endswith("exception") and isinstance(value, dict):  # a frame of an AWS event stream
            codes.append(_code_name(str(key)))
            _walk(value, messages, codes, depth + 1)
    for key in _NESTED_KEYS:
        value = node.get(key)
        _walk(
            _embedded_json(value)[1] if key == "raw" and isinstance(value, str) else value, messages, codes, depth + 1
        )


def _code_name(value: str) -> str:
    return value.rpartition("#")[2].lower().replace("-", "_").replace(" ", "_")


def _flat(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split())


@cache
def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source)


def _has(source: str, text: str) -> bool:
    return bool(text) and _pattern(source).search(text) is not None


@cache
def _by_code(rows: tuple[tuple[Kind, str], ...]) -> dict[str, tuple[int, Kind]]:
    return {code: (rank, kind) for rank, (kind, names) in enumerate(rows) for code in names.split()}


def _code(rows: tuple[tuple[Kind, str], ...], codes: tuple[str, ...]) -> Kind | None:
    found = [row for code in codes if (row := _by_code(rows).get(code))]
    return min(found)[1] if found else None


def _kind(provider: str, status: int | None, answer: Answer, in_stream: bool) -> Kind:
    if answer.html:
        return _html(status)
    if (status is None or status < 300) and _full_window(answer.tree):
        return Kind.CONTEXT_OVERFLOW
    for kind, pattern in tables.FALSE_FRIENDS:
        if _has(pattern, answer.text):
            return kind
    for name, statuses, pattern, kind in tables.PROVIDER_RULES:
        fits = _has(pattern, answer.text) if pattern else not answer.text and not answer.codes
        if name in provider and (statuses is None or status in statuses) and fits:
            return kind
    if answer.base_resp in tables.BASE_RESP:
        return tables.BASE_RESP[answer.base_resp]
    strong = _code(tables.STRONG_CODES, answer.codes)
    # A rate limit's body may still say that the service is overloaded, or that money is what is short.
    if strong is not None and strong is not Kind.RATE_LIMITED:
        return strong
    return _by_text(status, answer.text, strong) or strong or _by_rest(status, answer, in_stream)


def _full_window(tree: Any) -> bool:
    """A Chat Completions answer that shows that its prompt did not fit: it says so, or it was cut before a word."""
    choices = tree.get("choices") if isinstance(tree, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    reason = first.get("finish_reason") if isinstance(first, dict) else None
    usage = tree.get("usage") if isinstance(tree, dict) else None
    silent = isinstance(usage, dict) and usage.get("completion_tokens") == 0
    return reason == "model_context_window_exceeded" or (reason == "length" and silent)


def _html(status: int | None) -> Kind:
    """A page instead of an answer comes from something between us and the provider."""
    if status is None or status < 400:
        return Kind.SERVER_ERROR
    return Kind.TRANSPORT if status in (401, 403, 404) else _of_status(status)


def _by_text(status: int | None, text: str, strong: Kind | None) -> Kind | None:
    """What the sentence says, as far as it can be trusted at this status. `strong`: a code already says rate limit."""
    if not text:
        return None
    rated = status == 429 or strong is not None or _has(tables.RATE_GUARD, text)
    if not rated:
        for pattern_kind, pattern in tables.TEXT_RULES:
            if _has(pattern, text):
                return pattern_kind
        for pattern in tables.OUTPUT_LIMIT:
            if _has(pattern, text):
                return Kind.OUTPUT_BUDGET
        if status not in (401, 402, 403) and _has(tables.OVERFLOW, text):
            return Kind.CONTEXT_OVERFLOW
    return _money_and_rates(status, text, strong) or _access(status, text) or _likely_overflow(status, text, rated)


def _money_and_rates(status: int | None, text: str, strong: Kind | None) -> Kind | None:
    short = len(text) <= tables.BILLING_LONGEST
    billing = _has(tables.BILLING_TEXT, text) and (short or _has(tables.BILLING_HARD, text))
    if status == 402 or _has(tables.BILLING_HARD, text):
        return Kind.RATE_LIMITED if _has(tables.LIMIT_THAT_REFILLS, text) and not billing else Kind.BILLING
    if billing and (_has(r"(?:daily|weekly|monthly).{0,20}limit", text) or (strong is None and status != 429)):
        return Kind.BILLING
    if strong is None and _has(tables.RATE_TEXT, text) and (status is None or status < 500):
        return Kind.RATE_LIMITED
    if _has(tables.OVERLOADED_TEXT, text):
        return Kind.OVERLOADED
    return None


def _access(status: int | None, text: str) -> Kind | None:
    if _has(tables.AUTH_TEXT, text):
        return Kind.AUTH
    loose = status is None or status < 300 or status in (401, 403, 410)
    return Kind.AUTH if loose and _has(tables.AUTH_LOOSE, text) else None


def _likely_overflow(status: int | None, text: str, rated: bool) -> Kind | None:
    open_to_it = status is None or status < 300 or status in (400, 413, 422)
    if rated or not open_to_it or _has(tables.RATE_TEXT, text):
        return None
    return Kind.CONTEXT_OVERFLOW if _has(tables.OVERFLOW_LIKELY, text) else None


def _by_rest(status: int | None, answer: Answer, in_stream: bool) -> Kind:
    weak = _code(tables.WEAK_CODES, answer.codes)
    if weak is not None and weak not in (Kind.SERVER_ERROR, Kind.BAD_REQUEST):
        return weak
    if status is not None and status >= 300:
        return _of_status(status)
    for kind, pattern in (
        (Kind.BAD_REQUEST, tables.BAD_REQUEST_TEXT),
        (Kind.TRANSPORT, tables.TRANSPORT_TEXT),
        (Kind.TIMEOUT, tables.TIMEOUT_TEXT),
        (Kind.SERVER_ERROR, tables.SERVER_TEXT),
    ):
        if _has(pattern, answer.text):
            return kind
    return weak or (Kind.SERVER_ERROR if in_stream else Kind.BAD_REQUEST)


def _of_status(status: int) -> Kind:
    if status < 400:
        return Kind.TRANSPORT
    return tables.STATUS.get(status, Kind.SERVER_ERROR if status >= 500 else Kind.BAD_REQUEST)


def _hopeless(kind: Kind, answer: Answer, *, told: bool) -> bool:
    if kind is Kind.TRANSPORT:
        return _has(tables.HOPELESS_TRANSPORT, answer.text)
    if kind not in (Kind.RATE_LIMITED, Kind.AUTH):
        return False
    quotas = _quota_ids(answer.tree)
    words = " ".join([answer.text, *answer.codes, *quotas])
    return _has(tables.HOPELESS, words) or (not told and _has(tables.HOPELESS_UNTOLD, words))


def _quota_ids(tree: Any) -> list[str]:
    """Google names the exhausted quota in `details[].violations[].quotaId`."""
    error = tree.get("error") if isinstance(tree, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    found = []
    for detail in details if isinstance(details, list) else []:
        violations = detail.get("violations") if isinstance(detail, dict) else None
        listed = violations if isinstance(violations, list) else []
        found += [str(violation.get("quotaId", "")).lower() for violation in listed if isinstance(violation, dict)]
    return found


def _sizes(kind: Kind, text: str) -> tuple[Kind, int | None, int | None, int | None]:
    """The numbers of an overflow (input, limit, output), and whether asking for less output would do."""
    if kind is Kind.OUTPUT_BUDGET:
        found = next(m for pattern in tables.OUTPUT_LIMIT if (m := _pattern(pattern).search(text)))
        return kind, 0, _number(found["m"]), _number(found.groupdict().get("out"))
    tokens = limit = out = None
    for pattern in tables.SIZES:
        if match := _pattern(pattern).search(text):
            sizes = match.groupdict()
            tokens, limit, out = (_number(sizes.get(name)) for name in ("n", "m", "out"))
            break
    parts = [_number(part) or 0 for part in _pattern(tables.INPUT_PARTS).findall(text)]
    outs = [_number(part) or 0 for match in _pattern(tables.OUTPUT_PARTS).findall(text) for part in match if part]
    tokens, out = (sum(parts) if parts else tokens), (outs[0] if outs else out)
    if limit is None or tokens is None or not out:
        # without sizes only Anthropic's sentence says which of the two is too large
        return (Kind.OUTPUT_BUDGET if "input length and `max_tokens` exceed" in text else kind), tokens, limit, out
    room = limit - tokens
    enough = room >= min(USEFUL_OUTPUT, limit * USEFUL_PART) or (room > 0 and out - room <= NEARLY_FITS)
    return (Kind.OUTPUT_BUDGET if enough else kind), tokens, limit, out


def _number(text: str | None) -> int | None:
    return int(text.replace(",", "")) if text else None
