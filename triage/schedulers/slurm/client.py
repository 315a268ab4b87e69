"""Slurm as a `Scheduler`: runs the commands with limits, hands their output to the parsers, and nothing else."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field

from triage.core.jobs.dependents import Waiting
from triage.core.jobs.identity import JobId, parse_job
from triage.core.jobs.state import Phase
from triage.core.jobs.submission import Looked, Outcome, Refused
from triage.core.jobs.witness import JobStatus, Program, Sighting, Witness, merge, whole_job
from triage.core.script.site import Partition, Site
from triage.core.values import dataclass
from triage.errors import SchedulerError
from triage.schedulers.interface import Details, Request
from triage.schedulers.process import Answer, Call, Runner, run
from triage.schedulers.slurm import commands, parse, past
from triage.schedulers.slurm.columns import AccountRow, QueueRow, Unreadable
from triage.schedulers.slurm.environment import query_environment, submit_environment
from triage.schedulers.slurm.refusals import failure, is_unknown_job, submission

QUERY_LIMIT = 60.0
"""Seconds for a command that asks: with the controller down a single id takes 8, a frozen slurmdbd 40."""
ID_SETTLES = 3.0
"""Seconds that sbatch gets after it has printed the id."""
SITE_LIMIT = 3.0
"""Seconds for what is only good to know: a check must not wait for a cluster that does not answer."""
CANCEL_LIMIT = 5.0
"""Seconds for a command that acts: a later one may hit the job's next attempt."""
LONGEST_COMMENT = 1000
ONE_BY_ONE = 5
"""Up to so many jobs are asked for one by one; a list makes the controller send its whole table."""
MESSAGE_TIMEOUT = 60.0
"""What is assumed where the site's own cannot be asked."""


