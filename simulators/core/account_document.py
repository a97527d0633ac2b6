"""The account document in working form: turns to answer with, rules compiled, faults armed.

`parse_account` takes what `account_file` has typed and checks what types cannot: patterns, kinds of faults and their
parameters, names of the error catalogue. Every mistake is a `DocumentError` with its place.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import msgspec

from simulators.core.account_file import (
    AccountFile,
    CacheRules,
    ErrorTable,
    Limits,
    ModelTable,
    On,
    Pacing,
    RawTable,
    TurnTable,
)  # fmt: skip
from simulators.core.document import Document, DocumentError, convert, join_path, load_yaml, nearest
from simulators.core.fault import ArmedFault, FaultKind
from simulators.core.turn import CallKind, Failure, ModelTurn
from simulators.core.when import When, compile_when

# What `error: {kind: …}` may say: the words for failures that a provider answers with.
ERROR_KINDS = (
    "rate_limited", "overloaded", "server_error", "context_overflow", "output_budget", "auth", "billing", "permission",
    "timeout", "bad_request", "poisoned_history", "model_not_found", "not_found", "request_too_large", "refused",
)  # fmt: skip
_FAILURE_TURN = ("thinking", "text", "tool_calls", "blocks", "stop", "stop_details", "output_tokens")


class Rule(msgspec.Struct, frozen=True):
    """An answer for every call that fits."""

    when: When
    reply: ModelTurn


class AccountDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a document says about one account. `ModelTurn.answered_by` holds `turns[2]` or `rules[0]`."""

    source: str = "<account>"
    responder: Literal["script", "persona", "echo", "cassette"] = "persona"
    cassette: str | None = None
    rules: tuple[Rule, ...] = ()
    turns: tuple[ModelTurn, ...] = ()
    otherwise: Literal["fail", "echo", "persona", "repeat"] = "fail"
    unused: Literal["fail", "allow"] = "fail"
    faults: tuple[ArmedFault, ...] = ()
    limits: Limits = Limits()
    models: Mapping[str, ModelTable] = {}
    cache: CacheRules = CacheRules()
    pacing: Pacing = Pacing()
    tokenizer: Literal["default", "chars4", "words"] = "default"
    kinds: tuple[tuple[CallKind, When], ...] = ()
    seed: int | None = None
    padding: bool = False  # Anthropic's streams carry spaces of random number before the end of each data line
    profile: str | None = None  # name of the compatible server that answers on OpenAI's paths


def parse_account(
    document: Document | Mapping[str, Any] | str | bytes,
    *,
    faults: Mapping[str, FaultKind],
    errors: Mapping[str, Failure] | None = None,
    profiles: Collection[str] | None = None,
    at: Sequence[str] = (),
) -> AccountDocument:
    """One account from a document, a mapping or YAML text.

    `faults` are the kinds that exist, `errors` the entries of the error catalogue by name, `profiles` the servers that
    OpenAI's paths may be (None: any name will do); `at` is where the account stands in a larger document:
    `("provider",)`, `("accounts", "main")`.
    """
    document = as_document(document)
    data = document.data
    for part in at:
        data = data[part]
    place = join_path("", at)
    file = convert(document, AccountFile, data={} if data is None else data, at=place)
    if profiles is not None and file.profile is not None and file.profile not in profiles:
        where = join_path(place, ["profile"])
        raise document.error(where, f"no profile `{file.profile}`", sorted(profiles), file.profile)
    return _Reader(document, faults, errors or {}, place).account(file)


def parse_accounts(
    document: Document | Mapping[str, Any] | str | bytes,
    *,
    faults: Mapping[str, FaultKind],
    errors: Mapping[str, Failure] | None = None,
    profiles: Collection[str] | None = None,
    at: Sequence[str] = (),
) -> dict[str | None, AccountDocument]:
    """Every account of a document: by name under `accounts:`, else the one account under None."""
    document = as_document(document)
    data = document.data
    for part in at:
        data = data[part]
    if not isinstance(data, Mapping) or "accounts" not in data:
        return {None: parse_account(document, faults=faults, errors=errors, profiles=profiles, at=at)}
    names, place = data["accounts"], join_path("", at)
    for key in data:
        if key != "accounts":
            where = join_path(place, [str(key)])
            raise document.error(where, "`accounts` stands alone; this key belongs into one of them")
    here = join_path(place, ["accounts"])
    if not isinstance(names, Mapping) or not names or not all(isinstance(name, str) and name for name in names):
        raise document.error(here, "expected a mapping of names (strings) to account documents")
    return {
        name: parse_account(document, faults=faults, errors=errors, profiles=profiles, at=(*at, "accounts", name))
        for name in names
    }


def parse_fault(
    document: Document, data: Mapping[str, Any], *, faults: Mapping[str, FaultKind], place: str
) -> ArmedFault:
    """One fault as it would stand under `faults:`; `place` is what journals and reports call it."""
    return _Reader(document, faults, {}, "").fault(data, "", place)


def as_document(document: Document | Mapping[str, Any] | str | bytes) -> Document:
    """A document from any form that an account is given in."""
    if isinstance(document, Document):
        return document
    if isinstance(document, str | bytes):
        return load_yaml(document, source="<account>")
    return Document(document, source="<account>")


