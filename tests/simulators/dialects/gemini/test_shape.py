"""What the JSON front refuses, in its words, and what it takes however it is written."""

from typing import Any

import msgspec
import pytest

from simulators.core.turn import Refused
from simulators.dialects.gemini.shape import read_body, snake
from tests.simulators.dialects.gemini.asking import accepted, body, function, refusal_of, refused, request, tools, user

DECLARED = "tools[0].function_declarations[0]"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "additionalProperties": False}}, "$defs": {}}


def test_names_come_out_as_the_mapping_has_them_however_they_were_written() -> None:
    snaked: dict[str, Any] = {
        "contents": [{"parts": [{"inline_data": {"mime_type": "image/png", "data": "_-8="}}]}],
        "generation_config": {"max_output_tokens": "7", "thinking_config": {"thinking_level": "low"}},
        "system_instruction": {"parts": {"text": "Be brief."}},
    }
    assert read_body(msgspec.json.encode(snaked), "GenerateContentRequest") == {
        "contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "_-8="}}]}],
        "generationConfig": {"maxOutputTokens": 7, "thinkingConfig": {"thinkingLevel": "LOW"}},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
    }


def test_null_is_as_good_as_left_out() -> None:
    assert read_body(b'{"contents": null, "tools": null}', "GenerateContentRequest") == {}


def test_what_the_model_reads_freely_is_kept_as_it_is() -> None:
    schema = {"type": "object", "additionalProperties": False, "$defs": {"X": {"snake_case": 1}}}
    call = accepted(tools=tools(function("read", None, parameters_json_schema=schema)))
    assert call.tools[0].schema == schema


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"nonsense": 1}, 'Unknown name "nonsense": Cannot find field.'),
        (
            {"tools": tools(function("f", {"type": "object", "additionalProperties": False}))},
            f"Unknown name \"additionalProperties\" at '{DECLARED}.parameters': Cannot find field.",
        ),
        (
            {"tools": tools(function("f", SCHEMA))},
            f"Unknown name \"additionalProperties\" at '{DECLARED}.parameters.properties[0].value': Cannot find field.",
        ),
        (
            {"tools": tools(function("f", {"type": ["string", "null"]}))},
            "Unknown name \"type\" at 'tools[0].function_declarations[0].parameters': Proto field is not repeating, "
            "cannot start list.",
        ),
        ({"generationConfig": {"temperature": "hot"}}, "Invalid value at 'generation_config.temperature' (TYPE_FLOAT)"),
        ({"generationConfig": {"topK": 1.5}}, "Invalid value at 'generation_config.top_k' (TYPE_INT32), 1.5"),
        ({"generationConfig": {"responseLogprobs": 1}}, "'generation_config.response_logprobs' (TYPE_BOOL), 1"),
        (
            {"safetySettings": [{"category": "HARM_CATEGORY_RUDENESS", "threshold": "BLOCK_NONE"}]},
            "Invalid value at 'safety_settings[0].category' "
            '(type.googleapis.com/google.ai.generativelanguage.v1beta.HarmCategory), "HARM_CATEGORY_RUDENESS"',
        ),
        ({"toolConfig": 3}, "Invalid value at 'tool_config'"),
        ({"generationConfig": {"speechConfig": "loud"}}, '(type.googleapis.com/google.protobuf.Struct), "loud"'),
        (
            {"contents": [user({"inlineData": {"mimeType": "image/png", "data": "no base64!"}})]},
            "Invalid value at 'contents[0].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed for",
        ),
    ],
)
def test_mistakes_are_told_with_their_place(fields: dict[str, Any], said: str) -> None:
    whole = refused(**fields) if "contents" not in fields else refusal_of(request(fields))
    assert said in whole
    assert whole.startswith(("Invalid JSON payload received. Unknown name", "Invalid value at"))


def test_all_mistakes_are_told_at_once_and_again_in_the_details() -> None:
    with pytest.raises(Refused) as refusal:
        read_body(msgspec.json.encode(body(one=1, generationConfig={"two": 2})), "GenerateContentRequest")
    failure = refusal.value.failure
    assert failure.message.count("Cannot find field.") == 2
    (bad,) = failure.details["details"]
    assert bad["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert [violation.get("field") for violation in bad["fieldViolations"]] == [None, "generation_config"]


@pytest.mark.parametrize("raw", [b"{", b"[1]", b"nothing", b'"text"', b"[" * 100_000])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    assert refusal_of(request(raw)).startswith("Invalid JSON payload received.")


def test_an_empty_body_says_nothing() -> None:
    assert "contents is not specified" in refusal_of(request(b""))


@pytest.mark.parametrize(("name", "snaked"), [("functionDeclarations", "function_declarations"), ("topP", "top_p")])
def test_snake(name: str, snaked: str) -> None:
    assert snake(name) == snaked
