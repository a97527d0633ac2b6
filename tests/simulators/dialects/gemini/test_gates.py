"""What each family of models does."""

import pytest

from simulators.core.models import catalogue
from simulators.core.turn import ModelInfo
from simulators.dialects.gemini.gates import gates


@pytest.mark.parametrize(
    ("name", "version", "signatures", "missing", "ids"),
    [
        ("gemini-3.8-flash", (3, 8), "required", "refused", True),
        ("gemini-3.5-flash-lite", (3, 5), "required", "refused", True),
        ("gemini-3.1-pro-preview", (3, 1), "required", "finish", True),
        ("gemini-3-flash-preview", (3, 0), "required", "finish", True),
        ("gemini-2.5-pro", (2, 5), "given", "refused", False),
        ("gemini-2.0-flash", (2, 0), "none", "refused", False),
        ("gemini-1.5-flash", (1, 5), "none", "refused", False),
        ("sim-any", (3, 8), "required", "refused", True),
    ],
)
def test_families(name: str, version: tuple[int, int], signatures: str, missing: str, ids: bool) -> None:
    can = gates(catalogue()[name])
    assert (can.version, can.signatures, can.missing, can.call_ids) == (version, signatures, missing, ids)


def test_every_model_of_the_catalogue_has_a_family_of_its_own_age() -> None:
    models = catalogue().served_by("gemini")
    assert len(models) > 10
    for name, info in models.items():
        assert name.startswith(f"gemini-{gates(info).version[0]}")


def test_an_accounts_features_come_first() -> None:
    info = ModelInfo(
        id="gemini-3.8-flash", provider="gemini", context_window=10, max_output=5, features={"signatures": "none"}
    )
    assert gates(info).signatures == "none"
    assert gates(info).call_ids
