"""The Slurm client on recorded answers: which commands it runs, with what, and what it makes of failures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.schedulers.recorded import UNKNOWN_ID, Replay, error, text
from triage.core.jobs.identity import JobId
from triage.core.jobs.state import Phase, State
from triage.core.jobs.submission import Accepted, Refused
from triage.errors import SchedulerError
from triage.schedulers.interface import Request
from triage.schedulers.process import Answer, Call
from triage.schedulers.slurm.client import CANCEL_LIMIT, QUERY_LIMIT, Slurm

ENVIRONMENT = {
    "PATH": "/usr/bin",
    "HOME": "/home/u",
    "USER": "u",
    "SQUEUE_STATES": "FAILED",
    "SBATCH_QOS": "x",
}
CONFIG = Answer(0, text("scontrol-config"))
EMPTY = Answer(0, "")
REQUEST = Request(Path("run.sh"), Path("/lustre/run"), "0123456789abcdef")


def client(now: float = 1796124460.0, **answers: Answer | Callable[[Call], Answer]) -> tuple[Slurm, Replay]:
    replay = Replay({name.replace("_", " "): answer for name, answer in answers.items()})
    return Slurm(ENVIRONMENT, replay, lambda: now), replay


def test_every_call_is_limited_and_carries_no_inherited_filter() -> None:
    slurm, replay = client(
        squeue=EMPTY, sacct=EMPTY, sinfo=EMPTY, sacctmgr=EMPTY, scancel=EMPTY, sbatch=Answer(0, "7\n")
    )
    slurm.status([JobId(1)])
    slurm.site()
    slurm.cancel(JobId(1))
    slurm.submit(REQUEST, limit=60)
    assert len(replay.calls) == 7
    for call in replay.calls:
        assert 0 < call.limit <= QUERY_LIMIT
        assert not {"SQUEUE_STATES", "SBATCH_QOS"} & call.environment.keys()
    assert next(call.limit for call in replay.calls if "scancel" in call.argv) == CANCEL_LIMIT


def test_submit_runs_in_the_requests_folder_and_reads_the_id() -> None:
    slurm, replay = client(sbatch=Answer(0, "42;west\n"))
    assert slurm.submit(REQUEST, limit=60) == Accepted(JobId(42, cluster="west"))
    (call,) = replay.calls
    assert call.folder == "/lustre/run"
    assert call.argv[:3] == ("timeout", "--kill-after=2", "57")


def test_test_only_is_refused_before_anything_runs() -> None:
    slurm, replay = client()
    request = Request(Path("run.sh"), Path("/"), "0123", options=("--test-only",))
    assert isinstance(slurm.submit(request, limit=60), Refused)
    assert replay.calls == []


def test_a_running_job_costs_one_question() -> None:
    slurm, replay = client(squeue=Answer(0, "36|36|N/A|36|RUNNING|None|1796124455|1796124455|0\n"))
    status = slurm.status([JobId(36)])[JobId(36)]
    assert (status.state, status.started) == (State.RUNNING, 1796124455)
    assert len(replay.calls) == 1


def test_a_finished_job_that_the_controller_has_forgotten_is_looked_up_in_accounting() -> None:
    account = Answer(0, text("sacct-failed-step-of-completed-job-and-no-log-0-53"))
    slurm, _ = client(squeue=UNKNOWN_ID, sacct=account)
    status = slurm.status([JobId(20)])[JobId(20)]
    assert (status.state, status.released, status.exit and status.exit.code) == (State.FAILED, True, 7)
    assert slurm.status([JobId(22)])[JobId(22)].output_failed


def test_unknown_in_both_is_unknown() -> None:
    slurm, _ = client(squeue=UNKNOWN_ID, sacct=EMPTY)
    status = slurm.status([JobId(99999)])[JobId(99999)]
    assert (status.phase, status.known) == (Phase.UNKNOWN, False)


def test_controller_down_is_no_absence_and_an_old_end_is_not_called_released() -> None:
    account = Answer(0, text("sacct-failed-step-of-completed-job-and-no-log-0-53"))
    slurm, _ = client(squeue=error("errors-controller-down", "squeue -j ID"), sacct=account)
    status = slurm.status([JobId(20)])[JobId(20)]
    assert (status.state, status.released) == (State.FAILED, False)


def test_everything_down_is_unknown_and_no_error() -> None:
    slurm, _ = client(
        squeue=error("errors-controller-down", "squeue"), sacct=error("errors-accounting-down", "sacct")
    )
    assert slurm.status([JobId(20)])[JobId(20)].phase is Phase.UNKNOWN


def test_completing_job_is_ending_although_accounting_has_its_end() -> None:
    slurm, _ = client(
        squeue=Answer(0, text("squeue-completing-after-scancel")),
        sacct=Answer(0, text("sacct-cancelled-while-squeue-is-completing")),
    )
    status = slurm.status([JobId(24)])[JobId(24)]
    assert (status.state, status.phase, status.released) == (State.CANCELLED, Phase.ENDING, False)


def test_preempted_job_that_waits_again_is_waiting() -> None:
    slurm, _ = client(
        squeue=Answer(0, text("squeue-preempted-is-pending-with-a-new-submit-time")),
        sacct=Answer(0, text("sacct-preempted-last-row-while-requeued")),
    )
    assert slurm.status([JobId(59)])[JobId(59)].phase is Phase.WAITING


def test_an_array_is_told_with_its_tasks_and_a_finished_task_from_accounting() -> None:
    account = text("sacct-array-with-a-range-of-pending-tasks").replace("37_1|48|RUNNING", "37_1|48|FAILED")
    queue = "\n".join(line for line in text("squeue-id-of-an-array-lists-its-tasks").splitlines() if not line.startswith("37_1"))  # fmt: skip
    slurm, _ = client(squeue=Answer(0, queue), sacct=Answer(0, account))
    found = slurm.status([JobId(37)])
    assert found[JobId(37, 0)].state is State.RUNNING
    assert found[JobId(37, 1)].state is State.FAILED
    assert found[JobId(37, 2)].state is State.PENDING
    assert found[JobId(37)].phase is Phase.ACTIVE


def test_many_jobs_cost_one_poll_and_few_are_asked_one_by_one() -> None:
    queue = Answer(0, text("squeue-array-tasks-het-components-and-reasons-that-never-start"))
    slurm, replay = client(squeue=queue, sacct=EMPTY)
    many = [JobId(number) for number in (36, 40, 41, 42, 43, 44)]
    assert {status.phase for status in slurm.status(many).values()} == {Phase.ACTIVE, Phase.WAITING}
    assert len(replay.of("squeue")) == 1
    assert "-j" not in replay.of("squeue")[0]
    few, replay = client(squeue=queue)
    few.status(many[:2])
    assert [argv[3:5] for argv in replay.of("squeue")] == [("-j", "36"), ("-j", "40")]


def test_a_row_that_cannot_be_read_does_not_make_other_jobs_absent() -> None:
    slurm, _ = client(
        squeue=Answer(0, "garbage\n"), sacct=Answer(0, "7|7|COMPLETED|0:0|0:0|1|2|3|1|gpu1|None\n")
    )
    assert not slurm.status([JobId(7)])[JobId(7)].released


def test_a_cluster_is_asked_in_a_call_of_its_own() -> None:
    slurm, replay = client(squeue=Answer(0, "7|7|N/A|7|RUNNING|None|1|2|0\n"))
    found = slurm.status([JobId(7), JobId(7, cluster="west")])
    assert set(found) == {JobId(7), JobId(7, cluster="west")}
    assert [argv[1:3] == ("-M", "west") for argv in replay.of("squeue")] == [False, True]


def test_find_trusts_the_queue_alone_only_as_long_as_it_remembers() -> None:
    comments = Answer(0, text("squeue-comments-forged-rows-and-refused-requests"))
    token = "0123456789abcdef"
    slurm, replay = client(squeue=comments, scontrol_show_config=CONFIG)
    assert slurm.find(token, 1796124455.0).found == (JobId(3),)
    assert slurm.find("f" * 16, 1796124455.0).whole
    assert replay.of("sacct") == []
    late, replay = client(now=1796125000.0, squeue=EMPTY, scontrol_show_config=CONFIG,
                          sacct=Answer(0, text("sacct-submit-lines-forged-rows-and-refused-requests")))  # fmt: skip
    assert late.find(token, 1796124455.0).found == (JobId(3),)
    assert len(replay.of("sacct")) == 1


def test_a_look_without_the_queue_or_without_accounting_proves_nothing() -> None:
    down = error("errors-controller-down", "squeue")
    slurm, _ = client(
        squeue=down, sacct=EMPTY, scontrol_show_config=error("errors-controller-down", "scontrol show config")
    )
    assert not slurm.find("0" * 16, 0).whole
    silent, _ = client(
        squeue=EMPTY, sacct=error("errors-accounting-down", "sacct"), scontrol_show_config=CONFIG
    )
    assert not silent.find("0" * 16, 0).whole


def test_details_of_a_task_of_a_forged_name_and_of_an_unknown_job() -> None:
    slurm, _ = client(scontrol_show_job=Answer(0, text("scontrol-job-array-many-records")))
    found = slurm.details(JobId(37, 1))
    assert found is not None
    assert found.output.endswith("slurm-37_1.out")
    forged, _ = client(scontrol_show_job=Answer(0, text("scontrol-job-name-forges-lines")))
    with pytest.raises(SchedulerError, match="cannot be read safely"):
        forged.details(JobId(36))
    unknown, _ = client(scontrol_show_job=UNKNOWN_ID)
    assert unknown.details(JobId(9)) is None


def test_the_number_that_a_task_knows_itself_by_is_named_as_slurm_acts_on_it() -> None:
    slurm, _ = client(scontrol_show_job=Answer(0, text("scontrol-job-array-many-records")))
    assert slurm.named(JobId(48)) == JobId(37, 1)
    assert slurm.named(JobId(37)) == JobId(37)
    assert slurm.details(JobId(48)) is None
    unknown, _ = client(scontrol_show_job=UNKNOWN_ID)
    assert unknown.named(JobId(9)) == JobId(9)


def test_scancel_that_timed_out_is_an_error_because_the_outcome_is_not_known() -> None:
    slurm, _ = client(scancel=error("errors-controller-frozen", "scancel"))
    with pytest.raises(SchedulerError) as caught:
        slurm.cancel(JobId(20))
    assert caught.value.transient


def test_site_tells_what_could_not_be_asked() -> None:
    good, _ = client(
        sinfo=Answer(0, text("sinfo-default-partition-starred-and-one-down")),
        sacctmgr=Answer(0, text("sacctmgr-two-accounts")),
        scontrol_show_config=CONFIG,
    )
    site = good.site()
    assert (site.default_partition, site.accounts, site.unknown) == ("gpu", ("ml", "root"), ())
    bad, _ = client(
        sinfo=error("errors-controller-down", "sinfo"), sacctmgr=error("errors-accounting-down", "sacctmgr")
    )
    assert len(bad.site().unknown) == 3


@pytest.mark.parametrize(("line", "enforced"), [("none", False), ("associations,limits,qos", True)])
def test_site_tells_whether_a_foreign_account_is_refused(line: str, enforced: bool) -> None:
    config = Answer(0, text("scontrol-config").replace("Enforce = none", f"Enforce = {line}"))
    slurm, _ = client(scontrol_show_config=config)
    assert slurm.site().enforced is enforced


def test_hidden_partitions_are_asked_for_too() -> None:
    slurm, replay = client(sinfo=EMPTY)
    slurm.site()
    assert "-a" in replay.of("sinfo")[0]


def test_every_cluster_that_may_have_taken_the_job_is_searched() -> None:
    row = Answer(0, "5|PENDING|None|triage:0123456789abcdef\n")

    def queue(call: Call) -> Answer:
        return row if call.argv[1:3] == ("-M", "west") else EMPTY

    slurm, replay = client(squeue=queue, sacct=EMPTY, scontrol_show_config=CONFIG)
    found = slurm.find("0123456789abcdef", 1796124455.0, "east,west").found
    assert found == (JobId(5, cluster="west"),)
    assert [argv[1:3] for argv in replay.of("squeue")] == [("-M", "east"), ("-M", "west")]


def test_message_timeout_is_the_sites_or_a_long_one() -> None:
    assert client(scontrol_show_config=CONFIG)[0].message_timeout() == 5
    down, replay = client(scontrol_show_config=error("errors-controller-down", "scontrol show config"))
    assert down.message_timeout() >= 60
    replay.answers = {"scontrol show config": CONFIG}
    assert down.message_timeout() == 5


def test_without_slurm_the_error_says_where_to_run_it() -> None:
    def nothing(call: Call) -> Answer:
        return Answer(None, err=f"{call.argv[0]}: no such file", missing=True)

    slurm = Slurm(ENVIRONMENT, nothing)
    with pytest.raises(SchedulerError, match="no `squeue` here"):
        slurm.status([JobId(1)])
