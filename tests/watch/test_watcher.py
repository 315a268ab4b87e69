"""A watched job on a scripted cluster: what is told, what ends it early, and above all what does not."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from tests.watch.scripted import START, Cluster, Job, Stage
from triage.core.jobs.dependents import Waiting
from triage.core.jobs.handshake import Started, marker_text
from triage.core.jobs.identity import JobId
from triage.errors import SchedulerError, UsageError
from triage.report.schema import schema_text
from triage.schedulers.interface import Details
from triage.store.actions import actions_of
from triage.store.database import KILL_SWITCH
from triage.store.jobs import NewJob, all_jobs, find_job, forget, remember, set_held, verdict_of
from triage.watch import logs, results
from triage.watch.events import KINDS
from triage.watch.options import Options

JOB = JobId(18)
TRACE = 'Traceback (most recent call last):\n  File "/w/train.py", line 7, in <module>\n    main()\nValueError: bad luck\n'


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    cluster = Cluster(tmp_path, jobs={JOB: Job()})
    cluster.output(JOB).write_text("hello\n")
    return Stage(cluster, JOB)


def with_result(stage: Stage, **more: Any) -> Path:
    path = stage.cluster.folder / "m.json"
    stage.options = Options(artifacts=(str(path),), **more)
    return path


def write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value))


def own(**more: object) -> dict[str, object]:
    return {"job_id": 18, "restart": 0, **more}


def test_a_job_that_completes_is_completed(stage: Stage) -> None:
    loop = stage.loop()
    stage.run(loop, 10)
    stage.cluster.jobs[JOB] = Job("COMPLETED", listed=False)
    watcher = stage.run(loop, 300)
    assert watcher.ending is not None
    assert (watcher.ending.outcome, watcher.ending.verdict.category) == ("completed", "none")
    assert stage.kinds()[-1] == "verdict"
    assert stage.cluster.acts == []


def test_a_failure_is_told_while_the_job_still_runs_and_the_end_says_the_same(stage: Stage) -> None:
    loop = stage.loop()
    stage.run(loop, 5)
    with open(stage.cluster.output(JOB), "a") as file:
        file.write(TRACE)
    stage.run(loop, 3)
    assert "failure" in stage.kinds()
    stage.cluster.jobs[JOB] = Job("FAILED", listed=False, code=1)
    watcher = stage.run(loop, 300)
    assert watcher.ending is not None
    assert (watcher.ending.outcome, watcher.ending.verdict.category) == ("failed", "python")
    assert stage.told[-1].message.endswith("; more: triage explain 18")
    assert watcher.ending.verdict.slurm is not None
    assert watcher.ending.verdict.slurm["state"] == "FAILED"
    known = find_job(stage.database(), JOB)
    assert known is not None
    assert (known.outcome, known.exit_code) == ("failed", 10)
    assert (verdict_of(stage.database(), known.number) or {})["category"] == "python"


def test_a_failure_is_told_although_the_job_is_being_cleared_away_already(stage: Stage) -> None:
    """Slurm may take minutes for that (an epilog, processes that do not go)."""
    loop = stage.loop()
    stage.run(loop, 5)
    stage.cluster.jobs[JOB] = Job("COMPLETING", code=1)
    stage.run(loop, 5)
    with open(stage.cluster.output(JOB), "a") as file:
        file.write(TRACE)
    watcher = stage.run(loop, 5)
    assert watcher.ending is None
    assert stage.kinds().count("failure") == 1


def test_the_end_of_an_old_job_is_asked_for_soon_after_its_logs_tell_it(stage: Stage) -> None:
    """Of a job that has run for hours the scheduler is asked once a minute."""
    stage.cluster.jobs[JOB] = Job(limit=1e6)
    loop = stage.loop()
    stage.run(loop, 7200)
    with open(stage.cluster.output(JOB), "a") as file:
        file.write(TRACE)
    told = stage.cluster.now
    stage.run(loop, 60, lambda: "failure" in stage.kinds())
    stage.cluster.jobs[JOB] = Job("FAILED", listed=False, code=1)
    assert stage.run(loop, 300).is_over
    assert stage.cluster.now - told < 5


def test_others_that_take_the_processor_do_not_delay_the_next_verdict(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verdict that cost little, and took long because the machine is busy, is no reason to wait for the next."""
    slow = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(logs, "time", SimpleNamespace(thread_time=lambda: 0.0, monotonic=lambda: next(slow)))
    loop = stage.loop()
    stage.run(loop, 5)
    for text in ("UserWarning: Error detection is on\n", TRACE):
        with open(stage.cluster.output(JOB), "a") as file:
            file.write(text)
        stage.run(loop, 3)
    assert "bad luck" in stage.said()


def test_a_complete_result_of_this_attempt_ends_the_job_with_the_evidence_first(stage: Stage) -> None:
    path = with_result(stage)
    order: list[str] = []

    def watch(what: str) -> None:
        record = stage.cluster.folder / "triage-18.json"
        if what in ("set_requeue", "cancel"):
            early = json.loads(record.read_text())["early"]
            order.append(f"{what} {early['stage']} {early['evidence']['path'] == str(path)}")

    stage.cluster.before = watch
    loop = stage.loop()
    stage.run(loop, 5)
    write(path, own())
    watcher = stage.run(loop, 300)
    assert watcher.ending is not None
    assert (watcher.ending.outcome, watcher.ending.verdict.failed) == ("completed-early", False)
    assert order == ["set_requeue fenced True", "cancel sent True"]
    assert stage.cluster.acts == ["cancel attempt 0"]
    (action,) = actions_of(stage.database())
    assert action.saved is not None
    assert action.saved > 6


