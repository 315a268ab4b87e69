"""From the selection to its outcome: a failure, an end, or none.

The search for a silent rank is a dozen modules, imported when collectives are all that failed.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from triage.core.cause.handled import STEPS
from triage.core.cause.incident import Incident
from triage.core.cause.joblog import JobLog, Reason, ResolvedExit
from triage.core.cause.outcome import Blame, Outcome, alike, spokesman
from triage.core.cause.rootcause import Selection
from triage.core.cause.signs import Sign
from triage.core.cause.timeline import Timeline
from triage.core.cause.unexplained import cut_off, swallowed, unknown_exit, without_result
from triage.core.events.model import Message, Trace
from triage.core.lazy import lazy
from triage.core.rules.model import On, Role

KILLERS = frozenset({"timeout", "cancelled"})
"""Categories of the scheduler's statements that may have ended a run that was already dead or done."""

BY_SIGNAL = frozenset({129, 130, 137, 143})
"""Exit codes by which a shell tells that a signal ended its command."""

LINGER = 60.0
"""Seconds that processes may take to go after training has finished."""

_LAST_LINE = lazy(r"[\w.]*(?:Error|Exception|Exit)\b|terminate called|what\(\):|Fatal |Aborted|Bus error")
"""The line of a process that dies, where its traceback is not in the log."""

HALF_HOUR = 1800.0
"""Seconds: time zones lie a multiple of this apart."""


def outcome_of(job: JobLog, selection: Selection) -> Outcome:
    """The outcome of one attempt; total: no evidence of failure and of an end is `none`, not ended."""
    root = selection.root
    if root is None:
        return _no_root(job, selection)
    if root.category in KILLERS and root.rule.scheduler:
        return _killed(job, selection, root)
    if root.role is Role.DOWNSTREAM:
        from triage.core.cause.silent import collective

        return collective(job, selection, root)
    return Outcome(
        failed=True,
        category=root.category,
        ended=True,
        rule=root.rule,
        root=root,
        occurrence=spokesman(root),
        named=selection.named.first if selection.named is not None else None,
        alike=alike(selection, root),
        downstream=selection.downstream,
        unexplained=selection.unexplained,
        reasons=selection.reasons,
        values={
            "alone": _said_only(job, selection, root),
            "went_on": _went_on(job, root),
            "finished": _finished_somewhere(job, root),
        },
    )


def _said_only(job: JobLog, selection: Selection, root: Incident) -> bool:
    """A mere line says what ends a process in a traceback, and nothing shows that any process ended.
    A refused command line is an end by itself."""
    if root.rule.scheduler or root.category == "config" or On.TRACE not in (root.rule.on, *root.rule.also_on):
        return False
    lines = [o.event for o in root.occurrences if isinstance(o.event, Message)]
    if len(lines) < len(root.occurrences) or any(_LAST_LINE.match(line.text) for line in lines):
        return False
    others = (*selection.downstream, *selection.unexplained)
    ended = any(not isinstance(i.first.event, Message) or i.category in ("nccl", "cancelled") for i in others)
    return not (ended or job.failing_exits() or job.cut)


def _went_on(job: JobLog, root: Incident) -> bool:
    """Training goes on behind it in its own stream, and no time tells whether its process was still there."""
    o = spokesman(root)
    if root.rule.scheduler or o.where.rank in job.ranks_failed:
        return False
    behind = job.timeline.after(o.event.span.source, o.event.span.last)
    return sum(s.time is None and s.progress.kind == "iteration" for s in behind) >= STEPS


def _finished_somewhere(job: JobLog, root: Incident) -> bool:
    """Training came to its end in another stream, no process was seen to fail, and no time tells which came first."""
    done = job.timeline.finished
    if done is None or root.rule.scheduler or job.failing_exits():
        return False
    o = spokesman(root)
    if o.event.span.source == done.progress.span.source:
        return False
    return done.time is None or not math.isfinite(o.bounds.lo)


def _no_root(job: JobLog, selection: Selection) -> Outcome:
    timeline = job.timeline
    left = selection.unexplained
    bad = job.failing_exits()
    if bad and not (timeline.finished is not None and timeline.finished.progress.kind == "success"):
        return unknown_exit(job, selection, bad)
    done = timeline.finished
    if ended := _ended_from_outside(job, selection) or cut_off(job, selection):
        return ended
    if done is not None or any(_is_clean(e) for e in job.exits):
        places = ((done.progress.span.source, done.progress.span.first),) if done is not None else ()
        text = (
            "training finished ({0}) and no failure followed"
            if done is not None
            else "all processes ended with 0"
        )
        return Outcome(
            False, "none", True, unexplained=(), reasons=(Reason(text, places), *selection.reasons),
            summary="no failure: training finished",
        )  # fmt: skip
    if empty := without_result(job, selection):
        return empty
    if launched := next(
        (i for i in left if i.role is Role.TEARDOWN and (i.category == "launcher" or isinstance(i.first.event, Trace))), None
    ):  # fmt: skip
        return swallowed(selection, launched)
    if stopped := next((s for s in timeline.signs if s.progress.kind == "aborted"), None):
        place = (stopped.progress.span.source, stopped.progress.span.first)
        return Outcome(
            False, "none", True, unexplained=left,
            reasons=(Reason("the run says that it stopped before its target ({0})", (place,)), *selection.reasons),
            summary="no failure: the run stopped itself before it reached its target",
        )  # fmt: skip
    return Outcome(
        False, "none", False, unexplained=left, reasons=(*_last_sign(timeline), *_not_a_number(timeline), *selection.reasons),
        summary="no failure seen, and no end either: the run may still be going",
    )  # fmt: skip


