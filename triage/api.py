"""The library call: `triage.explain(paths) -> Verdict`, the same engine as the command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from triage.core.analysis import Analysis, Choice
from triage.core.cause.explain import Explained
from triage.core.cause.places import Locate
from triage.core.cause.verdict import Verdict
from triage.core.cause.whynot import why_not
from triage.errors import InputError
from triage.files.inputs import Collected, Input
from triage.files.lines import places
from triage.files.parts import joined
from triage.files.rules import load
from triage.files.scan import scan
from triage.files.walk import collect

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
    collected = _collected(paths)
    logs = joined(collected.inputs)
    analysis = Analysis(load(os.environ, rules))
    notes = scan(logs, analysis, progress)
    explained = analysis.explained(_locator(logs, base), Choice(attempt, job))
    skipped = tuple(sorted((*collected.skipped, *notes), key=lambda s: (s.path, s.reason)))
    scanned = replace(explained.verdict.scanned, files=len(collected.inputs), skipped=skipped)
    verdict = replace(explained.verdict, scanned=scanned)
    if attempt is None and (record is not None or collected.records):
        from triage.core.cause.record import with_record

        known = record if record is not None else _record_of(collected, verdict.job)
        verdict = with_record(verdict, known) if known is not None else verdict
    return replace(explained, verdict=verdict)


def _record_of(collected: Collected, job: str | None) -> Record | None:
    """The record that a watcher left beside the logs of this job."""
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
    logs = joined(_collected(paths).inputs)
    analysis = Analysis(load(os.environ, rules))
    scan(logs, analysis, progress)
    locate = _locator(logs, base)
    return analysis.say(why_not(analysis.explained(locate, Choice(attempt, job)), rank), locate)


def _collected(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Collected:
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    collected = collect([os.fspath(p) for p in several])
    if not any(one.size for one in collected.inputs):
        raise InputError("nothing to read: all inputs are empty")
    return collected


def _locator(logs: Sequence[Input], base: str | None) -> Locate:
    return lambda source, offsets: places(logs[source], offsets, base)
