"""What the selection means: which category it is, whether the run ended, and who is to blame when the culprit is silent."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from triage.core.cause.clock import Bounds
from triage.core.cause.culprit import Blame, culprit_of
from triage.core.cause.incident import Incident, Occurrence
from triage.core.cause.joblog import JobLog, Reason, ResolvedExit
from triage.core.cause.rootcause import Selection
from triage.core.cause.timeline import Timeline
from triage.core.cause.where import Where
from triage.core.events.model import Exit, Message, Trace, Words
from triage.core.rules.model import On, Role, Rule

KILLERS = frozenset({"timeout", "cancelled"})
"""Categories of the scheduler's statements that may have ended a run that was already dead or done."""


LINGER = 60.0
"""Seconds that processes may take to go after training has finished."""


@dataclass(frozen=True, slots=True)
class Outcome:
    failed: bool
    category: str
    ended: bool
    rule: Rule | None = None
    rule_id: str | None = None
    root: Incident | None = None
    occurrence: Occurrence | None = None
    culprit: Blame | None = None
    advice: Rule | None = None
    """The rule whose next steps fit, where it is not the one that names the root."""
    downstream: tuple[Incident, ...] = ()
    unexplained: tuple[Incident, ...] = ()
    reasons: tuple[Reason, ...] = ()
    named: Occurrence | None = None
    """Another line about the same failure that knows its rank."""
    alike: tuple[Occurrence, ...] = ()
    """Other lines of the same rule that say the same thing in other words."""
    summary: str = ""
    values: Mapping[str, object] = field(default_factory=dict)


def outcome_of(job: JobLog, selection: Selection) -> Outcome:
    """The outcome of one attempt; total: no evidence of failure and of an end is `none`, not ended."""
    root = selection.root
    if root is None:
        return _no_root(job, selection)
    if root.category in KILLERS and root.rule.scheduler:
        return _killed(job, selection, root)
    if root.role is Role.DOWNSTREAM:
        return _collective(job, selection, root)
    return Outcome(
        failed=True,
        category=root.category,
        ended=True,
        rule=root.rule,
        root=root,
        occurrence=_spokesman(root),
        named=selection.named.first if selection.named is not None else None,
        alike=_alike(selection, root),
        downstream=selection.downstream,
        unexplained=selection.unexplained,
        reasons=selection.reasons,
    )


def _spokesman(incident: Incident) -> Occurrence:
    """The occurrence that is shown: the first whose rank is known (Megatron prints an error twice, first untagged)."""
    first = next((o for o in incident.occurrences if o.where.rank is not None), incident.first)
    if isinstance(first.event, Exit) and not first.event.reason:
        same = (o for o in incident.occurrences if o.where.rank == first.where.rank)
        return next((o for o in same if isinstance(o.event, Exit) and o.event.reason), first)
    return first


def _alike(selection: Selection, root: Incident) -> tuple[Occurrence, ...]:
    others = (*selection.downstream, *selection.unexplained)
    return tuple(o for i in others if i.rule is root.rule for o in i.occurrences)


def _no_root(job: JobLog, selection: Selection) -> Outcome:
    timeline = job.timeline
    left = selection.unexplained
    bad = job.failing_exits()
    if bad and not (timeline.finished is not None and timeline.finished.progress.kind == "success"):
        return _unknown_exit(job, selection, bad)
    done = timeline.finished
    if ended := _ended_from_outside(job, selection):
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
    if stopped := next((s for s in timeline.signs if s.progress.kind == "aborted"), None):
        place = (stopped.progress.span.source, stopped.progress.span.first)
        return Outcome(
            False, "none", True, unexplained=left,
            reasons=(Reason("the run says that it stopped before its target ({0})", (place,)), *selection.reasons),
            summary="no failure: the run stopped itself before it reached its target",
        )  # fmt: skip
    return Outcome(
        False, "none", False, unexplained=left, reasons=(*_last_sign(timeline), *selection.reasons),
        summary="no failure seen, and no end either: the run may still be going",
    )  # fmt: skip


def _last_sign(timeline: Timeline) -> tuple[Reason, ...]:
    last = timeline.last
    if last is None:
        return (Reason("no failure and no progress was found in the logs"),)
    progress = last.progress
    what = f"iteration {progress.iteration}" if progress.iteration is not None else progress.kind
    return (Reason(f"last sign of life: {what} ({{0}})", ((progress.span.source, progress.span.first),)),)


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


def _unknown_exit(job: JobLog, selection: Selection, bad: list[ResolvedExit]) -> Outcome:
    """A process ended badly and nothing says why."""
    first = min(
        bad,
        key=lambda e: (
            not e.exit.first,
            e.time if e.time is not None else float("inf"),
            e.where.rank if e.where.rank is not None else 1 << 30,
        ),
    )
    occurrence = next((o for o in job.occurrences if o.event is first.exit), None) or _bare(first)
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