def _last_sign(timeline: Timeline) -> tuple[Reason, ...]:
    last = timeline.last
    if last is None:
        return (Reason("no failure and no progress was found in the logs"),)
    progress = last.progress
    what = f"iteration {progress.iteration}" if progress.iteration is not None else progress.kind
    return (Reason(f"last sign of life: {what} ({{0}})", ((progress.span.source, progress.span.first),)),)


def _not_a_number(timeline: Timeline) -> tuple[Reason, ...]:
    """Where the loss became NaN and stayed so to the last iteration."""
    since: Sign | None = None
    for sign in timeline.signs:
        values = sign.progress.values
        told = [value for name, value in values.items() if "loss" in name and "scale" not in name]
        if any(map(math.isnan, told)) or values.get("number of nan iterations"):
            since = since or sign
        elif told:
            since = None
    if since is None:
        return ()
    progress = since.progress
    where = "" if progress.iteration is None else f" since iteration {progress.iteration}"
    return (Reason(f"the loss is NaN{where} ({{0}})", ((progress.span.source, progress.span.first),)),)


def _ended_from_outside(job: JobLog, selection: Selection) -> Outcome | None:
    """Only the marks of a SIGTERM are there: somebody, or something outside of these logs, ended the run."""
    signs = [i for i in selection.unexplained if i.role is Role.TEARDOWN and i.category == "cancelled"]
    if not signs or job.timeline.finished is not None:
        return None
    first = min(signs, key=lambda i: not isinstance(i.first.event, Trace))
    return Outcome(
        True,
        "cancelled",
        True,
        rule=first.rule,
        occurrence=first.first,
        downstream=tuple(i for i in selection.unexplained if i is not first),
        reasons=(
            Reason(
                "the processes were ended from outside ({0}); nothing in the logs says by whom",
                (first.first.place,),
            ),
            *selection.reasons,
        ),
    )


def _is_clean(e: ResolvedExit) -> bool:
    return e.exit.exitcode == 0 and not e.exit.signal


def _killed(job: JobLog, selection: Selection, root: Incident) -> Outcome:
    """The time limit or a cancel: of a run that worked, hung, or had long finished."""
    o = root.first
    timeline = job.timeline
    done = timeline.finished
    at = o.bounds.lo
    silent = timeline.silent_before(at) if at > float("-inf") else None
    if silent is None and not timeline.iterations and at > float("-inf"):
        silent = _no_line_before(job, at)
    category, rule_id, reason = root.category, root.rule.id, None
    if done is not None and (silent is None or silent > LINGER):
        category, rule_id = "hang", "hang/at-exit"
        reason = Reason("training had finished ({0}); the processes stayed until they were killed ({1})",
                        ((done.progress.span.source, done.progress.span.first), o.place))  # fmt: skip
    elif silent is not None and timeline.is_hang(silent):
        category, rule_id = "hang", "hang/no-progress"
        last = timeline.last
        places = ((last.progress.span.source, last.progress.span.first), o.place) if last else (o.place,)
        shown = ", ".join(f"{{{n}}}" for n in range(len(places)))
        reason = Reason(f"no progress for {silent:.0f} s before the kill ({shown})", places)
    rule = job.ruleset.get(rule_id) or root.rule
    blame = None
    if category == "hang":
        from triage.core.cause.culprit import culprit_of

        blame = _who_stayed(job) or culprit_of(job, (*selection.downstream, *selection.unexplained))
        blame = blame if blame.rank is not None else None
    return Outcome(
        failed=True,
        category=category,
        ended=True,
        rule=rule if category == rule.category else None,
        rule_id=rule_id,
        root=root,
        occurrence=o,
        culprit=blame,
        alike=alike(selection, root),
        downstream=selection.downstream,
        unexplained=selection.unexplained,
        reasons=(*((reason,) if reason else ()), *(blame.reasons if blame else ()), *selection.reasons),
        values={
            **({} if silent is None else {"silent_s": f"{silent:.0f}", "zone": _may_be_zone(silent)}),
            **(_by_srun_itself(job) if category == "cancelled" else {}),
        },
    )


def _by_srun_itself(job: JobLog) -> dict[str, object]:
    """Whether srun may have cancelled the step by itself, as it does after a bad exit: no line is about the whole job."""
    told = [o for o in job.occurrences if o.rule.scheduler and o.rule.category == "cancelled"]
    if any(o.captures.get("what") == "JOB" or "STEPD" in o.text for o in told):
        return {}
    own = [e for e in job.failing_exits() if e.exit.by == "srun" and e.exit.exitcode and not e.signal]
    return {"step_only": True, "failed_task": any(e.exit.exitcode not in BY_SIGNAL for e in own)}


def _may_be_zone(silent: float) -> bool:
    """Whether two clocks that print different time zones would show such a silence."""
    return (
        silent > HALF_HOUR and abs(silent - round(silent / HALF_HOUR) * HALF_HOUR) < 60.0
    ) or silent > 30 * 86400


def _no_line_before(job: JobLog, time: float) -> float | None:
    """Seconds without any stamped line before a time; None where nothing was stamped before it."""
    before = bisect_left(job.stamps, time)
    return time - job.stamps[before - 1] if before else None


def _who_stayed(job: JobLog) -> Blame | None:
    """The one rank that srun had to end, where the others had gone by themselves."""
    ended = {r for e in job.exits if e.exit.by == "srun" and e.signal for r in e.exit.ranks}
    if len(ended) != 1 or not job.world.task_is_rank:
        return None
    rank = next(iter(ended))
    node = job.world.host_of.get(rank) or next((e.exit.host for e in job.exits if rank in e.exit.ranks), None)
    return Blame(rank, node, (rank,), "inferred", True, (Reason(f"srun had to end rank {rank} only"),))
