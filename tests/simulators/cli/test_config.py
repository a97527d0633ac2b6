"""The document of the fakes: mistakes are named by place, with the nearest right word."""

import pytest

from simulators.cli.config import parse_config
from simulators.core.document import DocumentError

MISTAKES = {
    "version: {clade: 2.1.19}": "claude.yaml:1: version.clade: there is no fake of `clade`; did you mean `claude`?",
    "version:\n  claude: 2.1.20": "claude.yaml:2: version.claude: version `2.1.20` of claude is not known",
    "misbehave:\n- {kind: hangs}": "claude.yaml:2: misbehave[0].kind: `hangs` is none of",
    "misbehave: [{kind: die, on: {runs: 2}}]": "misbehave[0].on.runs: unknown key `runs`; did you mean `run`?",
    "auto_compact_window: -1": "claude.yaml:1: auto_compact_window",
    "answer: httq": "`httq` is none of alone, http; did you mean `http`?",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named_by_place(text: str) -> None:
    with pytest.raises(DocumentError) as error:
        parse_config(text, source="claude.yaml")
    assert MISTAKES[text] in str(error.value)


def test_an_empty_document_plays_the_newest_release() -> None:
    assert parse_config("").version_of("claude") == "2.1.332"
    assert parse_config("version: {claude: 2.1.19}").version_of("claude", "2.1.332") == "2.1.19"


def test_runs_are_counted_from_one() -> None:
    (way,) = parse_config("misbehave: [{kind: die, on: {run: 2, times: 2}}]").misbehave
    assert [way.active(n) for n in range(1, 5)] == [False, True, True, False]
