"""What models refuse of single parameters, in the words of both APIs."""

from collections.abc import Mapping
from typing import Any

from simulators.dialects._openai.gates import Gates
from simulators.dialects._openai.refusal import refuse


def unsupported(name: str) -> None:
    refuse(
        f"Unsupported parameter: '{name}' is not supported with this model.", param=name, code="unsupported_parameter"
    )


def check_sampling(body: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Models that reason take no other than the default."""
    for name in names:
        usual = 1 if name in ("temperature", "top_p") else 0
        value = body.get(name)
        if value is not None and value != usual:
            refuse(
                f"Unsupported value: '{name}' does not support {value:g} with this model. Only the default ({usual}) "
                "value is supported.",
                param=name,
                code="unsupported_value",
            )


def check_effort(effort: Any, gates: Gates, param: str) -> None:
    if effort is not None and effort not in gates.efforts:
        quoted = [f"'{name}'" for name in gates.efforts]
        listed = quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
        refuse(
            f"Unsupported value: '{effort}' is not supported with this model. Supported values are: {listed}.",
            param=param,
            code="unsupported_value",
        )


def check_cache_options(body: Mapping[str, Any], gates: Gates) -> None:
    """`prompt_cache_options` is of GPT-5.6 and later; there only the long retention exists."""
    options = body.get("prompt_cache_options")
    if options is not None and gates.known and not gates.breakpoints:
        unsupported("prompt_cache_options")
    if options is not None:
        for name, allowed in (("mode", ("implicit", "explicit")), ("ttl", ("30m", "12h"))):
            value = options.get(name)
            if value is not None and value not in allowed:
                refuse(
                    f"Invalid value: '{value}'. Supported values are: '{allowed[0]}' and '{allowed[1]}'.",
                    param=f"prompt_cache_options.{name}",
                    code="invalid_value",
                )
    if gates.day_long and body.get("prompt_cache_retention") in ("in_memory", "in-memory"):
        refuse(
            "Unsupported value: 'prompt_cache_retention' does not support 'in_memory' with this model. Only '24h' is "
            "supported.",
            param="prompt_cache_retention",
            code="unsupported_value",
        )
