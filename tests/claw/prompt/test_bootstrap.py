"""Workspace files within their caps."""

import json
from pathlib import Path

import pytest

from claw.host import HostFiles
from claw.prompt.bootstrap import LIMITS, TOO_LARGE, Limits, load, trim

ORACLE = Path(__file__).parents[4] / "shared" / "oracles" / "bootstrap.jsonl"
LETTERS = "".join(chr(97 + n % 26) for n in range(1000))


def shown(folder, limits=LIMITS, **files):
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return load(HostFiles(), str(folder), limits=limits)


def test_files_come_in_their_order_and_blank_or_missing_ones_do_not(tmp_path):
    found = shown(tmp_path, USER="u", AGENTS="a", SOUL=" \n", TOOLS="t", OTHER="o")
    assert [(file.name, file.text) for file in found] == [("AGENTS.md", "a"), ("USER.md", "u"), ("TOOLS.md", "t")]


def test_a_short_text_stays_as_it_is():
    assert trim(LETTERS[:100], "AGENTS.md", 100) == LETTERS[:100]


@pytest.mark.parametrize("limit", [64, 100, 300, 500, 999])
def test_a_long_text_keeps_three_quarters_head_and_a_quarter_tail_and_says_so(limit):
    text = trim(LETTERS, "AGENTS.md", limit)
    assert limit - 3 <= len(text) <= limit
    head, _, rest = text.partition("[…")
    tail = rest.partition("]")[2].strip()
    head = head.strip()
    assert LETTERS.startswith(head)
    assert LETTERS.endswith(tail)
    assert 2.5 < len(head) / len(tail) < 3.5
    assert f"{len(head)} + {len(tail)} of 1000" in text or f"{len(head)}+{len(tail)}/1000" in text


def test_it_cuts_where_another_runtime_cuts():
    if not ORACLE.exists():
        pytest.skip(f"{ORACLE} is not there: the cuts of another runtime were not compared")
    records = [json.loads(line) for line in ORACLE.read_text().splitlines()]
    compared = [r for r in records if r["fn"] == "trimBootstrapContent"]
    assert len(compared) == 2
    for record in compared:
        given = record["input"]
        text = trim(LETTERS[: given["contentLength"]], given["file"], given["maxChars"])
        assert (text, len(text)) == (record["expected"]["content"], record["expected"]["length"])


def test_the_total_is_shared_and_a_remnant_is_not_filled(tmp_path):
    found = shown(tmp_path, Limits(file=400, total=430), AGENTS="a" * 900, SOUL="s" * 900)
    assert [(file.name, file.cut) for file in found] == [("AGENTS.md", True)]
    assert 398 <= len(found[0].text) <= 400
    found = shown(tmp_path, Limits(file=400, total=500))
    assert [(file.name, len(file.text) <= 100) for file in found] == [("AGENTS.md", False), ("SOUL.md", True)]


def test_a_huge_file_is_named_and_not_shown(tmp_path):
    (tmp_path / "AGENTS.md").write_bytes(b"x" * (TOO_LARGE + 1))
    (file,) = shown(tmp_path)
    assert "AGENTS.md has 2097153 bytes" in file.text
    assert len(file.text) < 200
