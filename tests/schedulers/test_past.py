"""Where a job's logs lay, from the command line that accounting keeps."""

from __future__ import annotations

import pytest

from triage.core.jobs.identity import JobId
from triage.schedulers.slurm.past import log_files, script_of

SCRIPT = "#!/bin/bash\n#SBATCH --output=logs/%x-%j.out\n#SBATCH --error=logs/%x-%j.err\ntrue\n"
JOB = JobId(18)


@pytest.mark.parametrize(
    ("line", "script", "files"),
    [
        ("sbatch run.sh", SCRIPT, ("/w/logs/t-18.out", "/w/logs/t-18.err")),
        ("sbatch -o /o/%j.log run.sh", SCRIPT, ("/o/18.log", "/w/logs/t-18.err")),
        ("sbatch --output=x-%6j run.sh --output=no", "", ("/w/x-000018", "/w/x-000018")),
        ("sbatch run.sh", "", ("/w/slurm-18.out", "/w/slurm-18.out")),
        ("sbatch --parsable 'broken", SCRIPT, ("/w/logs/t-18.out", "/w/logs/t-18.err")),
        ("/usr/bin/sbatch -o %N-%j run.sh", "", ("/w/%N-18", "/w/%N-18")),
        ("", "", ("/w/slurm-18.out", "/w/slurm-18.out")),
    ],
)
def test_options_outrank_directives_and_the_default_is_slurms(
    line: str, script: str, files: tuple[str, str]
) -> None:
    assert log_files(line, script, "/w", "t", JOB, 18) == files


def test_a_task_of_an_array_has_its_own_log() -> None:
    assert log_files("sbatch run.sh", "", "/w", "t", JobId(18, task=3), 21)[0] == "/w/slurm-18_3.out"


def test_the_script_is_the_first_word_that_is_no_option() -> None:
    assert script_of("sbatch -N 2 --parsable run.sh a b") == "run.sh"
    assert script_of("sbatch --wrap 'sleep 1'") is None
