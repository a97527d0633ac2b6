"""The cassettes that are shipped: made by the simulators, sound, and what the simulators say today."""

from pathlib import Path

import pytest

from simulators.cassettes import compare, vcr
from simulators.shells.recorded_journal import replayed_otherwise
from simulators.shells.shipped import SHIPPED, recorded

FOLDER = Path(__file__).parents[3] / "cassettes"


def test_the_folder_has_these_and_no_other() -> None:
    assert sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.rglob("*.*")) == sorted(
        SHIPPED
    )


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_it_is_sound_and_up_to_date(name: str) -> None:
    file = FOLDER / f"{name}.yaml"
    cassette = vcr.read(file)
    assert cassette.origin == "simulated"
    assert compare.problems(cassette, file.read_bytes()) == []
    assert replayed_otherwise(cassette) == []
    assert vcr.dump(recorded(name)) == file.read_bytes(), "`make cassettes` records it anew"