def test_a_result_that_is_rewritten_all_the_time_is_told_once_and_so_is_what_is_waited_for(
    stage: Stage,
) -> None:
    path = with_result(stage)
    loop = stage.loop()
    stage.run(loop, 5)
    known = find_job(stage.database(), JOB)
    assert known is not None
    set_held(stage.database(), known.number, True)
    for turn in range(20):
        write(path, own(turn=turn))
        stage.run(loop, 3)
        path.write_text('{"half": ')
        stage.run(loop, 3)
    said = [event.message for event in stage.told if event.kind in ("artifact", "refused")]
    assert [message.split(":")[0] for message in said] == [
        "has its result", "is not ended early", "waits for its result to be whole again",
    ]  # fmt: skip
    path.write_text(json.dumps(own()))
    set_held(stage.database(), known.number, False)
    stage.run(loop, 60)
    assert stage.cluster.acts == ["cancel attempt 0"]


def test_iterations_that_go_on_beside_a_result_are_told_once(stage: Stage) -> None:
    write(with_result(stage), own())
    loop = stage.loop()
    for iteration in range(1, 6):
        with open(stage.cluster.output(JOB), "a") as file:
            file.write(
                f" iteration {iteration:8}/      10 | elapsed time per iteration (ms): 100.0 | lm loss: 2.0E+00 |\n"
            )
        stage.run(loop, 5)
    assert [event.kind for event in stage.told].count("artifact") == 1


def test_the_log_says_why_it_ended_and_how_to_submit_it_again(stage: Stage) -> None:
    write(with_result(stage), own())
    stage.run(stage.loop(), 300)
    text = stage.cluster.output(JOB).read_text()
    assert "was ended early on" in text
    assert f"cd {stage.cluster.folder} && sbatch {stage.cluster.folder}/run.sh" in text


def test_a_result_named_at_the_submit_is_waited_for(stage: Stage) -> None:
    path = stage.cluster.folder / "m.json"
    remember(stage.database(), NewJob(JOB, "submit", START - 20, options={"artifacts": [str(path)]}))
    write(path, own())
    stage.run(stage.loop(), 300)
    assert stage.cluster.acts == ["cancel attempt 0"]


def test_a_result_that_another_watch_named_is_not_waited_for(stage: Stage) -> None:
    write(with_result(stage, dry_run=True), own())
    stage.run(stage.loop(), 60)
    stage.options = Options()
    stage.run(stage.loop(), 300)
    assert stage.cluster.acts == []


@pytest.mark.parametrize(
    "more", [{"submitted": START - 9000}, {"uid": 77}, {"submitted": START - 9000, "uid": 0}]
)
def test_a_result_named_for_an_earlier_job_with_this_id_is_not_waited_for(
    stage: Stage, more: dict[str, Any]
) -> None:
    path = stage.cluster.folder / "m.json"
    remember(stage.database(), NewJob(JOB, "submit", START - 20, options={"artifacts": [str(path)]}, **more))
    write(path, own())
    stage.run(stage.loop(), 300)
    assert stage.cluster.acts == []


def test_with_drain_the_last_lines_of_an_ended_job_count(stage: Stage) -> None:
    stage.options = Options(drain=True)
    loop = stage.loop()
    stage.run(loop, 5)
    stage.cluster.jobs[JOB] = Job("FAILED", listed=False, code=1)
    stage.run(loop, 10, lambda: "ended" in stage.kinds())
    with open(stage.cluster.output(JOB), "a") as file:
        file.write(TRACE)
    watcher = stage.run(loop, 300)
    assert watcher.ending is not None
    assert watcher.ending.verdict.category == "python"


def test_a_second_watcher_of_an_early_end_says_the_same(stage: Stage) -> None:
    write(with_result(stage), own())
    stage.run(stage.loop(), 300)
    again = stage.run(stage.loop(), 300)
    assert again.ending is not None
    assert again.ending.outcome == "completed-early"
    assert stage.cluster.acts == ["cancel attempt 0"]


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ({"job_id": 17}, {}),
        (own(restart=1), {}),
        (own(), {"when": "loss < 3"}),
        (own(loss=4), {"when": "loss < 3"}),
        (own(), {"cancel": False}),
        (own(), {"dry_run": True}),
    ],
    ids=["other-job", "other-attempt", "field-missing", "condition-false", "no-cancel", "dry-run"],
)
def test_what_must_not_end_a_job(stage: Stage, value: object, options: dict[str, Any]) -> None:
    write(with_result(stage, **options), value)
    stage.run(stage.loop(), 600)
    assert stage.cluster.acts == []
    assert stage.cluster.jobs[JOB].requeue


def test_without_an_artifact_a_job_is_never_ended(stage: Stage) -> None:
    write(stage.cluster.folder / "m.json", own())
    stage.run(stage.loop(), 600)
    assert stage.cluster.acts == []
    assert actions_of(stage.database()) == []


def test_a_field_that_never_came_is_warned_of_with_those_that_were_there(stage: Stage) -> None:
    write(with_result(stage, when="loss < 3"), own(lm_loss=2))
    loop = stage.loop()
    stage.run(loop, 10)
    stage.cluster.jobs[JOB] = Job("COMPLETED", listed=False)
    stage.run(loop, 300)
    assert "ended without loss in its result" in stage.said()
    assert "lm_loss" in stage.said()


