"""A real Slurm that changes between the decision and the act: no attempt is hit that was not meant, no fence is left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from tests.watch.real import SLOW, RealSite
from triage.core.jobs.cancel import Stage
from triage.core.jobs.identity import JobId
from triage.store.actions import actions_of
from triage.watch.options import Options

RUN = "echo ${SLURM_RESTART_COUNT:-0} >> runs\n"
FIRST = '[ ${SLURM_RESTART_COUNT:-0} = 0 ] && { sleep 1; echo "{\\"job_id\\": $SLURM_JOB_ID, \\"restart\\": 0}" > part; mv part m.json; }\n'
"""The first attempt has a result, the second has none."""
BODY = f"{RUN}{FIRST}sleep 600\n"
MOMENTS = (
    ("squeue -h -a", 1), ("scontrol show job", 1), ("scontrol update", 1), ("scontrol show job", 2), ("scancel", 1),
    ("at random", 1), ("in the grace", 1),
)  # fmt: skip
"""Before which command of a watcher that has seen the result, and before which of several; or between any two."""


def before_command(site: RealSite, start: str, number: int, do: Callable[[], object]) -> threading.Event:
    """Does something once, right before a watcher runs that command with the result in sight."""
    done = threading.Event()
    seen = 0

    def before(line: str) -> None:
        nonlocal seen
        if not done.is_set() and line.startswith(start) and (site.folder / "m.json").exists():
            seen += 1
            if seen == number:
                do()
                done.set()

    site.before = before
    return done


def some_time_after_the_result(site: RealSite, seconds: float, do: Callable[[], object]) -> threading.Event:
    done = threading.Event()

    def later() -> None:
        site.until("the result is there", (site.folder / "m.json").exists)
        time.sleep(seconds)
        do()
        done.set()

    threading.Thread(target=later, daemon=True).start()
    return done


@pytest.mark.parametrize("seed", [pytest.param(n, marks=() if n == 2 else SLOW) for n in range(50)])
def test_a_requeue_between_the_decision_and_the_act_hits_no_attempt_that_was_not_meant(
    site: RealSite, seed: int
) -> None:
    """By hand or by preemption; the script ends itself when it is asked to, or is cancelled."""
    dice = random.Random(seed)
    start, number = MOMENTS[seed % len(MOMENTS)]
    preempted, graceful = dice.random() < 0.3, dice.random() < 0.4
    tail = "sleep 600 & step=$!\nwait $step\n" if graceful else "sleep 600\n"
    job = site.submit(f"{RUN}{site.graceful() if graceful else ''}{FIRST}{tail}", "--exclusive", "-w", "gpu1")

    def restart() -> None:
        if site.preempted(job) if preempted else site.requeued(job):
            site.start_now(job)

    if start in ("at random", "in the grace"):
        restarted = some_time_after_the_result(site, dice.uniform(0, 3) + (start == "in the grace"), restart)
    else:
        restarted = before_command(site, start, number, restart)
    site.runs(job)
    grace = 8.0 if start == "in the grace" else None
    watching = site.watch(job, Options(artifacts=("m.json",), grace=grace))
    site.until(
        "the requeue was tried", lambda: restarted.is_set() or not watching.thread.is_alive(), seconds=120
    )
    if site.restarts(job):
        watching.until("attempt", seconds=60)
        site.keeps_running(job, restarts=1, seconds=4)
        site.mini.output("scancel", str(job))
        assert watching.ended() == 12, watching.said()
        assert all(one.stage is Stage.ABANDONED for one in actions_of(site.database))
        return
    code = watching.ended()
    assert (site.folder / "runs").read_text().split() == ["0"]
    assert code == 0 or (preempted and "PREEMPTED" in watching.said()), watching.said()


@SLOW
@pytest.mark.parametrize(
    ("start", "number"),
    MOMENTS[:5],
)
def test_a_controller_that_freezes_before_any_step_never_lets_it_hit_the_next_attempt(
    site: RealSite, start: str, number: int
) -> None:
    """It answers again after twelve seconds, and carries out what was sent meanwhile; then somebody requeues the job."""
    job = site.submit(BODY, "--exclusive", "-w", "gpu1")
    site.runs(job)
    thaw = threading.Timer(12, site.mini.thaw, ["slurmctld"])

    def freeze() -> None:
        site.mini.freeze("slurmctld")
        thaw.start()

    frozen = before_command(site, start, number, freeze)
    watching = site.watch(job, Options(artifacts=("m.json",)))
    site.until("it froze", frozen.is_set, seconds=60)
    thaw.join()
    if site.requeued(job):
        site.start_now(job)
        site.until("the fence is taken back", lambda: site.may_requeue(job), seconds=150)
        site.keeps_running(job, restarts=1, seconds=20)
        site.mini.output("scancel", str(job))
        assert watching.ended(seconds=120) == 12, watching.said()
    else:
        assert watching.ended(seconds=180) == 0, watching.said()
        assert (site.folder / "runs").read_text().split() == ["0"]


def killed_within(site: RealSite, job: JobId, words: list[str], happened: Callable[[], bool]) -> None:
    """The real program, killed with SIGKILL as soon as something has happened; it pauses behind the fence."""
    scontrol = site.command("scontrol", after='[[ "$*" == *Requeue=0 ]] && sleep 3\n')
    environment = {**site.environment, "PATH": f"{scontrol.parent}:{site.environment['PATH']}"}
    argv = [sys.executable, "-m", "triage", "watch", str(job), *words]
    one = subprocess.Popen(argv, env=environment, cwd=site.folder, stdout=subprocess.DEVNULL)
    site.until("it happened", happened)
    os.kill(one.pid, signal.SIGKILL)
    one.wait()


@SLOW
@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(artifacts=("m.json",), dry_run=True),
        Options(artifacts=("m.json",), cancel=False),
        Options(artifacts=("other.json",)),
        Options(stall_after=3600.0),
    ],
    ids=["plain", "dry run", "no cancel", "another result", "another reason"],
)
@pytest.mark.parametrize("fenced", [False, True], ids=["intended", "fenced"])
def test_what_a_killed_watcher_meant_is_not_done_by_one_that_does_not_mean_it(
    site: RealSite, options: Options, fenced: bool
) -> None:
    job = site.submit(BODY)
    site.runs(job)
    words = ["--artifact", "m.json", "--grace", "0s" if fenced else "60s"]
    killed_within(
        site, job, words, lambda: not site.may_requeue(job) if fenced else bool(actions_of(site.database))
    )
    assert [one.stage for one in actions_of(site.database)] == [Stage.FENCED if fenced else Stage.INTENDED]
    watching = site.watch(job, options)
    watching.until("action", words="was interrupted")
    site.unharmed(job, seconds=4)
    assert [one.stage for one in actions_of(site.database) if not one.dry] == [Stage.ABANDONED]
    site.mini.output("scancel", str(job))
    assert watching.ended() == 12, watching.said()
