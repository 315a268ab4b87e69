"""Ends that no rule names: a bad exit without a word, a traceback that is cut off."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.cause.blamed import by_themselves
from triage.core.cause.clock import Bounds
from triage.core.cause.incident import Incident, Occurrence
from triage.core.cause.joblog import JobLog, Reason, ResolvedExit
from triage.core.cause.outcome import Outcome, spokesman
from triage.core.cause.rootcause import Selection
from triage.core.events.model import Message
from triage.core.rules.model import On, Role, Rule


def unknown_exit(job: JobLog, selection: Selection, bad: Sequence[ResolvedExit]) -> Outcome:
    """A process ended badly and nothing says why."""
    first = min(
        by_themselves(bad),
        key=lambda e: (
            not e.exit.first,
            e.time if e.time is not None else float("inf"),
            e.where.rank if e.where.rank is not None else 1 << 30,
        ),
    )
    occurrence = next((o for o in job.occurrences if o.event is first.exit), None) or bare(first)
    who = f"rank {first.where.rank}" if first.where.rank is not None else (first.where.node or "a process")
    how = f"signal {first.signal}" if first.signal else f"exit code {first.exit.exitcode}"
    return Outcome(
        True,
        "unknown",
        True,
        occurrence=occurrence,
        downstream=tuple(i for i in selection.unexplained if i.role is not Role.ROOT),
        unexplained=tuple(i for i in selection.unexplained if i.role is Role.ROOT),
        reasons=(
            Reason(
                f"{who} ended with {how} ({{0}}) and left no message that tells why",
                ((first.exit.span.source, first.exit.span.first),),
            ),
            *selection.reasons,
        ),
        summary=f"{who} ended with {how}; the logs do not show why",
        advice=job.ruleset.get("python/no-word"),
    )


def bare(e: ResolvedExit) -> Occurrence:
    """The exit itself as an occurrence, where no rule matched it."""
    rule = Rule("unknown/exit", "unknown", "a process ended badly", Role.ROOT, On.EXIT, ())
    bounds = Bounds() if e.time is None else Bounds(e.time, e.time + 1.0)
    return Occurrence(e.exit, rule, None, {}, e.where, bounds)


def cut_off(job: JobLog, selection: Selection) -> Outcome | None:
    """A traceback that the log cuts off before its exception, behind which nothing goes on."""
    for trace, where in job.cut:
        if job.timeline.after(trace.span.source, trace.span.last):
            continue
        rule = Rule("unknown/cut-off", "unknown", "a traceback that is cut off", Role.ROOT, On.CONCLUSION, ())
        place = (trace.span.source, trace.span.first)
        return Outcome(
            True,
            "unknown",
            True,
            occurrence=Occurrence(trace, rule, None, {}, where, Bounds()),
            unexplained=selection.unexplained,
            reasons=(
                Reason("the log ends inside a traceback ({0}), before it names the exception", (place,)),
                *selection.reasons,
            ),
            summary="a traceback that the log cuts off before it names the exception",
            advice=job.ruleset.get("python/no-word"),
        )
    return None


def without_result(job: JobLog, selection: Selection) -> Outcome | None:
    """The job's script came to its end and has no result to tell, and no training was seen to finish."""
    told = next((s.progress for s in reversed(job.timeline.signs) if s.progress.kind == "no-result"), None)
    if told is None:
        return None
    rule = Rule("unknown/no-result", "unknown", "a run without a result", Role.ROOT, On.CONCLUSION, ())
    line = Message(told.span, told.tags, told.when, "the script's result line is empty")
    where = job.world.resolve(job.sources[told.span.source], told.span.source, told.tags)
    return Outcome(
        True,
        "unknown",
        True,
        occurrence=Occurrence(line, rule, None, {}, where, Bounds()),
        unexplained=selection.unexplained,
        reasons=(
            Reason(
                "the script wrote its result line without a result ({0}), and no training was seen to finish",
                ((told.span.source, told.span.first),),
            ),
            *selection.reasons,
        ),
        summary="the run ended without a result; the logs do not show why",
        advice=job.ruleset.get("python/no-word"),
    )


def swallowed(selection: Selection, root: Incident) -> Outcome:
    """A line says that something failed, and not what."""
    o = spokesman(root)
    return Outcome(
        True,
        "unknown",
        True,
        occurrence=o,
        root=root,
        downstream=selection.downstream,
        unexplained=selection.unexplained,
        reasons=(
            Reason(f"{root.rule.title} ({{0}}); what failed is not in the logs", (o.place,)),
            *selection.reasons,
        ),
        summary=f"{root.rule.title}; the logs do not show why",
        advice=root.rule,
    )
