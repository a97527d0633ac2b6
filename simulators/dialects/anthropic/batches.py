"""Message batches: many requests at once, answered later for half the price, their results a line each.

A batch is worked off when it is first looked at after it was made, so that it can be cancelled before. Its requests are
ordinary generation calls of the account: they use up turns, read and write the cache, and stand in the journal. Fields
and paths: batch pages of the provider's documentation, types of the `anthropic` package 2.14.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from simulators.core.store import Desk, Served
from simulators.core.turn import ModelCall
from simulators.core.wire import Chunk, Request
from simulators.dialects.anthropic.catalogue import Page, read_page
from simulators.dialects.anthropic.checks import listing, mapping, string
from simulators.dialects.anthropic.failures import request_id
from simulators.dialects.anthropic.headers import rfc3339
from simulators.dialects.anthropic.refusal import refuse

PATH = "/v1/messages/batches"
_SHELF = "message_batches"
_DAY = 86_400.0
_KEPT = 29 * _DAY  # results
_MOST = 100_000  # requests
_PRICE = 0.5
_encode = msgspec.json.Encoder().encode


class Wanted(msgspec.Struct, frozen=True):
    """What is asked of batches: `create`, `list`, `show`, `delete`, `cancel` or `results`; where results are found."""

    action: str
    id: str = ""
    page: Page = Page()
    base: str = ""


class Batch(msgspec.Struct, kw_only=True):
    """A batch as it is kept."""

    id: str
    created: float
    requests: list[tuple[str, bytes]]  # custom_id, params
    results: list[dict[str, Any]] | None = None
    ended: float | None = None
    cancelled: float | None = None


def read(request: Request) -> Wanted:
    """What a request to a path below `PATH` asks for."""
    rest = [part for part in request.path.removeprefix(PATH).split("/") if part]
    method, base = request.method, _base(request)
    if not rest and method in ("POST", "GET"):
        return Wanted("create" if method == "POST" else "list", page=read_page(request.query), base=base)
    if len(rest) == 1 and method in ("GET", "DELETE"):
        return Wanted("show" if method == "GET" else "delete", rest[0], base=base)
    if len(rest) != 2 or (method, rest[1]) not in (("POST", "cancel"), ("GET", "results")):
        refuse("Not found", kind="not_found")
    return Wanted(rest[1], rest[0], base=base)


def _base(request: Request) -> str:
    """The address that the client used; one with a port or on loopback is no TLS address."""
    host = request.header("host") or "api.anthropic.com"
    return f"{'http' if ':' in host or host in ('localhost', 'testserver') else 'https'}://{host}"


def check(body: Any) -> None:
    """Refuse what is no list of requests. What is wrong inside one of them is told by its result."""
    if type(body) is not dict:
        refuse("Input should be a valid dictionary or object to extract fields from")
    if "requests" not in body:
        refuse("requests: Field required")
    for name in body:
        if name != "requests":
            refuse(f"{name}: Extra inputs are not permitted")
    requests = body["requests"]
    listing(mapping, at_most=_MOST)(requests, "requests")
    if not requests:
        refuse("requests: List should have at least 1 item after validation, not 0")
    seen: set[str] = set()
    for index, one in enumerate(requests):
        for name in ("custom_id", "params"):
            if name not in one:
                refuse(f"requests.{index}.{name}: Field required")
        string(one["custom_id"], f"requests.{index}.custom_id")
        if not 1 <= len(one["custom_id"]) <= 64:
            refuse(f"requests.{index}.custom_id: String should have 1 to 64 characters")
        mapping(one["params"], f"requests.{index}.params")
        if one["custom_id"] in seen:
            refuse(f"requests.{index}.custom_id: must be unique within the batch")
        seen.add(one["custom_id"])


def serve(call: ModelCall, desk: Desk) -> Served:
    """Make, show, list, cancel or delete batches, or hand out results."""
    wanted: Wanted = call.private
    if wanted.action == "create":
        batch = _create(call.body, desk)
        return _served(describe(batch, desk.now, wanted.base))
    if wanted.action == "list":
        return _served(_listed(desk, wanted))
    batch = _find(desk, wanted.id)
    if wanted.action == "cancel":
        if batch.results is None:
            batch.cancelled = desk.now
            batch.results = [{"custom_id": name, "result": {"type": "canceled"}} for name, _ in batch.requests]
            shown = describe(batch, desk.now, wanted.base)  # as it is just now; the next look finds it ended
            batch.ended = desk.now
            return _served(shown)
        return _served(describe(batch, desk.now, wanted.base))
    work(batch, desk)
    if wanted.action == "delete":
        desk.store.drop(_SHELF, batch.id, desk.now)
        return _served({"id": batch.id, "type": "message_batch_deleted"})
    if wanted.action == "results":
        if desk.now >= batch.created + _KEPT:
            refuse(f"{batch.id}: the results are no longer available", kind="not_found")
        lines = [_encode(result) + b"\n" for result in batch.results or ()]
        return Served(chunks=[Chunk(b"".join(lines))], headers=(("content-type", "application/x-jsonl"),))
    return _served(describe(batch, desk.now, wanted.base))


def _served(body: Any) -> Served:
    return Served(chunks=[Chunk(_encode(body))])


def _create(body: Mapping[str, Any], desk: Desk) -> Batch:
    requests = [(one["custom_id"], _encode(one["params"])) for one in body["requests"]]
    batch = Batch(id=f"msgbatch_01{desk.stamp.message_id}", created=desk.now, requests=requests)
    desk.store.put(_SHELF, batch.id, batch)
    return batch


def _find(desk: Desk, name: str) -> Batch:
    batch = desk.store.get(_SHELF, name, desk.now)
    if not isinstance(batch, Batch):
        refuse(f"message_batch: {name}", kind="not_found")
    return batch


def work(batch: Batch, desk: Desk) -> None:
    """Answer the requests of a batch, if that has not been done."""
    if batch.results is not None:
        return
    batch.results = [_result(name, params, desk) for name, params in batch.requests]
    batch.ended = desk.now


def _result(name: str, params: bytes, desk: Desk) -> dict[str, Any]:
    asked: dict[str, Any] = msgspec.json.decode(params)
    for field, bad in (("stream", bool(asked.get("stream"))), ("max_tokens", asked.get("max_tokens") == 0)):
        if bad:
            message = f"{field}: this value is not supported in a batch"
            return _errored(name, _refused(message, request_id(desk.stamp)))
    status, body, cost = desk.ask("/v1/messages", params)
    desk.charge(-cost * (1 - _PRICE))
    answer: dict[str, Any] = msgspec.json.decode(body)
    if status != 200:
        return _errored(name, answer)
    answer["usage"]["service_tier"] = "batch"
    return {"custom_id": name, "result": {"type": "succeeded", "message": answer}}


def _refused(message: str, request: str) -> dict[str, Any]:
    error = {"type": "invalid_request_error", "message": message}
    return {"type": "error", "error": error, "request_id": request}


def _errored(name: str, envelope: dict[str, Any]) -> dict[str, Any]:
    return {"custom_id": name, "result": {"type": "errored", "error": envelope}}


def _listed(desk: Desk, wanted: Wanted) -> dict[str, Any]:
    """One page, the newest first."""
    page = wanted.page
    batches: Sequence[Batch] = [one for _, one in desk.store.items(_SHELF, desk.now)][::-1]
    ids = [batch.id for batch in batches]
    if page.before_id in ids:
        batches = batches[: ids.index(page.before_id)]
        more, batches = len(batches) > page.limit, batches[-page.limit :]
    else:
        if page.after_id in ids:
            batches = batches[ids.index(page.after_id) + 1 :]
        more, batches = len(batches) > page.limit, batches[: page.limit]
    for batch in batches:
        work(batch, desk)
    data = [describe(batch, desk.now, wanted.base) for batch in batches]
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"data": data, "has_more": more, "first_id": first, "last_id": last}


def describe(batch: Batch, now: float, base: str) -> dict[str, Any]:
    """A batch as the API shows it."""
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    if batch.ended is None:
        counts["processing"] = len(batch.requests)
    else:
        for one in batch.results or ():
            counts[one["result"]["type"]] += 1
    over = now >= batch.created + _KEPT
    status = "ended" if batch.ended is not None else "canceling" if batch.cancelled is not None else "in_progress"
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": counts,
        "created_at": rfc3339(batch.created),
        "expires_at": rfc3339(batch.created + _DAY),
        "ended_at": None if batch.ended is None else rfc3339(batch.ended),
        "archived_at": rfc3339(batch.created + _KEPT) if over else None,
        "cancel_initiated_at": None if batch.cancelled is None else rfc3339(batch.cancelled),
        "results_url": f"{base}{PATH}/{batch.id}/results" if status == "ended" and not over else None,
    }
