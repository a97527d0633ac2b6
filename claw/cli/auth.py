"""`claw auth …`: the credentials there are, their order, which rest, and those that claw keeps."""

import os
import sys
from typing import Annotated, Any

import typer

from claw.cli.home import home, load_config, refuse, told

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Credentials.")
COMMAND = "claw auth"


@app.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="print them as a JSON array")] = False) -> None:
    """Every credential: id, provider, kind, where it comes from, and until when it rests. No secrets."""
    import msgspec

    with told(COMMAND):
        rows = _rows()
        if as_json:
            sys.stdout.write(msgspec.json.encode(rows).decode() + "\n")
            return
        if not rows:
            sys.stderr.write(
                f"{COMMAND}: none; set ANTHROPIC_API_KEY or another provider's variable, add [[profiles]] to "
                f"{home() / 'config.toml'}, or use `claw auth add`\n"
            )
        for row in rows:
            rests = "; ".join(
                f"{r['kind']} for {r['seconds']:.0f} s ({r['model'] or 'all models'})" for r in row["rests"]
            )
            state = f"rests: {rests}" if rests else row["state"]
            sys.stdout.write(f"{row['id']:<20} {row['provider']:<12} {row['type']:<8} {row['source']:<22} {state}\n")


@app.command()
def add(
    id: Annotated[str, typer.Argument(metavar="ID", help="a name for it, as work")],
    provider: Annotated[str, typer.Option(metavar="NAME", help="whose it is, as anthropic")],
    type: Annotated[str, typer.Option(help="api_key, token or oauth")] = "api_key",
    model: Annotated[str | None, typer.Option(help="use it for this model only")] = None,
) -> None:
    """Keep a credential, read from stdin: the key or token itself, or for oauth a JSON object
    {access_token, refresh_token, expires_at (Unix seconds), token_url, client_id}."""
    from claw.auth import Stored
    from claw.auth.keys import TYPES

    with told(COMMAND):
        kind = next((name for name in TYPES if name == type), None)
        if kind is None:
            refuse(COMMAND, f"--type {type}: should be one of {', '.join(TYPES)}")
        _known_provider(provider)
        if sys.stdin.isatty():
            sys.stderr.write(f"{COMMAND}: paste it, then Ctrl-D\n")
        given = sys.stdin.read().strip()
        if not given:
            refuse(COMMAND, "nothing came on stdin; as in `claw auth add work --provider anthropic < key.txt`")
        fields: dict[str, Any] = {"secret": given} if kind != "oauth" else _oauth(given)
        keys = _load()
        _save(keys.put(Stored(id=id, provider=provider, type=kind, model=model, **fields)))
        sys.stderr.write(f"{COMMAND}: `{id}` is kept in {home() / 'credentials.json'}\n")


@app.command()
def remove(id: Annotated[str, typer.Argument(metavar="ID", help="as `claw auth list` shows it")]) -> None:
    """Forget a credential that claw keeps."""
    with told(COMMAND):
        keys = _load()
        if keys.get(id) is None:
            kept = ", ".join(c.id for c in keys.credentials) or "none"
            refuse(COMMAND, f"`{id}` is not kept here; kept are: {kept}. Profiles of config.toml are changed there")
        _save(keys.without(id))


@app.command()
def order(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER")],
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID…", help="none: back to the usual order")] = None,
) -> None:
    """Say in which order the credentials of a provider are tried; those left out are not."""
    import msgspec

    with told(COMMAND):
        known = [row["id"] for row in _rows() if row["provider"] == provider]
        if wrong := [id for id in ids or () if id not in known]:
            refuse(COMMAND, f"`{wrong[0]}` is no credential of {provider}; known are: {', '.join(known) or 'none'}")
        keys = _load()
        others = {name: order for name, order in keys.order.items() if name != provider}
        _save(msgspec.structs.replace(keys, order=others | ({provider: tuple(ids)} if ids else {})))


@app.command()
def clear(id: Annotated[str, typer.Argument(metavar="ID", help="as `claw auth list` shows it")]) -> None:
    """End the rests of a credential: it is tried again at once."""
    from claw.auth import load, save
    from claw.host import HostFiles

    with told(COMMAND):
        path = str(home() / "auth.json")
        book = load(HostFiles(), path)
        after = book.cleared(id)
        if after.rests == book.rests:
            resting = ", ".join(sorted({r.profile for r in book.rests})) or "none"
            refuse(COMMAND, f"`{id}` does not rest; resting are: {resting}")
        save(HostFiles(), path, after)


def _rows() -> list[dict[str, Any]]:
    """One row a credential: id, provider, type, source, state, rests [{kind, model, seconds}]."""
    import time

    from claw.auth import load
    from claw.host import HostFiles
    from claw.runtime.failover import KEYS

    now = time.time()
    book = load(HostFiles(), str(home() / "auth.json"))
    rows: list[dict[str, Any]] = []

    def row(id: str, provider: str, type: str, source: str, state: str, *, booked: str | None = None) -> None:
        rests = [
            {"kind": r.kind.value, "model": r.model, "seconds": r.until - now}
            for r in book.rests
            if r.profile == (booked or id) and r.until > now
        ]
        rows.append({"id": id, "provider": provider, "type": type, "source": source, "state": state, "rests": rests})

    for profile in load_config(home() / "config.toml").profiles:
        missing = not profile.key and not (profile.key_env and os.environ.get(profile.key_env))
        source = f"config.toml, ${profile.key_env}" if profile.key_env else "config.toml"
        row(profile.id, profile.provider, "api_key", source, "no key" if missing else "ready")
    for stored in _load().credentials:
        row(stored.id, stored.provider, stored.type, "kept", "ready" if stored.usable(now) else "ended")
    for provider in sorted(KEYS):
        name = next((name for name in KEYS[provider] if os.environ.get(name)), None)
        if name and provider != "openai-chat" and not any(r["provider"] == provider for r in rows):
            row(f"${name}", provider, "api_key", "environment", "ready", booked=provider)
    return rows


def _oauth(text: str) -> dict[str, Any]:
    import msgspec

    try:
        given = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        refuse(COMMAND, f"the oauth credential is no JSON: {error}")
    if not isinstance(given, dict) or not given.get("refresh_token") or not given.get("token_url"):
        refuse(COMMAND, "an oauth credential needs at least refresh_token and token_url")
    return {
        "secret": str(given.get("access_token") or ""),
        "refresh": str(given["refresh_token"]),
        "expires": float(given.get("expires_at") or 1.0),  # unknown: renewed before it is used
        "token_url": str(given["token_url"]),
        "client_id": str(given.get("client_id") or ""),
    }


def _known_provider(name: str) -> None:
    from claw.providers import names

    if name in names() or name in load_config(home() / "config.toml").providers:
        return
    refuse(COMMAND, f"--provider {name}: there is none; known are {', '.join(names())}, and those of config.toml")


def _load() -> Any:
    from claw.auth import load_keys
    from claw.host import HostFiles

    return load_keys(HostFiles(), str(home() / "credentials.json"))


def _save(keys: Any) -> None:
    from claw.auth import save_keys
    from claw.host import HostFiles

    home().mkdir(parents=True, exist_ok=True, mode=0o700)
    path = home() / "credentials.json"
    if not path.exists():
        path.touch(mode=0o600)  # for its owner alone, before anything is in it
    save_keys(HostFiles(), str(path), keys)
