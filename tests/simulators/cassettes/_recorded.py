"""The recordings of real providers, where they lie beside the project; tests that read them skip and say so."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("CLAW_RECORDED", Path(__file__).parents[4] / "shared" / "recorded"))


def recordings() -> list[Path]:
    return sorted(FOLDER.glob("*/*.yaml"))


def some(step: int = 9) -> list[Path]:
    """Every `step`th of them, for checks that take long."""
    return recordings()[::step]


needs_recordings = pytest.mark.skipif(not recordings(), reason=f"no recordings of real providers in {FOLDER}")