def test_a_run_that_still_trains_is_not_ended_by_metrics_that_are_rewritten(stage: Stage) -> None:
    write(with_result(stage), own())
    stage.cluster.output(JOB).write_text(
        " [2026-12-01 10:00:00] iteration      100/    5000 | consumed samples:        1 | elapsed time per iteration (ms): 100.0 | lm loss: 2.5E+00 |\n"
    )
    stage.run(stage.loop(), 60)
    assert stage.cluster.acts == []
    assert "iteration 100 of 5000" in stage.said()
    stage.options = replace(stage.options, any=True)
    stage.run(stage.loop(), 60)
    assert stage.cluster.acts == ["cancel attempt 0"]


@pytest.mark.parametrize("kind", ["afterok", "afternotok", "aftercorr"])
def test_dependents_that_a_cancel_would_harm_are_named_and_the_job_is_left_alone(
    stage: Stage, kind: str
) -> None:
    stage.cluster.dependents = (Waiting("62", f"{kind}:18(unfulfilled)"),)
    write(with_result(stage), own())
    stage.run(stage.loop(), 120)
    assert stage.cluster.acts == []
    assert f"62 ({kind})" in stage.said()


def test_dependents_that_are_not_known_hold_the_act_back(stage: Stage) -> None:
    stage.cluster.dependents = None
    write(with_result(stage), own())
    stage.run(stage.loop(), 120)
    assert stage.cluster.acts == []


def test_a_script_that_ends_itself_is_asked_and_its_dependents_run(stage: Stage) -> None:
    folder = stage.cluster.folder / "train-18" / "attempt-0"
    folder.mkdir(parents=True)
    (folder / "started").write_text(marker_text(Started(18, 0, "USR2")))
    stage.cluster.dependents = (Waiting("62", "afterok:18(unfulfilled)"),)
    path = with_result(stage)
    stage.options = Options(artifacts=(str(folder / "m.json"),))
    write(folder / "m.json", {"a": 1})
    assert not path.exists()
    watcher = stage.run(stage.loop(), 120)
    assert stage.cluster.acts == ["USR2 attempt 0"]
    assert (folder / "end-early").read_text().startswith("job=18 attempt=0\n")
    assert watcher.ending is not None
    assert watcher.ending.outcome == "completed-early"


def stale(path: Path, cluster: Cluster) -> None:
    """Written an hour before the job began, by the clock of the file system and by Slurm's."""
    early = min(cluster.jobs[JOB].started, path.stat().st_mtime) - 3600
    os.utime(path, (early, early))


def test_the_marker_of_a_job_that_had_the_id_before_makes_no_script_one_that_ends_itself(
    stage: Stage,
) -> None:
    folder = stage.cluster.folder / "train-18" / "attempt-0"
    folder.mkdir(parents=True)
    (folder / "started").write_text(marker_text(Started(18, 0, "USR2")))
    stale(folder / "started", stage.cluster)
    write(with_result(stage), own())
    stage.run(stage.loop(), 120)
    assert stage.cluster.acts == ["cancel attempt 0"]
    assert not (folder / "end-early").exists()


@pytest.mark.parametrize("where", ["m.json", "train-18/attempt-0/m.json"])
def test_a_stale_result_that_names_the_same_id_ends_nothing(stage: Stage, where: str) -> None:
    path = stage.cluster.folder / where
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "started").write_text(marker_text(Started(18, 0)))
    write(path, own())
    stale(path, stage.cluster)
    stage.options = Options(artifacts=(str(path),))
    stage.run(stage.loop(), 120)
    assert stage.cluster.acts == []
    assert "older than this attempt" in stage.said()


def test_a_new_result_in_the_folder_of_another_job_ends_nothing(stage: Stage) -> None:
    folder = stage.cluster.folder / "runs" / "attempt-0"
    folder.mkdir(parents=True)
    (folder / "started").write_text(marker_text(Started(17, 0)))
    stage.options = Options(artifacts=(str(stage.cluster.folder / "m.json"),))
    write(folder / "m.json", own())
    (stage.cluster.folder / "m.json").symlink_to(folder / "m.json")
    stage.run(stage.loop(), 120)
    assert stage.cluster.acts == []
    assert "folder of job 17" in stage.said()


