"""Where the logs of a job lay that only accounting still knows: from its command line and its script."""

from __future__ import annotations

import os
import re
import shlex

from triage.core.jobs.identity import JobId
from triage.core.script.directives import read_directives
from triage.core.script.slurm_options import SBATCH_LONG, SBATCH_SHORT, Option, read_options, text_of
from triage.core.script.state import Field

_PATTERN = re.compile(r"%(\d{0,2})([%A-Za-z])")
LONGEST = 1 << 20


def script_of(line: str) -> str | None:
    """The script of `sbatch OPTIONS SCRIPT ARGUMENTS`; `None` for `--wrap` and what cannot be read."""
    words, rest = _words(line)
    return words[rest] if words and rest < len(words) else None


def log_files(line: str, script: str, folder: str, name: str, job: JobId, raw: int) -> tuple[str, str]:
    """Output and error file; options of the command line outrank the script's, and Slurm's default is `slurm-%j.out`."""
    given: dict[str, Option] = {option.name: option for option in read_directives(script[:LONGEST]).options}
    words, _ = _words(line)
    told, _ = read_options([Field(word, 0) for word in words], SBATCH_LONG, SBATCH_SHORT)
    given.update({option.name: option for option in told})
    default = "slurm-%A_%a.out" if job.task is not None else "slurm-%j.out"
    output = text_of(given, "output") or default
    error = text_of(given, "error") or output
    return _path(output, folder, name, job, raw), _path(error, folder, name, job, raw)


def _words(line: str) -> tuple[list[str], int]:
    """The words behind `sbatch`, and the place of the first that is no option."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    words = words[1:] if words and words[0].rpartition("/")[2] == "sbatch" else words
    _, rest = read_options([Field(word, 0) for word in words], SBATCH_LONG, SBATCH_SHORT)
    return words, rest


def _path(pattern: str, folder: str, name: str, job: JobId, raw: int) -> str:
    """What is not known of the pattern stays, as in scontrol's answer."""
    values = {"j": str(raw), "J": str(raw), "x": name, "A": str(job.number), "a": str(job.task) if job.task is not None else "4294967294"}  # fmt: skip

    def fill(match: re.Match[str]) -> str:
        if match[2] not in values:
            return match[0]
        value = values[match[2]]
        return value.zfill(int(match[1])) if match[1] and value.isdigit() else value

    return os.path.join(folder, _PATTERN.sub(fill, pattern))
