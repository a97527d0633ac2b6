"""From a file to a `Plan`: a scenario whose every part has been read and understood, or an error that names the line.

Nothing is run before every file has been read. Errors are `DocumentError`: `FILE:LINE: path: what; did you mean …?`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from claw.lab import checks, invariants, mutations
from claw.lab.compare import comparison
from claw.lab.evidence import Which
from claw.lab.library import scenario_files
from claw.lab.parts import read_cli, read_provider, read_settings
from claw.lab.patches import merge, to_data, variants
from claw.lab.schema import NEEDS, Scenario
from simulators.core.document import Document, DocumentError, convert, load_yaml

LIMIT = 200  # variants of one scenario


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """One item of `expect`, read: the check's name, what it takes, and where it looks."""

    check: str
    params: Any
    step: Which


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One variant of a scenario, ready to be played. `name` is AREA/FILE; `variant` is "" without a matrix."""

    name: str
    path: str
    variant: str
    scenario: Scenario
    expectations: tuple[Expectation, ...]
    known_bad: tuple["Plan", ...] = ()  # the same plan, patched; in the order of `scenario.known_bad`


def load_all(places: Sequence[str | Path]) -> list[Plan]:
    """Every scenario of these files and folders, variants unfolded. Raises `DocumentError`."""
    plans: list[Plan] = []
    for place in map(Path, places):
        if not place.exists():
            raise DocumentError(str(place), "", None, "there is no such file or folder")
        files = scenario_files(place)
        if not files:
            raise DocumentError(str(place), "", None, "there is no scenario (a .yaml or .py file) in it")
        for path in files:
            plans += load_file(path)
    return plans


def load_file(path: str | Path) -> list[Plan]:
    """The variants of the scenarios in one file (a `.py` file may define several)."""
    path = Path(path)
    if path.suffix == ".py":
        return [plan for data in _python(path) for plan in plans_of(Document(data, source=str(path)), path)]
    try:
        text = path.read_bytes()
    except OSError as error:
        raise DocumentError(str(path), "", None, f"cannot be read: {error.strerror}") from None
    return plans_of(load_yaml(text, source=str(path)), path)


def plans_of(document: Document, path: Path) -> list[Plan]:
    """Read a scenario document into its variants, each with its known-bads."""
    scenario = read_scenario(document)
    _check_words(document, scenario)
    data = to_data(scenario)
    plans = []
    if scenario.matrix:  # what every variant replaces is still to be right
        _plan(_Place(document, []), data | {"matrix": {}}, path, "")
    for name, patch in _variants(document, scenario):
        place = _Place(document, [("matrix", patch)] if patch else [])
        variant = merge(data, patch) | {"matrix": {}}
        plan = _plan(place, variant, path, name)
        bads = []
        for i, bad in enumerate(scenario.known_bad):
            inside = _Place(document, [*place.patches, (f"known_bad[{i}].with", bad.patch or {})])
            bads.append(_plan(inside, merge(variant, bad.patch or {}), path, name))
        plans.append(msgspec.structs.replace(plan, known_bad=tuple(bads)))
    return plans


def read_scenario(document: Document) -> Scenario:
    """The scenario as written, without looking into its parts."""
    if not isinstance(document.data, Mapping):
        raise document.error("", "a scenario is a mapping: about, area, given, provider, steps, expect")
    return convert(document, Scenario, data=_normal(document.data))


def _normal(data: Mapping[str, Any]) -> dict[str, Any]:
    """Plain words among the steps (`- restart`) as mappings, and a single source as a list."""
    made = dict(data)
    if isinstance(made.get("steps"), list):
        made["steps"] = [{step: True} if isinstance(step, str) else step for step in made["steps"]]
    if isinstance(made.get("source"), str):
        made["source"] = [made["source"]]
    return made


class _Place:
    """Says where a mistake stands: in the patch that brought it, else in the document itself."""

    def __init__(self, document: Document, patches: list[tuple[str, Mapping[str, Any]]]) -> None:
        self.document, self.patches = document, patches

    def error(self, path: str, message: str, words: Iterable[str] = (), wrong: str | None = None) -> DocumentError:
        return self.document.error(self.of(path), message, words, wrong)

    def of(self, path: str) -> str:
        for prefix, patch in reversed(self.patches):
            if _holds(patch, path):
                return prefix if prefix == "matrix" else f"{prefix}.{path}"
        return path

    def moved(self, error: DocumentError, *, at: str = "") -> DocumentError:
        """An error of a part of the scenario, as one of the file."""
        path = ".".join(part for part in (at, error.path) if part).replace(".[", "[")
        where = self.of(path)
        line = self.document.line(where)
        return DocumentError(self.document.source, where, line, error.message, error.did_you_mean)


def _holds(patch: Any, path: str) -> bool:
    """Whether a patch says something about this path."""
    for part in path.split("[")[0].split("."):
        if not isinstance(patch, Mapping) or part not in patch:
            return False
        patch = patch[part]
        if not isinstance(patch, Mapping):
            return True
    return True


def _plan(place: _Place, data: dict[str, Any], path: Path, variant: str) -> Plan:
    """Convert a patched scenario and read all its parts."""
    patched = Document(data, source=place.document.source)
    try:
        scenario = convert(patched, Scenario)
    except DocumentError as error:
        raise place.moved(error) from None
    _check_steps(place, scenario)
    read_provider(place, scenario)
    read_cli(place, scenario)
    read_settings(place, scenario)
    return Plan(
        name=f"{scenario.area}/{path.name.removesuffix('.scenario.yaml').split('.')[0]}",
        path=str(path),
        variant=variant,
        scenario=scenario,
        expectations=tuple(_expectation(place, i, item) for i, item in enumerate(scenario.expect)),
    )


def _expectation(place: _Place, i: int, item: Mapping[str, Any]) -> Expectation:
    """One item of `expect`: exactly one check, and perhaps `step`."""
    at = f"expect[{i}]"
    names = [name for name in item if name != "step"]
    for name in names:
        if name not in checks.names():
            raise place.error(f"{at}.{name}", f"there is no check `{name}`", checks.names(), name)
    if len(names) != 1:
        said = ", ".join(names) or "none"
        raise place.error(at, f"an item of `expect` has one check (and perhaps `step`); this one has {said}")
    name = names[0]
    check = checks.load(name)
    try:
        params = convert(Document(item, source=place.document.source), check.Params, data=item[name], at=f"{at}.{name}")
        if isinstance(params, str) and name != "failure":
            comparison(params)
        return Expectation(check=name, params=params, step=_step(place, at, item, check.STEP))
    except DocumentError as error:
        raise place.moved(error) from None
    except ValueError as error:
        raise place.error(f"{at}.{name}", str(error)) from None


def _step(place: _Place, at: str, item: Mapping[str, Any], default: Which) -> Which:
    step = item.get("step", default)
    if step in ("last", "all") or (isinstance(step, int) and not isinstance(step, bool) and step >= 1):
        which: Which = step
        return which
    words = ["last", "all"]
    raise place.error(f"{at}.step", f"`{step}` is no step; write its number (from 1), last or all", words, str(step))


def _check_words(document: Document, scenario: Scenario) -> None:
    """Names that must exist: needs, invariants, checks that a known-bad fails, mutations."""
    for i, need in enumerate(scenario.needs):
        if need not in NEEDS and not need.startswith("provider:"):
            raise document.error(f"needs[{i}]", f"there is no capability `{need}`", NEEDS, need)
    for name, reason in scenario.ignore.items():
        if name not in invariants.names():
            raise document.error(f"ignore.{name}", f"there is no invariant `{name}`", invariants.names(), name)
        if len(reason.split()) < 3:
            raise document.error(f"ignore.{name}", "switching an invariant off needs its reason, in words")
    failing = {*checks.names(), *invariants.names()}
    for i, bad in enumerate(scenario.known_bad):
        if bad.fails not in failing:
            message = f"there is no check or invariant `{bad.fails}`"
            raise document.error(f"known_bad[{i}].fails", message, failing, bad.fails)
        if bad.mutate is not None and bad.mutate not in mutations.names():
            message = f"there is no mutation `{bad.mutate}`"
            raise document.error(f"known_bad[{i}].mutate", message, mutations.names(), bad.mutate)
    if not scenario.steps:
        raise document.error("steps", "a scenario has at least one step")
    if not scenario.expect:
        raise document.error("expect", "a scenario expects at least one thing")


def _check_steps(place: _Place, scenario: Scenario) -> None:
    from claw.lab.checks.events import TYPES

    before = ""
    for i, step in enumerate(scenario.steps):
        if step.kill is not None:
            if before != "prompt":
                raise place.error(f"steps[{i}]", "`kill` follows the prompt in the middle of which the process dies")
            if step.kill.at not in TYPES:
                message = f"there is no event `{step.kill.at}`"
                raise place.error(f"steps[{i}].kill.at", message, TYPES, step.kill.at)
        before = step.kind


def _variants(document: Document, scenario: Scenario) -> list[tuple[str, dict[str, Any]]]:
    for name, values in scenario.matrix.items():
        if not values:
            raise document.error(f"matrix.{name}", "a list of at least one value is needed")
    made = list(variants(scenario.matrix))
    if len(made) > LIMIT:
        raise document.error("matrix", f"{len(made)} variants are too many (at most {LIMIT})")
    return made


def _python(path: Path) -> list[dict[str, Any]]:
    """The scenarios that a `.py` file defines, as plain values: every `Scenario` among its public names."""
    import runpy

    try:
        names = runpy.run_path(str(path))
    except Exception as error:
        line = _line_in(path, error)
        raise DocumentError(str(path), "", line, f"{type(error).__name__}: {error}") from None
    found = [value for name, value in names.items() if isinstance(value, Scenario) and not name.startswith("_")]
    if not found:
        raise DocumentError(str(path), "", None, "it defines no `Scenario` (claw.lab.schema)")
    return [to_data(scenario) for scenario in found]


def _line_in(path: Path, error: Exception) -> int | None:
    """The line of the file where an exception came from."""
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line or getattr(error, "lineno", None)
