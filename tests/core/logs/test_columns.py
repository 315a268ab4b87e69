"""Messages in rich's column become the lines they were."""

from __future__ import annotations

import pytest

from triage.core.logs.columns import unwrapped
from triage.core.logs.line import decode_lines
from triage.core.logs.records import to_records

PATH = "/home/me/miniconda3/envs/fairseq2/lib/python3.12/site-packages/fairseq2/recipes/trainer.py"
LINES = (
    "fairseq2.recipes - CUDA out of memory. See the logged memory stats.",
    "Traceback (most recent call last):",
    f'  File "{PATH}", line 905, in _run_step',
    "    batch_loss.backward()",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.95 GiB. GPU 2 has a total capacity of 23.64 GiB of"
    " which 1.31 GiB is free.",
)
HEAD = "[01/18/25 09:47:50] ERROR    "


def rows(line: str, width: int) -> list[str]:
    """As rich wraps: words longer than the column begin a row and are cut."""
    out: list[str] = []
    for word in [" " * (len(line) - len(line.lstrip())) + line.split()[0], *line.split()[1:]]:
        if out and len(out[-1]) + 1 + len(word) <= width:
            out[-1] += " " + word
        else:
            out.extend(word[at : at + width] for at in range(0, len(word), width))
    return out


def column(lines: tuple[str, ...], width: int, padded: bool) -> str:
    flat = [row for line in lines for row in rows(line, width)]
    printed = [(HEAD if at == 0 else " " * len(HEAD)) + row.ljust(width) for at, row in enumerate(flat)]
    return "\n".join(row if padded else row.rstrip() for row in printed) + "\n"


def texts(text: str) -> list[str]:
    return [record.text for record in to_records(decode_lines(text.encode(), 0))]


@pytest.mark.parametrize("width", [51, 92, 171])
@pytest.mark.parametrize("padded", [True, False])
def test_a_traceback_in_a_column_is_read_as_it_was_raised(width: int, padded: bool) -> None:
    assert texts(column(LINES, width, padded) + "W0118 rest\n")[:5] == list(LINES)


def test_the_callers_place_in_the_last_column_is_no_part_of_the_message() -> None:
    text = (
        "[20:42:05] ERROR    failed (exitcode: 1) local_rank: 1     api.py:673\n"
        "                    (pid: 361009) of binary: /opt/bin/py             \n"
    )
    assert texts(text) == ["failed (exitcode: 1) local_rank: 1 (pid: 361009) of binary: /opt/bin/py"]


def test_indented_lines_that_follow_no_such_head_stay() -> None:
    text = "[2025-01-18 09:47:50] ERROR x\n" + " " * 29 + "y\n" + " " * 29 + "z\n"
    assert texts(text)[1:] == [" " * 29 + "y", " " * 29 + "z"]


def test_rows_keep_their_place_in_the_file() -> None:
    text = column(LINES, 60, True)
    records = to_records(decode_lines(text.encode(), 0))
    ends = [record.end for record in records]
    assert records[0].offset == 0
    assert [record.offset for record in records[1:]] == [end + 1 for end in ends[:-1]]
    assert ends[-1] == len(text) - 1


def test_a_message_of_one_row_is_left_alone() -> None:
    records = to_records(decode_lines((HEAD + "short\nplain\n").encode(), 0))
    assert unwrapped(records) == records
