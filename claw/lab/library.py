"""Where the scenarios are that come with claw: inside the wheel, or at the root of a checkout."""

from pathlib import Path

import claw

SUFFIXES = (".yaml", ".yml", ".py")


def folder() -> Path:
    """The library's folder. Raises `FileNotFoundError` when an installation lacks it."""
    package = Path(claw.__file__).parent
    for place in (package / "library" / "scenarios", package.parent / "scenarios"):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"the scenario library is missing: neither in {package} nor beside it")


def scenario_files(place: Path) -> list[Path]:
    """The scenario files under a folder, sorted; `runtimes/` and names that begin with `_` or `.` are left out.

    A file is given back as it is, whatever its name.
    """
    if place.is_file():
        return [place]
    found = []
    for path in sorted(place.rglob("*")):
        inside = path.relative_to(place).parts
        hidden = any(part.startswith(("_", ".")) for part in inside)
        if path.suffix in SUFFIXES and path.is_file() and not hidden and "runtimes" not in inside[:-1]:
            found.append(path)
    return found
