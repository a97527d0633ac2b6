"""The messages of the API, field by field, as its protocol buffers have them (REST reference, google-genai 3.6 types).

A type is a scalar, `Struct` (a JSON object), `Value` (any JSON), `enum:NAME`, or the name of another message; `[]`
before it means repeated, `{}` a map from strings. Names are those of the JSON mapping; `snake_case` is taken as well.
"""

from collections.abc import Mapping

Fields = Mapping[str, str]

_SCHEMA: Fields = {
    "type": "enum:Type",
    "format": "string",
    "title": "string",
    "description": "string",
    "nullable": "bool",
    "enum": "[]string",
    "maxItems": "int64",
    "minItems": "int64",
    "properties": "{}Schema",
    "required": "[]string",
    "minProperties": "int64",
    "maxProperties": "int64",
    "minLength": "int64",
    "maxLength": "int64",
    "pattern": "string",
    "example": "Value",
    "anyOf": "[]Schema",
    "propertyOrdering": "[]string",
    "default": "Value",
    "items": "Schema",
    "minimum": "double",
    "maximum": "double",
}

_GENERATION_CONFIG: Fields = {
    "stopSequences": "[]string",
    "responseMimeType": "string",
    "responseSchema": "Schema",
    "responseJsonSchema": "Value",
    "_responseJsonSchema": "Value",
    "responseModalities": "[]enum:Modality",
    "responseFormat": "Value",
    "candidateCount": "int32",
    "maxOutputTokens": "int32",
    "temperature": "float",
    "topP": "float",
    "topK": "int32",
    "seed": "int32",
    "presencePenalty": "float",
    "frequencyPenalty": "float",
    "responseLogprobs": "bool",
    "logprobs": "int32",
    "enableEnhancedCivicAnswers": "bool",
    "speechConfig": "Struct",
    "thinkingConfig": "ThinkingConfig",
    "imageConfig": "Struct",
    "mediaResolution": "enum:MediaResolution",
    "translationConfig": "Struct",
    "audioTranscriptionConfig": "Struct",
}

_CACHED_CONTENT: Fields = {
    "name": "string",
    "displayName": "string",
    "model": "string",
    "systemInstruction": "Content",
    "contents": "[]Content",
    "tools": "[]Tool",
    "toolConfig": "ToolConfig",
    "ttl": "string",
    "expireTime": "string",
    "createTime": "string",
    "updateTime": "string",
    "usageMetadata": "Struct",
}

MESSAGES: Mapping[str, Fields] = {
    "GenerateContentRequest": {
        "model": "string",
        "contents": "[]Content",
        "systemInstruction": "Content",
        "tools": "[]Tool",
        "toolConfig": "ToolConfig",
        "safetySettings": "[]SafetySetting",
        "generationConfig": "GenerationConfig",
        "cachedContent": "string",
        "serviceTier": "string",
        "store": "bool",
        "labels": "{}string",
        "continuationToken": "bytes",
    },
    "CountTokensRequest": {
        "model": "string",
        "contents": "[]Content",
        "generateContentRequest": "GenerateContentRequest",
    },
    "CachedContent": _CACHED_CONTENT,
    "Content": {"role": "string", "parts": "[]Part"},
    "Part": {
        "text": "string",
        "thought": "bool",
        "thoughtSignature": "bytes",
        "inlineData": "Blob",
        "fileData": "FileData",
        "functionCall": "FunctionCall",
        "functionResponse": "FunctionResponse",
        "executableCode": "ExecutableCode",
        "codeExecutionResult": "CodeExecutionResult",
        "toolCall": "ToolCall",
        "toolResponse": "ToolResponse",
        "videoMetadata": "VideoMetadata",
        "partMetadata": "Struct",
        "mediaResolution": "Value",
        "mediaProcessing": "Struct",
        "audioTranscription": "Struct",
        "speechMetadata": "Struct",
        "audioMetadata": "Struct",
        "documentMetadata": "Struct",
        "spreadsheetMetadata": "Struct",
    },
    "Blob": {"mimeType": "string", "data": "bytes", "displayName": "string"},
    "FileData": {"mimeType": "string", "fileUri": "string", "displayName": "string"},
    "FunctionCall": {"id": "string", "name": "string", "args": "Struct"},
    "FunctionResponse": {
        "id": "string",
        "name": "string",
        "response": "Struct",
        "parts": "[]FunctionResponsePart",
        "willContinue": "bool",
        "scheduling": "enum:Scheduling",
    },
    "FunctionResponsePart": {"inlineData": "Blob", "fileData": "FileData"},
    "ExecutableCode": {"id": "string", "language": "enum:Language", "code": "string"},
    "CodeExecutionResult": {"id": "string", "outcome": "enum:Outcome", "output": "string"},
    "ToolCall": {"id": "string", "toolType": "string", "args": "Struct"},
    "ToolResponse": {"id": "string", "toolType": "string", "response": "Struct"},
    "VideoMetadata": {"startOffset": "string", "endOffset": "string", "fps": "double"},
    "Tool": {
        "functionDeclarations": "[]FunctionDeclaration",
        "googleSearchRetrieval": "Struct",
        "codeExecution": "Struct",
        "googleSearch": "Struct",
        "computerUse": "Struct",
        "urlContext": "Struct",
        "fileSearch": "Struct",
        "googleMaps": "Struct",
        "mcpServers": "[]Struct",
    },
    "FunctionDeclaration": {
        "name": "string",
        "description": "string",
        "behavior": "enum:Behavior",
        "parameters": "Schema",
        "parametersJsonSchema": "Value",
        "response": "Schema",
        "responseJsonSchema": "Value",
    },
    "Schema": _SCHEMA,
    "ToolConfig": {
        "functionCallingConfig": "FunctionCallingConfig",
        "retrievalConfig": "Struct",
        "includeServerSideToolInvocations": "bool",
    },
    "FunctionCallingConfig": {
        "mode": "enum:Mode",
        "allowedFunctionNames": "[]string",
        "streamFunctionCallArguments": "bool",
    },
    "SafetySetting": {"category": "enum:HarmCategory", "threshold": "enum:HarmBlockThreshold"},
    "GenerationConfig": _GENERATION_CONFIG,
    "ThinkingConfig": {"includeThoughts": "bool", "thinkingBudget": "int32", "thinkingLevel": "enum:ThinkingLevel"},
}

