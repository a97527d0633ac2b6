"""Results as files: JUnit XML for a CI, and a page of HTML that needs nothing but a browser."""

from collections.abc import Sequence
from html import escape
from xml.etree import ElementTree

from claw.lab.results import Result, summary
from claw.lab.runner import describe

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .35rem .7rem; vertical-align: top }
tr { border-top: 1px solid #8884 } summary { cursor: pointer } code { font-size: .92em }
.pass { color: #2a8a3c } .fail, .error { color: #d43a2f; font-weight: 600 } .skip, .not_checked { color: #8a8a8a }
td.n { text-align: right; font-variant-numeric: tabular-nums }
"""


def junit(results: Sequence[Result]) -> bytes:
    """JUnit XML: a test case a result, classname the area; known-bads are part of their scenario's case."""
    counts = summary(results)
    suite = ElementTree.Element(
        "testsuite",
        name="claw scenarios",
        tests=str(len(results)),
        failures=str(counts["fail"]),
        errors=str(counts["error"]),
        skipped=str(counts["skip"]),
        time=f"{sum(result.wall_s for result in results):.3f}",
    )
    for result in results:
        name = f"{result.scenario} · {result.runtime}" + (f" · {result.variant}" if result.variant else "")
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"scenarios.{result.area}", name=name, time=f"{result.wall_s:.3f}"
        )
        if result.status != "pass":
            tag = {"fail": "failure", "error": "error", "skip": "skipped"}[result.status]
            ElementTree.SubElement(case, tag, message=_xml(result.why or result.status))
        ElementTree.SubElement(case, "system-out").text = _xml(
            "".join(f"{check.status}: {check.name}: {check.saw}\n" for check in result.checks)
        )
    ElementTree.indent(suite)
    made: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return made + b"\n"


def _xml(text: str) -> str:
    """Text without the control characters that XML cannot hold."""
    return "".join(c if c in "\n\t" or ord(c) >= 32 else "\N{REPLACEMENT CHARACTER}" for c in text)


def html(results: Sequence[Result]) -> bytes:
    """One page: a row a result, its checks folded in."""
    counts = summary(results)
    head = ", ".join(f"<span class={key}>{n} {key}</span>" for key, n in counts.items() if n)
    rows = "".join(map(_row, results))
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>claw scenarios</title><style>{_STYLE}</style>"
        f"<h1>Scenarios</h1><p>{head}</p><table><tr><th>scenario<th>runtime<th>result<th>calls<th>virtual time"
        f"<th>known-bads</tr>{rows}</table></html>\n"
    )
    return page.encode()


def _row(result: Result) -> str:
    name = result.scenario + (f" [{result.variant}]" if result.variant else "")
    checks = "".join(
        f"<li><span class={check.status}>{check.status}</span> <code>{escape(check.name)}</code> {escape(check.saw)}"
        for check in result.checks
    )
    bads = "<br>".join(
        f"<code>{escape(describe(bad.change))}</code> "
        + {True: f"fails {escape(bad.by or '')}", False: "<b class=fail>not caught</b>", None: "skipped"}[
            bad.failed_as_expected
        ]
        for bad in result.known_bad
    )
    why = f"<p>{escape(result.why)}</p>" if result.why else ""
    opened = " open" if result.status in ("fail", "error") else ""
    return (
        f"<tr><td><details{opened}><summary>{escape(name)}</summary>{why}<ul>{checks}</ul></details>"
        f"<td>{escape(result.runtime)}<td class={result.status}>{result.status}"
        f"<td class=n>{result.requests}<td class=n>{result.virtual_s:.1f} s<td>{bads}</tr>"
    )
