"""Vetoes, dependents and the names of jobs on a real Slurm: what is held is not ended, however it is spelled."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.watch.real import SLOW, RealSite, hold
from triage.core.jobs.identity import JobId
from triage.store.actions import actions_of
from triage.store.database import KILL_SWITCH
from triage.watch.options import Options

RESULT = 'echo "{\\"job_id\\": $SLURM_JOB_ID, \\"restart\\": 0, \\"array_task_id\\": \\"$SLURM_ARRAY_TASK_ID\\"}" > part-$SLURM_JOB_ID; mv part-$SLURM_JOB_ID m-$SLURM_JOB_ID.json\n'
BODY = f"sleep 1\n{RESULT}sleep 600\n"
MINE = Options(artifacts=("m-{job_id}.json",))


def raw_of(site: RealSite, job: JobId) -> int:
    """The number that a task knows itself by."""
    shown = site.mini.output("scontrol", "show", "job", job.local)
    return int(shown.split("JobId=")[1].split()[0])


@pytest.mark.parametrize(
    ("watched", "held", "ends"),
    [
        ("{id}", "{id}", False),
        ("{id}", "{id};mini", False),
        ("{id};mini", "{id}", False),
        ("{id};mini", "{id};mini", False),
        ("{id};mini", None, True),
    ],
)
@SLOW
def test_a_hold_counts_with_and_without_the_cluster_and_so_does_a_cancel(
    site: RealSite, watched: str, held: str | None, ends: bool
) -> None:
    job = site.submit(BODY)
    site.runs(job)
    if held is not None:
        hold(site, held.format(id=job))
    watching = site.watch(replace(job, cluster="mini" if "mini" in watched else None), MINE)
    if ends:
        assert watching.ended() == 0, watching.said()
        assert site.hits == [f"scancel -M mini {job}"]
        return
    assert "is held" in watching.until("refused").message
    site.unharmed(job)
    hold(site, (held or "").format(id=job), "--release")
    assert watching.ended() == 0, watching.said()


@SLOW
@pytest.mark.parametrize(
    ("held", "ends"),
    [("array", False), ("task", False), ("raw", False), ("other task", True), ("raw of another", True)],
)
def test_a_task_is_held_by_its_array_its_index_and_its_raw_number(
    site: RealSite, held: str, ends: bool
) -> None:
    job = site.submit(BODY, "--array=0-2", f"--output={site.folder}/%x-%A_%a.out")
    site.until("three tasks run", lambda: site.state(job).split() == ["RUNNING"] * 3)
    task, other = replace(job, task=0), replace(job, task=1)
    names = {"array": job, "task": task, "raw": JobId(raw_of(site, task)), "other task": other, "raw of another": JobId(raw_of(site, other))}  # fmt: skip
    hold(site, names[held])
    watching = site.watch(task, MINE)
    if ends:
        assert watching.ended() == 0, watching.said()
        assert site.state(job).split().count("RUNNING") == 2
        assert site.hits == [f"scancel {task}"]
    else:
        assert "is held" in watching.until("refused").message
        assert site.hits == []
        assert site.state(job).split() == ["RUNNING"] * 3


@SLOW
@pytest.mark.parametrize("held", [None, "task", "raw", "last"])
def test_a_whole_array_is_ended_with_all_its_tasks_unless_one_of_them_is_held(
    site: RealSite, held: str | None
) -> None:
    job = site.submit(BODY, "--array=0-2", f"--output={site.folder}/%x-%A_%a.out")
    site.until("three tasks run", lambda: site.state(job).split() == ["RUNNING"] * 3)
    task = replace(job, task=1)
    last = next(one for one in (replace(job, task=n) for n in range(3)) if raw_of(site, one) == job.number)
    if held is not None:
        hold(site, {"task": task, "raw": JobId(raw_of(site, task)), "last": last}[held])
    options = replace(MINE, artifacts=(f"m-{raw_of(site, task)}.json",))
    if held is None:
        assert "stands for 3 tasks" in site.watch(job, options).until("refused").message
    watching = site.watch(job, replace(options, whole_array=True))
    if held is None:
        assert watching.ended() == 0, watching.said()
        assert "RUNNING" not in site.state(job)
        assert site.acts == [f"scontrol update JobId={job} Requeue=0", f"scancel {job}"]
    else:
        assert "is held" in watching.until("refused", words="is held").message
        assert site.hits == []
        assert site.state(job).split() == ["RUNNING"] * 3


@SLOW
def test_a_whole_array_of_which_a_task_was_requeued_is_left_alone(site: RealSite) -> None:
    """Within the grace; the first task, which scontrol tells first, is still the same."""
    job = site.submit(BODY, "--array=0-2", f"--output={site.folder}/%x-%A_%a.out")
    site.until("three tasks run", lambda: site.state(job).split() == ["RUNNING"] * 3)
    options = Options(
        artifacts=(f"m-{raw_of(site, replace(job, task=0))}.json",), whole_array=True, grace=10.0
    )
    watching = site.watch(job, options)
    watching.until("action", words="is to end early")
    assert site.requeued(replace(job, task=1))
    watching.until("action", words="is not ended early")
    assert site.hits == []
    site.until(
        "two tasks still run", lambda: sorted(site.state(job).split()) == ["PENDING", "RUNNING", "RUNNING"]
    )


@SLOW
@pytest.mark.parametrize("watched", [None, 0, 1])
@pytest.mark.parametrize("held", [None, 1, "raw"])
def test_every_id_of_a_heterogeneous_job_ends_and_holds_the_whole_job(
    site: RealSite, watched: int | None, held: int | str | None
) -> None:
    job = site.submit(BODY, "-N1", ":", "-N1")
    site.until("both components run", lambda: site.state(job).split() == ["RUNNING"] * 2, seconds=90)
    if held is not None:
        hold(site, JobId(job.number + 1) if held == "raw" else replace(job, component=1))
    options = replace(MINE, artifacts=(f"m-{job.number}.json",))
    watching = site.watch(replace(job, component=watched), options)
    if held is None:
        assert watching.ended() == 0, watching.said()
        assert "RUNNING" not in site.state(job)
        assert site.acts == [f"scontrol update JobId={job} Requeue=0", f"scancel {job}"]
    else:
        assert "is held" in watching.until("refused").message
        assert site.hits == []
        assert site.state(job).split() == ["RUNNING"] * 2


@SLOW
def test_the_kill_switch_stops_a_decision_within_its_grace(site: RealSite) -> None:
    job = site.submit(BODY)
    site.runs(job)
    watching = site.watch(job, replace(MINE, grace=5.0))
    watching.until("action", words="is to end early")
    (site.folder / "state" / KILL_SWITCH).touch()
    watching.until("action", words="kill-switch")
    site.unharmed(job, seconds=6)


@SLOW
def test_of_several_watchers_in_several_processes_one_acts(site: RealSite) -> None:
    job = site.submit(BODY)
    site.runs(job)
    all_of_them = [site.watch(job, MINE) for _ in range(4)]
    assert [one.ended() for one in all_of_them] == [0, 0, 0, 0]
    assert site.hits == [f"scancel {job}"]
    assert len(actions_of(site.database)) == 1


@pytest.mark.parametrize("kind", ["afterok", "afternotok", "afterany", "aftercorr"])
@pytest.mark.parametrize("graceful", [True, False], ids=["script ends itself", "scancel"])
@SLOW
def test_dependents_behave_as_after_a_completed_job_or_the_cancel_is_refused(
    site: RealSite, kind: str, graceful: bool
) -> None:
    array = ["--array=0-1"] if kind == "aftercorr" else []
    job = site.submit(
        f"{site.graceful() if graceful else ''}{RESULT}sleep 600 & step=$!\nwait $step\n", *array
    )
    after = site.submit("sleep 1\n", f"--dependency={kind}:{job}", *array, name="after")
    site.until("it runs", lambda: set(site.state(job).split()) == {"RUNNING"})
    tasks = [replace(job, task=n) for n in range(2)] if array else [job]
    for one in tasks:
        watching = site.watch(one, MINE)
        if graceful or kind == "afterany":
            assert watching.ended() == 0, watching.said()
        else:
            assert f"({kind})" in watching.until("refused").message
            assert site.hits == []
            assert set(site.state(job).split()) == {"RUNNING"}
    if not graceful and kind != "afterany":
        return
    if kind == "afternotok":
        told = ("squeue", "-h", "-j", str(after), "-o", "%r")
        site.until("it never starts", lambda: "DependencyNeverSatisfied" in site.mini.run(*told).stdout)
    else:
        site.until("it has run", lambda: set(site.state(after).split()) <= {"COMPLETED"}, seconds=60)
        states = site.mini.output("sacct", "-n", "-X", "-P", "-j", str(after), "-o", "State").split()
        assert set(states) <= {"COMPLETED", "RUNNING", "PENDING"}


@SLOW
def test_another_users_job_is_only_told(site: RealSite) -> None:
    """The folders of pytest are its user's own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        site.folder = Path(folder)
        os.chmod(folder, 0o777)
        job = site.submit(BODY, "--uid=65534")
        site.runs(job)
        watching = site.watch(job, MINE)
        assert "another user's job" in watching.until("refused").message
        assert site.acts == []
        site.mini.output("scancel", str(job))
        assert watching.ended() == 12
