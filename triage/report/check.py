"""What a check found, for a terminal or a program (`triage.check/1`, schemas/check-1.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from triage.core.megatron.finding import Finding, Severity
from triage.core.script.holes import readable
from triage.core.values import dataclass
from triage.report.mask import one_line, safe


@dataclass(frozen=True, slots=True)
class Checked:
    """One script and what was found in it, the worst first."""

    path: str
    """As it was given."""
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings)


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How the text is laid out."""

    verbose: bool = False
    """Notes (`info`) are shown too."""
    color: bool = False


_COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "2"}


UNCHECKED = frozenset({"script/no-launch", "script/limit"})
"""Notes that tell that little was checked: without them a clean result would promise too much."""


def render_text(results: Sequence[Checked], options: CheckOptions) -> str:
    """A line for each finding, which editors and grep understand, and a summary."""
    lines = [line for result in results for line in finding_lines(result, options)]
    return "\n".join([*lines, _summary(results, options)]) + "\n"


def finding_lines(result: Checked, options: CheckOptions) -> list[str]:
    return [
        _line(result.path, finding, options)
        for finding in result.findings
        if options.verbose or finding.severity is not Severity.INFO or finding.check in UNCHECKED
    ]


def _line(path: str, finding: Finding, options: CheckOptions) -> str:
    place = _told(path) if finding.line is None else f"{_told(path)}:{finding.line}"
    name = finding.severity.value
    if options.color:
        name = f"\x1b[{_COLORS[finding.severity]}m{name}\x1b[0m"
    source = f" (Megatron {finding.source})" if finding.source else ""
    return f"{place}: {name}: {_told(finding.message)} [{finding.check}]{source}"


def _summary(results: Sequence[Checked], options: CheckOptions) -> str:
    errors, warnings, notes = (sum(result.count(severity) for result in results) for severity in Severity)
    notes -= sum(finding.check in UNCHECKED for result in results for finding in result.findings)
    text = f"{counted(errors, 'error')}, {counted(warnings, 'warning')} in {counted(len(results), 'script')}"
    if options.color:
        worst = Severity.ERROR if errors else Severity.WARNING
        text = f"\x1b[{_COLORS[worst] if errors or warnings else '1;32'}m{text}\x1b[0m"
    return f"{text}; {counted(notes, 'note')}, shown with -v" if notes and not options.verbose else text


def counted(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def render_json(results: Sequence[Checked], options: CheckOptions) -> str:  # noqa: ARG001
    """One object, keys in the contract's order. All but ASCII is escaped, so that a path stays as given and still does
    nothing to a terminal."""
    data = {
        "schema": "triage.check/1",
        "results": [
            {
                "path": result.path,
                "errors": result.count(Severity.ERROR),
                "warnings": result.count(Severity.WARNING),
                "findings": [*finding_objects(result.findings)],
            }
            for result in results
        ],
    }
    return json.dumps(data, indent=2) + "\n"


def finding_objects(findings: Sequence[Finding]) -> Iterator[dict[str, str | int | None]]:
    for finding in findings:
        yield {
            "severity": finding.severity.value,
            "check": finding.check,
            "message": _told(finding.message),
            "source": finding.source,
            "line": finding.line,
        }


def _told(text: str) -> str:
    """Text of a script on one line; a part that is known only when the job runs as `<SLURM_NODEID>`."""
    return one_line(safe(readable(text)))


CHECK_FORMATS: Mapping[str, Callable[[Sequence[Checked], CheckOptions], str]] = MappingProxyType(
    {"text": render_text, "json": render_json}
)
