"""Slurm's environment, command lines and parsers, against recorded outputs."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schedulers.recorded import text
from triage.core.jobs.identity import JobId
from triage.core.jobs.state import Flag, Phase, Reading, State
from triage.core.jobs.witness import Exit
from triage.schedulers.interface import Request
from triage.schedulers.slurm import commands, parse
from triage.schedulers.slurm.columns import AccountRow, QueueRow, Unreadable, codes, columns_of
from triage.schedulers.slurm.environment import query_environment, submit_environment

HOSTILE = {
    "PATH": "/opt/slurm/bin:/usr/bin", "HOME": "/home/u", "USER": "u", "SLURM_CONF": "/etc/s.conf", "LC_ALL": "de_DE",
    "SQUEUE_STATES": "FAILED", "SQUEUE_USERS": "nobody", "SCANCEL_STATE": "PENDING", "SCANCEL_INTERACTIVE": "true",
    "SBATCH_PARTITION": "wrong", "SBATCH_TEST_ONLY": "1", "SACCT_FORMAT": "x", "SLURM_JOB_ID": "1", "SLURM_NTASKS": "9",
    "SLURM_TIME_FORMAT": "relative", "SINFO_FORMAT": "x", "WANDB_API_KEY": "k", "LD_PRELOAD": "x",
}  # fmt: skip
REQUEST = Request(Path("run.sh"), Path("/lustre/run"), "0123456789abcdef")


def test_query_environment_is_built_and_not_inherited() -> None:
    assert query_environment(HOSTILE) == {
        "PATH": "/opt/slurm/bin:/usr/bin", "HOME": "/home/u", "USER": "u", "SLURM_CONF": "/etc/s.conf", "LC_ALL": "C",
        "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0",
    }  # fmt: skip


def test_an_empty_environment_still_finds_the_commands() -> None:
    assert query_environment({})["PATH"]


def test_the_job_gets_the_users_variables_but_none_that_sbatch_or_srun_obey() -> None:
    built = submit_environment(HOSTILE)
    assert built["WANDB_API_KEY"] == "k"
    assert built["LC_ALL"] == "de_DE"
    assert [name for name in built if name.startswith(("SLURM", "SBATCH", "SQUEUE", "SCANCEL", "SACCT", "SINFO"))] == ["SLURM_CONF"]  # fmt: skip


def test_the_poll_asks_for_exactly_the_columns_without_free_text() -> None:
    assert commands.squeue() == ("squeue", "-h", "-r", "-o", "%i|%F|%K|%A|%T|%r|%V|%S|%U")
    assert not set(codes(AccountRow)) & {"JobName", "Comment", "SubmitLine", "WorkDir"}


def test_the_token_is_given_on_the_command_line_in_front_of_all_free_text() -> None:
    request = dataclasses.replace(
        REQUEST, name="pre train", comment="mine", options=("--hold",), arguments=("--comment=x",)
    )
    assert commands.sbatch(request) == (
        "sbatch", "--parsable", "--comment=mine triage:0123456789abcdef", "--job-name=pre train-01234567", "--hold",
        "run.sh", "--comment=x",
    )  # fmt: skip


def test_sbatch_has_a_limit_of_its_own_that_outlives_a_killed_tool() -> None:
    assert commands.bounded(("sbatch",), 41.2) == ("timeout", "--kill-after=2", "42", "sbatch")


def test_times_are_given_in_epoch_seconds_so_that_no_zone_matters() -> None:
    assert "uts1796123999" in commands.sacct([JobId(1)], 1796124000.5)
    assert "-S" not in commands.sacct([JobId(1)])


def test_a_cluster_is_named_in_every_call_about_its_jobs() -> None:
    job = JobId(7, task=2, cluster="west")
    for argv in (commands.scontrol_job(job), commands.scancel(job), commands.squeue(job, "west"), commands.sacct([job], None, "west")):  # fmt: skip
        assert argv[1:3] == ("-M", "west")
        assert argv[-1] == "7_2" or "7_2" in argv


def test_queue_of_arrays_components_and_reasons() -> None:
    listing = parse.read_queue(text("squeue-array-tasks-het-components-and-reasons-that-never-start"))
    assert listing.whole
    rows = {str(row.job): row for row in listing.rows}
    assert {"37_0", "37_3", "38+0", "38+1", "36"} <= rows.keys()
    assert rows["37_0"].state.state is State.RUNNING
    assert rows["37_0"].raw == 47
    assert rows["42"].reason == "PartitionTimeLimit"
    assert rows["41"].started is None
    assert parse.parts_of(rows_jobs(listing.rows), 37) == tuple(JobId(37, task) for task in (2, 3, 0, 1))
    assert parse.parts_of(rows_jobs(listing.rows), 38) == (JobId(38, component=0), JobId(38, component=1))


def rows_jobs(rows: tuple[QueueRow, ...]) -> list[JobId]:
    return [row.job for row in rows]


def test_completing_row_has_no_base_state() -> None:
    (row,) = parse.read_queue(text("squeue-completing-after-scancel")).rows
    assert row.state == Reading(State.UNKNOWN, frozenset({Flag.COMPLETING}))


def test_a_reason_with_the_separator_in_it_does_not_shift_the_times() -> None:
    listing = parse.read_queue("7|7|N/A|7|PENDING|site|says|no|100|N/A|0\n")
    assert (listing.whole, listing.rows[0].reason, listing.rows[0].submitted) == (True, "site|says|no", 100)


@pytest.mark.parametrize("line", ["7|7|N/A|7|RUNNING|None|100", "7_[0-3]|7|0-3|7|PENDING|None|1|N/A|0", "x|7|N/A|7|RUNNING|None|1|2|0", "7|7|N/A|7|RUNNING|None|2026-12-01T00:00:00|2|0"])  # fmt: skip
def test_a_row_that_cannot_be_read_makes_the_answer_incomplete(line: str) -> None:
    good = "8|8|N/A|8|RUNNING|None|100|110|0"
    listing = parse.read_queue(f"{line}\n{good}\n")
    assert not listing.whole
    assert [row.job for row in listing.rows] == [JobId(8)]


@given(st.text())
def test_no_output_breaks_a_parser(output: str) -> None:
    parse.read_queue(output)
    parse.read_accounts(output)
    parse.read_submitted(output)
    parse.read_config(output)
    parse.read_partitions(output)
    parse.read_associations(output)
    parse.find_mark(output, "triage:0123")
    with contextlib.suppress(Unreadable):
        parse.read_details(output)


def test_legal_times_that_are_no_numbers() -> None:
    read = columns_of(QueueRow)["started"].read
    assert [read(word) for word in ("Unknown", "None", "N/A", "", "0")] == [None] * 5


def test_requeued_job_has_two_rows_of_one_id_and_each_keeps_its_batch_exit() -> None:
    rows = parse.read_accounts(text("sacct-requeued-two-rows-one-id")).rows
    first, second = parse.incarnations(rows, JobId(25))
    assert first.reading.flags == {Flag.REQUEUED}
    assert first.batch_exit == Exit(0, 15)
    assert (second.reading.state, second.batch_exit) == (State.PENDING, None)
    assert (second.submitted or 0) > (first.submitted or 0)
    assert not second.placeholder


def test_placeholder_row_is_marked() -> None:
    rows = parse.read_accounts(text("sacct-placeholder-row-with-no-nodes")).rows
    (row,) = parse.incarnations(rows, JobId(25))
    assert row.placeholder


def test_failed_step_of_a_completed_job_is_no_failure_of_the_job() -> None:
    rows = parse.read_accounts(text("sacct-failed-step-of-completed-job-and-no-log-0-53")).rows
    assert [parse.incarnations(rows, JobId(number))[0].exit for number in (20, 21, 22, 23)] == [
        Exit(7, 0), Exit(0, 0), Exit(0, 53), Exit(0, 11),
    ]  # fmt: skip


def test_lost_node_leaves_exit_codes_empty() -> None:
    rows = parse.read_accounts(text("sacct-node-fail-with-and-without-requeue")).rows
    (gone,) = parse.incarnations(rows, JobId(62))
    assert (gone.reading.state, gone.batch_exit) == (State.NODE_FAIL, None)
    assert len(parse.incarnations(rows, JobId(61))) == 2


def test_pending_range_of_an_array_is_no_job_of_its_own() -> None:
    rows = parse.read_accounts(text("sacct-array-with-a-range-of-pending-tasks")).rows
    assert parse.jobs_of(rows) == (JobId(37, 0), JobId(37, 1))
    assert parse.incarnations(rows, JobId(37)) == ()


@pytest.mark.parametrize(
    ("output", "job"),
    [
        ("42\n", JobId(42)),
        ("42;west\n", JobId(42, cluster="west")),
        ("sitewrapper: hello\n42\n", JobId(42)),
        ("Submitted batch job 42\n", JobId(42)),
        ("Submitted batch job 42 on cluster west\n", JobId(42, cluster="west")),
        ("", None),
        ("sbatch: Job 56 to start at 1796124462 using 1 processors\n", None),
        ("42_1\n", None),
    ],
)
def test_submitted_id(output: str, job: JobId | None) -> None:
    assert parse.read_submitted(output) == job


def test_token_is_found_in_comments_and_command_lines_only_as_a_whole_word() -> None:
    comments = text("squeue-comments-forged-rows-and-refused-requests")
    lines = text("sacct-submit-lines-forged-rows-and-refused-requests")
    assert parse.find_mark(comments, "triage:0123456789abcdef") == (3,)
    assert parse.find_mark(lines, "triage:0123456789abcdef") == (3,)
    assert parse.find_mark(comments, "triage:0123456789abcde") == ()
    assert parse.find_mark(comments, "riage:0123456789abcdef") == ()


def test_array_and_heterogeneous_jobs_are_found_under_their_number() -> None:
    lines = "7_[0-3%2]|PENDING|None assigned|a triage:x\n7_0|RUNNING|gpu1|a triage:x\n9+0|COMPLETED|gpu1|a triage:x\n"
    assert parse.find_mark(lines, "triage:x") == (7, 9)


def test_the_record_that_a_refused_request_leaves_is_no_job() -> None:
    assert "|FAILED|BadConstraints|" in text("squeue-comments-forged-rows-and-refused-requests")
    for name in (
        "squeue-comments-forged-rows-and-refused-requests",
        "sacct-submit-lines-forged-rows-and-refused-requests",
    ):
        assert parse.find_mark(text(name), "triage:refused1") == ()
        assert parse.find_mark(text(name), "triage:accepted") == (4,)


def test_a_job_cancelled_before_its_start_is_found() -> None:
    assert parse.find_mark(text("squeue-comments-forged-rows-and-refused-requests"), "triage:cancelled") == (
        7,
    )


def test_scontrol_record_of_a_requeued_job() -> None:
    (record,) = parse.read_details(text("scontrol-job-requeued-pending-restarts-1"))
    assert (record.job, record.sighting.restarts, record.sighting.reading.state) == (
        JobId(25),
        1,
        State.PENDING,
    )
    assert record.output.endswith("/slurm-25.out")


def test_scontrol_records_of_an_array_have_the_tasks_ids() -> None:
    found = [record.job for record in parse.read_details(text("scontrol-job-array-many-records"))]
    assert JobId(37, 0) in found
    assert JobId(37, 1) in found
    assert parse.read_details(text("scontrol-job-heterogeneous"))[0].job == JobId(38, component=0)


def test_a_job_name_that_forges_lines_is_refused_and_not_believed() -> None:
    with pytest.raises(Unreadable, match="twice"):
        parse.read_details(text("scontrol-job-name-forges-lines"))


def test_a_name_with_another_keys_text_on_its_own_line_stays_a_name() -> None:
    block = text("scontrol-job-held").replace("JobName=wrap", "JobName=x Reason=None JobState=COMPLETED", 1)
    (record,) = parse.read_details(block)
    assert record.sighting.reading.phase is Phase.WAITING
    assert record.name == "x Reason=None JobState=COMPLETED"


def test_a_record_without_its_key_lines_is_refused() -> None:
    with pytest.raises(Unreadable, match="has no"):
        parse.read_details("JobId=1 JobName=x\n   JobState=COMPLETED Reason=None Dependency=(null)\n")


def test_config_and_partition() -> None:
    config = parse.read_config(text("scontrol-config"))
    assert (parse.seconds_of(config, "MessageTimeout"), parse.seconds_of(config, "MinJobAge")) == (5, 300)
    assert config["SLURM_VERSION"] == "22.05.8"
    assert parse.seconds_of({}, "MessageTimeout") is None
    assert parse.read_partition(text("scontrol-partition"))["MaxTime"] == "00:01:00"


def test_partitions_with_limits_gpus_and_default() -> None:
    listing, default = parse.read_partitions(text("sinfo-default-partition-starred-and-one-down"))
    assert default == "gpu"
    rows = {row.name: row for row in listing.rows}
    assert (rows["short"].time_limit, rows["gpu"].time_limit, rows["gpu"].gpus) == (60, None, 4)
    assert (rows["closed"].up, rows["gpu"].up) == (False, True)


@pytest.mark.parametrize(
    ("gres", "gpus", "kind"),
    [
        ("gpu:h100:8(S:0-1)", 8, "h100"), ("gpu:4", 4, None), ("gpu", 1, None), ("(null)", 0, None),
        ("nvme:1,gpu:a100:4(S:0,2)", 4, "a100"), ("gpu:a100:2,gpu:t4:2", 4, None), ("gpu_mem:80", 0, None),
        ("gpu:a100_80gb:4", 4, "a100_80gb"),
    ],
)  # fmt: skip
def test_gres(gres: str, gpus: int, kind: str | None) -> None:
    (row,) = parse.read_partitions(f"p|up|1-00:00:00|2|{gres}|8+|4000|p\n")[0].rows
    assert (row.gpus, row.gpu, row.time_limit, row.cpus) == (gpus, kind, 86400, 8)


def test_associations() -> None:
    assert parse.read_associations(text("sacctmgr-two-accounts")) == (("ml", "root"), ("normal",))
    assert parse.read_associations("a|p1|normal,high|normal\na|p2|normal|normal\n") == (
        ("a",),
        ("normal", "high"),
    )


def test_details_tell_what_an_early_end_must_know() -> None:
    record = parse.read_details(text("scontrol-job-array-many-records"))[1]
    assert (record.raw, record.array, record.uid, record.requeue) == (48, 37, 0, True)
    block = text("scontrol-job-failed-exit-7").replace("Requeue=1", "Requeue=0").replace("TRES=cpu=1", "TRES=cpu=1,gres/gpu:h100=4,gres/gpu:a100=2")  # fmt: skip
    changed = parse.read_details(block.replace("TimeLimit=UNLIMITED", "TimeLimit=1-02:00:00"))[0]
    assert (changed.requeue, changed.gpus, changed.limit) == (False, 6, 93600.0)


def test_pending_jobs_are_read_with_what_they_wait_for_and_an_odd_line_is_not_passed_over() -> None:
    listing = parse.read_waiting("3|afterok:1(unfulfilled)\n7_[0-2]|aftercorr:2_*(unfulfilled)\n1|(null)\n")
    assert [row.dependency for row in listing.rows][:2] == [
        "afterok:1(unfulfilled)",
        "aftercorr:2_*(unfulfilled)",
    ]
    assert listing.whole
    assert not parse.read_waiting("slurm_load_jobs: something\n").whole


def test_the_bare_id_of_an_array_means_all_that_is_told_of_it() -> None:
    records = parse.read_details(text("scontrol-job-array-many-records"))
    whole = parse.meant(records, JobId(37))
    assert whole is not None
    assert set(whole.numbers) == {record.raw for record in records}
    task = parse.meant(records, JobId(37, 1))
    assert task is not None
    assert (task.job, task.numbers) == (JobId(37, 1), ())
    assert parse.meant(records, JobId(99)) is None


def test_a_task_that_has_not_started_is_told_by_the_arrays_own_record_and_never_by_another_tasks() -> None:
    records = parse.read_details(text("scontrol-job-array-many-records"))
    waiting = [record for record in records if record.job.task is None]
    found = parse.meant(records, JobId(37, 77))
    assert found == (waiting[0] if waiting else None)
    assert parse.meant([record for record in records if record.job.task is not None], JobId(37, 77)) is None


@pytest.mark.parametrize("name", [JobId(38), JobId(38, component=0), JobId(38, component=1)], ids=str)
def test_every_id_of_a_heterogeneous_job_means_the_whole_job(name: JobId) -> None:
    records = parse.read_details(text("scontrol-job-heterogeneous"))
    found = parse.meant(records, name)
    assert found is not None
    assert set(found.numbers) == {record.raw for record in records}
    assert commands.scancel(name)[-1] == commands.scontrol_job(name)[-1] == "38"
    assert "JobId=38" in commands.scontrol_update(name, "Requeue", "0")
    assert commands.scancel_signal(name, "USR2")[-1] == "38"


def test_the_fence_of_an_array_holds_when_it_holds_for_every_task() -> None:
    records = parse.read_details(text("scontrol-job-array-many-records"))
    for fences, whole in (([False, False], False), ([False, True], True), ([False, None], None)):
        pair = [replace(record, requeue=fence) for record, fence in zip(records, fences, strict=False)]
        found = parse.meant(pair, JobId(37))
        assert found is not None
        assert found.requeue is whole
