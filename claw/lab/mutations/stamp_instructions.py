"""Something that changes with every request stands at the head of the instructions, so no prefix is ever the same."""

from typing import Any


def change(body: dict[str, Any], n: int) -> dict[str, Any]:
    stamp = f"Request number {n}.\n"
    for key in ("system", "instructions"):
        value = body.get(key)
        if isinstance(value, str):
            return body | {key: stamp + value}
        if isinstance(value, list) and value:
            return body | {key: [value[0] | {"text": stamp + value[0].get("text", "")}, *value[1:]]}
    return body | {"system": stamp} if "messages" in body else body
