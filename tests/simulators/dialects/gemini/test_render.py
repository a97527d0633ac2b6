"""The prompt as blocks: order, identity, what is counted."""

from typing import Any

import pytest

from simulators.core.turn import Block
from simulators.dialects.gemini.gates import Gates
from simulators.dialects.gemini.render import lowered, render
from tests.simulators.dialects.gemini.asking import SIGNED, accepted, called, function, model, returned, tools, user

NEW, OLD = Gates(version=(3, 8)), Gates(version=(2, 5))


def blocks(*contents: dict[str, Any], gates: Gates = NEW, **fields: Any) -> tuple[Block, ...]:
    return render({"contents": list(contents), **fields}, gates).blocks


def test_tools_come_first_then_the_instructions_then_the_contents() -> None:
    found = blocks(
        user("hello", "there"),
        model("hi"),
        systemInstruction={"parts": [{"text": "Be brief."}]},
        tools=[*tools(function("read"), function("write")), {"googleSearch": {}}],
    )
    assert [block.path for block in found] == [
        "tools[0].functionDeclarations[0]",
        "tools[0].functionDeclarations[1]",
        "tools[1].googleSearch",
        "systemInstruction.parts[0]",
        "contents[0].parts[0]",
        "contents[0].parts[1]",
        "contents[1].parts[0]",
    ]
    assert [block.opens_message for block in found] == [False, False, False, True, True, False, True]
    assert [block.role for block in found][3:] == ["system", "user", "user", "assistant"]


@pytest.mark.parametrize(
    ("part", "kind", "text"),
    [
        ({"text": "hello"}, "text", "hello"),
        ({"text": "hm", "thought": True}, "thinking", ""),
        (called("read"), "tool_use", '{"path":"a"}'),
        (returned("read", "a b"), "tool_result", "a b"),
        ({"functionResponse": {"name": "n", "response": {"a": ["x", 1, None], "b": "y"}}}, "tool_result", "x\n1\ny"),
        ({"inlineData": {"mimeType": "text/plain", "data": "aGkgdGhlcmU="}}, "document", "hi there"),
        ({"executableCode": {"language": "PYTHON", "code": "1"}}, "other", ""),
    ],
)
def test_what_is_counted_of_a_part(part: dict[str, Any], kind: str, text: str) -> None:
    (block,) = blocks(user(part))
    assert (block.kind, block.text) == (kind, text)


@pytest.mark.parametrize(
    ("mime", "old", "new", "sort"),
    [
        ("image/png", 258, 1092, "IMAGE"),
        ("application/pdf", 258, 1092, "IMAGE"),
        ("audio/mpeg", 160, 160, "AUDIO"),
        ("video/mp4", 263, 263, "VIDEO"),
    ],
)
def test_files_have_their_modality_and_their_tokens(mime: str, old: int, new: int, sort: str) -> None:
    contents = [user({"fileData": {"mimeType": mime, "fileUri": "files/a"}})]
    made = render({"contents": contents}, NEW)
    assert (made.blocks[0].image_tokens, made.media) == (new, {sort: new})
    assert render({"contents": contents}, OLD).blocks[0].image_tokens == old


def test_sound_goes_by_its_size() -> None:
    sound = {"inlineData": {"mimeType": "audio/mpeg", "data": "A" * 71_808}}
    assert blocks(user(sound))[0].image_tokens == 144


def test_a_signature_counts_from_three_on_and_is_no_part_of_the_identity() -> None:
    long = {"thoughtSignature": "A" * 5488}
    assert blocks(user("a"), model(called(**long)))[1].image_tokens == 1170
    assert blocks(user("a"), model(called(**long)), gates=OLD)[1].image_tokens == 0
    assert blocks(user("a"), model(called(**long)))[1].digest == blocks(user("a"), model(called(**SIGNED)))[1].digest


@pytest.mark.parametrize(
    "other",
    [
        [user("a", "b")],  # another content begins elsewhere
        [user("a"), model("b")],
        [user("a"), user("c")],
    ],
)
def test_what_makes_a_block_another_one(other: list[dict[str, Any]]) -> None:
    assert blocks(user("a"), user("b"))[1].digest != blocks(*other)[1].digest


def test_the_order_of_arguments_is_part_of_a_call_and_that_of_fields_is_not() -> None:
    def digest(part: dict[str, Any]) -> bytes:
        return blocks(model({"functionCall": part}))[0].digest

    one = {"name": "f", "args": {"a": 1, "b": 2}}
    assert digest(one) == digest({"args": {"a": 1, "b": 2}, "name": "f"})
    assert digest(one) != digest({"name": "f", "args": {"b": 2, "a": 1}})


def test_the_last_words_and_the_results() -> None:
    call = accepted(user("a"), model("b"), user("c", "d"))
    assert (call.last_user, call.tool_results) == ("c\nd", ())
    results = accepted(user("a"), model(called(**SIGNED), called("write")), user(returned(), returned("write"), "now"))
    assert (results.last_user, results.tool_results) == ("", ("read", "write"))
    assert accepted(user("a"), model("b")).last_user == ""


def test_instructions_are_one_text() -> None:
    assert accepted(systemInstruction={"parts": [{"text": "a"}, {"text": "b"}]}).system == "a\nb"


def test_a_schema_of_their_own_kind_becomes_json_schema() -> None:
    schema = {
        "type": "OBJECT",
        "properties": {"a": {"type": "ARRAY", "items": {"type": "STRING"}}, "b": {"anyOf": [{"type": "INTEGER"}]}},
    }
    assert lowered(schema) == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"anyOf": [{"type": "integer"}]}},
    }
    assert accepted(tools=tools(function("f"))).tools[0].schema == {"type": "object"}
