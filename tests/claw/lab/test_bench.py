"""Workloads played side by side."""

from pathlib import Path

import pytest

from claw.lab import bench, runtimes
from simulators.core.document import DocumentError

SMALL = """
about: Two questions.
given: {model: anthropic/claude-sonnet-4-5, instructions: "Answer plainly.", history: {turns: 4, tokens: 8000, seed: 3}}
provider: {turns: [{text: "Fine."}, {text: "Better."}]}
steps: [{prompt: "How is it?"}, {advance: 30s}, {prompt: "And now?"}]
"""


def small(folder: Path, more: str = "", text: str = SMALL) -> Path:
    path = folder / "small.yaml"
    path.write_text(text + more)
    return path


def played(path: Path, *names: str) -> list[bench.Row]:
    return list(bench.cache([runtimes.named(name) for name in names or runtimes.DEFAULT], bench.workloads([str(path)])))


def test_both_paths_are_measured_over_the_same_workload(tmp_path: Path) -> None:
    embedded, cli = played(small(tmp_path))
    assert [(row.result.runtime, row.result.workload, row.problems) for row in (embedded, cli)] == [
        ("claw", "small", ()), ("claw:claude", "small", ()),
    ]  # fmt: skip
    for row in (embedded, cli):
        assert row.result.requests == 2
        assert row.result.hit_of_ideal == 1.0
        assert row.result.cost_usd == pytest.approx(row.result.ideal_cost_usd)
    assert cli.result.cost_usd > embedded.result.cost_usd  # the CLI brings a long prompt of its own


def test_a_clock_in_the_prompt_costs_money_and_says_where(tmp_path: Path) -> None:
    text = SMALL.replace("instructions:", "runtime: {clock_in_prompt: true}, instructions:")
    (row,) = played(small(tmp_path, text=text), "claw")
    assert row.result.hit_of_ideal is None or row.result.hit_of_ideal < 0.5
    assert [found.at.split("[")[0] for found in row.result.breaks] == ["system"]
    assert row.result.breaks[0].cost_usd > 0


def test_the_same_seed_gives_the_same_figures(tmp_path: Path) -> None:
    path = small(tmp_path)
    assert bench.to_json(played(path, "claw")) == bench.to_json(played(path, "claw"))


def test_a_workload_that_is_not_played_to_its_end_says_so(tmp_path: Path) -> None:
    text = SMALL.replace('{text: "Better."}', '{error: {kind: auth}}, {text: "Never."}')
    (row,) = played(small(tmp_path, text=text), "claw")
    assert len(row.problems) == 2
    assert "failed (auth)" in row.problems[0]
    assert "turns[2]" in row.problems[1]


def test_the_json_has_the_documented_shape(tmp_path: Path) -> None:
    import json

    told = json.loads(bench.to_json(played(small(tmp_path), "claw")))
    assert list(told) == ["results"]
    assert list(told["results"][0]) == [
        "runtime", "workload", "requests", "hit_ratio", "hit_of_ideal", "cost_usd", "ideal_cost_usd", "breaks",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("expect: []\n", "a workload has no `expect`"),
        ("stepz: []\n", "did you mean `steps`"),
        ("needs: [cats]\n", "cats"),
    ],
)
def test_a_workload_that_cannot_be_read_names_the_line(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said) as told:
        bench.workloads([str(small(tmp_path, more))])
    assert "small.yaml:6" in str(told.value)


def test_an_unknown_workload_names_the_nearest() -> None:
    with pytest.raises(DocumentError, match="did you mean `tools`"):
        bench.workloads(["tolls"])


@pytest.mark.parametrize("name", sorted(path.stem for path in bench.workload_folder().glob("*.yaml")))
def test_the_workloads_that_come_with_claw_are_played_to_their_end_by_both(name: str) -> None:
    rows = list(bench.cache([runtimes.named(r) for r in runtimes.DEFAULT], bench.workloads([name])))
    for row in rows:
        assert row.problems == ()
        assert row.result.hit_of_ideal is not None and row.result.hit_of_ideal > 0.95
