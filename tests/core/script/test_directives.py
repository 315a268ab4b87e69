"""sbatch's own reading of directives (SchedMD/slurm src/sbatch/opt.c), trap by trap."""

from __future__ import annotations

import pytest

from triage.core.script.allocation import Allocation, gpu_request, minutes, read_allocation, read_step
from triage.core.script.directives import Directives, read_directives
from triage.core.script.slurm_options import SRUN_LONG, SRUN_SHORT, read_options
from triage.core.script.state import Field


def read(*lines: str) -> Directives:
    return read_directives("\n".join(("#!/bin/bash", *lines)))


def values(found: Directives) -> list[tuple[str, str | None]]:
    return [(item.name, item.value.text if item.value else None) for item in found.options]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#SBATCH -N2 --gres=gpu:8", [("nodes", "2"), ("gres", "gpu:8")]),
        ("#SBATCH --nodes 2 -t 1:00 # three", [("nodes", "2"), ("time", "1:00")]),
        ("#SBATCH --nodes=2# no blank needed", [("nodes", "2")]),
        ("#SBATCH\t--job-name='a b'\\ c", [("job-name", "a b c")]),
        ('#SBATCH --comment="a # b"', [("comment", "a # b")]),
        ("#SBATCH --ntasks-per-n=1", [("ntasks-per-node", "1")]),
        ("#SBATCH --tasks-per-node=4", [("ntasks-per-node", "4")]),
        ("#SBATCH -HN3", [("hold", None), ("nodes", "3")]),
        ("#SBATCH --requeue --exclusive=user", [("requeue", None), ("exclusive", "user")]),
        ("##SBATCH --nodes=2", []),
        ("# SBATCH --nodes=2", []),
        ("  #SBATCH --nodes=2", []),
    ],
)
def test_line_is_split_as_sbatch_splits_it(line: str, expected: list[tuple[str, str | None]]) -> None:
    assert values(read(line)) == expected


def test_comments_and_blank_lines_do_not_end_the_directives_but_a_command_does() -> None:
    found = read("#SBATCH -N1", "", "  # comment", "#SBATCH -n1", "set -e", "#SBATCH --time=1")
    assert [name for name, _ in values(found)] == ["nodes", "ntasks"]
    assert found.first_command == 6
    assert [(item.kind, item.line) for item in found.strays] == [("ignored", 7)]


def test_last_of_an_option_counts_whatever_its_form() -> None:
    assert read("#SBATCH --nodes=2", "#SBATCH -N 4").text("nodes") == "4"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("#SBATCH --nodes = 2", "no-option"),
        ('#SBATCH --job-name="a', "unmatched-quote"),
        ("#SBATCH : --nodes=2", "colon"),
        ("#SBTACH --nodes=2", "not-a-directive"),
        (" #SBATCH --nodes=2", "indented"),
    ],
)
def test_stray_line_is_told(line: str, kind: str) -> None:
    assert [item.kind for item in read(line).strays] == [kind]


def test_heterogeneous_job_is_not_read_as_its_first_component() -> None:
    found = read("#SBATCH --nodes=1", "#SBATCH hetjob", "#SBATCH --nodes=8")
    assert found.components == 2
    assert found.text("nodes") == "1"
    assert read_allocation(found) == Allocation()


@pytest.mark.parametrize(
    ("lines", "nodes", "tasks", "gpus", "gpu"),
    [
        (["-N 2 --gpus-per-node=a100:4"], 2, 1, 4, "a100"),
        (["-N 2 --gres=gpu:h100:8,lscratch:100"], 2, 1, 8, "h100"),
        (["-N 2 --gres=gpu"], 2, 1, 1, None),
        (["-N 2 --gres=gpu:h100"], 2, 1, 1, "h100"),
        (["-N 2 --ntasks-per-node=8 --gpus-per-task=1"], 2, 8, 8, None),
        (["-N 2 --gpus=16"], 2, 1, 8, None),
        (["-n 16 --ntasks-per-node=8 --gres=gpu:8"], 2, 8, 8, None),
        (["-N 2 -n 8 --gres=gpu:4 -C h100"], 2, 4, 4, "h100"),
        (["-N 2-4 --gres=gpu:4"], None, 1, 4, None),
        (["--nodes=<N> --gres=gpu:<G>"], None, 1, None, None),
        (["-N 2 -C 'a100|h100' --gres=gpu:4"], 2, 1, 4, None),
        (["-N 2 --gres=lscratch:1"], 2, 1, None, None),
        (["-w node[01-04],node7 --gres=gpu:4"], None, 1, 4, None),
    ],
)
def test_allocation_in_numbers(
    lines: list[str], nodes: int | None, tasks: int | None, gpus: int | None, gpu: str | None
) -> None:
    found = read_allocation(read(*(f"#SBATCH {line}" for line in lines)))
    assert (found.nodes, found.tasks_per_node, found.gpus_per_node, found.gpu) == (nodes, tasks, gpus, gpu)


@pytest.mark.parametrize(
    ("job", "srun", "nodes", "tasks"),
    [
        ("-N 2", "", 2, 1),
        ("-N 2", "--ntasks=2 --ntasks-per-node=1", 2, 1),
        ("-N 2 --ntasks-per-node=8", "", 2, 8),
        ("-N 2 --ntasks-per-node=8", "--ntasks-per-node=1", 2, None),
        ("-N 2 --ntasks-per-node=8", "-n 2 -N 2", 2, 1),
        ("-N 4", "-N1 -n1", 1, 1),
        ("-N 4", "-n1", 1, 1),
        ("-N 4", "-w node7", 1, 1),
    ],
)
def test_step_takes_over_what_it_does_not_say(job: str, srun: str, nodes: int, tasks: int | None) -> None:
    allocation = read_allocation(read(f"#SBATCH {job}"))
    options, _ = read_options([Field(word, 1) for word in srun.split()], SRUN_LONG, SRUN_SHORT)
    step = read_step(options, allocation)
    assert (step.nodes, step.tasks_per_node) == (nodes, tasks)


def test_gpus_of_several_types_have_no_single_type_but_a_sum() -> None:
    found = gpu_request("gpu:a100:2,gpu:2", 1, gres=True)
    assert found is not None
    assert found.count == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30", 30),
        ("1:30", 1.5),
        ("2:00:00", 120),
        ("1-12", 2160),
        ("1-0:30", 1470),
        ("x", None),
        ("1:2:3:4", None),
    ],
)
def test_time_in_minutes(text: str, expected: float | None) -> None:
    assert minutes(text) == expected
