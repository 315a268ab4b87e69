"""One interleaved stream of records to one stream per writing process.

Records with equal tags belong together. A writer that puts its prefix before the first line of a longer text only (c10's
and NCCL's loggers; torch's excepthook leaves blank lines bare) would leave the rest behind, so a bare record joins the
stream of the tagged record before it when

- that one is c10's or NCCL's and the bare one is a line with which their messages go on (`Exception raised from`, `frame #3:`,
  `Last error:` and the line after it, `ncclRemoteError: `, CUDA's advice), or
- it is blank and the next non-blank line is of that same stream again.

"Bare" means: the same tags but for the ones a message itself carries (`0: frame #1` after `0: [rank3]:[E...`). Nothing but such
lines may stand between, and no gap in the bytes. What joins takes the tags of the record it joins.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.logs.blocks import LINE_BREAK
from triage.core.logs.record import Record, Tags
from triage.core.values import dataclass, field, replace

Key = tuple[int | None, int | None, int | None, str | None, str | None]

_GOES_ON = (
    "Exception raised from ", "frame #", "Last error:", "ncclUnhandledCudaError: ", "ncclSystemError: ", "ncclInternalError: ",
    "ncclInvalidArgument: ", "ncclInvalidUsage: ", "ncclRemoteError: ", "CUDA kernel errors might be ", "For debugging consider ",
    "Compile with `TORCH_USE_CUDA_DSA`", "Device-side assertion", "Search for `cudaError", "socketProgress", "Net: ", "C++ CapturedTraceback:",
)  # fmt: skip
_MULTILINE = frozenset({"glog", "nccl"})


@dataclass(slots=True)
class _Head:
    """The tagged record that bare ones may join, and the blanks that wait for what follows."""

    record: Record
    key: Key
    blanks: list[Record] = field(default_factory=list)
    owes_text: bool = False
    """Its last line was `Last error:`: the next one is NCCL's own text, whatever it says."""

    def goes_on(self, text: str) -> bool:
        return self.record.dialect in _MULTILINE and (self.owes_text or text.lstrip().startswith(_GOES_ON))


def streams(records: Sequence[Record]) -> list[list[Record]]:
    """The records by writer, each stream in the order of the file, streams in the order of their first record."""
    by_key: dict[Key, list[Record]] = {}
    heads: dict[Key, _Head] = {}
    end = 0
    for record in records:
        if record.offset > end + LINE_BREAK and heads:
            _settle_all(by_key, heads)
        end = max(end, record.end)
        key = record.tags.stream_key()
        outer = _outer(record, key)
        head = heads.get(outer)
        if head is not None and key == outer:
            if not record.text:
                head.blanks.append(record)
                continue
            if head.goes_on(record.text):
                stream = by_key[head.key]
                stream.extend(_owned(r, head.record.tags) for r in (*head.blanks, record))
                head.blanks.clear()
                head.owes_text = record.text.startswith("Last error:")
                continue
            del heads[outer]
        if head is not None and head.blanks:
            _settle(by_key, head, outer, same=head.key == key)
        by_key.setdefault(key, []).append(record)
        if key != outer:
            heads[outer] = _Head(record, key)
    _settle_all(by_key, heads)
    return list(by_key.values())


def _settle_all(by_key: dict[Key, list[Record]], heads: dict[Key, _Head]) -> None:
    for outer, head in heads.items():
        _settle(by_key, head, outer, same=False)
    heads.clear()


def _settle(by_key: dict[Key, list[Record]], head: _Head, outer: Key, *, same: bool) -> None:
    if same:
        by_key[head.key].extend(_owned(blank, head.record.tags) for blank in head.blanks)
    elif head.blanks:
        by_key.setdefault(outer, []).extend(head.blanks)
    head.blanks.clear()


def _outer(record: Record, key: Key) -> Key:
    """The key without what the message itself carries."""
    if key[0] is None and record.dialect != "nccl":
        return key
    return (None, key[1], key[2], None if record.dialect == "nccl" else key[3], key[4])


def _owned(record: Record, tags: Tags) -> Record:
    return replace(record, tags=tags)
