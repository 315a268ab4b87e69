"""Results on a real Slurm that are not the attempt's own, or not whole: none of them ends the job."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.watch.real import SLOW, RealSite, hold
from triage.core.jobs.handshake import Started, marker_text
from triage.core.jobs.identity import JobId
from triage.store.actions import actions_of
from triage.store.jobs import all_jobs
from triage.watch.options import Options


def writes(text: str, path: str = "m.json") -> str:
    """A line of a script: the JSON appears whole under its name; `$SLURM_...` in it is filled in."""
    quoted = text.replace('"', '\\"')
    return f'echo "{quoted}" > part && mv part {path}\n'


def _old_result(site: RealSite) -> None:
    """By a real job that ran in the same folder before."""
    before = site.submit(writes('{"iteration": 500}'), name="before")
    site.until("the earlier job has ended", lambda: site.state(before) in ("", "COMPLETED"))


def _just_written(site: RealSite) -> None:
    (site.folder / "m.json").write_text('{"iteration": 500}')


def _old_lines(site: RealSite) -> None:
    (site.folder / "m.jsonl").write_text('{"iteration": 500}\n')


def _another_jobs_folder(site: RealSite) -> None:
    folder = site.folder / "runs" / "attempt-0"
    folder.mkdir(parents=True)
    (folder / "started").write_text(marker_text(Started(17, 0)))
    (site.folder / "m.json").symlink_to(folder / "m.json")


def _its_own_id_of_long_ago(site: RealSite) -> None:
    (site.folder / "m.json").write_text('{"job_id": 0}')


@dataclass(frozen=True)
class Case:
    """What a job does, and what is said about it."""

    body: str = ""
    before: Callable[[RealSite], None] = lambda _: None
    options: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""
    """Empty where nothing is worth a line."""


OWN = '"job_id": $SLURM_JOB_ID, "restart": 0'
CASES = {
    "of an earlier job in the same folder": Case(
        before=_old_result, said="older than this attempt|about as old"
    ),
    "written just before the submit": Case(before=_just_written, said="older than this attempt|about as old"),
    "another job's id": Case(writes('{"job_id": 1}'), said="of job 1"),
    "another job's id one level below": Case(writes('{"run": {"slurm_job_id": 1}}'), said="of job 1"),
    "another id beside its own": Case(
        writes(f'{{{OWN}, "config": {{"SLURM_JOB_ID": "1"}}}}'), said="of job 1"
    ),
    "a link into another job's folder": Case(
        writes('{"iteration": 500}', "runs/attempt-0/m.json"), _another_jobs_folder, said="folder of job 17"
    ),
    "not a number": Case(writes(f'{{{OWN}, "loss": NaN}}'), options={"when": "loss < 3"}),
    "not a number, and not": Case(writes(f'{{{OWN}, "loss": NaN}}'), options={"when": "not loss > 3"}),
    "infinite": Case(writes(f'{{{OWN}, "loss": Infinity}}'), options={"when": "loss < 3"}),
    "a field that is missing": Case(writes(f"{{{OWN}}}"), options={"when": "loss < 3"}, said="lacks loss"),
    "an hour in the future": Case(
        'echo "{\\"iteration\\": 500}" > part && touch -d "+1 hour" part && mv part m.json\n',
        said="stamped in the future",
    ),
    "an hour in the past": Case(
        f'{writes(f"{{{OWN}}}", "whole")}touch -d "-1 hour" whole && mv whole m.json\n',
        said="older than this attempt",
    ),
    "half of it": Case('printf \'{"job_id": 1, "iter\' > m.json\n'),
    "half a line after an old one": Case(
        "sleep 3\nprintf '{\"iteration\"' >> m.jsonl\n", _old_lines, {"artifacts": ("m.jsonl",)}
    ),
    "empty": Case("touch m.json\n"),
    "a link to nothing": Case("ln -s nothing m.json\n"),
    "its own id of long ago": Case(before=_its_own_id_of_long_ago, said="of job 0|older than"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "another job's id" else SLOW) for n in CASES]
)
def test_what_is_no_result_of_this_attempt_ends_nothing(site: RealSite, name: str) -> None:
    case = CASES[name]
    case.before(site)
    job = site.submit(f"{case.body}sleep 600\n")
    site.runs(job)
    watching = site.watch(job, Options(**{"artifacts": ("m.json",), "any": True, **case.options}))
    if case.said:
        message = watching.until("artifact").message
        assert any(words in message for words in case.said.split("|")), message
    else:
        watching.until("found")
    site.unharmed(job, seconds=4)
    assert actions_of(site.database) == []
    site.mini.output("scancel", str(job))
    assert watching.ended() == 12, watching.said()


@SLOW
@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ('{"iteration": 500}', "m.json", "nothing in it says which attempt"),
        ('{"job_id": $SLURM_JOB_ID}', "m.json", "not the attempt"),
        ('{"job_id": $SLURM_JOB_ID, "restart": 0}', "m.json", "of attempt 0"),
        ('{"iteration": 500}', "train-$SLURM_JOB_ID/attempt-0/m.json", "attempt 0"),
    ],
    ids=["no token", "the id alone", "the first attempt's token", "the first attempt's folder"],
)
def test_a_first_attempt_that_still_writes_does_not_end_the_second(
    site: RealSite, text: str, path: str, said: str
) -> None:
    """slurmd is killed alone: Slurm starts the job elsewhere while the first attempt's processes live on."""
    first = (
        f"echo at work $$\ntrap '' TERM\n[ ${{SLURM_RESTART_COUNT:-0}} = 0 ] || sleep 600\n{site.graceful()}"
        f"while true; do\n{writes(text, path)}sleep 0.5\ndone\n"
    )
    job = site.submit(first, "--exclusive", "--exclude=gpu3,gpu4", "-w", "gpu1")
    site.runs(job)
    watching = site.watch(job)
    watching.until("found")
    assert watching.told
    site.mini.output("scontrol", "update", f"JobId={job}", "Requeue=1")
    site.mini.stop_daemon("gpu1", kill=True)
    watching.until("requeued", seconds=90)
    site.mini.run("scontrol", "update", f"JobId={job}", "ReqNodeList=")
    site.start_now(job)
    where = path.replace("$SLURM_JOB_ID", str(job))
    before = (site.folder / where).stat().st_mtime
    acting = site.watch(job, Options(artifacts=(where,), any=True))
    assert said in acting.until("artifact").message
    site.unharmed(job, restarts=1, seconds=5)
    assert (site.folder / where).stat().st_mtime > before, "the first attempt was to write on"
    assert site.mini.output("squeue", "-h", "-o", "%N").strip() != "gpu1"
    site.mini.output("scancel", str(job))
    assert acting.ended() == 12, acting.said()


