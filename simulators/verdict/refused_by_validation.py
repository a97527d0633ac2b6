"""The client sent what the provider's API does not accept: a malformed request, an unknown model, a broken history."""

from simulators.verdict._reading import Journal, Verdict

NO_FAULT = frozenset({401, 403})  # the key is the account's matter, not the request's


def look(journal: Journal) -> Verdict:
    if not journal.calls:
        return "not_checked", (), "no request was made"
    refused = [
        call
        for call in journal.calls
        if call.raw.get("answered_by") == "validation" and call.status not in NO_FAULT and not call.overflowed
    ]
    if not refused:
        return "ok", (), f"{len(journal.calls)} requests, all of them valid"
    first = refused[0]
    said = str(first.error.get("message") or "").strip()
    why = f"request {first.n} was refused with {first.status}" + (f": {said[:200]}" if said else "")
    return "bad", [call.n for call in refused], why + (f" (and {len(refused) - 1} more)" if len(refused) > 1 else "")
