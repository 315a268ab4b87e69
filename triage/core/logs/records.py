"""Physical lines to records: prefixes off, labels believed only where the excerpt carries them, cut lines joined, and the
ranks of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from triage.core.logs.blocks import LINE_BREAK, has_marks, owned_blocks
from triage.core.logs.columns import has_columns, unwrapped
from triage.core.logs.dialects import Peeled, peel
from triage.core.logs.dialects.labels import Labels, survey
from triage.core.logs.line import Physical
from triage.core.logs.record import NO_TAGS, Record
from triage.core.values import replace

SRUN_CUT = 1024
"""Bytes after which `srun --label` cuts a line (slurm/src/slurmd/slurmstepd/io.c, `MAX_MSG_LEN`). A line of exactly that
length was cut: a whole one would have needed one more byte for its line break."""


def survey_lines(lines: Sequence[Physical]) -> Labels:
    """The bare labels (`12: `, `node-3: `) that these lines carry; for a caller that knows more of the file than one excerpt."""
    return _survey(lines, [peel(line.text) for line in lines])


def to_records(lines: Sequence[Physical], labels: Labels | None = None) -> list[Record]:
    """One record per line, in order; only the pieces of a line that `srun --label` cut become one.

    `labels` is what a look at more of the file found; without it the lines themselves decide.
    """
    peeled = [_peel(line.text) for line in lines]
    believed = _survey(lines, peeled)
    if labels is not None and labels.shapes:
        believed = Labels(believed.shapes | labels.shapes)
    if believed.shapes:
        for index, line in enumerate(lines):
            got = peeled[index]
            if believed.find(line.text if got is None else got.text) is not None:
                peeled[index] = peel(line.text, believed)
    records = [_record(line, got) for line, got in zip(lines, peeled, strict=True)]
    _carry(lines, peeled, records)
    if believed.shapes:
        records = _joined(lines, peeled, records)
    if has_columns(records):
        records = unwrapped(records)
    return owned_blocks(records) if has_marks(records) else records


_REMEMBERED = 1024
"""Characters of a line up to which what came off it is remembered."""


def _peel(text: str) -> Peeled | None:
    return _remembered(text) if len(text) <= _REMEMBERED else peel(text)


@lru_cache(maxsize=1024)
def _remembered(text: str) -> Peeled | None:
    """Many ranks print the same lines of progress."""
    return peel(text)


def _survey(lines: Sequence[Physical], peeled: Sequence[Peeled | None]) -> Labels:
    return survey(
        line.text if got is None else got.text
        for line, got in zip(lines, peeled, strict=True)
        if line.part == 0
    )


def _record(line: Physical, got: Peeled | None) -> Record:
    text = line.text
    if got is None:
        return Record(line.offset, line.end, text, NO_TAGS, None, "", "", "", text)
    return Record(
        line.offset, line.end, got.text, got.tags, got.stamp, got.level, got.dialect, got.origin, text
    )


def _carry(lines: Sequence[Physical], peeled: Sequence[Peeled | None], records: list[Record]) -> None:
    """The labels of a whole line also cover the states and glued text that were split off it."""
    carried, label = NO_TAGS, ""
    for index, line in enumerate(lines):
        if line.part == 0:
            got = peeled[index]
            carried = NO_TAGS if got is None else got.carried
            label = "" if got is None or got.level or got.stamp is not None else got.dialect
        elif carried is not NO_TAGS:
            record = records[index]
            tags = carried.merged(record.tags)
            records[index] = replace(record, tags=tags, dialect=record.dialect or label)


def _joined(
    lines: Sequence[Physical], peeled: Sequence[Peeled | None], records: list[Record]
) -> list[Record]:
    out: list[Record] = []
    open_cuts: dict[int, int] = {}
    pieces: dict[int, list[int]] = {}
    end = 0
    for index, (line, got, record) in enumerate(zip(lines, peeled, records, strict=True)):
        if line.part == 0 and line.offset > end + LINE_BREAK:
            open_cuts.clear()
        end = line.end
        task = record.tags.task
        if task is None or got is None or not got.body:
            out.append(record)
            continue
        cut = line.end - line.offset - got.body == SRUN_CUT
        where = open_cuts.pop(task, None)
        if where is None:
            where = len(out)
            out.append(record)
            pieces[where] = []
        pieces[where].append(index)
        if cut:
            open_cuts[task] = where
    for where, indexes in pieces.items():
        if len(indexes) > 1:
            out[where] = _join(lines, peeled, records, indexes)
    return out


def _join(
    lines: Sequence[Physical],
    peeled: Sequence[Peeled | None],
    records: Sequence[Record],
    indexes: Sequence[int],
) -> Record:
    """The first piece with the rest of the others; a character that the cut tore is decoded again."""
    first = records[indexes[0]]
    bodies: list[tuple[str, bytes]] = []
    for index in indexes:
        got = peeled[index]
        start = 0 if got is None else got.body
        bodies.append((lines[index].text[start:], lines[index].lossy[start:]))
    rest = "".join(text for text, _ in bodies[1:])
    if any(lossy for _, lossy in bodies):
        whole = b"".join(lossy or text.encode() for text, lossy in bodies).decode("utf-8", "replace")
    else:
        whole = bodies[0][0] + rest
    head = lines[indexes[0]].text[: len(lines[indexes[0]].text) - len(bodies[0][0])]
    taken = len(bodies[0][0]) - len(first.text)
    return replace(first, end=max(records[i].end for i in indexes), text=whole[taken:], raw=head + whole)