class _Reader:
    """Turns the typed tables of one account into their working form."""

    def __init__(
        self, document: Document, faults: Mapping[str, FaultKind], errors: Mapping[str, Failure], at: str
    ) -> None:
        self.document, self.faults, self.errors = document, faults, errors
        self.prefix = f"{at}." if at else ""

    def account(self, file: AccountFile) -> AccountDocument:
        at = self.prefix
        responder = file.responder or (
            "script" if file.turns or file.rules else "cassette" if file.cassette else "persona"
        )
        if responder == "cassette" and file.cassette is None:
            raise self.document.error(f"{at}responder", "`responder: cassette` needs `cassette: FILE`")
        return AccountDocument(
            source=self.document.source,
            responder=responder,
            cassette=file.cassette,
            rules=tuple(
                Rule(
                    compile_when(rule.when, self.document, f"{at}rules[{i}].when"),
                    self.turn(rule.reply, f"{at}rules[{i}].reply", f"rules[{i}]"),
                )
                for i, rule in enumerate(file.rules)
            ),
            turns=tuple(self.turn(turn, f"{at}turns[{i}]", f"turns[{i}]") for i, turn in enumerate(file.turns)),
            otherwise=file.otherwise,
            unused=file.unused,
            faults=tuple(self.fault(fault, f"{at}faults[{i}]", f"faults[{i}]") for i, fault in enumerate(file.faults)),
            limits=file.limits,
            models=file.models,
            cache=file.cache,
            pacing=file.pacing,
            tokenizer=file.tokenizer,
            kinds=tuple(
                (kind, compile_when(table, self.document, f"{at}kinds.{kind}"))
                for kind, tables in file.kinds.items()
                for table in (tables if isinstance(tables, list) else [tables])
            ),
            seed=file.seed,
            padding=file.padding,
            profile=file.profile,
        )

    def turn(self, table: TurnTable, at: str, name: str) -> ModelTurn:
        """One answer; `name` is what the journal calls it."""
        if table.error is not None or table.raw is not None:
            said = [key for key in _FAILURE_TURN if getattr(table, key) not in (None, [])]
            said += ["raw"] if table.error is not None and table.raw is not None else []
            if said:
                word = "error" if table.error is not None else "raw"
                raise self.document.error(
                    f"{at}.{said[0]}", f"`{word}` answers alone: `{said[0]}` cannot stand beside it"
                )
        return ModelTurn(
            thinking=table.thinking,
            text=table.text,
            tool_calls=tuple(table.tool_calls),
            blocks=tuple(table.blocks),
            stop=table.stop,
            stop_details=table.stop_details,
            output_tokens=table.output_tokens,
            failure=None if table.error is None else self.failure(table.error, f"{at}.error", name),
            raw=None if table.raw is None else _raw(table.raw),
            answered_by=name,
            faults=() if table.fault is None else (self.fault(table.fault, f"{at}.fault", f"{name}.fault"),),
        )

    def failure(self, table: ErrorTable, at: str, name: str) -> Failure:
        """A refusal by kind, by catalogue entry or raw."""
        headers = tuple((key.lower(), str(value)) for key, value in table.headers.items())
        body = None if table.body is None else _bytes(table.body)
        if table.like is not None:
            entry = self.errors.get(table.like)
            if entry is None:
                raise self.document.error(f"{at}.like", f"no such error `{table.like}`", self.errors, table.like)
            changed: dict[str, Any] = {"answered_by": name, "headers": entry.headers + headers}
            changed |= {} if table.retry_after is None else {"retry_after": table.retry_after}
            changed |= {} if table.status is None else {"status": table.status}
            return msgspec.structs.replace(entry, **changed)
        if table.kind is not None and table.kind not in ERROR_KINDS:
            raise self.document.error(f"{at}.kind", f"no kind of error `{table.kind}`", ERROR_KINDS, table.kind)
        if table.kind is None and table.status is None:
            raise self.document.error(at, "an error needs `kind`, `like` or `status`")
        return Failure(
            kind=table.kind or "raw",
            message=table.message,
            status=table.status,
            headers=headers,
            body=body if body is not None or table.kind is not None else b"",
            retry_after=table.retry_after,
            answered_by=name,
            details=table.details,
        )

    def fault(self, data: Mapping[str, Any], at: str, name: str) -> ArmedFault:
        """A fault of a known kind with its own parameters."""
        kind = data.get("kind")
        if not isinstance(kind, str):
            raise self.document.error(at, "a fault needs `kind`, a string")
        found = self.faults.get(kind)
        if found is None:
            raise self.document.error(join_path(at, ["kind"]), f"no kind of fault `{kind}`", self.faults, kind)
        on = convert(self.document, On, data={} if data.get("on") is None else data["on"], at=join_path(at, ["on"]))
        rest = {key: value for key, value in data.items() if key not in ("kind", "on")}
        try:
            params = convert(self.document, found.Params, data=rest, at=at)
        except DocumentError as error:
            if error.did_you_mean is None and error.message.startswith("unknown key"):
                error.did_you_mean = nearest(error.path.rpartition(".")[2], ("kind", "on"))
            raise
        return ArmedFault(kind=found, params=params, on=on, place=name)


def _bytes(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)


def _raw(table: RawTable) -> dict[str, Any]:
    headers = tuple((key.lower(), str(value)) for key, value in table.headers.items())
    return {"status": table.status, "headers": headers, "body": _bytes(table.body)}