def _bare(e: ResolvedExit) -> Occurrence:
    rule = Rule("unknown/exit", "unknown", "a process ended badly", Role.ROOT, On.EXIT, ())
    bounds = Bounds() if e.time is None else Bounds(e.time, e.time + 1.0)
    return Occurrence(e.exit, rule, None, {}, e.where, bounds)


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
        reason = Reason(f"no progress for {silent:.0f} s before the kill ({{0}}, {{1}})", places)
    rule = job.ruleset.get(rule_id) or root.rule
    blame = None
    if category == "hang":
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
        alike=_alike(selection, root),
        downstream=selection.downstream,
        unexplained=selection.unexplained,
        reasons=(*((reason,) if reason else ()), *(blame.reasons if blame else ()), *selection.reasons),
        values={} if silent is None else {"silent_s": f"{silent:.0f}"},
    )


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


def _collective(job: JobLog, selection: Selection, root: Incident) -> Outcome:
    """Only collective failures: the earliest symptom speaks, the culprit is whoever is missing or odd."""
    downstream = (root, *selection.downstream)
    blame = culprit_of(job, downstream)
    if root.category == "python":
        return _swallowed(selection, root)
    symptom = _spokesman(root)
    silent = _left_without_a_word(job, blame, downstream)
    if silent is not None and (told := _last_words(job, silent)):
        return _gave_up(job, selection, silent, told, downstream)
    if silent is not None and silent.failing:
        bare = _unknown_exit(job, selection, [silent])
        return replace(bare, downstream=downstream, reasons=(*bare.reasons, *blame.reasons))
    symptoms = tuple(
        _without(i, blame.rank)
        for i in downstream
        if blame.rank is None or not i.ranks or i.ranks - {blame.rank}
    )
    return Outcome(
        failed=True,
        category=root.category,
        ended=True,
        rule=root.rule,
        root=root,
        occurrence=symptom,
        culprit=blame,
        downstream=symptoms if blame.rank is not None or blame.node is not None else selection.downstream,
        unexplained=selection.unexplained,
        reasons=(*blame.reasons, *selection.reasons),
        summary=_blamed(blame, root),
        advice=job.ruleset.get("nccl/silent-rank")
        if blame.rank is not None or blame.node is not None
        else None,
    )


def _blamed(blame: Blame, root: Incident) -> str:
    """Who is to blame in one sentence; empty where nobody is, and the rule's own summary says it."""
    if (blame.rank is None and blame.node is None) or not blame.reasons:
        return ""
    node = f" ({blame.node})" if blame.rank is not None and blame.node else ""
    who = f"rank {blame.rank}{node}" if blame.rank is not None else str(blame.node)
    return f"{who} went missing: {blame.reasons[0].text} ({root.rule.title})"


def _left_without_a_word(job: JobLog, blame: Blame, symptoms: tuple[Incident, ...]) -> ResolvedExit | None:
    """The culprit's own bad exit, where it ended by itself before the others and printed nothing."""
    if blame.rank is None or any(
        blame.rank in i.ranks for i in symptoms if not isinstance(i.first.event, Exit)
    ):
        return None
    exits = [e for e in job.exits if e.where.rank == blame.rank]
    return next((e for e in exits if e.exit.first and e.failing and not e.signal), None) or next(
        (e for e in exits if e.exit.victim), None
    )


def _last_words(job: JobLog, silent: ResolvedExit) -> tuple[Words, Where] | None:
    """The plain line that only the rank which left can have printed: `sys.exit("text")` leaves no traceback."""
    mine = [w for w in job.words if w[1].rank == silent.where.rank]
    if not mine and (silent.exit.exitcode == 1 or silent.exit.victim):
        mine = [w for w in job.words if w[1].rank is None and w[0].span.source == silent.exit.span.source]
    return min(mine, key=lambda w: w[0].span.first, default=None)


def _gave_up(
    job: JobLog,
    selection: Selection,
    silent: ResolvedExit,
    told: tuple[Words, Where],
    downstream: tuple[Incident, ...],
) -> Outcome:
    words, where = told
    rule = job.ruleset.get("python/exit-text") or _bare(silent).rule
    attribution = "inferred" if where.rank is None else where.attribution
    event = Message(words.span, words.tags, words.when, words.text)
    return Outcome(
        True,
        "python",
        True,
        rule=rule,
        occurrence=Occurrence(
            event,
            rule,
            None,
            {"message": words.text},
            replace(silent.where, attribution=attribution),
            Bounds(),
            True,
        ),
        downstream=downstream,
        reasons=(
            Reason(
                f"rank {silent.where.rank} left the others and printed no traceback ({{0}}); "
                "the line before their errors ({1}) reads like its last words",
                ((silent.exit.span.source, silent.exit.span.first), (words.span.source, words.span.first)),
            ),
            *selection.reasons,
        ),
    )


def _swallowed(selection: Selection, root: Incident) -> Outcome:
    """A line says that something failed, and not what."""
    o = _spokesman(root)
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


def _without(incident: Incident, rank: int | None) -> Incident:
    kept = tuple(o for o in incident.occurrences if rank is None or o.where.rank != rank)
    return replace(incident, occurrences=kept) if kept else incident
