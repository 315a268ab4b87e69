"""Records that people saved with the commands' own formats: read as what the tool asks for itself, or refused."""

from __future__ import annotations

import time

import pytest

from tests.schedulers.recorded import text
from triage.core.jobs.identity import JobId
from triage.core.jobs.state import State
from triage.errors import InputError
from triage.schedulers.slurm.saved import read_saved

STAMP = "2026-12-01T17:19:29"
SECONDS = time.mktime(time.strptime(STAMP, "%Y-%m-%dT%H:%M:%S"))
WITH_BARS = f"""JobID|State|ExitCode|Submit|Start|End|NodeList|Reason|
7|FAILED|7:0|{STAMP}|{STAMP}|{STAMP}|gpu1|None|
7.batch|FAILED|7:0|{STAMP}|{STAMP}|{STAMP}|gpu1||
"""
FIXED = """JobID             State ExitCode              Submit               Start                 End
------------ ---------- -------- ------------------- ------------------- -------------------
7            OUT_OF_ME+    0:125 2026-12-01T17:19:29 2026-12-01T17:19:29 2026-12-01T17:19:29
7.batch      OUT_OF_ME+    0:125 2026-12-01T17:19:29 2026-12-01T17:19:29 2026-12-01T17:19:29
"""
DEFAULT = """JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
7               a | b c        gpu       root          1 CANCELLED+      0:0
7.batch           batch                  root          1  CANCELLED     0:15
"""


def local(recorded: str) -> str:
    """As Slurm prints it where nobody asks for epoch seconds."""
    for name in ("SubmitTime", "EligibleTime", "StartTime", "EndTime"):
        for part in recorded.split(f"{name}=")[1:]:
            word = part.split()[0]
            if word.isdigit():
                printed = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(int(word)))
                recorded = recorded.replace(f"{name}={word}", f"{name}={printed}")
    return recorded


@pytest.mark.parametrize("form", [str, local])
def test_what_scontrol_prints_is_read_in_epoch_seconds_and_in_local_time(form: object) -> None:
    assert callable(form)
    found = read_saved(form(text("scontrol-job-failed-exit-7")))
    assert found is not None
    job, status = found
    assert (job, status.state, status.nodes) == (JobId(20), State.FAILED, "gpu1")
    assert status.exit is not None
    assert status.exit.code == 7
    assert (status.submitted, status.ended) == (1796123944, 1796123945)


@pytest.mark.parametrize(
    ("saved", "state", "started"),
    [
        (WITH_BARS, State.FAILED, SECONDS),
        (FIXED, State.OUT_OF_MEMORY, SECONDS),
        (DEFAULT, State.CANCELLED, None),
    ],
    ids=["bars", "fixed", "default"],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_sacct_prints_is_read_in_every_form(
    saved: str, state: State, started: float | None, newline: str
) -> None:
    found = read_saved(saved.replace("\n", newline))
    assert found is not None
    job, status = found
    assert (job, status.state, status.started) == (JobId(7), state, started)


def test_a_requeued_job_is_as_its_last_incarnation_was() -> None:
    rows = WITH_BARS + WITH_BARS.split("\n", 1)[1].replace("FAILED|7:0", "COMPLETED|0:0").replace(
        "17:19", "18:19"
    )
    found = read_saved(rows)
    assert found is not None
    assert found[1].state is State.COMPLETED


def test_of_several_jobs_the_one_that_is_named_counts_and_without_a_name_it_is_refused() -> None:
    two = WITH_BARS + WITH_BARS.split("\n", 1)[1].replace("7|FAILED|7:0", "8|TIMEOUT|0:0").replace(
        "7.b", "8.b"
    )
    found = read_saved(two, JobId(8))
    assert found is not None
    assert (found[0], found[1].state) == (JobId(8), State.TIMEOUT)
    with pytest.raises(InputError, match="several jobs"):
        read_saved(two)
    with pytest.raises(InputError, match="another job"):
        read_saved(two, JobId(9))


def test_an_array_failed_where_any_of_its_tasks_did() -> None:
    tasks = (
        WITH_BARS.replace("7|F", "7_1|F").replace("7.b", "7_1.b")
        + f"7_0|COMPLETED|0:0|{STAMP}|{STAMP}|{STAMP}|gpu1|None|\n"
    )
    for wanted, state in ((None, State.FAILED), (JobId(7), State.FAILED), (JobId(7, 0), State.COMPLETED)):
        found = read_saved(tasks, wanted)
        assert found is not None
        assert found[1].state is state


@pytest.mark.parametrize(
    ("saved", "why"),
    [
        ("JobID|JobName|State|ExitCode\n7|a|b|FAILED|7:0\n", "columns"),
        ("JobID|JobName\n7|a\n", "not asked for State, ExitCode"),
        ("JobID|State|ExitCode\n7|FAILED|x\n", "no exit code"),
        ("JobId=7 JobName=a JobState=FAILED Restarts=0\n", "without `-o`"),
        ("JobId=7 JobName=a\n   JobState=FAILED Reason=None Dependency=(null)\n", "has no"),
        ("JobID|State|ExitCode\n", "no job"),
    ],
)
def test_what_cannot_be_read_safely_is_refused_with_a_reason(saved: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_saved(saved)


def test_a_job_name_that_forges_lines_is_refused_here_too() -> None:
    with pytest.raises(InputError, match="twice"):
        read_saved(text("scontrol-job-name-forges-lines"))


@pytest.mark.parametrize("other", ["", "hello\n", "{}", "Traceback (most recent call last):\n"])
def test_any_other_text_is_none(other: str) -> None:
    assert read_saved(other) is None
