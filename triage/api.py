"""The library call: `triage.explain(paths) -> Verdict`, the same engine as the command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from triage.core.analysis import Analysis, Choice
from triage.core.cause.explain import Explained
from triage.core.cause.places import Locate
from triage.core.cause.verdict import Verdict
from triage.core.values import replace
from triage.errors import InputError
from triage.files.inputs import Collected, Input
from triage.files.lines import places
from triage.files.parts import joined
from triage.files.rules import load
from triage.files.scan import scan
from triage.files.walk import collect, is_archive

if TYPE_CHECKING:
    from triage.core.cause.record import Record


def explain(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    attempt: int | None = None,
    job: str | None = None,
    rules: Iterable[str | os.PathLike[str]] = (),
    progress: Callable[[int, int], None] | None = None,
    record: Record | None = None,
    base: str | None = None,
) -> Verdict:
    """Read the logs of a job and say why it failed.

    `paths` are files, folders, globs or `-`; `attempt` counts from 1 (default: the one that decides); `job` picks one of several
    jobs in a folder (default: the newest); `rules` are folders with further rules; `progress` is called with
    (bytes read, bytes in all); `record` is what the scheduler says about the job (default: what a `triage-JOBID.json`
    among the paths says); `base` is a folder from which the files of the evidence are named, so that they can be opened
    (default: from the path that held them).

    Raises InputError when nothing can be read or the attempt or job is not there, RuleError when a rules folder is
    wrong.
    """
    return explain_with_selection(
        paths, attempt=attempt, job=job, rules=rules, progress=progress, record=record, base=base
    ).verdict


def explain_with_selection(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    attempt: int | None = None,
    job: str | None = None,
    rules: Iterable[str | os.PathLike[str]] = (),
    progress: Callable[[int, int], None] | None = None,
    record: Record | None = None,
    base: str | None = None,
) -> Explained:
    """As `explain`, with the incidents that the verdict was chosen from."""
    return explain_collected(
        collected_of(paths),
        attempt=attempt,
        job=job,
        rules=rules,
        progress=progress,
        record=record,
        base=base,
    )


def explain_collected(
    collected: Collected,
    *,
    attempt: int | None = None,
    job: str | None = None,
    rules: Iterable[str | os.PathLike[str]] = (),
    progress: Callable[[int, int], None] | None = None,
    record: Record | None = None,
    base: str | None = None,
) -> Explained:
    """As `explain_with_selection`, for logs that were collected before."""
    choice = _choice(collected, attempt, job)
    logs = joined(collected.inputs)
    analysis = Analysis(load(os.environ, rules))
    notes = scan(logs, analysis, progress)
    explained = analysis.explained(_locator(logs, base), choice)
    skipped = tuple(sorted((*collected.skipped, *notes), key=lambda s: (s.path, s.reason)))
    scanned = replace(explained.verdict.scanned, files=len(collected.inputs), skipped=skipped)
    verdict = replace(explained.verdict, scanned=scanned)
    if choice.attempt is None:
        known = record if record is not None else record_of(collected, verdict.job)
        if known is not None:
            from triage.core.cause.record import with_record

            verdict = with_record(verdict, known)
    return replace(explained, verdict=verdict)


def _choice(collected: Collected, attempt: int | None, job: str | None) -> Choice:
    """What is asked for, or what a bundle was asked for when it was made."""
    if collected.bundled is None or attempt is not None or job is not None:
        return Choice(attempt, job)
    return Choice(collected.bundled.attempt, collected.bundled.job)


def own_rules(extra: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Ids of the rules that are used and do not ship with the tool."""
    shipped = {rule.id: rule for rule in load({}).rules}
    return tuple(sorted(r.id for r in load(os.environ, extra).rules if shipped.get(r.id) != r))


def record_of(collected: Collected, job: str | None) -> Record | None:
    """The record that a watcher left beside the logs of this job, or that a bundle holds."""
    if collected.bundled is not None:
        return collected.bundled.record
    if not collected.records:
        return None
    from triage.core.cause.record import read_record
    from triage.files.records import read_record as read_file

    found = []
    for one in collected.records:
        try:
            found.append(read_record(read_file(one.open)))
        except InputError:
            continue
    if job is None:
        return found[0] if len(found) == 1 else None
    return next((one for one in found if one.job == job), None)


def explain_why_not(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    rank: int,
    *,
    attempt: int | None = None,
    job: str | None = None,
    rules: Iterable[str | os.PathLike[str]] = (),
    progress: Callable[[int, int], None] | None = None,
    base: str | None = None,
) -> tuple[str, ...]:
    """Why the failure of `rank` is not the root cause, in sentences with `path:line`. Raises as `explain`."""
    collected = collected_of(paths)
    logs = joined(collected.inputs)
    analysis = Analysis(load(os.environ, rules))
    scan(logs, analysis, progress)
    locate = _locator(logs, base)
    explained = analysis.explained(locate, _choice(collected, attempt, job))
    from triage.core.cause.whynot import why_not

    return analysis.say(why_not(explained, rank), locate)


def collected_of(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Collected:
    """What is read: the logs that the paths name, or those of the bundle that they name. Raises InputError."""
    several = [os.fspath(p) for p in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    collected = _unpacked(several) or collect(several)
    if not any(one.size for one in collected.inputs):
        raise InputError("nothing to read: all inputs are empty")
    return collected


def _unpacked(paths: Sequence[str]) -> Collected | None:
    """The logs of a bundle, which is recognised by its content; any other archive is refused."""
    if len(paths) != 1 or not is_archive(paths[0]):
        return None
    from triage.bundle.read import opened

    return opened(paths[0])


def _locator(logs: Sequence[Input], base: str | None) -> Locate:
    return lambda source, offsets: places(logs[source], offsets, base)
