"""Records made from plain text, for tests of extractors."""

from __future__ import annotations

from triage.core.logs.record import NO_TAGS, Record, Tags


def records(text: str, tags: Tags = NO_TAGS) -> list[Record]:
    """One record per line, offsets counted as UTF-8."""
    made = []
    offset = 0
    for line in text.split("\n"):
        end = offset + len(line.encode("utf-8", "surrogatepass"))
        made.append(Record(offset, end, line, tags, raw=line))
        offset = end + 1
    return made