@dataclass(slots=True)
class Slurm:
    """One user's view of a cluster."""

    inherited: Mapping[str, str]
    """The environment of the tool; the commands get one that is built from it."""
    runner: Runner = run
    clock: Callable[[], float] = time.time
    _config: dict[str, str] | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        return "slurm"

    def argv(self, request: Request) -> tuple[str, ...]:
        return commands.sbatch(request)

    def submit(self, request: Request, *, limit: float) -> Outcome:
        if "--test-only" in request.options:
            return Refused("--test-only submits nothing: take it out of the options")
        environment = submit_environment(self.inherited)
        argv = commands.sbatch(request)
        if shutil.which("timeout", path=environment["PATH"]) is not None:
            argv = commands.bounded(argv, limit - 3)
        call = Call(argv, environment, limit, str(request.folder), settle=ID_SETTLES)
        return submission(self.runner(call))

    def find(self, token: str, since: float, cluster: str | None = None) -> Looked:
        """Looks in the queue and, where that may have forgotten the job already, in accounting."""
        at = self.clock()
        looks = [self._find(token, since, at, name) for name in (cluster.split(",") if cluster else [None])]
        jobs = tuple(job for look in looks for job in look.found)
        return Looked(at, jobs, all(look.whole for look in looks))

    def _find(self, token: str, since: float, at: float, cluster: str | None) -> Looked:
        mark = commands.mark_of(token)
        queue = self._ask(commands.squeue_comments(cluster))
        whole = queue.whole and queue.code == 0
        found = parse.find_mark(queue.out, mark) if whole else ()
        remembered = whole and at - since < self._remembers() and cluster is None
        if not found and not remembered:
            user = self.inherited.get("USER") or str(os.getuid())
            lines = self._ask(commands.sacct_command_lines(user, since, cluster))
            whole = whole and lines.whole and lines.code == 0
            found = parse.find_mark(lines.out, mark)
        return Looked(at, tuple(JobId(number, cluster=cluster) for number in found), whole)

    def status(self, jobs: Sequence[JobId], since: float | None = None) -> dict[JobId, JobStatus]:
        """Of each asked job, and of every task or component of those that have some."""
        found: dict[JobId, JobStatus] = {}
        for cluster in dict.fromkeys(job.cluster for job in jobs):
            asked = [dataclasses.replace(job, cluster=None) for job in jobs if job.cluster == cluster]
            for job, status in self._statuses(asked, cluster, since).items():
                found[dataclasses.replace(job, cluster=cluster)] = status
        return found

    def _statuses(
        self, jobs: Sequence[JobId], cluster: str | None, since: float | None
    ) -> dict[JobId, JobStatus]:
        witnesses = {job: [witness] for job, witness in self._queued(jobs, cluster).items()}
        left = [job for job, (witness,) in witnesses.items() if _needs_account(witness)]
        if left:
            asked, listing = self._accounted(left, cluster, since)
            for job in [*left, *_more_parts(left, listing)]:
                rows = parse.incarnations(listing.rows, job)
                if job not in witnesses:
                    asked_whole = witnesses[JobId(job.number)][0]
                    witnesses[job] = [Witness(Program.SQUEUE, asked, (), asked_whole.answered)]
                witnesses[job].append(Witness(Program.SACCT, asked, rows, listing.whole))
        merged = {job: merge(found) for job, found in witnesses.items()}
        for job in jobs:
            parts = [merged[part] for part in parse.parts_of(merged, job.number)]
            if (job.task, job.component) == (None, None) and parts and not merged[job].known:
                merged[job] = whole_job(parts)
        return merged

    def details(self, job: JobId) -> Details | None:
        found = parse.meant(self._records(job), job)
        return None if found is None else dataclasses.replace(found, job=job)

    def named(self, job: JobId) -> JobId:
        records = self._records(job)
        other = next((one.job for one in records if one.raw == job.number != one.job.number), None)
        return job if other is None else dataclasses.replace(other, cluster=job.cluster)

    def _records(self, job: JobId) -> tuple[Details, ...]:
        """All that scontrol prints for an id; nothing where it does not know it."""
        answer = self._ask(commands.scontrol_job(job))
        if is_unknown_job(answer):
            return ()
        self._check("scontrol", answer)
        try:
            return parse.read_details(answer.out)
        except Unreadable as error:
            raise SchedulerError(f"job {job} cannot be read safely: {error}", transient=False) from error

    def past(self, job: JobId) -> Details | None:
        """From accounting and from the script, if that still lies where it was."""
        status = self.status([job]).get(job)
        if status is None or not status.known:
            return None
        asked = ("WorkDir", "JobName", "SubmitLine", "JobIDRaw")
        folder, name, line, raw = (
            self._ask(commands.sacct_field(job, field)).out.rstrip("\n") for field in asked
        )
        script = past.script_of(line)
        path = os.path.join(folder, script) if script is not None else ""
        number = int(raw) if raw.isascii() and raw.isdigit() else job.number
        output, error = past.log_files(line, _text_of(path), folder, name, job, number)
        row = Sighting(
            status.reading, status.reason, status.submitted, status.started, status.ended, status.restarts, status.exit,
            status.batch_exit, status.nodes,
        )  # fmt: skip
        return Details(job, row, name, "", folder, path, output, error, raw=number)

    def cancel(self, job: JobId) -> None:
        answer = self.runner(Call(commands.scancel(job), query_environment(self.inherited), CANCEL_LIMIT))
        if not answer.whole or (answer.code != 0 and not is_unknown_job(answer)):
            raise failure("scancel", answer)

    def signal(self, job: JobId, name: str) -> None:
        self._act("scancel", commands.scancel_signal(job, name))

    def set_requeue(self, job: JobId, allowed: bool) -> None:
        self._act("scontrol", commands.scontrol_update(job, "Requeue", str(int(allowed))))

    def comment(self, job: JobId, text: str) -> None:
        clean = "".join(char if char.isprintable() else " " for char in text)
        self._act("scontrol", commands.scontrol_update(job, "Comment", clean[:LONGEST_COMMENT]))

    def waiting(self, cluster: str | None = None) -> tuple[Waiting, ...] | None:
        answer = self._ask(commands.squeue_waiting(cluster))
        if not answer.whole or answer.code != 0:
            return None
        listing = parse.read_waiting(answer.out)
        return listing.rows if listing.whole else None

    def mine(self) -> tuple[JobId, ...]:
        answer = self._ask(commands.squeue_mine())
        self._check("squeue", answer)
        return tuple(job for line in answer.out.split("\n") if (job := parse_job(line)) is not None)

    def _act(self, program: str, argv: commands.Argv) -> None:
        """Within seconds or not at all: a late one may hit the job's next attempt."""
        self._check(program, self.runner(Call(argv, query_environment(self.inherited), CANCEL_LIMIT)))

    def site(self) -> Site:
        """What could not be asked is told, not guessed. All is asked at once: accounting alone takes a quarter second."""
        user = self.inherited.get("USER") or ""
        asked = {"sinfo": commands.sinfo(), "scontrol": commands.scontrol_config()}
        if user:
            asked["sacctmgr"] = commands.associations(user)
        with ThreadPoolExecutor(len(asked)) as pool:
            answers = dict(zip(asked, pool.map(self._ask_for_site, asked.values()), strict=True))
        good = {name: answer for name, answer in answers.items() if answer.whole and answer.code == 0}
        bad = [str(failure(name, answer)) for name, answer in answers.items() if name not in good]
        unknown = tuple(dict.fromkeys(bad))
        partitions: parse.Listing[Partition] = parse.Listing(())
        default: str | None = None
        accounts: tuple[str, ...] = ()
        qos: tuple[str, ...] = ()
        if "sinfo" in good:
            partitions, default = parse.read_partitions(good["sinfo"].out)
        if "sacctmgr" in good:
            accounts, qos = parse.read_associations(good["sacctmgr"].out)
        config = parse.read_config(good["scontrol"].out) if "scontrol" in good else {}
        enforced = "associations" in config.get("AccountingStorageEnforce", "")
        return Site(partitions.rows, accounts, qos, default, enforced, unknown)

    def _ask_for_site(self, argv: commands.Argv) -> Answer:
        return self.runner(Call(argv, query_environment(self.inherited), SITE_LIMIT))

    def message_timeout(self) -> float:
        return self._seconds("MessageTimeout", MESSAGE_TIMEOUT)

    def config(self) -> Mapping[str, str]:
        """`scontrol show config`, asked once."""
        if self._config is None:
            answer = self._ask(commands.scontrol_config())
            self._check("scontrol", answer)
            self._config = parse.read_config(answer.out)
        return self._config

    def _seconds(self, key: str, default: float) -> float:
        try:
            found = parse.seconds_of(self.config(), key)
        except SchedulerError:
            return default
        return default if found is None else found

    def _remembers(self) -> float:
        """For how long the controller surely knows a job after its submit."""
        return self._seconds("MinJobAge", 0.0)

    def _queued(self, jobs: Sequence[JobId], cluster: str | None) -> dict[JobId, Witness]:
        """What squeue says of each asked job, and of the parts of jobs that have some."""
        if len(jobs) > ONE_BY_ONE:
            listing = self._queue(self._ask(commands.squeue(cluster=cluster)))
            return self._witnesses(jobs, listing)
        found: dict[JobId, Witness] = {}
        for job in jobs:
            answer = self._ask(commands.squeue(job, cluster))
            listing = parse.Listing(()) if is_unknown_job(answer) else self._queue(answer)
            found.update(self._witnesses([job], listing))
        return found

    def _queue(self, answer: Answer) -> parse.Listing[QueueRow]:
        """The rows of squeue; an answer that failed has none and is not whole."""
        if answer.missing:
            raise failure("squeue", answer)
        if not answer.whole or answer.code != 0:
            return parse.Listing((), whole=False)
        return parse.read_queue(answer.out)

    def _witnesses(self, jobs: Sequence[JobId], listing: parse.Listing[QueueRow]) -> dict[JobId, Witness]:
        asked = self.clock()
        rows = {row.job: row for row in listing.rows}
        found = {}
        for job in jobs:
            alone = (job.task, job.component) != (None, None)
            for name in (job, *(() if alone else parse.parts_of(rows, job.number))):
                row = rows.get(name)
                seen: tuple[Sighting, ...] = () if row is None else (parse.seen_in_queue(row),)
                found[name] = Witness(Program.SQUEUE, asked, seen, listing.whole or row is not None)
        return found

    def _accounted(
        self, jobs: Sequence[JobId], cluster: str | None, since: float | None
    ) -> tuple[float, parse.Listing[AccountRow]]:
        answer = self._ask(commands.sacct(jobs, since, cluster))
        good = answer.whole and answer.code == 0
        return self.clock(), parse.read_accounts(answer.out) if good else parse.Listing((), whole=False)

    def _ask(self, argv: commands.Argv) -> Answer:
        return self.runner(Call(argv, query_environment(self.inherited), QUERY_LIMIT))

    @staticmethod
    def _check(program: str, answer: Answer) -> None:
        if not answer.whole or answer.code != 0:
            raise failure(program, answer)


def _text_of(path: str) -> str:
    """A script as it is now; empty where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(past.LONGEST)
    except (OSError, ValueError):
        return ""


def _needs_account(witness: Witness) -> bool:
    """Accounting is asked only about jobs that left the queue or are leaving it."""
    return not witness.sightings or witness.sightings[-1].reading.phase in (Phase.ENDING, Phase.ENDED)


def _more_parts(asked: Sequence[JobId], listing: parse.Listing[AccountRow]) -> list[JobId]:
    """Tasks and components of whole jobs that only accounting still knows."""
    known = parse.jobs_of(listing.rows)
    whole = [job for job in asked if (job.task, job.component) == (None, None)]
    return [part for job in whole for part in parse.parts_of(known, job.number) if part not in asked]


def connect(environment: Mapping[str, str]) -> Slurm:
    """The cluster that the user's Slurm commands talk to."""
    return Slurm(environment)
