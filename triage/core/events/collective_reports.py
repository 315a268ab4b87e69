"""Reports that conclude something by themselves: fingerprints, barriers, torch's desync report, fr_trace.

The desync report (`TraceUtils.h`) and fr_trace's summary take several lines, so `Report` keeps a little state
per stream; a stream that starts in the middle of one loses only what stood before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triage.core.events.collective_line import Draft, rank_list, work_fields
from triage.core.events.model import Collective
from triage.core.lazy import lazy
from triage.core.values import dataclass, field

_LIST = r"\[([0-9, ]{1,8000})\]"
_FINGERPRINT = lazy(
    r"Rank ([0-9]{1,9}) is running collective: (CollectiveFingerPrint\(.{0,4000}?), but Rank ([0-9]{1,9})"
    r" is running collective: (CollectiveFingerPrint\(.{0,400})"
)
_NOT_PASSED = lazy(r"Rank(s)? ([0-9, ]{1,8000}) failed to pass monitoredBarrier(?: in ([0-9]{1,12}) ms)?")
_PASSED = lazy(r"Rank ([0-9]{1,9}) successfully reached monitoredBarrier")
_NEVER = lazy(rf"ranks {_LIST} are the lagging ranks that caused this timeout")
_JOINED = lazy(rf"{_LIST} joined but didn't finish collective #([0-9]{{1,19}})")
_FINISHED = lazy(rf"{_LIST} finished collective #([0-9]{{1,19}}), but didn't join collective")
_SNAPSHOT = lazy(r"^\s*#([0-9]{1,19}) (started|finished) ranks:")
_SNAPSHOT_RANKS = lazy(rf"^\s*{_LIST} (started|finished) ([A-Za-z0-9_]{{1,64}})\s*$")
_TRACE_START = lazy(
    r"(Not all ranks joining collective|Input/output mismatch in the collective)\D{0,22}([0-9]{1,19})"
    r"|Collective sequence number: ([0-9]{1,19}) has errors"
)
_TRACE_FIELD = lazy(
    r"(group info|collective|missing ranks|expected ranks|error msg|input sizes): (.{0,8000})"
)
_CULPRIT = lazy(r"Culprit rank ([0-9]{1,9});")
_NO_DUMPS = lazy(r"missed FR dumps from ranks \(\{?([0-9, ]{1,8000})\}?\)")

Parse = Callable[[Draft], Iterator[Collective]]


def _fingerprint(draft: Draft) -> Iterator[Collective]:
    found = _FINGERPRINT.search(draft.text)
    if not found:
        return
    mine, theirs = work_fields(found[2]), work_fields(found[4])
    other = " ".join(filter(None, (_hash(theirs["seq"]), theirs["op"], theirs["shape"])))
    yield draft.event(
        "mismatch",
        **mine,
        group_rank=int(found[1]),
        ranks=(int(found[3]),),
        other=other,
        reason="fingerprint",
    )


def _hash(seq: int | None) -> str:
    return "" if seq is None else f"#{seq}"


def _barrier(draft: Draft) -> Iterator[Collective]:
    if found := _NOT_PASSED.search(draft.text):
        timeout = int(found[3]) if found[3] else None
        yield draft.event(
            "barrier",
            ranks=rank_list(found[2]),
            timeout_ms=timeout,
            reason="missing" if found[1] else "first-missing",
        )
    elif found := _PASSED.search(draft.text):
        yield draft.event("barrier", group_rank=int(found[1]), ranks=(int(found[1]),), reason="arrived")


def _never(draft: Draft) -> Iterator[Collective]:
    if found := _NEVER.search(draft.text):
        yield draft.event("desync", ranks=rank_list(found[1]), reason="missing")


def _joined(draft: Draft) -> Iterator[Collective]:
    if found := _JOINED.search(draft.text):
        yield draft.event("desync", ranks=rank_list(found[1]), seq=int(found[2]), reason="started")


def _finished(draft: Draft) -> Iterator[Collective]:
    if found := _FINISHED.search(draft.text):
        yield draft.event("desync", ranks=rank_list(found[1]), seq=int(found[2]), reason="finished")


TABLE: tuple[tuple[str, Parse], ...] = (
    ("is running collective: ", _fingerprint),
    ("monitoredBarrier", _barrier),
    ("are the lagging ranks", _never),
    ("joined but didn't finish", _joined),
    ("but didn't join collective", _finished),
)


WORDS = (
    " ranks:", "Not all ranks joining collective", "Input/output mismatch in the collective", "Collective sequence number: ",
    "missed FR dumps",
)  # fmt: skip
"""One of these stands in every line with which a report begins."""


@dataclass
class Report:
    """State of a report that goes over several lines."""

    REACH = 40
    """Lines after which a summary of fr_trace that was not finished is given up."""

    group: str = ""
    position: int | None = None
    seq: int | None = None
    draft: Draft | None = None
    fields: dict[str, str] = field(default_factory=dict)
    kind: str = ""
    trace_seq: int | None = None
    lines: int = 0

    def feed(self, draft: Draft) -> Iterator[Collective]:
        """The events that this line completes."""
        if draft.group:
            self.group = draft.group
        text = draft.text
        if found := _SNAPSHOT.match(text):
            self.seq = int(found[1])
        elif self.seq is not None and (found := _SNAPSHOT_RANKS.match(text)):
            yield draft.event(
                "snapshot", seq=self.seq, ranks=rank_list(found[1]), reason=found[2], op=found[3],
                group=draft.group or self.group,
            )  # fmt: skip
        elif draft.record.stamp is not None:
            self.seq = None
        if found := _TRACE_START.search(text):
            yield from self.finish()
            self.draft, self.kind = draft, (found[1] or "has errors")
            self.trace_seq = int(found[2] or found[3])
        elif found := _NO_DUMPS.search(text):
            yield draft.event("trace", ranks=rank_list(found[1]), reason="no-dump")
        elif self.draft is not None:
            self.lines += 1
            if found := _TRACE_FIELD.search(text):
                self.fields.setdefault(found[1], found[2])
            if self.lines >= self.REACH:
                yield from self.finish()

    @property
    def open(self) -> bool:
        """Whether the next lines may belong to it whatever they say."""
        return self.seq is not None or self.draft is not None

    def finish(self) -> Iterator[Collective]:
        """The event of an fr_trace summary that was still open."""
        draft, fields, kind = self.draft, self.fields, self.kind
        self.draft, self.fields, self.lines = None, {}, 0
        if draft is None:
            return
        culprits = tuple(sorted({int(n) for n in _CULPRIT.findall(fields.get("error msg", ""))}))
        missing = rank_list(fields.get("missing ranks", ""))
        yield draft.event(
            "trace", seq=self.trace_seq, group=fields.get("group info", "").strip(), op=fields.get("collective", "").strip(),
            members=rank_list(fields.get("expected ranks", "")), ranks=missing or culprits,
            reason="missing" if missing else "mismatch" if culprits else kind, shape=fields.get("input sizes", ""),
        )  # fmt: skip
