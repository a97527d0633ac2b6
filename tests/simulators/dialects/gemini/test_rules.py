"""What the API refuses of settings, tools and schemas."""

from typing import Any

import pytest

from tests.simulators.dialects.gemini.asking import accepted, function, refused, tools

JSON = {"responseMimeType": "application/json"}
SEARCH = [{"googleSearch": {}}]
NAMED = tools(function("read"), function("write"))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"temperature": 2.1}, "generation_config.temperature: temperature must be in the range [0.0, 2.0]."),
        ({"topP": -0.1}, "generation_config.top_p: top_p must be in the range [0.0, 1.0]."),
        ({"topK": 0}, "generation_config.top_k: top_k must be positive."),
        ({"maxOutputTokens": 0}, "generation_config.max_output_tokens: max_output_tokens must be positive."),
        ({"candidateCount": 9}, "candidate_count must be in the range [1, 8]."),
        ({"candidateCount": 2}, "Multiple candidates is not enabled for this model"),
        ({"stopSequences": list("abcdef")}, "the number of stop_sequences must be at most 5."),
        ({"responseMimeType": "image/png"}, "generation_config.response_mime_type: allowed mimetypes are"),
        ({"responseSchema": {"type": "STRING"}}, "response_schema: only allowed when response_mime_type is"),
        ({**JSON, "responseSchema": {}, "responseJsonSchema": {}}, "only one of response_schema and it may be set."),
        ({**JSON, "responseSchema": {"type": "ARRAY"}}, "generation_config.response_schema.items: missing field."),
        (
            {"thinkingConfig": {"thinkingLevel": "LOW", "thinkingBudget": 5}},
            "You can only set only one of thinking budget and thinking level.",
        ),
    ],
)
def test_generation_settings(config: dict[str, Any], said: str) -> None:
    assert said in refused(generationConfig=config)


@pytest.mark.parametrize(
    ("model", "thinking", "said"),
    [
        ("gemini-2.5-pro", {"thinkingBudget": 0}, "Budget 0 is invalid. This model only works in thinking mode."),
        ("gemini-2.5-pro", {"thinkingBudget": 99_999}, "Please choose a value between 128 and 32768."),
        ("gemini-2.5-flash", {"thinkingBudget": 0}, "accepted"),
        ("gemini-2.5-flash", {"thinkingBudget": -1}, "accepted"),
        ("gemini-2.5-flash", {"thinkingBudget": 24_577}, "Please choose a value between 0 and 24576."),
        ("gemini-2.5-flash-lite", {"thinkingBudget": 100}, "Please choose a value between 512 and 24576."),
        ("gemini-2.5-flash", {"thinkingLevel": "LOW"}, "Thinking level is not supported for this model."),
        ("gemini-3.8-flash", {"thinkingLevel": "HIGH"}, "accepted"),
        ("gemini-2.0-flash", {"includeThoughts": True}, "Thinking is not supported for this model."),
        ("gemini-2.0-flash", {"includeThoughts": False}, "accepted"),
    ],
)
def test_thinking(model: str, thinking: dict[str, Any], said: str) -> None:
    assert said in refused(model=model, generationConfig={"thinkingConfig": thinking})


@pytest.mark.parametrize(
    ("functions", "said"),
    [
        ([function("")], "tools[0].function_declarations[0].name: [FIELD_INVALID] Invalid function name."),
        ([function("with space")], "[FIELD_INVALID] Invalid function name."),
        ([function("a" * 129)], "[FIELD_INVALID] Invalid function name."),
        ([function("a"), function("a")], "Duplicate function declaration found: a"),
        ([function("a", {"type": "ARRAY"})], "parameters.items: missing field."),
        ([function("a", {"type": "INTEGER", "enum": ["1"]})], "parameters.enum: only allowed for STRING type"),
        ([function("a", {"type": "OBJECT", "required": ["x"]})], "parameters.required[0]: property is not defined"),
        (
            [function("a", {"type": "OBJECT", "properties": {"x": {"type": "OBJECT", "required": ["y"]}}})],
            "parameters.properties[x].required[0]: property is not defined",
        ),
        ([function("a", {"anyOf": [{"type": "ARRAY"}]})], "parameters.any_of[0].items: missing field."),
        ([function("a", {"type": "STRING"}, parametersJsonSchema={})], "only one of parameters and it may be set."),
        ([function("a", {"type": "object", "properties": {}})], "accepted"),
        ([function("my.tool:run-1", {"type": "OBJECT", "properties": {"x": {"type": "string"}}})], "accepted"),
    ],
)
def test_functions_and_their_schemas(functions: list[dict[str, Any]], said: str) -> None:
    assert said in refused(tools=tools(*functions))


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"mode": "AUTO", "allowedFunctionNames": ["read"]}, "Please set allowed_function_names only when"),
        ({"mode": "ANY", "allowedFunctionNames": ["fly"]}, "allowed_function_names[0]: function name is not declared"),
        ({"mode": "VALIDATED", "allowedFunctionNames": ["read"]}, "accepted"),
        ({"mode": "NONE"}, "accepted"),
    ],
)
def test_tool_choice(choice: dict[str, Any], said: str) -> None:
    assert said in refused(tools=NAMED, toolConfig={"functionCallingConfig": choice})


def test_any_without_functions_is_refused() -> None:
    assert refused(toolConfig={"functionCallingConfig": {"mode": "ANY"}}) == (
        "Function calling config is set without function_declarations."
    )


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"mode": "ANY"}, "any"),
        ({"mode": "ANY", "allowedFunctionNames": ["read"]}, "tool:read"),
        ({"mode": "ANY", "allowedFunctionNames": ["read", "write"]}, "any"),
        ({"mode": "NONE"}, "none"),
        ({"mode": "VALIDATED"}, "auto"),
        ({}, "auto"),
    ],
)
def test_what_must_be_called(choice: dict[str, Any], said: str) -> None:
    assert accepted(tools=NAMED, toolConfig={"functionCallingConfig": choice}).tool_choice == said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tools": [*SEARCH, *NAMED]}, "Tool use with function calling is unsupported"),
        (
            {"tools": NAMED, "generationConfig": JSON},
            "Function calling with a response mime type: 'application/json' is unsupported",
        ),
        (
            {"tools": SEARCH, "generationConfig": JSON},
            "Tool use with a response mime type: 'application/json' is unsupported",
        ),
    ],
)
def test_models_before_three_mix_nothing(fields: dict[str, Any], said: str) -> None:
    assert refused(model="gemini-2.5-flash", **fields) == said
    assert refused(model="gemini-3.8-flash", **fields) == "accepted"


@pytest.mark.parametrize(
    "tool",
    [
        {"googleSearch": {}},
        {"google_search": {"time_range_filter": {}}},
        {"codeExecution": {}},
        {"urlContext": {}},
        {"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/a"]}},
        {"googleMaps": {"enableWidget": True}},
        {"googleSearchRetrieval": {}},
        {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
    ],
)
def test_built_in_tools_are_taken(tool: dict[str, Any]) -> None:
    call = accepted(tools=[tool])
    assert [block.kind for block in call.blocks if block.level == "tools"] == ["other"]
    assert call.tools == ()


def test_an_answer_is_never_longer_than_the_model_can() -> None:
    assert accepted(generationConfig={"maxOutputTokens": 10**6}).max_tokens == 65_536
    assert accepted().max_tokens == 65_536
    assert accepted(generationConfig={"maxOutputTokens": 10}).max_tokens == 10
