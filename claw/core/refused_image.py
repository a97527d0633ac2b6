"""What a provider says about an image that it refuses: where it is, and how large one may be."""

import re

import msgspec

_DIMENSIONS = re.compile(r"image dimensions exceed max allowed size[^:]*:\s*(\d+) pixels", re.IGNORECASE)
_SIZE = re.compile(r"image exceeds (\d+(?:\.\d+)?) ?MB maximum", re.IGNORECASE)
_PLACE = re.compile(r"messages\.(\d+)\.content\.(\d+)\.")


class RefusedImage(msgspec.Struct, frozen=True, kw_only=True):
    """`message` and `content` are indexes in the request, None where they are not told; of the limits one is given."""

    message: int | None
    content: int | None
    max_px: int | None = None
    max_mb: float | None = None

    def __str__(self) -> str:
        limit = f"{self.max_px} pixels a side" if self.max_px is not None else f"{self.max_mb:g} MB"
        place = "" if self.message is None else f" in message {self.message}"
        return f"an image{place} is over {limit}"


def refused_image(text: str) -> RefusedImage | None:
    """The image that a refusal names, or None if it is about something else."""
    place = _PLACE.search(text)
    message, content = (int(place[1]), int(place[2])) if place else (None, None)
    if found := _DIMENSIONS.search(text):
        return RefusedImage(message=message, content=content, max_px=int(found[1]))
    if found := _SIZE.search(text):
        return RefusedImage(message=message, content=content, max_mb=float(found[1]))
    return None