# Full names as they stand in messages, and the values.
ENUMS: Mapping[str, tuple[str, frozenset[str]]] = {
    "Type": (
        "Type",
        frozenset({"TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}),
    ),
    "Modality": (
        "GenerationConfig.Modality",
        frozenset({"MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO", "VIDEO"}),
    ),
    "MediaResolution": (
        "GenerationConfig.MediaResolution",
        frozenset(
            {
                "MEDIA_RESOLUTION_UNSPECIFIED",
                "MEDIA_RESOLUTION_LOW",
                "MEDIA_RESOLUTION_MEDIUM",
                "MEDIA_RESOLUTION_HIGH",
                "MEDIA_RESOLUTION_ULTRA_HIGH",
            }
        ),
    ),
    "Scheduling": (
        "FunctionResponse.Scheduling",
        frozenset({"SCHEDULING_UNSPECIFIED", "SILENT", "WHEN_IDLE", "INTERRUPT"}),
    ),
    "Language": ("ExecutableCode.Language", frozenset({"LANGUAGE_UNSPECIFIED", "PYTHON"})),
    "Outcome": (
        "CodeExecutionResult.Outcome",
        frozenset({"OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"}),
    ),
    "Behavior": ("FunctionDeclaration.Behavior", frozenset({"UNSPECIFIED", "BLOCKING", "NON_BLOCKING"})),
    "Mode": (
        "FunctionCallingConfig.Mode",
        frozenset({"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"}),
    ),
    "HarmCategory": (
        "HarmCategory",
        frozenset(
            {
                "HARM_CATEGORY_UNSPECIFIED",
                "HARM_CATEGORY_HARASSMENT",
                "HARM_CATEGORY_HATE_SPEECH",
                "HARM_CATEGORY_SEXUALLY_EXPLICIT",
                "HARM_CATEGORY_DANGEROUS_CONTENT",
                "HARM_CATEGORY_CIVIC_INTEGRITY",
                "HARM_CATEGORY_JAILBREAK",
            }
        ),
    ),
    "HarmBlockThreshold": (
        "SafetySetting.HarmBlockThreshold",
        frozenset(
            {
                "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
                "BLOCK_LOW_AND_ABOVE",
                "BLOCK_MEDIUM_AND_ABOVE",
                "BLOCK_ONLY_HIGH",
                "BLOCK_NONE",
                "OFF",
            }
        ),
    ),
    "ThinkingLevel": (
        "ThinkingConfig.ThinkingLevel",
        frozenset({"THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"}),
    ),
}
