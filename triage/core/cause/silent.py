"""Only collectives failed: the earliest symptom speaks, the culprit is whoever is missing or odd."""

from __future__ import annotations

from triage.core.cause.clock import Bounds
from triage.core.cause.culprit import culprit_of
from triage.core.cause.incident import Incident, Occurrence
from triage.core.cause.joblog import JobLog, Reason, ResolvedExit
from triage.core.cause.outcome import Blame, Outcome, spokesman
from triage.core.cause.rootcause import Selection
from triage.core.cause.unexplained import bare, swallowed, unknown_exit
from triage.core.cause.where import Where
from triage.core.events.model import Exit, Message, Words
from triage.core.values import replace


def collective(job: JobLog, selection: Selection, root: Incident) -> Outcome:
    """Only collective failures: the earliest symptom speaks, the culprit is whoever is missing or odd."""
    downstream = (root, *selection.downstream)
    blame = culprit_of(job, downstream)
    if root.category == "python":
        return swallowed(selection, root)
    symptom = spokesman(root)
    silent = _left_without_a_word(job, blame, downstream)
    if silent is not None and (told := _last_words(job, silent)):
        return _gave_up(job, selection, silent, told, downstream)
    if silent is not None and silent.failing:
        bare = unknown_exit(job, selection, [silent])
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
        advice=job.ruleset.get(
            "nccl/another-collective" if _waited(blame, downstream) else "nccl/silent-rank"
        )
        if blame.rank is not None or blame.node is not None
        else None,
    )


def _blamed(blame: Blame, root: Incident) -> str:
    """Who is to blame in one sentence; empty where nobody is, and the rule's own summary says it."""
    if (blame.rank is None and blame.node is None) or not blame.reasons:
        return ""
    node = f" ({blame.node})" if blame.rank is not None and blame.node else ""
    who = f"rank {blame.rank}{node}" if blame.rank is not None else str(blame.node)
    what = {"other-collective": "waited in another collective", "behind": "fell behind"}
    return f"{who} {what.get(blame.how, 'went missing')}: {blame.reasons[0].text} ({root.rule.title})"


def _waited(blame: Blame, symptoms: tuple[Incident, ...]) -> bool:
    """The culprit timed out as well: it left the common order of collectives and did not stop."""
    timed_out = any(blame.rank in i.ranks and i.rule.id == "nccl/watchdog-timeout" for i in symptoms)
    return blame.how == "other-collective" or (blame.how == "behind" and timed_out)


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
    rule = job.ruleset.get("python/exit-text") or bare(silent).rule
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


def _without(incident: Incident, rank: int | None) -> Incident:
    kept = tuple(o for o in incident.occurrences if rank is None or o.where.rank != rank)
    return replace(incident, occurrences=kept) if kept else incident