def test_a_marker_on_another_file_system_is_not_compared_with(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = stage.cluster.folder / "train-18" / "attempt-0"
    folder.mkdir(parents=True)
    (folder / "started").write_text(marker_text(Started(18, 0)))
    write(with_result(stage), {"a": 1})
    later = (folder / "started").stat().st_mtime + 1
    os.utime(stage.cluster.folder / "m.json", (later, later))
    stage.cluster.jobs[JOB].started = later
    monkeypatch.setattr(results, "_device", lambda _: None)
    stage.run(stage.loop(), 120)
    assert stage.cluster.acts == []
    monkeypatch.undo()
    stage.run(stage.loop(), 120)
    assert stage.cluster.acts == ["cancel attempt 0"]


def test_half_a_new_line_after_an_old_one_ends_nothing_and_a_whole_one_does(stage: Stage) -> None:
    folder = stage.cluster.folder / "train-18" / "attempt-0"
    folder.mkdir(parents=True)
    (folder / "started").write_text(marker_text(Started(18, 0)))
    path = stage.cluster.folder / "m.jsonl"
    stage.options = Options(artifacts=(str(path),), any=True)
    path.write_text('{"iteration": 500}\n')
    stale(path, stage.cluster)
    loop = stage.loop()
    stage.run(loop, 30)
    with open(path, "a") as file:
        file.write('{"iteration":')
    new = (folder / "started").stat().st_mtime + 0.5
    os.utime(path, (new, new))
    stage.run(loop, 60)
    assert stage.cluster.acts == []
    with open(path, "a") as file:
        file.write(' 10}\n{"iteration": 20}\n')
    os.utime(path, (new, new))
    stage.run(loop, 60)
    assert stage.cluster.acts == ["cancel attempt 0"]


@pytest.mark.parametrize("at", ["set_requeue", "details", "waiting", "status"])
@pytest.mark.parametrize("number", range(1, 5))
def test_a_requeue_at_any_moment_is_never_hit(stage: Stage, at: str, number: int) -> None:
    """Between the decision and the act Slurm starts the job again, once it may."""
    seen = 0
    armed = False

    def requeue(what: str) -> None:
        nonlocal seen
        if armed and what == at:
            seen += 1
            if seen == number:
                stage.cluster.requeue(JOB)

    stage.cluster.before = requeue
    path = with_result(stage)
    loop = stage.loop()
    stage.run(loop, 3)
    armed = True
    write(path, own())
    stage.run(loop, 200)
    assert all(act == "cancel attempt 0" for act in stage.cluster.acts)
    restarted = stage.cluster.jobs[JOB].restarts
    assert not (restarted and stage.cluster.acts), "the fence did not hold"
    if restarted:
        assert stage.cluster.jobs[JOB].requeue, "the fence was not taken back"


def test_a_stale_result_of_the_first_attempt_does_not_end_the_second(stage: Stage) -> None:
    write(with_result(stage), {"loss": 1})
    stage.cluster.jobs[JOB] = Job(restarts=1, submitted=START - 5, started=START - 4)
    stage.run(stage.loop(), 300)
    assert stage.cluster.acts == []
    assert "nothing in it says which attempt" in stage.said()


@pytest.mark.parametrize("how", ["held", "stopped"])
def test_a_hold_and_the_kill_switch_stop_the_act(stage: Stage, how: str) -> None:
    path = with_result(stage)
    loop = stage.loop()
    stage.run(loop, 3)
    known = find_job(stage.database(), JOB)
    assert known is not None
    if how == "held":
        set_held(stage.database(), known.number, True)
    else:
        Path(stage.database().folder, KILL_SWITCH).touch()
    write(path, own())
    stage.run(loop, 120)
    assert stage.cluster.acts == []
    assert "is not ended early" in stage.said()
    if how == "held":
        set_held(stage.database(), known.number, False)
        stage.run(loop, 120)
        assert stage.cluster.acts == ["cancel attempt 0"]


@pytest.mark.parametrize(
    ("held", "watched", "ends"),
    [
        (JobId(18), JobId(18, 2), False),
        (JobId(18, 2), JobId(18), False),
        (JobId(20), JobId(18, 2), False),
        (JobId(18, 2, cluster="west"), JobId(18, 2), False),
        (JobId(18, 2), JobId(18, 2, cluster="west"), False),
        (JobId(18, component=1), JobId(18), False),
        (JobId(18, 3), JobId(18, 2), True),
        (JobId(18, 2, cluster="east"), JobId(18, 2, cluster="west"), True),
        (JobId(19), JobId(18, 2), True),
    ],
    ids=str,
)
def test_a_hold_counts_however_the_job_is_spelled(
    stage: Stage, held: JobId, watched: JobId, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Cluster.details

    def details(cluster: Cluster, job: JobId) -> Details | None:
        found = told(cluster, job)
        return replace(found, raw=20) if found is not None else None

    monkeypatch.setattr(Cluster, "details", details)
    stage.cluster.jobs = {watched: Job()}
    stage.job = watched
    path = with_result(stage)
    stage.options = replace(stage.options, artifacts=(str(path.with_name("m-{job_id}.json")),))
    write(path.with_name("m-20.json"), {"job_id": 20, "restart": 0})
    set_held(stage.database(), remember(stage.database(), NewJob(held, "hold", START)), True)
    stage.run(stage.loop(), 120)
    assert stage.cluster.acts == (["cancel attempt 0"] if ends else [])
    assert ("is held" in stage.said()) is not ends


def test_a_hold_within_the_grace_is_a_veto(stage: Stage) -> None:
    path = with_result(stage, grace=60.0)
    loop = stage.loop()
    write(path, own())
    stage.run(loop, 30)
    known = find_job(stage.database(), JOB)
    assert known is not None
    set_held(stage.database(), known.number, True)
    stage.run(loop, 300)
    assert stage.cluster.acts == []


def test_another_users_job_is_only_reported(stage: Stage) -> None:
    stage.cluster.jobs[JOB] = Job(uid=1234)
    write(with_result(stage), own())
    stage.run(stage.loop(), 60)
    assert stage.cluster.acts == []
    assert "another user's job" in stage.said()


def test_of_two_watchers_one_acts(stage: Stage) -> None:
    path = with_result(stage)
    first, second = stage.loop(), replace(stage, holder="there:2:b", host="there").loop()
    for loop in (first, second):
        stage.run(loop, 3)
    write(path, own())
    stage.run(second, 5)
    stage.run(first, 5)
    stage.run(second, 100)
    assert stage.cluster.acts == ["cancel attempt 0"]
    endings = [loop.watchers[JOB].ending for loop in (first, second)]
    assert [ending.outcome for ending in endings if ending is not None] == ["completed-early"] * 2


@pytest.mark.parametrize("reporter_first", [True, False])
def test_of_two_watchers_both_say_that_the_end_was_early_whoever_sees_it_first(
    stage: Stage, reporter_first: bool
) -> None:
    path = with_result(stage)
    actor, reporter = stage.loop(), replace(stage, holder="there:2:b", host="there").loop()
    for loop in (actor, reporter):
        stage.run(loop, 3)
    write(path, own())
    stage.run(actor, 30, lambda: stage.cluster.acts != [])
    for loop in (reporter, actor) if reporter_first else (actor, reporter):
        stage.run(loop, 100)
    endings = [loop.watchers[JOB].ending for loop in (actor, reporter)]
    assert [ending.outcome for ending in endings if ending is not None] == ["completed-early"] * 2
    known = find_job(stage.database(), JOB)
    assert known is not None
    assert known.outcome == "completed-early"
    assert stages_of(stage) == ["done"]


def test_a_watcher_that_refuses_leaves_the_act_to_one_that_may(stage: Stage) -> None:
    stage.cluster.dependents = (Waiting("62", "afterok:18(unfulfilled)"),)
    write(with_result(stage), own())
    stage.run(stage.loop(), 20)
    assert "refused" in stage.kinds()
    stage.options = replace(stage.options, break_dependents=True)
    stage.run(replace(stage, holder="there:2:b", host="there").loop(), 30)
    assert stage.cluster.acts == ["cancel attempt 0"]


def test_an_outage_is_told_once_and_nothing_is_concluded(stage: Stage) -> None:
    path = with_result(stage)
    loop = stage.loop()
    stage.run(loop, 5)
    stage.cluster.down = True
    write(path, own())
    stage.run(loop, 600)
    assert stage.kinds().count("scheduler") == 1
    assert stage.cluster.acts == []
    stage.cluster.down = False
    watcher = stage.run(loop, 300)
    assert watcher.ending is not None
    assert watcher.ending.outcome == "completed-early"


def test_a_job_that_nobody_knows_any_more_ends_unknown(stage: Stage) -> None:
    loop = stage.loop()
    stage.run(loop, 5)
    del stage.cluster.jobs[JOB]
    watcher = stage.run(loop, 600)
    assert watcher.ending is not None
    assert watcher.ending.outcome == "unknown"


def test_a_requeue_is_told_and_the_end_of_the_log_is_kept(stage: Stage) -> None:
    loop = stage.loop()
    stage.cluster.output(JOB).write_text(TRACE)
    stage.run(loop, 5)
    stage.cluster.jobs[JOB] = replace(
        stage.cluster.jobs[JOB], state="PENDING", submitted=START + 6, reason="BeginTime"
    )
    stage.run(loop, 10)
    assert (stage.cluster.folder / "triage-18.attempts" / "attempt-0" / "train-18.out").read_text() == TRACE
    stage.cluster.jobs[JOB] = Job(restarts=1, submitted=START + 6, started=START + 20)
    stage.cluster.output(JOB).write_text("again\n")
    stage.run(loop, 10)
    assert [kind for kind in stage.kinds() if kind in ("requeued", "attempt")] == ["requeued", "attempt"]


def test_a_store_that_is_full_ends_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from triage.errors import StoreError
    from triage.watch import decision

    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(decision, "intend", full)
    write(with_result(stage), own())
    stage.run(stage.loop(), 30)
    assert stage.cluster.acts == []
    assert "cannot be written down" in stage.said()


def test_a_hang_is_told_and_ended_only_when_asked(stage: Stage) -> None:
    stage.options = Options(stall_after=300.0)
    loop = stage.loop()
    stage.run(loop, 600)
    assert "stall" in stage.kinds()
    assert stage.cluster.acts == []
    stage.options = Options(stall_after=300.0, cancel_hung=True, grace=0.0)
    watcher = stage.run(stage.loop(), 1000)
    assert stage.cluster.acts == ["cancel attempt 0"]
    assert watcher.ending is not None
    assert watcher.ending.outcome in ("failed", "cancelled")


def test_a_suspended_job_does_not_hang(stage: Stage) -> None:
    stage.options = Options(stall_after=300.0, cancel_hung=True, grace=0.0)
    stage.cluster.jobs[JOB] = Job("SUSPENDED")
    stage.run(stage.loop(), 2000)
    assert stage.cluster.acts == []


def test_a_job_that_failed_and_hangs_is_ended_when_asked(stage: Stage) -> None:
    stage.cluster.output(JOB).write_text("".join(f"[rank3]: {line}\n" for line in TRACE.splitlines()))
    stage.options = Options(on_fail=True, grace=0.0)
    watcher = stage.run(stage.loop(), 600)
    assert stage.cluster.acts == ["cancel attempt 0"]
    assert watcher.ending is not None
    assert (watcher.ending.outcome, watcher.ending.verdict.category) == ("failed", "python")


def test_a_job_whose_script_restarts_it_is_left_to_that(stage: Stage) -> None:
    (stage.cluster.folder / "run.sh").write_text("torchrun --max-restarts=3 train.py\n")
    stage.cluster.output(JOB).write_text("".join(f"[rank3]: {line}\n" for line in TRACE.splitlines()))
    stage.options = Options(on_fail=True, grace=0.0)
    stage.run(stage.loop(), 600)
    assert stage.cluster.acts == []
    assert "restarts left" in stage.said()


@pytest.mark.parametrize(
    ("script", "signal", "warns"),
    [
        ("trap 'scontrol requeue $SLURM_JOB_ID' USR1\n", "USR1", True),
        ("#SBATCH --signal=B:USR1@60\n", "USR1", True),
        ("trap 'exit 0' USR1\n", "USR1", False),
        ("trap 'scontrol requeue $SLURM_JOB_ID' USR1\n", None, False),
    ],
)
def test_a_signal_that_the_script_may_take_for_another_is_warned_of(
    stage: Stage, script: str, signal: str | None, warns: bool
) -> None:
    (stage.cluster.folder / "run.sh").write_text(script)
    with_result(stage, signal=signal)
    stage.run(stage.loop(), 5)
    assert ("may requeue it instead of ending it" in stage.said()) is warns


def iteration(number: int) -> str:
    return f" [2026-12-01 10:00:00] iteration {number:8}/    5000 | consumed samples:        1 | elapsed time per iteration (ms): 100.0 | lm loss: 2.5E+00 |\n"


def decided(stage: Stage) -> bool:
    return "is to end early" in stage.said()


def test_a_hang_that_works_again_within_the_grace_is_left_alone(stage: Stage) -> None:
    stage.options = Options(stall_after=300.0, cancel_hung=True)
    loop = stage.loop()
    stage.cluster.output(JOB).write_text(iteration(1))
    stage.run(loop, 600, lambda: decided(stage))
    with open(stage.cluster.output(JOB), "a") as file:
        file.write(iteration(2))
    stage.run(loop, 200)
    assert decided(stage)
    assert "no longer holds" in stage.said()
    assert stage.cluster.acts == []


def test_a_failure_after_which_the_training_goes_on_is_left_alone_however_slow_it_is(stage: Stage) -> None:
    stage.cluster.output(JOB).write_text("".join(f"[rank3]: {line}\n" for line in TRACE.splitlines()))
    stage.options = Options(on_fail=True)
    loop = stage.loop()
    stage.run(loop, 100, lambda: decided(stage))
    for number in range(1, 6):
        with open(stage.cluster.output(JOB), "a") as file:
            file.write(iteration(number))
        stage.run(loop, 45)
    stage.run(loop, 600)
    assert decided(stage)
    assert stage.cluster.acts == []


@pytest.mark.parametrize("value", [own(loss=4), None], ids=["rewritten", "vanished"])
def test_a_result_that_is_taken_back_within_the_grace_ends_nothing(stage: Stage, value: object) -> None:
    path = with_result(stage, when="loss < 3", grace=60.0)
    write(path, own(loss=2))
    loop = stage.loop()
    stage.run(loop, 100, lambda: decided(stage))
    path.unlink()
    if value is not None:
        write(path, value)
    stage.run(loop, 300)
    assert decided(stage)
    assert stage.cluster.acts == []
    assert stage.cluster.jobs[JOB].requeue


def test_a_result_that_is_taken_back_behind_the_fence_takes_the_fence_back(stage: Stage) -> None:
    path = with_result(stage, when="loss < 3")
    write(path, own(loss=2))

    def rewrite(what: str) -> None:
        if what == "set_requeue":
            write(path, own(loss=40))

    stage.cluster.before = rewrite
    stage.run(stage.loop(), 100)
    assert [action.requeue for action in actions_of(stage.database())] == [True]
    assert stage.cluster.acts == []
    assert stage.cluster.jobs[JOB].requeue


def test_a_file_system_that_falls_silent_within_the_grace_is_a_brake(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triage.watch import storage

    stage.options = Options(stall_after=300.0, cancel_hung=True)
    loop = stage.loop()
    stage.run(loop, 600, lambda: decided(stage))
    monkeypatch.setattr(storage, "sing", lambda *_: None)
    stage.run(loop, 300)
    assert decided(stage)
    assert "file system of the logs does not answer" in stage.said()
    assert stage.cluster.acts == []


def test_cancels_within_the_grace_are_counted_before_the_act(stage: Stage) -> None:
    from triage.core.jobs.attempt import Attempt
    from triage.core.jobs.cancel import Cause
    from triage.core.jobs.cancel import Stage as Reached
    from triage.store.actions import intend, reach

    stage.options = Options(stall_after=300.0, cancel_hung=True)
    loop = stage.loop()
    stage.run(loop, 600, lambda: decided(stage))
    for number in (30, 31):
        other = remember(stage.database(), NewJob(JobId(number), "watch", stage.cluster.now))
        meant = intend(
            stage.database(), other, Attempt(0, 1.0, 2.0), Cause.HANG, stage.cluster.now, "silent", {}
        )
        reach(stage.database(), meant, Reached.SENT, stage.cluster.now)
    stage.run(loop, 300)
    assert decided(stage)
    assert "within 10 minutes" in stage.said()
    assert stage.cluster.acts == []


def stages_of(stage: Stage) -> list[str]:
    return [action.stage.value for action in actions_of(stage.database())]


@pytest.mark.parametrize(
    "options", [{"dry_run": True}, {"cancel": False}, {"artifacts": ()}], ids=["dry", "no-cancel", "plain"]
)
def test_what_an_interrupted_watch_meant_is_not_done_by_one_that_was_not_asked_to(
    stage: Stage, options: dict[str, Any]
) -> None:
    write(with_result(stage, grace=60.0), own())
    stage.run(stage.loop(), 100, lambda: decided(stage))
    stage.options = replace(stage.options, **options)
    stage.run(replace(stage, holder="here:2:b").loop(), 300)
    assert stage.cluster.acts == []
    assert stages_of(stage)[0] == "abandoned"


def test_a_watch_after_an_interrupted_one_proves_the_result_itself_and_grants_the_grace_anew(
    stage: Stage,
) -> None:
    write(with_result(stage, grace=60.0), own())
    stage.run(stage.loop(), 100, lambda: decided(stage))
    stage.cluster.now += 300
    began = stage.cluster.now
    stage.run(replace(stage, holder="here:2:b").loop(), 300)
    assert stage.cluster.acts == ["cancel attempt 0"]
    assert stages_of(stage) == ["abandoned", "done"]
    assert actions_of(stage.database())[1].at >= began
    assert stage.cluster.now >= began + 60


@pytest.mark.parametrize("plain", [True, False])
def test_a_fence_that_an_interrupted_watch_left_is_taken_back(stage: Stage, plain: bool) -> None:
    write(with_result(stage), own())

    def kill(what: str) -> None:
        if what == "details" and not stage.cluster.jobs[JOB].requeue:
            raise KeyboardInterrupt

    stage.cluster.before = kill
    with pytest.raises(KeyboardInterrupt):
        stage.run(stage.loop(), 100)
    stage.cluster.before = lambda _: None
    assert stages_of(stage) == ["fenced"]
    stage.options = Options() if plain else stage.options
    stage.run(replace(stage, holder="here:2:b").loop(), 300)
    assert stages_of(stage) == (["abandoned"] if plain else ["abandoned", "done"])
    assert stage.cluster.acts == ([] if plain else ["cancel attempt 0"])
    assert stage.cluster.jobs[JOB].requeue is plain


@pytest.mark.parametrize("fenced", [True, False])
def test_leaving_takes_back_what_was_meant(stage: Stage, fenced: bool) -> None:
    write(with_result(stage, grace=0.0 if fenced else 60.0), own())

    def stop(what: str) -> None:
        if what == "details" and not stage.cluster.jobs[JOB].requeue:
            raise KeyboardInterrupt

    stage.cluster.before = stop
    loop = stage.loop()
    if fenced:
        with pytest.raises(KeyboardInterrupt):
            stage.run(loop, 100)
    else:
        stage.run(loop, 100, lambda: decided(stage))
    loop.watchers[JOB].leave()
    assert stages_of(stage) == ["abandoned"]
    assert stage.cluster.jobs[JOB].requeue


def test_a_result_of_the_attempt_before_is_no_proof_for_this_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was proven, but held; then the job was started again, and no result of its own is there."""
    path = with_result(stage)
    write(path, own())
    remember(stage.database(), NewJob(JOB, "hold", START))
    known = find_job(stage.database(), JOB)
    assert known is not None
    set_held(stage.database(), known.number, True)
    loop = stage.loop()
    watcher = stage.run(loop, 20)
    assert watcher.open is not None
    assert "is held" in stage.said()

    def refuse(*_: object) -> None:
        raise UsageError("no such result")

    monkeypatch.setattr("triage.watch.watcher.Results", refuse)
    stage.cluster.jobs[JOB] = Job(restarts=1, submitted=START + 25, started=START + 26)
    set_held(stage.database(), known.number, False)
    stage.run(loop, 300)
    assert stage.cluster.acts == []


def test_a_cancel_by_somebody_else_is_theirs(stage: Stage) -> None:
    with_result(stage)
    loop = stage.loop()
    stage.run(loop, 5)
    stage.cluster.jobs[JOB] = Job("CANCELLED by 0", listed=False)
    watcher = stage.run(loop, 300)
    assert watcher.ending is not None
    assert watcher.ending.outcome == "cancelled"


def test_a_log_folder_that_cannot_be_written_keeps_the_record_in_the_store(stage: Stage) -> None:
    path = with_result(stage)
    (stage.cluster.folder / "triage-18.json").mkdir()
    write(path, own())
    stage.run(stage.loop(), 60)
    assert stage.cluster.acts == ["cancel attempt 0"]
    assert "in the store only" in stage.said()
    assert os.path.isdir(stage.cluster.folder / "triage-18.json")


def test_every_event_fits_the_schema_and_every_kind_is_in_it(stage: Stage) -> None:
    schema = json.loads(schema_text("event"))
    assert set(schema["properties"]["event"]["enum"]) == set(KINDS)
    write(with_result(stage), own())
    stage.run(stage.loop(), 300)
    for event in stage.told:
        jsonschema.validate(json.loads(event.to_json()), schema)


@pytest.mark.parametrize("failures", [1, 3])
def test_a_fence_that_cannot_be_taken_back_yet_is_tried_again(stage: Stage, failures: int) -> None:
    path = with_result(stage, when="loss < 3")
    write(path, own(loss=2))
    left = failures

    def fail(what: str) -> None:
        nonlocal left
        if what == "set_requeue" and not stage.cluster.jobs[JOB].requeue and left:
            left -= 1
            raise SchedulerError("slurmctld does not answer", transient=True)
        if what == "set_requeue":
            write(path, own(loss=40))

    stage.cluster.before = fail
    stage.run(stage.loop(), 100)
    assert (left, stage.cluster.jobs[JOB].requeue) == (0, True)
    assert stages_of(stage) == ["abandoned"]
    assert stage.cluster.acts == []
    assert stage.said().count("is not ended early") == 1


def test_a_fence_that_was_carried_out_late_is_taken_back_while_the_job_waits_for_its_next_attempt(
    stage: Stage,
) -> None:
    """The poll sees the requeue before the next step can ask anything."""
    write(with_result(stage), own())
    asked: list[str] = []

    def fail(what: str) -> None:
        if what == "set_requeue" and not asked:
            stage.cluster.jobs[JOB] = Job("PENDING", restarts=1, submitted=stage.cluster.now, requeue=False)
        asked.extend([what] if what == "set_requeue" or asked else [])
        if asked == ["set_requeue"] or (asked and what == "waiting" and "status" not in asked):
            raise SchedulerError("scontrol did not answer in time", transient=True)

    stage.cluster.before = fail
    stage.run(stage.loop(), 120)
    assert "status" in asked
    assert stage.cluster.jobs[JOB].requeue
    assert stages_of(stage) == ["abandoned"]


def test_a_fence_that_may_be_carried_out_late_is_asked_for_again_before_the_act(stage: Stage) -> None:
    """The command ran into its time limit; what it asked for may still come."""
    write(with_result(stage), own())
    failed = False

    def fail(what: str) -> None:
        nonlocal failed
        if what == "set_requeue" and not failed:
            failed = True
            raise SchedulerError("scontrol did not answer in time", transient=True)
        if what == "cancel":
            assert not stage.cluster.jobs[JOB].requeue

    stage.cluster.before = fail
    stage.run(stage.loop(), 100)
    assert stages_of(stage) == ["done"]
    assert stage.cluster.acts == ["cancel attempt 0"]


@pytest.mark.parametrize("at", ["details", "set_requeue", "waiting"])
def test_a_watcher_that_was_held_up_for_minutes_does_nothing_that_another_one_has_taken_over(
    stage: Stage, at: str
) -> None:
    """Slurm answers it only after its lease has run out, and then it goes on from where it was."""
    path = with_result(stage)
    slow = stage.loop()
    other = replace(stage, holder="there:2:b", host="there").loop()
    stage.run(slow, 3)
    stage.run(other, 3)
    held_up = False

    def hold_up(what: str) -> None:
        nonlocal held_up
        if what == at and stages_of(stage) and not held_up:
            held_up = True
            stage.cluster.now += 200
            stage.run(other, 400)

    stage.cluster.before = hold_up
    write(path, own())
    stage.run(slow, 300)
    assert stage.cluster.acts == ["cancel attempt 0"]
    assert stages_of(stage)[-1] == "done"


def test_a_job_that_is_forgotten_behind_the_fence_is_not_ended_and_may_be_requeued(stage: Stage) -> None:
    write(with_result(stage), own())
    known: list[int] = []

    def forgotten(what: str) -> None:
        if what == "details" and not stage.cluster.jobs[JOB].requeue and not known:
            found = find_job(stage.database(), JOB)
            assert found is not None
            known.append(found.number)
            forget(stage.database(), found.number)

    stage.cluster.before = forgotten
    loop = stage.loop()
    stage.run(loop, 30)
    assert known
    loop.watchers[JOB].leave()
    assert stage.cluster.acts == []
    assert stage.cluster.jobs[JOB].requeue


def test_what_was_sent_in_vain_leaves_no_fence_once_nobody_wants_it(stage: Stage) -> None:
    write(with_result(stage), own())

    def lose(what: str) -> None:
        if what == "cancel":
            raise KeyboardInterrupt

    stage.cluster.before = lose
    with pytest.raises(KeyboardInterrupt):
        stage.run(stage.loop(), 100)
    stage.cluster.before = lambda _: None
    stage.options = Options()
    loop = replace(stage, holder="here:2:b").loop()
    stage.run(loop, 500)
    assert not stage.cluster.jobs[JOB].requeue
    stage.run(loop, 300)
    assert stage.cluster.jobs[JOB].requeue
    assert stages_of(stage) == ["abandoned"]
    assert stage.cluster.acts == []


def test_the_end_of_a_job_whose_id_was_given_out_again_lies_before_the_next_ones_submit(stage: Stage) -> None:
    """However late that is seen: the next one is a job of its own in the store."""
    write(with_result(stage), own())
    stage.run(stage.loop(), 300)
    stage.cluster.now += 500
    stage.cluster.jobs[JOB] = Job(submitted=START + 60, started=START + 61)
    stage.options = Options()
    stage.run(replace(stage, holder="here:2:b").loop(), 20)
    first, second = sorted(all_jobs(stage.database()), key=lambda known: known.number)
    assert (first.outcome, second.ended) == ("completed-early", None)
    assert actions_of(stage.database(), second.number) == []


@pytest.mark.parametrize(
    ("state", "code", "category", "exit_code"),
    [("OUT_OF_MEMORY", 0, "host-oom", 10), ("NODE_FAIL", 0, "hardware", 10), ("TIMEOUT", 0, "timeout", 10), ("FAILED", 1, "unknown", 11)],
)  # fmt: skip
def test_an_end_that_the_logs_do_not_tell_is_told_by_the_state(
    stage: Stage, state: str, code: int, category: str, exit_code: int
) -> None:
    with_result(stage)
    loop = stage.loop()
    stage.run(loop, 5)
    stage.cluster.jobs[JOB] = Job(state, listed=False, code=code)
    watcher = stage.run(loop, 300)
    assert watcher.ending is not None
    assert watcher.ending.verdict.category == category
    known = find_job(stage.database(), JOB)
    assert known is not None
    assert known.exit_code == exit_code
    assert stage.cluster.acts == []
