"""What somebody has saved of `scontrol show job` or `sacct`, as people call them, as the status of one job.

The tool asks Slurm in formats of its own; these outputs are the defaults: times of a time zone, columns cut to their
width, names among them. What cannot be read is refused with its line.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence

from triage.core.jobs.identity import JobId
from triage.core.jobs.state import Phase, State
from triage.core.jobs.witness import JobStatus, Program, Sighting, Witness, merge, whole_job
from triage.errors import InputError
from triage.schedulers.slurm import parse
from triage.schedulers.slurm.columns import AccountRow, Unreadable, columns_of

_TIME = re.compile(r"(?<![\w:-])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?![\w:-])", re.ASCII)
_DASHES = re.compile(r"-+")
_NEEDED = ("JobID", "State", "ExitCode")


def read_saved(text: str, wanted: JobId | None = None) -> tuple[JobId, JobStatus] | None:
    """The job and how it stands; `None` for a text that neither command has printed.

    Raises InputError where a line cannot be read, or where several jobs are told of and none of them is wanted.
    """
    plain = text.replace("\r\n", "\n")
    try:
        if plain.lstrip().startswith("JobId="):
            found = _of_scontrol(_TIME.sub(_epoch, plain).strip("\n"))
        elif (rows := _rows(plain)) is not None:
            found = _of_sacct(tuple(rows))
        else:
            return None
    except Unreadable as error:
        raise InputError(f"the saved record cannot be read: {error}") from error
    return _one(found, wanted)


def _epoch(match: re.Match[str]) -> str:
    """Of this machine's time zone, as the commands print them."""
    try:
        return str(int(time.mktime(time.strptime(match[0], "%Y-%m-%dT%H:%M:%S"))))
    except (ValueError, OverflowError):
        return match[0]


def _of_scontrol(text: str) -> dict[JobId, JobStatus]:
    if "\n" not in text.strip() or " JobState=" in text.split("\n", 1)[0]:
        raise Unreadable(
            "save `scontrol show job ID` without `-o`: in one line its keys cannot be told from names"
        )
    return {record.job: _status(record.sighting) for record in parse.read_details(text)}


def _status(sighting: Sighting) -> JobStatus:
    return merge([Witness(Program.SAVED, 0.0, (sighting,))])


def _of_sacct(rows: Sequence[AccountRow]) -> dict[JobId, JobStatus]:
    found = {}
    for job in parse.jobs_of(rows):
        runs = [run for run in parse.incarnations(rows, job) if not run.placeholder]
        if runs:
            found[job] = _status(runs[-1])
    return found


def _rows(text: str) -> Iterator[AccountRow] | None:
    """sacct's, by the names in its first line; `None` where there is no such line."""
    lines = text.strip("\n").split("\n")
    if lines[0].split("|")[0].split()[:1] != ["JobID"]:
        return None
    names = [name.strip() for name in lines[0].split("|")]
    if len(names) > 1:
        return (
            _row(line, dict(zip(names, _parts(line, len(names)), strict=True))) for line in lines[1:] if line
        )
    spans = [match.span() for match in _DASHES.finditer(lines[1] if len(lines) > 1 else "")]
    names = [lines[0][start:end].strip() for start, end in spans]
    return (
        _row(line, {name: line[start:end].strip() for name, (start, end) in zip(names, spans, strict=True)})
        for line in lines[2:]
        if line.strip()
    )


def _parts(line: str, count: int) -> list[str]:
    parts = line.split("|")
    if len(parts) != count:
        raise Unreadable(
            f"{line[:80]!r} has {len(parts)} columns, not {count}: leave names and comments out with -o"
        )
    return parts


def _row(line: str, values: Mapping[str, str]) -> AccountRow:
    """Columns that were not asked for are as sacct leaves them where it does not know."""
    missing = [name for name in _NEEDED if name not in values]
    if missing:
        raise Unreadable(f"sacct was not asked for {', '.join(missing)}")
    told = {"JobIDRaw": values["JobID"], "NNodes": "1"}
    told |= {name: _TIME.sub(_epoch, value.strip()) for name, value in values.items()}
    told["State"] = _whole_state(told["State"])
    try:
        return AccountRow(*(item.read(told.get(item.code, "")) for item in columns_of(AccountRow).values()))
    except Unreadable as error:
        raise Unreadable(f"{line[:80]!r}: {error}") from error


def _whole_state(text: str) -> str:
    """sacct cuts a state to its column and marks that with `+`: `OUT_OF_ME+`, `CANCELLED+`."""
    if not text.endswith("+"):
        return text
    matching = [state.value for state in State if state.value.startswith(text[:-1].split()[0])]
    return matching[0] if len(matching) == 1 else text


def _one(found: Mapping[JobId, JobStatus], wanted: JobId | None) -> tuple[JobId, JobStatus]:
    if wanted is not None:
        own = {
            job: status
            for job, status in found.items()
            if job == JobId(wanted.number, wanted.task, wanted.component)
        }
        parts = {job: status for job, status in found.items() if job.number == wanted.number}
        found = own or (parts if wanted.task is None else {})
    if not found:
        raise InputError(
            "the saved record is about another job" if wanted is not None else "the saved record has no job"
        )
    numbers = {job.number for job in found}
    if len(numbers) > 1:
        names = ", ".join(str(job) for job in list(found)[:5])
        raise InputError(f"the saved record is about several jobs ({names}): save the one that is meant")
    if len(found) == 1:
        return next(iter(found.items()))
    worst = [
        status
        for status in found.values()
        if status.phase is not Phase.ENDED or status.state is not State.COMPLETED
    ]
    return JobId(numbers.pop()), whole_job(worst or list(found.values()))
