"""Changing a scenario: the variants of its matrix, and the patch of a known-bad."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from claw.lab.schema import Scenario


def to_data(scenario: Scenario) -> dict[str, Any]:
    """The scenario as plain values, in the shape of its file."""
    data: dict[str, Any] = msgspec.to_builtins(scenario)
    return data


def merge(base: Any, patch: Any) -> Any:
    """Mappings merge, null removes, everything else replaces (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(base) if isinstance(base, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def variants(matrix: Mapping[str, list[Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, patch) of every combination; one without a name when there is no matrix.

    A plain name is a setting of `given.runtime`; a dotted one is a path into the scenario.
    """
    for values in itertools.product(*matrix.values()):
        chosen = dict(zip(matrix, values, strict=True))
        patch: dict[str, Any] = {}
        for name, value in chosen.items():
            path = name.split(".") if "." in name else ["given", "runtime", name]
            patch = merge(patch, _nested(path, value))
        yield " ".join(f"{name}={_word(value)}" for name, value in chosen.items()), patch


def _nested(path: list[str], value: Any) -> dict[str, Any]:
    for part in reversed(path):
        value = {part: value}
    made: dict[str, Any] = value
    return made


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
