"""Faults of files on a real Slurm: the right state and exit code, and no cancel that is not meant.

The rest of the matrix is in `test_real.py` (outages, lost nodes, preemption, limits), `test_real_ownership.py` (skewed
clocks), `test_real_fence.py` (frozen controller) and, played by a scripted scheduler, in `test_watcher.py` (OOM kill).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time

import pytest

from tests.watch.real import SLOW, RealSite
from triage.core.jobs.identity import JobId
from triage.store.actions import actions_of
from triage.watch.options import Options

WHOLE = 'echo "{\\"job_id\\": $SLURM_JOB_ID, \\"restart\\": 0}" > out/part && mv out/part out/m.json\n'
NO_OVERRIDE = "-dac_override,-dac_read_search"
"""Without these, files that nobody may read are unreadable for root too."""


def watch_without_privileges(site: RealSite, job: JobId, *words: str) -> tuple[int, str]:
    argv = ["setpriv", f"--bounding-set={NO_OVERRIDE}", f"--inh-caps={NO_OVERRIDE}", sys.executable, "-m", "triage", "watch", str(job), *words]  # fmt: skip
    done = subprocess.run(
        argv, env=site.environment, cwd=site.folder, capture_output=True, text=True, timeout=90
    )
    return done.returncode, done.stdout + done.stderr


@SLOW
@pytest.mark.parametrize(("end", "code"), [("exit 1", 11), ("exit 0", 0)])
def test_a_log_that_may_not_be_read_leaves_what_slurm_says(site: RealSite, end: str, code: int) -> None:
    job = site.submit(f"echo secret; chmod 000 train-$SLURM_JOB_ID.out\nsleep 4\n{end}\n")
    site.runs(job)
    found, said = watch_without_privileges(site, job)
    assert found == code, said
    assert "secret" not in said


@SLOW
def test_a_result_that_may_not_be_read_ends_nothing_until_it_may(site: RealSite) -> None:
    body = f"mkdir out\n{WHOLE.replace('mv', 'chmod 000 out/part; mv')}sleep 12; chmod 600 out/m.json; touch opened\nsleep 600\n"
    job = site.submit(body)
    site.runs(job)
    code, said = watch_without_privileges(site, job, "--artifact", "out/m.json")
    assert code == 0, said
    assert (site.folder / "opened").exists()


@SLOW
def test_a_folder_that_vanishes_takes_its_result_with_it_and_one_that_comes_back_brings_it(
    site: RealSite,
) -> None:
    """Within the grace, with the proof already stored."""
    job = site.submit(f"mkdir out\n{WHOLE}sleep 600\n")
    site.runs(job)
    watching = site.watch(job, Options(artifacts=("out/m.json",), grace=6.0))
    watching.until("action", words="is to end early")
    shutil.rmtree(site.folder / "out")
    watching.until("action", words="no longer holds")
    site.unharmed(job, seconds=4)
    (site.folder / "out").mkdir()
    (site.folder / "out" / "m.json").write_text(json.dumps({"job_id": job.number, "restart": 0}))
    assert watching.ended(seconds=120) == 0, watching.said()
    assert len(site.hits) == 1


@SLOW
def test_a_folder_that_was_there_never_or_only_for_a_moment_ends_nothing(site: RealSite) -> None:
    job = site.submit(
        f"for i in 1 2 3 4 5 6; do mkdir out; {WHOLE.strip()}; rm -rf out; sleep 0.5; done\nsleep 600\n"
    )
    site.runs(job)
    watching = site.watch(job, Options(artifacts=("out/m.json", "never/m.json")))
    watching.until("found")
    site.unharmed(job, seconds=6)
    assert actions_of(site.database) == []


@SLOW
def test_a_result_that_is_written_for_minutes_ends_the_job_only_when_it_is_whole(site: RealSite) -> None:
    half = 'printf "{\\"job_id\\": $SLURM_JOB_ID, " > m.json\nfor i in $(seq 130); do printf "\\"a$i\\": $i, " >> m.json; sleep 1; done\n'
    job = site.submit(f'{half}date +%s.%N > whole\nprintf "\\"restart\\": 0}}" >> m.json\nsleep 600\n')
    site.runs(job)
    watching = site.watch(job, Options(artifacts=("m.json",)))
    sent = watching.until("action", words="was sent scancel", seconds=240)
    assert sent.at > float((site.folder / "whole").read_text())
    assert watching.ended() == 0, watching.said()


@SLOW
def test_a_log_folder_that_vanishes_while_the_job_runs_is_no_end_and_no_cancel(site: RealSite) -> None:
    (site.folder / "logs").mkdir()
    job = site.submit("echo hello\nsleep 8\n", f"--output={site.folder}/logs/%x-%j.out")
    site.runs(job)
    watching = site.watch(job, Options(stall_after=3600.0, cancel_hung=True))
    watching.until("found")
    time.sleep(1)
    shutil.rmtree(site.folder / "logs")
    assert watching.ended() == 0, watching.said()
    assert site.acts == []
