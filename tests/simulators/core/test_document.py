"""Documents: YAML 1.2, typed, with errors that name the line and the nearest right word."""

import enum
from typing import Annotated, Literal

import msgspec
import pytest

from simulators.core.document import Document, DocumentError, convert, load_yaml, nearest


class Fault(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    times: Annotated[int, msgspec.Meta(ge=0)] = 1


class Limits(msgspec.Struct, forbid_unknown_fields=True):
    context_window: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Story(msgspec.Struct, forbid_unknown_fields=True):
    about: str = ""
    unused: Literal["fail", "allow"] = "fail"
    faults: list[Fault] = []
    models: dict[str, Limits] = {}


def data_of(text: str) -> object:
    return load_yaml(text, source="story.yaml").data


def refusal(text: str, type_: type = Story) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        convert(load_yaml(text, source="story.yaml"), type_)
    return caught.value


def test_only_true_and_false_are_booleans() -> None:
    assert data_of("on: yes\noff: no\na: true\nb: false") == {"on": "yes", "off": "no", "a": True, "b": False}


def test_dates_and_base_sixty_stay_strings() -> None:
    assert data_of("a: 2026-01-01\nb: 1:30\nc: 010\nd: 0x1F\ne: 0o17\nf: 1_000") == {
        "a": "2026-01-01", "b": "1:30", "c": 10, "d": 31, "e": 15, "f": "1_000",
    }  # fmt: skip


def test_numbers_and_nothing() -> None:
    assert data_of("[-1, +2, 1.5, -1e3, .5, .inf, ~, null, '', '1', -, +x]") == [
        -1, 2, 1.5, -1000.0, 0.5, float("inf"), None, None, "", "1", "-", "+x",
    ]  # fmt: skip


def test_json_is_read_too() -> None:
    assert data_of('{"smile": "\\ud83d\\ude00", "tabs":\t[1]}') == {"smile": "😀", "tabs": [1]}


def test_bytes_with_a_mark_and_an_empty_document() -> None:
    assert load_yaml(b"\xef\xbb\xbfa: 1", source="x").data == {"a": 1}
    assert data_of("") is None and data_of("# nothing\n") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3", "story.yaml:3: a: duplicate key `a`"),
        ('{"x": {"a": 1,\n "a": 2}}', "story.yaml:2: x.a: duplicate key `a`"),
        ("x:\n  - a: 1\n    a: 2", "story.yaml:3: x[0].a: duplicate key `a`"),
        ("a: !!set {b}", "story.yaml:1: a: unknown tag"),
        ("a: !mine 3", "story.yaml:1: a: unknown tag `!mine`"),
        ("a: &x [*x]", "story.yaml:1: a[0]: an alias that contains itself"),
        ("? [a]\n: b", "story.yaml:1: a key must be a scalar"),
        ("a: [1", "not YAML"),
        ("a: !!int nine", "story.yaml:1: a: `nine` is not a number"),
        ("a: 1\n---\nb: 2", "story.yaml:2: not YAML"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_broken_document_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load_yaml(text, source="story.yaml")
    assert said in str(caught.value)


def test_an_alias_is_read_where_it_is_used() -> None:
    assert data_of("a: &x {n: 1}\nb: *x") == {"a": {"n": 1}, "b": {"n": 1}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("about: x\nfautls: []", "story.yaml:2: fautls: unknown key `fautls`; did you mean `faults`?"),
        (
            "faults:\n  - kind: a\n  - times: 2",
            "story.yaml:3: faults[1]: `kind` is missing",
        ),
        ("faults:\n  - {kind: a, tims: 3}", "faults[0].tims: unknown key `tims`; did you mean `times`?"),
        ("\nunused: alow", "story.yaml:2: unused: `alow` is none of allow, fail; did you mean `allow`?"),
        ("faults:\n  - kind: a\n    times: -1", "story.yaml:3: faults[0].times: expected `int` >= 0"),
        (
            "models:\n  good: {}\n  gpt-6.1-sol:\n    context_window: no",
            "story.yaml:4: models.gpt-6.1-sol.context_window: expected `int | null`, got `str`",
        ),
        ("models:\n  a: {contxt_window: 1}", "did you mean `context_window`?"),
        ("about: 3", "story.yaml:1: about: expected `str`, got `int`"),
        ("[]", "story.yaml:1: expected `object`, got `array`"),
        ("models: {1: {}}", "models"),
    ],
)
def test_a_wrong_value_is_refused_with_path_line_and_nearest_word(text: str, said: str) -> None:
    assert said in str(refusal(text))


def test_the_parts_of_an_error_can_be_read() -> None:
    error = refusal("about: x\nunused: alow")
    assert (error.source, error.path, error.line, error.did_you_mean) == ("story.yaml", "unused", 2, "allow")
    assert "alow" in error.message


def test_a_part_of_a_document_is_converted_with_its_place() -> None:
    document = load_yaml("faults:\n  - kind: a\n    params:\n      times: x", source="story.yaml")
    with pytest.raises(DocumentError, match=r"story.yaml:4: faults\[0\].params.times: expected `int`"):
        convert(document, Fault, data={"kind": "a", "times": "x"}, at="faults[0].params")


def test_a_document_that_was_never_text_has_no_lines() -> None:
    with pytest.raises(DocumentError) as caught:
        convert(Document({"about": 3}, source="<python>"), Story)
    assert str(caught.value) == "<python>: about: expected `str`, got `int`"


def test_the_line_of_a_missing_place_is_its_nearest_ancestors() -> None:
    document = load_yaml("a:\n  b:\n    - c: 1\n", source="x")
    assert [document.line(p) for p in ("a", "a.b", "a.b[0].c", "a.b[7]", "a.x", "z", "")] == [1, 2, 3, 2, 1, 1, 1]


def test_nearest_says_nothing_when_nothing_is_near() -> None:
    assert nearest("truncat", ["truncate", "stall"]) == "truncate"
    assert nearest("zebra", ["truncate", "stall"]) is None


def test_a_document_that_nests_without_end_is_refused() -> None:
    for text in ("- " * 900 + "a", "[" * 5000 + "]" * 5000):
        with pytest.raises(DocumentError, match=r"nested too deeply|nesting depth"):
            load_yaml(text, source="x")


def test_control_characters_are_refused() -> None:
    with pytest.raises(DocumentError, match="not YAML: unacceptable character"):
        load_yaml("a: \x01", source="x")


def test_a_constant_that_json_does_not_have_is_a_string_of_yaml() -> None:
    assert data_of('{"a": NaN}') == {"a": "NaN"}


class Colour(enum.StrEnum):
    RED = "red"
    GREEN = "green"


class Palette(msgspec.Struct, forbid_unknown_fields=True):
    one: Colour = Colour.RED
    many: dict[str, list[Colour]] = {}
    nested: dict[str, dict[str, Fault | None]] = {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one: gren", "one: `gren` is none of red, green; did you mean `green`?"),
        ("many: {a: [red], b: [red, geren]}", "many.b[1]: `geren` is none of red, green; did you mean `green`?"),
        ("nested:\n  a: {x: {kind: k}}\n  b:\n    y: {knd: k}", "x:4: nested.b.y.knd: unknown key `knd`"),
        ("many: {1: []}", "many: a key is wrong: expected `str`, got `int`"),
    ],
)
def test_keys_of_mappings_are_found(text: str, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        convert(load_yaml(text, source="x"), Palette)
    assert said in str(caught.value)


def test_a_sequence_with_a_tag_of_its_own_is_refused() -> None:
    with pytest.raises(DocumentError, match="a: unknown tag `!mine`"):
        load_yaml("a: !mine [1]", source="x")
