"""Scenario files as pytest items: one for each variant and runtime.

Collected are files named `*.scenario.yaml` (or `.yml`), and the scenarios in the folders of the ini option
`claw_scenarios`; no other YAML is looked at. `claw_runtimes` says which runtimes they are played with. Nothing of claw
is imported before there is such a file.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from claw.lab.loader import Plan
    from claw.lab.results import Result
    from claw.lab.runtimes import Kind

MARKED = (".scenario.yaml", ".scenario.yml")
SUFFIXES = (".yaml", ".yml", ".py")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("claw_scenarios", "folders whose files are scenarios of claw", type="paths", default=[])
    parser.addini("claw_runtimes", "runtimes that scenarios are played with", type="args", default=[])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ScenarioFile | None":
    if file_path.name.endswith(MARKED) or _in_folder(file_path, parent.config):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


def _in_folder(path: Path, config: pytest.Config) -> bool:
    """Whether a file stands in a folder of scenarios; the same names are left out as in the library."""
    if path.suffix not in SUFFIXES:
        return False
    for folder in config.getini("claw_scenarios"):
        if path.is_relative_to(folder):
            inside = path.relative_to(folder).parts
            return not any(part.startswith(("_", ".")) for part in inside) and "runtimes" not in inside[:-1]
    return False


class ScenarioFile(pytest.File):
    """A file of scenarios. A mistake in it is a collection error that names the line."""

    def collect(self) -> Iterator["ScenarioItem"]:
        from claw.lab import runtimes
        from claw.lab.loader import load_file
        from simulators.core.document import DocumentError

        names = self.config.getini("claw_runtimes") or runtimes.DEFAULT
        try:
            kinds = [runtimes.named(name) for name in names]
            plans = load_file(self.path)
        except KeyError as error:
            known = ", ".join([*runtimes.kinds(), *runtimes.presets()])
            raise self.CollectError(
                f"claw_runtimes: there is no runtime `{error.args[0]}`; there are {known}"
            ) from None
        except DocumentError as error:
            raise self.CollectError(str(error)) from None
        for plan in plans:
            for kind in kinds:
                title = f"{plan.name}[{'-'.join(filter(None, [kind.name, plan.variant]))}]"
                yield ScenarioItem.from_parent(self, name=title, plan=plan, kind=kind)


class ScenarioItem(pytest.Item):
    """One variant of a scenario with one runtime, its known-bads included."""

    def __init__(self, *, plan: "Plan", kind: "Kind", **more: Any) -> None:
        super().__init__(**more)
        self.plan, self.kind = plan, kind

    def runtest(self) -> None:
        from claw.lab.runner import run_one

        result = run_one(self.plan, self.kind)
        if result.status == "skip":
            pytest.skip(result.why or "not for this runtime")
        if result.status != "pass":
            raise ScenarioFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class ScenarioFailed(Exception):
    """The play was not as expected; the text says at which checks."""

    def __init__(self, result: "Result") -> None:
        from claw.lab.table import Table

        super().__init__(f"{result.scenario} with {result.runtime}: {result.status}\n" + Table([], []).reasons(result))
