"""Where a script's logs go: what is known before there is a job, and what Slurm fills in later."""

from __future__ import annotations

import pytest

from triage.core.script.read import read_script
from triage.submit.logs import Logs, logs_of


def logs(*lines: str, array: bool = False) -> Logs:
    head = "".join(f"#SBATCH {line}\n" for line in lines)
    return logs_of(read_script(f"#!/bin/bash\n{head}true\n"), "/home/me/run", "big", "me", array=array)


@pytest.mark.parametrize(
    ("lines", "output", "root", "folders"),
    [
        ((), "/home/me/run/slurm-%j.out", "/home/me/run", ("/home/me/run",)),
        (("--output=logs/%x-%j.out",), "/home/me/run/logs/big-%j.out", "/home/me/run/logs", ("/home/me/run/logs",)),
        (("-o /l/%u/%x/%j.out",), "/l/me/big/%j.out", "/l/me/big", ("/l/me/big",)),
        (("-o /l/%x/%j/out",), "/l/big/%j/out", "/l/big", ("/l/big",)),
        (("-o /l/%j/a/out",), "/l/%j/a/out", "/l", ("/l",)),
        (("-o /l/100%%/out",), "/l/100%%/out", "/l/100%", ("/l/100%",)),
        (("-o /l/a\\\\%x/out",), "/l/a%%x/out", "/l/a%x", ("/l/a%x",)),
        (("-o /dev/null",), "/dev/null", "/home/me/run", ()),
        (("-o /out",), "/out", "/home/me/run", ()),
        (("-D /chosen", "-o logs/o"), "/chosen/logs/o", "/chosen/logs", ("/chosen/logs",)),
        (("-D sub", "-o ../o"), "/home/me/run/o", "/home/me/run", ("/home/me/run",)),
        (("-o a/o", "-e b/e"), "/home/me/run/a/o", "/home/me/run/a", ("/home/me/run/a", "/home/me/run/b")),
        (("--array=1-3",), "/home/me/run/slurm-%A_%a.out", "/home/me/run", ("/home/me/run",)),
    ],
)  # fmt: skip
def test_folders_and_names(lines: tuple[str, ...], output: str, root: str, folders: tuple[str, ...]) -> None:
    found = logs(*lines)
    assert (found.output, found.root, found.folders) == (output, root, folders)


def test_array_of_the_command_line_names_the_log_as_one() -> None:
    assert logs(array=True).output.endswith("slurm-%A_%a.out")


def test_error_log_is_told_only_where_it_is_one_of_its_own() -> None:
    assert logs("-o o").error is None
    assert logs("-o o", "-e e-%j").error == "/home/me/run/e-%j"
