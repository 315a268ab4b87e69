"""Blocks in which a launcher repeats what one of its processes wrote.

Composer keeps the output of all ranks but 0 in files and prints those of the failed ones at the end, each between
`----------Begin global rank 2 STDERR----------` and the same with `End` (composer/cli/launcher.py,
`_print_process_exit_status`). Lines between the two are that rank's.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.lazy import lazy
from triage.core.logs.record import Record, Tags
from triage.core.values import replace

LINE_BREAK = 2
"""Bytes a line break may have. More between two lines means that something was left out, an end of a block perhaps."""

_MARK = lazy(r"-{10}(Begin|End) global rank (\d{1,7}) STD(?:OUT|ERR)-{10}\s*")


def owned_blocks(records: Sequence[Record]) -> list[Record]:
    """The records, those inside a block with its rank; a rank that a line names itself stays."""
    out: list[Record] = []
    owner: Tags | None = None
    end = 0
    for record in records:
        if record.offset > end + LINE_BREAK:
            owner = None
        end = max(end, record.end)
        match = _MARK.fullmatch(record.text) if record.text.startswith("----------") else None
        if match is not None:
            owner = Tags(rank=int(match[2])) if match[1] == "Begin" else None
        elif owner is not None:
            record = replace(record, tags=owner.merged(record.tags))
        out.append(record)
    return out


def has_marks(records: Sequence[Record]) -> bool:
    """Whether any block begins; most streams have none."""
    return any("Begin global rank " in record.text for record in records)
