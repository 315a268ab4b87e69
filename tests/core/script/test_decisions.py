"""An error is one only if every way through the script leads to a failure."""

from __future__ import annotations

import pytest

from triage.core.megatron.finding import Severity
from triage.core.script.decisions import Decisions
from triage.core.script.facts import Nothing
from triage.core.script.read import check_script, read_script

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:h100:8\ncd /lustre/w\n"
RIGHT = "srun uv run torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 train.py"
WRONG = RIGHT.replace("node=8", "node=4")
ALONE = RIGHT.replace("nnodes=2", "nnodes=1")


def severities(body: str) -> dict[str, Severity]:
    return {
        item.check: item.severity
        for item in check_script(read_script(HEAD + body), Nothing())
        if item.check.startswith("torchrun/")
    }


@pytest.mark.parametrize(
    "body",
    [
        f"if [ -e x ]; then {WRONG}; else {WRONG} --b; fi",
        f"if [ -e x ]; then {WRONG}; else {ALONE}; fi",
        f"if [ -e x ]; then {WRONG}; elif [ -e y ]; then {ALONE}; else {WRONG} --b; fi",
        f"if [ -e x ]; then if [ -e y ]; then {WRONG}; else {ALONE}; fi; else {WRONG} --b; fi",
        f"case $1 in a) {WRONG} ;; b) {ALONE} ;; *) {WRONG} --b ;; esac",
        f"[ -e x ] && {WRONG} || {ALONE}",
        f"if [ -e x ]; then {RIGHT}; fi\n{WRONG}",
        f"if [ -e x ]; then {WRONG}; exit; fi\n{ALONE}",
        f"if [ $# -lt 1 ]; then echo usage; exit 1; fi\n{WRONG}",
        f"srun python prepare.py\n{WRONG}",
        f"f() {{ {WRONG}; }}\nif [ -e x ]; then f --a; else f --b; fi",
    ],
)
def test_failure_on_every_way_is_an_error(body: str) -> None:
    assert set(severities(body).values()) == {Severity.ERROR}


@pytest.mark.parametrize(
    "body",
    [
        f"if [ -e x ]; then {WRONG}; else {RIGHT}; fi",
        f"if [ -e x ]; then {WRONG}; elif [ -e y ]; then {WRONG} --b; fi",
        f"if [ -e x ]; then if [ -e y ]; then {WRONG}; else {RIGHT}; fi; else {WRONG} --b; fi",
        f"case $1 in a) {WRONG} ;; b) {ALONE} ;; esac",
        f"[ -e x ] && {WRONG}",
        f"[ -e x ] || {WRONG}",
        f"if [ -e x ]; then {RIGHT}; exit; fi\n{WRONG}",
        f"[ -e x ] && {RIGHT} && exit\n{WRONG}",
        f"if [ -e x ]; then {WRONG}; fi\nif [ -e y ]; then {WRONG} --b; fi",
    ],
)
def test_failure_on_one_way_alone_is_a_warning(body: str) -> None:
    assert set(severities(body).values()) == {Severity.WARNING}


@pytest.mark.parametrize(
    ("arms", "ways", "told"),
    [
        ((2, 2), [((0, 0),), ((0, 1), (1, 0)), ((0, 1), (1, 1))], True),
        ((2, 2), [((0, 0),), ((0, 1), (1, 0))], False),
        ((2, 2), [((0, 0), (1, 0)), ((0, 1), (1, 0)), ((1, 1),)], True),
        ((2,) * 40, [((number, 0),) for number in range(40)], False),
        ((2,), [], False),
        ((), [()], True),
    ],
)
def test_ways_that_together_leave_none_out(
    arms: tuple[int, ...], ways: list[tuple[tuple[int, int], ...]], told: bool
) -> None:
    assert Decisions(arms).inevitable(ways) is told
