"""Messages that rich's log handler set in a column: wrapped to its width, each row behind the margin of stamp and level.

`rich.logging.RichHandler` prints a table of stamp, level, message and perhaps the caller's place (rich/_log_render.py). A row
ends before the word that no longer fits; a word longer than the column begins a row of its own and is cut into pieces
(rich/_wrap.py). So the lines that were meant are known again from the rows' lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from triage.core.lazy import lazy
from triage.core.logs.blocks import LINE_BREAK
from triage.core.logs.record import Record
from triage.core.values import replace

_HEAD = lazy(
    r"(?:\[(?:\d\d/\d\d/\d\d )?\d\d:\d\d:\d\d\]| {10,19}) (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,5}(?=\S)"
)
_TRACEBACK = lazy(r" {12,60}(?=Traceback \(most recent call last\):)")
_PLACE = lazy(r" {1,400}(\w[\w.-]{0,80}\.py:\d{1,6})\s*\Z")
NARROWEST, WIDEST = 20, 400
ROWS = 2000
"""Rows of one message."""


def unwrapped(records: Sequence[Record]) -> list[Record]:
    """The records, each message of such a column as the lines it was before."""
    out: list[Record] = []
    index = 0
    while index < len(records):
        margin = _margin(records[index])
        if not margin:
            out.append(records[index])
            index += 1
            continue
        end = index + 1
        while end < len(records) and end - index < ROWS and _is_row(records[end - 1], records[end], margin):
            end += 1
        out.extend(_lines(records[index:end], margin))
        index = end
    return out


def has_columns(records: Sequence[Record]) -> bool:
    """Whether any such message may begin; most streams have none."""
    return any(_margin(record) for record in records)


def _margin(record: Record) -> int:
    """Where the message begins in the row that begins it; 0 for any other line."""
    raw = record.raw
    if raw[:1] not in ("[", " "):
        return 0
    found = _HEAD.match(raw) or _TRACEBACK.match(raw)
    return found.end() if found is not None else 0


def _is_row(before: Record, record: Record, margin: int) -> bool:
    return (
        record.stamp is None
        and record.raw[:margin].isspace()
        and len(record.raw) > margin
        and not record.raw[margin:].isspace()
        and record.offset - before.end <= LINE_BREAK
        and not _HEAD.match(record.raw)
    )


def _lines(rows: Sequence[Record], margin: int) -> list[Record]:
    """The rows of one message joined where a wrap parted them."""
    head = rows[0].raw
    if (place := _PLACE.search(head, margin)) is not None:
        width, head = place.start(1) - 1 - margin, head[: place.start()]
    else:
        width = max(len(row.raw) for row in rows) - margin
    cells = [head[margin:].rstrip(), *(row.raw[margin:].rstrip() for row in rows[1:])]
    if len(rows) == 1 or not NARROWEST <= width <= WIDEST:
        return list(rows)
    lines: list[list[int]] = [[0]]
    for at in range(1, len(cells)):
        if _wrapped(cells[at - 1], cells[at], width):
            lines[-1].append(at)
        else:
            lines.append([at])
    return [_line(rows, cells, indexes, width) for indexes in lines]


def _wrapped(row: str, following: str, width: int) -> bool:
    """Whether the next row goes on with the line, because its first word did not fit any more."""
    if not row or following.startswith(" "):
        return False
    return len(row) + 1 + len(following.split(" ", 1)[0]) > width


def _line(rows: Sequence[Record], cells: Sequence[str], indexes: Sequence[int], width: int) -> Record:
    first = rows[indexes[0]]
    text = cells[indexes[0]]
    for before, at in pairwise(indexes):
        row = cells[before]
        torn = len(row) >= width - 1 and " " not in row.strip()
        text += cells[at] if torn else f" {cells[at]}"
    kept = first.text if len(indexes) == 1 and indexes[0] == 0 else text
    if indexes[0] == 0:
        kept = _peeled(first, cells[0], text)
    return replace(first, end=rows[indexes[-1]].end, text=kept)


def _peeled(head: Record, cell: str, text: str) -> str:
    """The first line's text without what a logger's prefix in the message said, as the head record has it."""
    own = head.text.rstrip()
    taken = cell.find(own) if own and own in cell else 0
    return text[taken:]