@SLOW
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"job_id": $SLURM_ARRAY_JOB_ID}', "only the array"),
        ('{"iteration": 500}', "other tasks of the array"),
        ('{"array_job_id": $SLURM_ARRAY_JOB_ID, "array_task_id": 2}', "of task 2"),
    ],
    ids=["the array's id", "no token", "another task's"],
)
def test_what_any_task_of_an_array_may_have_written_ends_none(site: RealSite, text: str, said: str) -> None:
    """The array's number is also the raw number of the task that starts last."""
    body = f"[ $SLURM_ARRAY_TASK_ID = 2 ] && {{ sleep 1; {writes(text).strip()}; }}\nsleep 600\n"
    job = site.submit(body, "--array=0-2", f"--output={site.folder}/%x-%A_%a.out")
    site.until("three tasks run", lambda: site.state(job).split() == ["RUNNING"] * 3)
    for task in (0, 2) if "task" not in said or "other" in said else (0,):
        one = replace(job, task=task)
        watching = site.watch(one, Options(artifacts=("m.json",), any=True))
        assert said in watching.until("artifact").message
        time.sleep(3)
        assert site.hits == []
    assert site.state(job).split() == ["RUNNING"] * 3
    site.mini.output("scancel", str(job))


@SLOW
def test_an_id_that_the_site_gives_out_again_is_another_job(site: RealSite) -> None:
    """The controller loses its state: the next job gets the same number, and writes the result that is waited for."""
    first = site.submit("sleep 600\n", name="first")
    site.runs(first)
    watching = site.watch(first, Options(artifacts=("m.json",), any=True))
    watching.until("found")
    second = _same_id(site, first, f"{writes(f'{{{OWN}}}')}sleep 600\n")
    assert second == first
    site.runs(second)
    assert watching.ended() in (11, 12), watching.said()
    site.unharmed(second)
    hold(site, second)
    held = site.watch(second, Options(artifacts=("m.json",), any=True))
    assert "is held" in held.until("refused").message
    site.unharmed(second)
    hold(site, second, "--release")
    assert held.ended() == 0, held.said()
    outcomes = [known.outcome for known in all_jobs(site.database)]
    assert outcomes in (["completed-early", "cancelled"], ["completed-early", "unknown"])


def _same_id(site: RealSite, job: JobId, body: str) -> JobId:
    mini = site.mini
    mini.stop_daemon("slurmctld")
    for file in (mini.settings.root / "state").iterdir():
        file.unlink() if not file.is_dir() else None
    text = mini.conf.read_text()
    mini.conf.write_text(f"{text}FirstJobId={job.number}\n")
    try:
        mini.start_daemon("slurmctld")
        site.until(
            "the nodes are ready", lambda: "idle" in mini.output("sinfo", "-h", "-o", "%T"), seconds=60
        )
        return site.submit(body)
    finally:
        mini.conf.write_text(text)
