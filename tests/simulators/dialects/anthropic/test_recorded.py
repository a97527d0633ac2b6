"""Real answers judge: what the provider took is taken, what it refused is refused in the same way."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
import yaml

from simulators.core.models import catalogue
from simulators.core.turn import Refused
from simulators.core.wire import Request
from simulators.dialects.anthropic import DIALECT
from tests.simulators.dialects.anthropic.asking import STAMP

FOLDER = Path(__file__).parents[4] / "../shared/recorded/anthropic"


def recordings() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(FOLDER.glob("*.yaml")):
        document = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for number, exchange in enumerate(document["interactions"]):
            yield f"{path.stem}[{number}]", exchange


def replay(exchange: dict[str, Any]) -> tuple[int, Any]:
    """Status and error of our answer to a recorded request; (200, None) if it is taken."""
    asked = exchange["request"]
    target = urlsplit(asked["uri"])
    body = json.dumps(asked["parsed_body"]) if asked.get("parsed_body") else asked.get("body") or ""
    request = Request(
        method=asked["method"], path=target.path, query=tuple(parse_qsl(target.query)), body=body.encode()
    )
    operation = DIALECT.route(request)
    assert operation is not None, asked["uri"]
    try:
        DIALECT.parse(request, operation, catalogue())
    except Refused as refused:
        status, _, raw = DIALECT.encode_failure(refused.failure, STAMP)
        return status, msgspec.json.decode(raw)["error"]
    return 200, None


def test_every_recorded_request_is_answered_as_the_provider_did(capsys: pytest.CaptureFixture[str]) -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"recordings of real answers are not here ({FOLDER}): nothing was judged")
    wrong, taken, refused = [], 0, 0
    for name, exchange in recordings():
        status = exchange["response"]["status"]["code"]
        body = exchange["response"].get("parsed_body") or {}
        got = replay(exchange)
        if got != (status, body.get("error")):
            wrong.append(f"{name}: {status} {body.get('error')}, we say {got}")
        taken, refused = taken + (status < 400), refused + (status >= 400)
    with capsys.disabled():
        print(f" [{taken} accepted and {refused} refused requests judged]", end="")
    assert wrong == []
    assert taken > 50
    assert refused > 0
