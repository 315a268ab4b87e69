"""Where another attempt begins in a file that several launches wrote."""

from __future__ import annotations

import pytest

from tests.core.cause.logs import (
    analysed,
    cancelled,
    launcher_died,
    log,
    oom,
    stamped,
    steps,
    summary,
    tagged,
    trace,
    verdict,
)
from tests.support import Log
from triage.core.cause.borders import borders
from triage.core.cause.keeper import Kept
from triage.core.logs.regions import LARGEST

WORLD = "using world size: 4, data-parallel size: 4, context-parallel size: 1"
DUMP = "------------------------ arguments ------------------------"
END = "-------------------- end of arguments ---------------------"
PREEMPTED = cancelled(30, "PREEMPTION", "JOB 7")


def lines(*parts: str) -> list[int]:
    """The 1-based lines, in a file of these parts, from which on another attempt is told."""
    one = log("train.log", *parts)
    found = found_in(one, naive=False)
    assert found == found_in(one, naive=True)
    return [one.data.count(b"\n", 0, offset + 1) + 1 for offset in found]


def found_in(one: Log, *, naive: bool) -> list[int]:
    kept: tuple[Kept, ...] = analysed([one], naive=naive).feeds[0].holding.kept
    return borders(kept).get(0, [])


def test_a_preemption_counts_only_when_the_program_starts_again() -> None:
    assert lines(WORLD, steps(1, 3), PREEMPTED) == []
    assert lines(WORLD, steps(1, 3), PREEMPTED, "x", WORLD, DUMP, END, steps(4, 5)) == [7]


def test_a_second_start_counts_once_though_it_prints_two_beginnings() -> None:
    start = (WORLD, DUMP, END, steps(1, 2))
    assert lines(*start) == []
    assert lines(*start, *start) == [6]


def test_starts_are_told_apart_in_a_file_that_is_read_in_several_pieces() -> None:
    noise = "\n".join(f"ERROR:app:{n:x} is unlike {n * 7919:x} and all else" for n in range(LARGEST // 30))
    start = (WORLD, DUMP, END, steps(1, 2), noise)
    assert len(lines(*start, *start)) == 1


def test_of_two_launches_by_hand_that_ended_alike_the_later_decides() -> None:
    first, second = (
        launcher_died((rank, -9, pid), seconds=s) for rank, pid, s in ((4, 81, 60), (3, 90, 360))
    )
    found = verdict(log("train.log", "$ torchrun pretrain.py", first, "$ torchrun pretrain.py", second))
    assert (found.attempt, found.attempts) == (2, 2)
    assert found.root is not None
    assert found.root.rank == 3


def test_two_nodes_that_end_twice_are_two_launches_not_four() -> None:
    def ended(seconds: float) -> tuple[str, str]:
        return (
            launcher_died((0, 1, 70), host="gpu1", seconds=seconds),
            launcher_died((8, 1, 70), host="gpu2", seconds=seconds + 60),
        )

    assert len(lines(*ended(100), *ended(900))) == 1


@pytest.mark.parametrize(
    "second",
    [
        summary((3, -9, 90), seconds=70),
        summary((3, -9, 90), host="gpu2", seconds=900),
        summary((12, -9, 90), seconds=900),
        summary((3, -9, 90), seconds=900).replace("pretrain.py", "convert.py"),
    ],
    ids=["at the same time", "another node", "another agent of the node", "another program"],
)
def test_another_summary_alone_is_no_other_launch(second: str) -> None:
    assert lines(trace(), summary((4, -9, 81), seconds=60), trace(), second) == []


def test_lines_long_after_a_step_was_ended_are_still_of_its_job() -> None:
    told = cancelled(495, "TIME LIMIT", "STEP 1234.0")
    assert lines(steps(1, 50, 0, 10), told, steps(51, 99, 500, 10), stamped(5000)) == []
    assert lines(steps(1, 50, 0, 10), told.replace("STEP 1234.0", "JOB 1234"), steps(51, 60, 5000, 10)) == [
        52
    ]


def test_a_failure_before_the_first_step_is_an_attempt_too() -> None:
    assert lines(WORLD, DUMP, END, tagged(0, oom()), WORLD, DUMP, END, steps(1, 5)) != []
