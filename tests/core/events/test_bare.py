"""An exception's last line speaks where a log ends with it, and nowhere else."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import cancelled, log, stamped, steps, trace, verdict
from triage.core.cause.verdict import Verdict

MISSING = "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.bin'"
BATCH = "AssertionError: batch size 30 != 32"


def run(*parts: str) -> Verdict:
    return verdict(log("train.err", *parts))


def test_a_log_that_ends_with_an_exceptions_line_failed() -> None:
    found = run("setting up the data", BATCH)
    assert (found.failed, found.category, found.confidence) == (True, "python", "low")
    assert found.root is not None
    assert (found.root.exception, found.root.message) == ("AssertionError", "batch size 30 != 32")
    assert any("without its traceback" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("line", "category"),
    [
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x16 and 32x64)", "shape"),
        ("ModuleNotFoundError: No module named 'apex'", "import"),
        (MISSING, "data"),
    ],
)
def test_the_rules_that_know_the_exception_name_it(line: str, category: str) -> None:
    assert run("setting up the data", line).category == category


def test_its_message_goes_on_over_lines() -> None:
    found = run(
        "x", "RuntimeError: the kernel refused", "  because it can", "For debugging consider asking it."
    )
    assert found.root is not None
    assert found.root.message.endswith("asking it.")


def test_the_launchers_word_behind_it_ends_the_process_too() -> None:
    found = run("[rank3]: ValueError: bad thing", "srun: error: gpu1: task 3: Exited with exit code 1")
    assert found.root is not None
    assert (found.category, found.root.rank, found.confidence) == ("python", 3, "low")


@pytest.mark.parametrize(
    "behind",
    ["retrying in 5 s", stamped(9, "goes on"), steps(1, 3)],
)
def test_in_a_log_that_goes_on_it_is_harmless(behind: str) -> None:
    assert run("setting up the data", BATCH, behind).category == "none"


@pytest.mark.parametrize(
    "line",
    [
        "UserWarning: this is slow",
        "Error: see the log",
        "2026-12-01 10:00:00,000 - trainer - ERROR - ValueError: bad thing",
        "Exception ignored in: <_io.TextIOWrapper name='<stdout>'>\nBrokenPipeError: [Errno 32] Broken pipe",
    ],
)
def test_what_ends_no_process_is_no_failure(line: str) -> None:
    assert run("setting up the data", line).category == "none"


def test_behind_the_end_of_training_it_is_no_failure() -> None:
    assert run("[after training is done] datetime: 2026-12-01 10:00:20 ", BATCH).category == "none"


def test_a_traceback_and_the_scheduler_say_more() -> None:
    other = log("rank1.err", trace("KeyError: 'loss'"))
    assert verdict(log("rank0.err", BATCH), other).root.message == "'loss'"  # type: ignore[union-attr]
    limit = log("slurm-7.out", steps(1, 50, 0, 10), cancelled(495, "TIME LIMIT"))
    assert verdict(log("rank0.err", BATCH), limit).category == "timeout"
