"""`claw models`: what is known of models, and which of them can be asked here."""

import os
import sys
from typing import Annotated, Any

import typer

from claw.cli.home import home, load_config, told

app = typer.Typer(add_completion=False, rich_markup_mode=None)
COMMAND = "claw models"


@app.command()
def models(
    pattern: Annotated[str, typer.Argument(metavar="[TEXT]", help="only those whose name holds this")] = "",
    ready: Annotated[bool, typer.Option("--ready", help="only those of providers with a credential")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print them as a JSON array")] = False,
) -> None:
    """List the models by PROVIDER/MODEL: window and output in tokens, price in USD per million of them."""
    import msgspec

    with told(COMMAND):
        rows = [row for row in _rows() if pattern.lower() in row["model"].lower() and (row["ready"] or not ready)]
        if as_json:
            sys.stdout.write(msgspec.json.encode(rows).decode() + "\n")
            return
        if not rows:
            sys.stderr.write(f"{COMMAND}: no model matches; without arguments all are listed\n")
        for row in rows:
            mark = "*" if row["role"] == "primary" else "+" if row["role"] == "fallback" else " "
            price = f"{row['price']['input']:g} in, {row['price']['output']:g} out"
            sys.stdout.write(
                f"{mark} {row['model']:<40} {row['context_window']:>9,} window {row['max_output']:>8,} output  "
                f"{price:<22} {'ready' if row['ready'] else 'no credential'}\n"
            )


def _rows() -> list[dict[str, Any]]:
    """`{model, context_window, max_output, thinking, price, ready, role: primary | fallback | null}`, sorted."""
    import time

    import msgspec

    from claw.auth import load_keys
    from claw.host import HostFiles, HostModels
    from claw.runtime.failover import credentials, split

    config = load_config(home() / "config.toml")
    known = HostModels()
    keys = load_keys(HostFiles(), str(home() / "credentials.json"))
    roles = dict.fromkeys(config.model.fallbacks, "fallback") | {config.model.primary: "primary"}
    refs = {f"{provider}/{id}" for provider in ("anthropic", "openai", "gemini") for id in known.names(provider)}
    able: dict[str, bool] = {}
    rows = []
    for ref in sorted(refs | set(roles)):
        provider, model = split(ref)
        if provider not in able:
            able[provider] = bool(credentials(config, provider, os.environ, keys, now=time.time()))
        facts = known.get(provider, model)
        rows.append(
            {
                "model": ref,
                "context_window": facts.context_window,
                "max_output": facts.max_output,
                "thinking": facts.thinking,
                "price": msgspec.to_builtins(facts.price),
                "ready": able[provider] or provider.endswith("-cli"),
                "role": roles.get(ref),
            }
        )
    return rows
