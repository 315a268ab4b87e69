"""torchrun's exits: all versions of the summary, woven nodes, and the worker's traceback left to its parser."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.events.lines import records
from triage.core.events.elastic import extract_elastic
from triage.core.events.model import Exit

MODERN = """\
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-12-01_10:03:08
  host      : gpu2
  rank      : 7 (local_rank: 3)
  exitcode  : -15 (pid: 70904)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 70904
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-12-01_10:03:07
  host      : gpu2
  rank      : 6 (local_rank: 2)
  exitcode  : -9 (pid: 70903)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 70903
============================================================"""

OLD = """\
**********************************************
               train.py FAILED
==============================================
Root Cause:
[0]:
  time: 2021-06-01_10:03:07
  rank: 1 (local_rank: 1)
  exitcode: 1 (pid: 123)
  error_file: <N/A>
  msg: "Process failed with exitcode 1"
==============================================
Other Failures:
  <NO_OTHER_FAILURES>
**********************************************"""

RECORDED = """\
Root Cause (first observed failure):
[0]:
  time      : 2026-12-01_10:03:07
  host      : gpu2
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 12)
  error_file: /tmp/error.json
  traceback : Traceback (most recent call last):
    File "/x/train.py", line 3, in main
      rank      : 99 (local_rank: 99)
  ValueError: no

============================================================
after"""


def exits(text: str) -> tuple[list[Exit], list[str]]:
    events, rest = extract_elastic(records(text), 0)
    return [e for e in events if isinstance(e, Exit)], [r.text for r in rest]


def test_summary_names_root_cause_and_victims_with_their_own_time() -> None:
    got, rest = exits(MODERN)
    assert [(e.rank, e.local_rank, e.pid, e.exitcode, e.signal, e.first, e.victim) for e in got] == [
        (7, 3, 70904, -15, 15, False, True),
        (6, 2, 70903, -9, 9, True, False),
    ]
    assert got[1].host == "gpu2"
    assert got[1].binary == "train.py"
    assert got[1].reason == "Signal 9 (SIGKILL) received by PID 70903"
    assert got[1].time is not None
    assert (got[1].time.text, got[1].time.resolution) == ("2026-12-01_10:03:07", 1.0)
    assert got[1].time.seconds == 1796119387.0
    assert not any("rank" in text or "Cause" in text for text in rest)


def test_each_summary_names_its_own_program() -> None:
    got, rest = exits(MODERN + "\n" + MODERN.replace("train.py", "eval.py"))
    assert [e.binary for e in got] == ["train.py", "train.py", "eval.py", "eval.py"]
    assert {"train.py FAILED", "eval.py FAILED"} <= set(rest)


def test_style_of_torch_1_9() -> None:
    got, _ = exits(OLD)
    assert [(e.rank, e.exitcode, e.pid, e.first, e.reason) for e in got] == [
        (1, 1, 123, True, "Process failed with exitcode 1")
    ]


def test_traceback_inside_a_summary_is_left_to_its_parser_whole() -> None:
    got, rest = exits(RECORDED)
    assert [(e.rank, e.exitcode, e.reason) for e in got] == [(1, 1, "")]
    assert rest[0].endswith("Traceback (most recent call last):")
    assert rest[1:5] == RECORDED.split("\n")[8:12]
    assert rest[-1] == "after"


def test_an_excerpt_that_begins_inside_the_block_still_gives_what_it_holds() -> None:
    got, _ = exits("  rank      : 6 (local_rank: 2)\n  exitcode  : -9 (pid: 70903)\n  error_file: <N/A>")
    assert [(e.rank, e.exitcode, e.first) for e in got] == [(6, -9, False)]


def test_summaries_of_two_nodes_woven_line_by_line_mix_no_fields() -> None:
    a = MODERN.split("\n")[12:19]
    b = [line.replace("gpu2", "gpu9").replace(": 6 (", ": 14 (").replace("70903", "111") for line in a]
    got, _ = exits("\n".join(x for pair in zip(a, b, strict=True) for x in pair))
    assert {e.rank for e in got} == {6, 14}
    assert all(e.host is None and e.pid is None for e in got)
    assert all(e.first for e in got)


@pytest.mark.parametrize(
    ("line", "local_rank", "pid", "code", "binary"),
    [
        (
            "failed (exitcode: -9) local_rank: 2 (pid: 70903) of binary: /opt/python3",
            2,
            70903,
            -9,
            "/opt/python3",
        ),
        (
            "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 5) of binary: bash",
            0,
            5,
            1,
            "bash",
        ),
        ("failed (exitcode: 1) local_rank: 0 (pid: 5) of fn: main (start_method: spawn)", 0, 5, 1, "main"),
        ("Child process 5 (local_rank 0) FAILED (exitcode 1)", 0, 5, 1, ""),
    ],
)
def test_agent_says_which_process_failed(
    line: str, local_rank: int, pid: int, code: int, binary: str
) -> None:
    got, rest = exits(line)
    assert [(e.local_rank, e.pid, e.exitcode, e.binary, e.victim) for e in got] == [
        (local_rank, pid, code, binary, False)
    ]
    assert rest == []


@pytest.mark.parametrize("signal", ["SIGTERM", "Signals.SIGTERM", "15"])
def test_processes_the_agent_ends_are_victims(signal: str) -> None:
    got, _ = exits(f"Sending process 501 closing signal {signal}")
    assert [(e.pid, e.signal, e.victim, e.exitcode) for e in got] == [(501, 15, True, None)]


def test_a_process_that_would_not_end_is_named() -> None:
    got, _ = exits("Unable to shutdown process 7 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL")
    assert [(e.pid, e.signal, e.reason) for e in got] == [(7, 9, "Unable to shutdown process")]


@pytest.mark.parametrize(
    "line",
    [
        "host      : gpu2",
        "[0]:",
        "=" * 60,
        "error_file: x",
        "traceback : boom",
        "my rank : 3",
        "checkpoint FAILED",
    ],
)
def test_lines_that_only_resemble_the_block_stay(line: str) -> None:
    got, rest = exits(line)
    assert got == []
    assert rest == [line]


@given(
    st.lists(
        st.sampled_from([*MODERN.split("\n"), *OLD.split("\n"), *RECORDED.split("\n"), "", "x"]), max_size=40
    )
)
def test_any_splice_of_summaries_is_read(lines: list[str]) -> None:
    got, _ = exits("\n".join(lines))
    assert all(e.by == "torchrun" for e in got)
    assert {e.rank for e in got} <= {None, 1, 6, 7}


def test_long_lines_take_linear_time() -> None:
    began = time.process_time()
    for unit in ("rank : ", "exitcode ", "closing signal ", "[0]:", "="):
        exits(unit * 50_000)
    assert time.process_time() - began < 1.0
