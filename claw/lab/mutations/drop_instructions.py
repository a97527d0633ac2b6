"""The instructions never arrive: system prompt, developer messages and leading context are cut out of each request."""

from typing import Any


def change(body: dict[str, Any], n: int) -> dict[str, Any]:
    made = {
        key: value
        for key, value in body.items()
        if key not in ("system", "instructions", "systemInstruction", "system_instruction")
    }
    for key in ("messages", "input", "contents"):
        if isinstance(made.get(key), list):
            made[key] = _without_instructions(made[key])
    return made


def _without_instructions(items: list[Any]) -> list[Any]:
    """No system or developer item; of the user items at the head only the last, and of that its last block."""
    kept = [item for item in items if not isinstance(item, dict) or item.get("role") not in ("system", "developer")]
    head = 0
    while head < len(kept) and isinstance(kept[head], dict) and kept[head].get("role") == "user":
        head += 1
    if head == 0:
        return kept
    prompt = dict(kept[head - 1])
    for key in ("content", "parts"):
        blocks = prompt.get(key)
        if isinstance(blocks, list) and not any("tool_use_id" in block for block in blocks if isinstance(block, dict)):
            prompt[key] = [_bare(block) for block in blocks[-1:]]
    return [prompt, *kept[head:]]


def _bare(block: Any) -> Any:
    """A text without the part before the prompt that is marked as instructions."""
    text = block.get("text") if isinstance(block, dict) else None
    if not isinstance(text, str) or not text.startswith("<instructions>"):
        return block
    return {**block, "text": text.partition("</instructions>")[2].lstrip()}
