"""What tools share: typed arguments, a workspace they cannot leave, texts of bearable length."""

import os

import msgspec
import pytest

from claw.tools.base import ToolError, clip, inside, relative, schema_of


def test_a_path_in_the_workspace_is_found_and_named_as_the_model_knows_it(context, tmp_path):
    full = inside(context, "a/../b/c.txt")
    assert full == os.path.realpath(tmp_path / "b" / "c.txt")
    assert relative(context, full) == "b/c.txt"
    assert inside(context, str(tmp_path / "x")) == os.path.realpath(tmp_path / "x")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", "a\0b"])
def test_a_path_out_of_the_workspace_is_refused(context, path):
    with pytest.raises(ToolError):
        inside(context, path)


def test_a_neighbour_whose_name_begins_alike_is_outside(context):
    with pytest.raises(ToolError, match="outside"):
        inside(context, f"{context.workspace}-other/x")


def test_a_link_out_of_the_workspace_is_refused(context, tmp_path):
    (tmp_path / "door").symlink_to("/etc")
    with pytest.raises(ToolError, match="outside"):
        inside(context, "door/passwd")


@pytest.mark.parametrize("tool", ["read", "write", "edit", "exec"])
@pytest.mark.parametrize("arguments", [{}, {"path": 3.5, "command": [], "content": {}, "edits": 0}])
def test_arguments_that_do_not_fit_are_an_answer_and_no_exception(use, tool, arguments):
    outcome = use(tool, **arguments)
    assert outcome.is_error
    assert "the arguments do not fit" in outcome.text


def test_an_error_of_the_file_system_names_the_path_as_the_model_knows_it(use, context):
    outcome = use("read", path="sub/none.txt")
    assert outcome.is_error
    assert outcome.text == "read: No such file or directory: sub/none.txt"


class Inner(msgspec.Struct):
    x: int


class Outer(msgspec.Struct):
    items: list[Inner]
    note: str = ""


def test_a_schema_has_no_references():
    schema = schema_of(Outer)
    assert schema["required"] == ["items"]
    assert schema["properties"]["items"]["items"] == {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
    }


def test_a_clipped_text_keeps_head_and_tail_and_its_limit():
    text = clip("H" * 900 + "T" * 300, 400)
    assert len(text) <= 400
    assert text.startswith("HHH")
    assert text.endswith("TTT")
    assert "of 1200 characters left out" in text
    assert clip("short", 400) == "short"
