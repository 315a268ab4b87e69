"""Jobs of a real Slurm, watched: what is told, what is ended, what is left alone."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from tests.watch.real import SLOW, RealSite
from triage.cli.main import main
from triage.core.jobs.cancel import Stage
from triage.core.jobs.identity import JobId
from triage.store.actions import actions_of
from triage.store.jobs import all_jobs, find_job, verdict_of
from triage.watch.options import Options

RESULT = 'printf \'{"job_id": %s, "restart": %s}\' "$SLURM_JOB_ID" "${SLURM_RESTART_COUNT:-0}" > part && mv part result.json\n'
TRACE = "echo '[rank1]: Traceback (most recent call last):' >&2\necho '[rank1]:   File \"/w/t.py\", line 7, in <module>' >&2\necho '[rank1]: ValueError: bad luck' >&2\n"


def explained(site: RealSite, *words: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, dict[str, object]]:
    """`triage explain --format json`: its exit code and verdict."""
    for name, value in site.environment.items():
        monkeypatch.setenv(name, value)
    out = site.folder / "explained.json"
    code = main(["explain", *words, "--format", "json", "-o", str(out)])
    found = json.loads(out.read_text())
    out.unlink()
    return code, found


def test_a_failure_is_told_before_the_end_and_explain_says_the_same(
    site: RealSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.submit(f"echo start\nsleep 1\n{TRACE}sleep 4\nexit 1\n")
    watching = site.watch(job)
    failure = watching.until("failure")
    assert "bad luck" in failure.message
    assert watching.ended() == 10
    verdict = watching.told[-1].data["verdict"]
    assert verdict["slurm"]["state"] == "FAILED"
    code, found = explained(site, str(job), monkeypatch=monkeypatch)
    assert code == 10
    assert json.loads(json.dumps(verdict)) == found
    code, found = explained(
        site, str(site.log(job)), "--record", str(site.folder / f"triage-{job}.json"), monkeypatch=monkeypatch
    )
    assert (code, found["slurm"]) == (10, json.loads(json.dumps(verdict["slurm"])))


def test_a_result_ends_the_job_at_once_and_the_allocation_is_gone(
    site: RealSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.submit(f"sleep 2\n{RESULT}sleep 600\n", "--gres=gpu:2", "--time=10")
    watching = site.watch(job, Options(artifacts=("result.json",)))
    sent = watching.until("action", words="was sent scancel")
    made = (site.folder / "result.json").stat().st_ctime
    assert sent.at - made < 5
    assert watching.ended() == 0
    assert watching.told[-1].data["outcome"] == "completed-early"
    assert site.mini.output("squeue", "-h").strip() == ""
    record = json.loads((site.folder / f"triage-{job}.json").read_text())
    assert record["early"]["evidence"]["path"] == str(site.folder / "result.json")
    (action,) = actions_of(site.database)
    assert action.gpus == 2
    assert action.saved is not None
    for words in ((str(job),), (str(site.folder),)):
        code, found = explained(site, *words, monkeypatch=monkeypatch)
        assert (code, found["category"], found["ended"]) == (0, "none", True)
        assert "ended early" in str(found["summary"])
    assert site.watch(job).ended() == 0


def test_a_script_that_ends_itself_completes_and_its_dependents_run(site: RealSite) -> None:
    job = site.submit(f"{site.graceful()}sleep 600 & step=$!\nsleep 1\n{RESULT}wait $step\n")
    after = site.submit("echo after\n", f"--dependency=afterok:{job}", name="after")
    watching = site.watch(job, Options(artifacts=("result.json",)))
    assert watching.ended() == 0, watching.said()
    assert "was asked to end itself" in watching.said()
    assert site.state(job) == "COMPLETED"
    site.until("the dependent runs", lambda: site.log(after, "after").exists())


@pytest.mark.parametrize("kind", ["afterok", "afternotok", "aftercorr"])
def test_a_cancel_that_would_harm_dependents_is_refused(site: RealSite, kind: str) -> None:
    job = site.submit(f"{RESULT}sleep 600\n")
    after = site.submit("echo after\n", f"--dependency={kind}:{job}", name="after")
    site.runs(job)
    watching = site.watch(job, Options(artifacts=("result.json",)))
    assert f"{after} ({kind})" in watching.until("refused").message
    assert site.state(job) == "RUNNING"
    site.mini.output("scancel", str(job))
    assert watching.ended() == 12


def test_a_requeued_job_is_a_new_attempt_and_the_first_ones_result_does_not_end_it(site: RealSite) -> None:
    body = f"echo attempt ${{SLURM_RESTART_COUNT:-0}}\n[ ${{SLURM_RESTART_COUNT:-0}} = 0 ] && {{ {RESULT.strip()}; }}\nsleep 600\n"
    job = site.submit(body)
    site.runs(job)
    site.until("the result is there", (site.folder / "result.json").exists)
    site.requeue(job)
    site.until(
        "it runs again", lambda: site.state(job) == "RUNNING" and "attempt 1" in site.log(job).read_text()
    )
    watching = site.watch(job, Options(artifacts=("result.json",)))
    message = watching.until("artifact").message
    assert any(words in message for words in ("is of attempt 0", "older than this attempt")), message
    assert site.state(job) == "RUNNING"
    site.mini.output("scancel", str(job))
    assert watching.ended() == 12
    assert actions_of(site.database) == []


def test_a_requeue_while_it_is_watched_is_followed(site: RealSite) -> None:
    job = site.submit(
        "echo attempt ${SLURM_RESTART_COUNT:-0}\nsleep $((600 - 592 * ${SLURM_RESTART_COUNT:-0}))\n"
    )
    site.runs(job)
    watching = site.watch(job)
    watching.until("found")
    site.until("it has written", lambda: "attempt 0" in site.log(job).read_text())
    time.sleep(1.5)
    site.mini.output("scontrol", "requeue", str(job))
    watching.until("requeued")
    site.start_now(job)
    watching.until("attempt")
    assert watching.ended() == 0, watching.said()
    kept = site.folder / f"triage-{job}.attempts" / "attempt-0" / f"train-{job}.out"
    assert kept.read_text().startswith("attempt 0\n")


def test_an_outage_of_the_controller_is_survived(site: RealSite) -> None:
    job = site.submit("sleep 600\n")
    site.runs(job)
    watching = site.watch(job)
    watching.until("found")
    site.mini.stop_daemon("slurmctld")
    watching.until("scheduler", words="is not known about")
    site.mini.start_daemon("slurmctld")
    watching.until("scheduler", words="is known about again")
    site.mini.output("scancel", str(job))
    assert watching.ended() == 12, watching.said()


def test_a_cancel_by_hand_is_somebody_elses(site: RealSite) -> None:
    job = site.submit("sleep 600\n")
    site.runs(job)
    watching = site.watch(job)
    watching.until("found")
    site.mini.output("scancel", str(job))
    assert watching.ended() == 12


def test_a_log_folder_that_is_missing_is_named(site: RealSite) -> None:
    job = site.submit("echo hello\n", f"--output={site.folder}/none/%x-%j.out")
    watching = site.watch(job)
    assert watching.ended() == 10, watching.said()
    assert watching.told[-1].data["verdict"]["category"] == "launcher"


def test_an_array_is_ended_only_by_its_tasks(site: RealSite) -> None:
    job = site.submit(f"[ $SLURM_ARRAY_TASK_ID = 1 ] && {{ {RESULT.strip()}; }}\nsleep 600\n", "--array=0-2", f"--output={site.folder}/%x-%A_%a.out")  # fmt: skip
    site.until("three tasks run", lambda: site.state(job).split() == ["RUNNING"] * 3)
    watching = site.watch(job, Options(artifacts=("result.json",), any=True))
    task = site.watch(replace(job, task=1), Options(artifacts=("result.json",)))
    assert task.ended() == 0, task.said()
    site.until("two tasks are left", lambda: site.state(job).split().count("RUNNING") == 2)
    assert watching.thread.is_alive()
    site.mini.output("scancel", str(job))
    assert watching.ended() == 12, watching.said()


def test_an_unknown_job_is_an_error(site: RealSite) -> None:
    watching = site.watch(JobId(999_999))
    assert watching.ended() == 3
    assert "no job 999999" in watching.told[-1].message


def test_a_finished_job_is_explained_at_once(site: RealSite) -> None:
    job = site.submit(f"{TRACE}exit 1\n")
    site.until("it has ended", lambda: site.state(job) in ("", "FAILED"))
    assert site.watch(job).ended() == 10
    known = find_job(site.database, job)
    assert known is not None
    assert known.outcome == "failed"


def test_a_preempted_job_that_is_requeued_goes_on(site: RealSite) -> None:
    job = site.submit("sleep $((600 - 598 * ${SLURM_RESTART_COUNT:-0}))\n", "--nodes=4", "--exclusive")
    site.runs(job)
    watching = site.watch(job)
    watching.until("found")
    urgent = site.submit("sleep 1\n", "--partition=urgent", "--nodes=4", "--exclusive", name="urgent")
    watching.until("requeued")
    site.until("the other has ended", lambda: site.state(urgent) in ("", "COMPLETED"))
    site.start_now(job)
    assert watching.ended() == 0, watching.said()


@SLOW
def test_a_time_limit_is_told(site: RealSite) -> None:
    job = site.submit("while true; do echo at work; sleep 1; done\n", "--partition=short", "--time=1")
    watching = site.watch(job)
    assert watching.ended(seconds=180) == 10, watching.said()
    assert watching.told[-1].data["verdict"]["category"] in ("timeout", "hang")


@SLOW
def test_a_lost_node_is_told(site: RealSite) -> None:
    job = site.submit("srun sleep 600\n", "--nodes=2", "--no-requeue", "-w", "gpu1,gpu2")
    site.runs(job)
    watching = site.watch(job)
    watching.until("found")
    time.sleep(3)
    site.mini.lose("gpu2")
    assert watching.ended(seconds=200) == 10, watching.said()
    assert watching.told[-1].data["verdict"]["category"] == "hardware"


@SLOW
def test_an_outage_of_accounting_delays_the_verdict_and_changes_nothing(site: RealSite) -> None:
    job = site.submit("sleep 3\n")
    watching = site.watch(job)
    watching.until("found")
    site.mini.stop_daemon("slurmdbd")
    assert watching.ended(seconds=120) == 0, watching.said()
    site.mini.start_daemon("slurmdbd")


@SLOW
def test_a_frozen_controller_never_lets_a_cancel_hit_the_next_attempt(site: RealSite) -> None:
    body = f"echo attempt ${{SLURM_RESTART_COUNT:-0}}\n[ ${{SLURM_RESTART_COUNT:-0}} = 0 ] && {{ sleep 2; {RESULT.strip()}; }}\nsleep 600\n"
    job = site.submit(body)
    site.runs(job)
    watching = site.watch(job, Options(artifacts=("result.json",)))
    watching.until("action", words="is to end early")
    site.mini.freeze("slurmctld")
    time.sleep(12)
    site.mini.thaw("slurmctld")
    assert watching.ended(seconds=180) == 0, watching.said()
    assert "attempt 1" not in site.log(job).read_text()


@SLOW
@pytest.mark.parametrize("seed", range(20))
def test_killed_and_started_again_it_ends_the_job_once(site: RealSite, seed: int) -> None:
    """`kill -9` of the real program at a random moment around the decision; scancel keeps what lay beside the logs then."""
    dice = random.Random(seed)
    job = site.submit(f"sleep 1\n{RESULT}sleep 600\n")
    site.runs(job)
    scancel = site.command("scancel", f"cat triage-{job}.json >> seen; echo >> seen-end\n")
    environment = {**site.environment, "PATH": f"{scancel.parent}:{site.environment['PATH']}"}
    words = [sys.executable, "-m", "triage", "watch", str(job), "--artifact", "result.json"]
    killed = subprocess.Popen(words, env=environment, cwd=site.folder, stdout=subprocess.DEVNULL)
    site.until("the result is there", (site.folder / "result.json").exists)
    site.until("it watches", lambda: (site.folder / "state").exists())
    time.sleep(dice.random() * 2)
    killed.kill()
    killed.wait()
    done = subprocess.run(
        words, env=environment, cwd=site.folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "completed-early" in done.stdout
    (action,) = (a for a in actions_of(site.database) if a.stage is not Stage.ABANDONED)
    assert action.stage is Stage.DONE
    seen = json.loads((site.folder / "seen").read_text())
    assert seen["early"]["stage"] == "sent"
    assert seen["early"]["evidence"]["sha256"] == action.evidence["sha256"]
    assert (site.folder / "seen-end").read_text() == "\n", "scancel was to be sent once"
    (known,) = all_jobs(site.database)
    assert known.outcome == "completed-early"
    assert verdict_of(site.database, known.number) is not None
