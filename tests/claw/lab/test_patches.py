"""Patches merge as RFC 7386 has it, and a matrix unfolds into patches."""

from claw.lab.patches import merge, variants


def test_mappings_merge_null_removes_the_rest_replaces() -> None:
    base = {"given": {"runtime": {"a": 1, "b": 2}}, "turns": [1, 2]}
    patch = {"given": {"runtime": {"b": None, "c": 3}}, "turns": [9]}
    assert merge(base, patch) == {"given": {"runtime": {"a": 1, "c": 3}}, "turns": [9]}
    assert base == {"given": {"runtime": {"a": 1, "b": 2}}, "turns": [1, 2]}


def test_a_matrix_is_every_combination() -> None:
    made = list(variants({"stream": [True, False], "provider.seed": [7]}))
    assert made == [
        ("stream=true provider.seed=7", {"given": {"runtime": {"stream": True}}, "provider": {"seed": 7}}),
        ("stream=false provider.seed=7", {"given": {"runtime": {"stream": False}}, "provider": {"seed": 7}}),
    ]


def test_no_matrix_is_one_variant_without_a_name() -> None:
    assert list(variants({})) == [("", {})]
