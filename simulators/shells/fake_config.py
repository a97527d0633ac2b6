"""What a fake started as a program is told: its document, the release it plays, who answers it."""

import os
from collections.abc import Mapping
from typing import Any

from simulators.cli.config import parse_config
from simulators.cli.start import BASE_URLS, VENDORS, FakePlan
from simulators.core.document import DocumentError, load_yaml
from simulators.shells.alone import alone_provider, check_provider
from simulators.shells.answers import Provider
from simulators.shells.program import RealClock


class Problem(Exception):
    """The document cannot be used; `str()` names the place and what would be right."""


def open_document(document: str, *, name: str, env: Mapping[str, str], pinned: str) -> FakePlan:
    """Read `CLAW_FAKE_CONFIG` (a path or the document itself; "" for none). Raises `Problem`.

    `answer` is http when the CLI's base-URL variable is set and the document does not say otherwise, else alone: then
    the fake has a simulator of its own with the document's `provider`, whose script begins anew in every run. A CLI
    without such a variable (codex) asks the provider of its own configuration, and itself instead of the vendor.
    """
    try:
        read = load_yaml(_text(document), source=_source(document))
        config = parse_config(read)
        home = env.get("HOME", "/root")
        run = _count_run(home, name) if config.misbehave else 1
        answer = config.answer or ("http" if env.get(BASE_URLS.get(name, "")) else "alone")
        if config.provider is not None:
            check_provider(read)
    except DocumentError as error:
        raise Problem(str(error)) from None
    ways = [way for way in config.misbehave if way.active(run)]
    version = config.version_of(name, pinned or None)
    alone = None if answer == "http" else lambda: _own(config.provider)
    vendor = None if config.answer == "alone" else VENDORS.get(name)
    return FakePlan(version, config.auto_compact_window, ways, alone, vendor)


def _source(document: str) -> str:
    return "CLAW_FAKE_CONFIG" if document.lstrip().startswith("{") or not document else document


def _text(document: str) -> str:
    if not document or document.lstrip().startswith("{"):
        return document
    try:
        with open(document, encoding="utf-8-sig") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"CLAW_FAKE_CONFIG: {document}: {error}") from None


def _own(document: Mapping[str, Any] | None) -> Provider:
    return alone_provider(document, clock=RealClock(), seed=0)


def _count_run(home: str, name: str) -> int:
    """How often a fake was started with this home, this time included: each run makes a file one byte longer."""
    folder = f"{home}/.claude"
    try:
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/.fake-{name}-runs", "ab") as file:
            file.write(b".")
            return file.tell()
    except OSError:
        return 1
