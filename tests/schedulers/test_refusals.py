"""What Slurm says when it fails: whether a job can exist decides whether a request may be sent again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schedulers.recorded import error, rows
from triage.core.jobs.identity import JobId
from triage.core.jobs.submission import Accepted, Lost, NotSent, Refused
from triage.schedulers.process import Answer
from triage.schedulers.slurm.refusals import REFUSALS, failure, is_unknown_job, submission

ADVICE = {
    "-p nope": "--partition", "-w nono": "--nodelist", "-C nope": "--constraint", "--reservation=nope": "--reservation",
    "-a x": "--array", "-n 0": "--ntasks", "--mem=x": "--mem", "-N 0": "--nodes", "--gpus-per-node=9": "--gres",
    "--gres=tpu:1": "--gres", "--gres=gpu:9": "--gres", "--mem=999G": "--mem", "--foo": "does not know this option",
    "-t abc": "--time", "-L foo": "--licenses", "--begin=nope": "--begin", "--signal=FOO": "--signal",
    "-M nope": "--clusters", "-d afterok:x": "--dependency", "noshebang": "#!", "dos": "line ends", "empty": "empty",
    "nul": "NUL", "/nofile.sh": "path",
}  # fmt: skip


def recorded(options: str) -> Answer:
    row: dict[str, Any] = next(row for row in rows("sbatch-refusals") if row["options"] == options)
    return Answer(row["code"], row["out"], row["err"])


@pytest.mark.parametrize("options", ADVICE)
def test_each_recorded_refusal_says_what_to_change(options: str) -> None:
    outcome = submission(recorded(options))
    assert isinstance(outcome, Refused)
    assert ADVICE[options] in outcome.sentence.partition(" (Slurm says")[0]


def test_every_recorded_refusal_is_covered() -> None:
    refused = {row["options"] for row in rows("sbatch-refusals") if row["code"] != 0}
    assert refused == set(ADVICE)


STRICT = {
    "account that does not exist": "--account",
    "account that does not exist on one of two partitions": "--account",
    "qos that does not exist": "--qos",
    "time above the partition's limit": "--time",
    "more nodes than the partition has": "--nodes",
    "more nodes than the qos allows": "limit",
    "more time than the qos allows": "limit",
    "a second job of a qos with one": "limit",
}


@pytest.mark.parametrize(
    "row", rows("sbatch-refusals-of-an-enforcing-controller"), ids=lambda row: row["trap"]
)
def test_enforcing_controller_refuses_with_what_to_change_or_takes_the_job(row: dict[str, Any]) -> None:
    outcome = submission(Answer(row["code"], row["out"], row["err"]))
    if row["trap"] in STRICT:
        assert isinstance(outcome, Refused)
        assert STRICT[row["trap"]] in outcome.sentence.partition(" (Slurm says")[0]
    else:
        assert isinstance(outcome, Accepted)


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("User's group not permitted to use this partition", "--partition"),
        ("Access/permission denied", "--account"),
    ],
)
def test_refusals_that_no_test_cluster_makes(said: str, advice: str) -> None:
    outcome = submission(Answer(1, "", f"sbatch: error: Batch job submission failed: {said}\n"))
    assert isinstance(outcome, Refused)
    assert advice in outcome.sentence


def test_controller_whose_disk_is_full_may_have_taken_the_job_and_is_looked_at() -> None:
    (row,) = rows("sbatch-controller-whose-disk-is-full")
    outcome = submission(Answer(row["code"], row["out"], row["err"]))
    assert isinstance(outcome, Lost)
    assert outcome.again


def test_a_refusal_that_nobody_knows_is_final_and_quoted() -> None:
    outcome = submission(Answer(1, "", "sbatch: error: The site's plugin says no\x1b[31m\n"))
    assert outcome == Refused("sbatch refused the job (Slurm says: The site's plugin says no [31m)")


def test_a_connect_failure_left_no_job() -> None:
    assert isinstance(submission(error("errors-controller-down", "sbatch")), NotSent)


@pytest.mark.parametrize(
    "said",
    [
        "Rate limit exceeded, please retry momentarily",
        "Resource temporarily unavailable",
        "MaxJobCount limit reached",
    ],
)
def test_turned_away_for_now_left_no_job(said: str) -> None:
    assert isinstance(
        submission(Answer(1, "", f"sbatch: error: Batch job submission failed: {said}\n")), NotSent
    )


@pytest.mark.parametrize(
    "said",
    [
        "Zero Bytes were transmitted or received",
        "Unable to contact slurm controller (send failure)",
        "Unable to contact slurm controller (receive failure)",
        "Transport endpoint is not connected",
    ],
)
def test_a_broken_conversation_may_have_left_a_job(said: str) -> None:
    assert isinstance(
        submission(Answer(1, "", f"sbatch: error: Batch job submission failed: {said}\n")), Lost
    )


def test_a_socket_timeout_may_have_left_a_job_even_after_a_connect_failure() -> None:
    frozen = error("errors-controller-frozen", "sbatch")
    assert isinstance(submission(frozen), Lost)
    both = Answer(1, "", error("errors-controller-down", "sbatch").err + frozen.err)
    assert isinstance(submission(both), Lost)


@pytest.mark.parametrize(
    "answer",
    [Answer(None, timed_out=True), Answer(124), Answer(137), Answer(-9), Answer(None, cut=True)],
)
def test_a_killed_sbatch_may_have_left_a_job(answer: Answer) -> None:
    assert isinstance(submission(answer), Lost)


def test_an_id_counts_even_if_sbatch_was_killed_behind_it() -> None:
    assert submission(Answer(None, "42;west\n", timed_out=True)) == Accepted(JobId(42, cluster="west"))


def test_success_without_an_id_is_no_success_and_not_repeated() -> None:
    outcome = submission(recorded("--test-only"))
    assert isinstance(outcome, Lost)
    assert not outcome.again


@pytest.mark.parametrize(
    "answer", [Answer(None, missing=True), Answer(127, "", "timeout: failed to run command")]
)
def test_a_missing_sbatch_is_told_as_such(answer: Answer) -> None:
    outcome = submission(answer)
    assert isinstance(outcome, Refused)
    assert outcome.absent
    assert "no `sbatch` here" in outcome.sentence


def test_slurm_without_a_configuration_is_absent_and_a_wrong_partition_is_not() -> None:
    answer = Answer(1, "", "sbatch: fatal: Could not establish a configuration source")
    wrong = Answer(1, "", "sbatch: error: Invalid partition name specified")
    assert [
        outcome.absent for outcome in map(submission, (answer, wrong)) if isinstance(outcome, Refused)
    ] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    "name", ["errors-controller-down", "errors-controller-frozen", "errors-accounting-down"]
)
def test_outages_are_transient_for_every_program(name: str) -> None:
    for row in rows(name):
        assert failure(row["command"], Answer(row["code"], "", row["err"])).transient, row


def test_an_unknown_job_is_an_answer_and_not_an_outage() -> None:
    assert is_unknown_job(Answer(1, "", "slurm_load_jobs error: Invalid job id specified\n"))
    assert not is_unknown_job(error("errors-controller-down", "squeue -j ID"))
    assert not is_unknown_job(Answer(0, "", "Invalid job id specified"))


def test_every_refusal_names_an_action_and_no_two_are_the_same() -> None:
    assert len({refusal.text for refusal in REFUSALS}) == len(REFUSALS)
    assert all(len(refusal.advice.split()) >= 3 for refusal in REFUSALS)


def test_a_search_for_a_configuration_is_not_repeated() -> None:
    said = (
        "sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
        "sbatch: error: fetch_config: DNS SRV lookup failed\n"
        "sbatch: error: _establish_config_source: failed to fetch config\n"
        "sbatch: fatal: Could not establish a configuration source\n"
    )
    short = "Slurm is not configured on this machine: run this on a login node, or set SLURM_CONF"
    assert str(failure("sinfo", Answer(1, "", said.replace("sbatch", "sinfo")))) == short
    assert submission(Answer(1, "", said)) == Refused(short, absent=True)
