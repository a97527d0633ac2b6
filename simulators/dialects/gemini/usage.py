"""Usage as this vendor counts: the prompt with what came from a cache, the answer without the thoughts."""

from collections.abc import Mapping
from typing import Any

from simulators.core.turn import ModelCall, Tokens
from simulators.dialects.gemini.notes import Notes


def usage(call: ModelCall, tokens: Tokens) -> dict[str, Any]:
    """`usageMetadata`. Figures that are zero are left out, as in everything the API sends."""
    notes: Notes = call.private
    prompt, thoughts = tokens.prompt, tokens.thinking
    found: dict[str, Any] = {"promptTokenCount": prompt}
    if said := tokens.output - thoughts:
        found["candidatesTokenCount"] = said
    found["totalTokenCount"] = prompt + tokens.output
    if tokens.cache_read:
        found["cachedContentTokenCount"] = tokens.cache_read
    found["promptTokensDetails"] = details(prompt, notes.media)
    if tokens.cache_read:
        found["cacheTokensDetails"] = details(tokens.cache_read, notes.cached_media)
    if said and notes.gates.logprobs:
        found["candidatesTokensDetails"] = details(said, {})
    if thoughts:
        found["thoughtsTokenCount"] = thoughts
    found["serviceTier"] = "standard"
    return found


def details(total: int, media: Mapping[str, int]) -> list[dict[str, Any]]:
    """Tokens by modality: what is no text, and text as the rest."""
    text = total - sum(media.values())
    if text < 0:
        return [{"modality": "TEXT", "tokenCount": total}]
    listed = [{"modality": "TEXT", "tokenCount": text}] if text or not media else []
    return listed + [{"modality": name, "tokenCount": count} for name, count in media.items()]
