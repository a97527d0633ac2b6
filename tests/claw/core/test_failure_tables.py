"""The tables can be used as they stand: patterns compile, look at lower case, and codes are told once."""

import json
import re
from pathlib import Path

import pytest

from claw.core import failure_tables as tables
from claw.core.explain import explain

# Vendors' answers as their documentation, their users' reports and recordings have them: what each may be taken for.
ANSWERS = [json.loads(line) for line in Path(__file__).with_name("answers.jsonl").read_text().splitlines()]

PATTERNS = {
    **{f"TEXT_RULES {kind.value}": text for kind, text in tables.TEXT_RULES},
    **{f"FALSE_FRIENDS {text[:20]}": text for _, text in tables.FALSE_FRIENDS},
    **{f"SIZES {n}": text for n, text in enumerate(tables.SIZES)},
    **{
        name: value
        for name, value in vars(tables).items()
        if name.isupper() and isinstance(value, str) and not name.startswith("_")
    },
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_compiles_and_matches_no_empty_text(name):
    assert re.compile(PATTERNS[name]).search("") is None


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_has_no_capitals_to_match(name):
    plain = re.sub(r"\\[A-Za-z]|\(\?P<\w+>", "", PATTERNS[name])
    assert plain == plain.lower()


def test_a_code_is_told_once_and_as_codes_are_compared():
    codes = [code for rows in (tables.STRONG_CODES, tables.WEAK_CODES) for _, names in rows for code in names.split()]
    assert len(codes) == len(set(codes)) > 60
    assert all(code == code.lower().replace("-", "_") for code in codes)


def test_every_status_of_the_table_is_one():
    assert all(400 <= status < 600 for status in tables.STATUS)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: f"{a['provider']}-{a['status']}-{str(a['body'])[:40]}")
def test_each_vendors_wording_is_understood(answer):
    assert explain(answer["provider"], answer["status"], {}, answer["body"]).kind.value in answer["kinds"]


def test_the_answers_are_many_and_of_every_kind_that_an_answer_can_be():
    assert len(ANSWERS) > 250
    told = {kind for answer in ANSWERS for kind in answer["kinds"]}
    assert told >= {"rate_limited", "overloaded", "server_error", "context_overflow", "output_budget", "auth"}
    assert told >= {
        "billing",
        "timeout",
        "transport",
        "bad_request",
        "poisoned_history",
        "model_not_found",
        "session_expired",
    }
