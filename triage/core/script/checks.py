"""All checks of a script, in the order of explicit tables."""

from __future__ import annotations

from collections.abc import Iterator

from triage.core.megatron.finding import Finding, Severity
from triage.core.megatron.preflight import preflight
from triage.core.script import (
    check_environment,
    check_rendezvous,
    check_storage,
    check_torchrun,
)
from triage.core.script.case import RunCheck, Script, ScriptCheck
from triage.core.script.check_directives import check_directives
from triage.core.script.check_graceful import graceful
from triage.core.script.check_site import site
from triage.core.script.decisions import Way
from triage.core.script.facts import Facts
from triage.core.script.launches import Run, unresolved
from triage.core.values import replace

SCRIPT_CHECKS: tuple[ScriptCheck, ...] = (check_directives, check_storage.log_files, graceful, site)
RUN_CHECKS: tuple[RunCheck, ...] = (
    check_torchrun.processes,
    check_torchrun.nodes,
    check_torchrun.agents,
    check_torchrun.node_rank,
    check_torchrun.started,
    check_rendezvous.address,
    check_rendezvous.port,
    check_environment.worktree,
    check_environment.python,
    check_environment.export,
    check_environment.container,
    check_storage.written,
    check_storage.read,
)
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)
_MOST_NAMED = 5


def check_script(script: Script, facts: Facts) -> list[Finding]:
    """Everything that is wrong with a script and with those that it submits, the worst first, in the order of lines."""
    found = [*_findings(script, facts)]
    for inner in script.submitted:
        for item in _findings(inner, facts):
            lowered = _fails(item) and not inner.sure
            found.append(replace(item, severity=Severity.WARNING) if lowered else item)
    if script.uncalled is not None:
        found += _if_uncalled(script.uncalled, facts, {item.check for item in found})
    once = dict.fromkeys(found)
    return sorted(once, key=lambda item: (_ORDER.index(item.severity), item.line or 0))


def _if_uncalled(script: Script, facts: Facts, told: set[str]) -> Iterator[Finding]:
    """What is wrong if the script gets no arguments, and is not told anyway."""
    for item in _of_runs(script, facts):
        if item.check not in told and item.severity is not Severity.INFO:
            message = f"{item.message} (if the script gets no arguments)"
            yield replace(item, severity=Severity.WARNING, message=message)


def _findings(script: Script, facts: Facts) -> Iterator[Finding]:
    for check in SCRIPT_CHECKS:
        yield from check(script, facts)
    yield from _of_runs(script, facts)
    yield from _limits(script)


def _of_runs(script: Script, facts: Facts) -> Iterator[Finding]:
    """What is wrong with each run: an error only where every way through the script leads to one."""
    judged: list[tuple[tuple[Way, ...], list[Finding]]] = []
    launches = {run.command.way for run in script.runs}
    for run in script.runs:
        ways = script.decisions.ways(run.command.way, run.place, launches)
        found = [item for check in RUN_CHECKS for item in check(script, run, facts)]
        judged.append((ways, [*found, *_megatron(script, run, facts)]))
    failing = {way for ways, found in judged if any(map(_fails, found)) for way in ways}
    sure = script.decisions.inevitable(failing)
    for ways, found in judged:
        for item in found:
            lowered = _fails(item) and not sure and ways != ((),)
            yield replace(item, severity=Severity.WARNING) if lowered else item


def _fails(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR


def _megatron(script: Script, run: Run, facts: Facts) -> Iterator[Finding]:
    """Megatron-LM's own rules on what the run hands to it."""
    kind = facts.site().gpu(script.text("partition")) if run.launch.gpu is None else run.launch.gpu
    judged = [preflight(replace(launch, gpu=kind)) for launch in run.variants or (run.launch,)]
    failing = [{item.check for item in findings if _fails(item)} for findings in judged]
    certain = set[str].intersection(*failing) or (set[str].union(*failing) if all(failing) else set())
    for found in dict.fromkeys(finding for findings in judged for finding in findings):
        everywhere = all(any(item.check == found.check for item in findings) for findings in judged)
        if script.supposed and found.line is None:
            continue  # it tells of something missing, which arguments may well give
        finding = found if found.line is not None else replace(found, line=run.line)
        if not everywhere:
            finding = replace(finding, message=f"{finding.message} (in one branch of the script)")
        if _fails(finding) and found.check not in certain:
            finding = replace(finding, severity=Severity.WARNING)
        yield finding
    missing = unresolved(run, script.holes)
    if missing:
        listed = "; ".join(f"{name} ({reason})" for name, reason in list(missing.items())[:_MOST_NAMED])
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        text = f"not resolved, so what depends on it was not checked: {listed}{more}"
        yield Finding(Severity.INFO, "script/unresolved", text, None, run.line)


def _limits(script: Script) -> Iterator[Finding]:
    if script.truncated:
        text = "the script is too large or too deeply nested: a part of it was not checked"
        yield Finding(Severity.INFO, "script/limit", text, None, None)
    elif not script.runs and not script.submitted and script.directives.options:
        text = "no training command was found (srun, torchrun, deepspeed, accelerate): only the directives were checked"
        yield Finding(Severity.INFO, "script/no-launch", text, None, None)
