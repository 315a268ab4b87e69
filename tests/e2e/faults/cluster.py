"""Slurm, or somebody, ends the job."""

from __future__ import annotations

from tests.e2e.fault import Fault, Right, Shape
from tests.e2e.run import Job
from tests.minislurm.processes import of_slurm

FOREVER = "--train-iters 100000"
LONG = "--train-iters 30 --step-seconds 0.3"


def cancel(job: Job) -> None:
    job.reaches(2)
    job.slurm("scancel", job.id)


def start_now(job: Job) -> None:
    """Without the two minutes that Slurm lets a requeued job wait, but not before the attempt before is gone: what ends
    that one would end the new one too."""
    job.until("it waits again", lambda: job.state() == "PENDING")
    job.until("the attempt before is gone", lambda: not any(of_slurm(job.mini.conf)))

    def runs() -> bool:
        job.slurm("scontrol", "update", f"JobId={job.id}", "StartTime=now")
        return job.state() == "RUNNING"

    job.until("it runs again", runs, 120)


def requeue(job: Job) -> None:
    job.reaches(4)
    job.slurm("scontrol", "requeue", job.id)
    start_now(job)


def preempt(job: Job) -> None:
    """A job of more weight takes the node."""
    job.reaches(3)
    node = job.slurm("squeue", "-h", "-j", job.id, "-o", "%N").strip()
    job.slurm(
        "sbatch", "--partition=urgent", "--exclusive", f"--nodelist={node}", "--output=/dev/null", "--wrap", "sleep 3"
    )  # fmt: skip


def preempt_and_restart(job: Job) -> None:
    preempt(job)
    job.until("it was preempted", lambda: job.state() == "PENDING")
    start_now(job)


def lose_node(job: Job) -> None:
    job.reaches(2)
    nodes = job.slurm("squeue", "-h", "-j", job.id, "-o", "%N").strip()
    job.mini.lose(job.slurm("scontrol", "show", "hostnames", nodes).split()[-1])


FAULTS = (
    Fault("scancel", Right("cancelled"), FOREVER, act=cancel, fast=True),
    Fault("preempted", Right("preempted"), FOREVER, Shape(options=("--no-requeue",)), act=preempt, alone=True),
    Fault("preempted and requeued", Right("none", outcome="completed"), LONG, act=preempt_and_restart, alone=True, seconds=300),
    Fault("requeued", Right("none", outcome="completed"), LONG, act=requeue, alone=True, seconds=300),
    Fault("time limit", Right("timeout"), FOREVER, Shape(time="1:00"), seconds=240),
    Fault("node fails", Right("hardware"), FOREVER, Shape(2, 1, options=("--no-requeue",)), act=lose_node, alone=True, seconds=300),
    Fault("processes stay after training", Right("hang"), "--linger 600", Shape(time="2:00"), seconds=300),
)  # fmt: skip
