"""Finds every Python traceback in the records of one stream.

Readers of rare forms (boxes, escaped text, woven lines) are imported when their first words are met.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Sequence

from triage.core.events import faulthandler
from triage.core.events.chain import Parsed, Reader
from triage.core.events.frames import GROUP_HEADER_RE, HEADER, SUMMARY_RE, Lines, frame_at, indent_of
from triage.core.events.model import Interval, Link, Span, Trace
from triage.core.events.weave import Budget, Zone, zone_at
from triage.core.lazy import lazy
from triage.core.logs.record import NO_TAGS, Record, Stamp, Tags
from triage.core.values import dataclass, names, replace

MAX_WOVEN = 30_000
"""Lines of woven zones that are untangled in one stream; the rest is read as if one process had written it."""

_SUMMARY_RANK_RE = lazy(r"\s*rank\s*:\s*(\d{1,9})\b")
_PREFIX_RANK_RE = lazy(
    r"(?i)(?<![a-z_])(?<!local )(?<!group )(?:global[_ ]?)?rank[ :=_#-]{0,2}(\d{1,7})(?!\d)|^\[(\d{1,7})\]$"
)
_PREFIX_LOCAL_RE = lazy(r"(?i)(?<![a-z_])local[_ ]?rank[ :=_#-]{0,2}(\d{1,5})(?!\d)")
_LEVEL_RE = lazy(r"\W{0,3}(ERROR|CRITICAL|FATAL|WARNING|INFO|DEBUG)(?::[\w.]+:|\]|\s+[\[|-]|\s*\|)")
_AGENT_RE = lazy(r"failed \(exitcode|closing signal|torch[./]distributed[./](?:elastic|run|launcher)")
_REMOTE_RE = lazy(r"[\w.]*RemoteTraceback:\s*\Z")
_CALL_STACK_RE = lazy(r"Call stack:\s*\Z")
_CALL_END_RE = lazy(r"Arguments: ")


@dataclass(frozen=True, slots=True)
class _Label:
    """What stands before a header and says who printed it."""

    style: str = "python"
    label: str = ""
    first: int = 0
    logged: bool = False
    rank: int | None = None


class _Stream:
    """The records of one stream with what several steps need of them."""

    def __init__(self, records: Sequence[Record], source: int) -> None:
        self.records = records
        self.source = source
        tagged = bool(records) and records[0].tags.rank is not None
        self.lines = Lines([r.text for r in records], [_kind(r) for r in records], tagged)
        self.stamped = [k for k, r in enumerate(records) if r.stamp is not None]
        self.used = bytearray(len(records))
        self.budget = Budget()
        self.woven_lines = 0

    def affords(self, zone: Zone) -> bool:
        """Whether one more zone is untangled: past some ten thousand woven lines nothing new is to be learned."""
        self.woven_lines += zone.end - zone.start
        return self.woven_lines <= MAX_WOVEN

    def event(
        self, covered: Sequence[int], links: Iterable[Link], exception_line: int | None, **more: object
    ) -> Trace:
        """A Trace over the records `covered` (in order), which are taken out of the stream."""
        for index in covered:
            self.used[index] = 1
        first, last = covered[0], covered[-1]
        span = Span(self.source, self.records[first].offset, self.records[last].end)
        tags = _common_tags({self.records[k].tags for k in covered})
        when = self.when(first, last, exception_line)
        return Trace(span, tags, when, links=tuple(links), **more)  # type: ignore[arg-type]

    def when(self, first: int, last: int, exception_line: int | None) -> Interval:
        own = self.records[exception_line].stamp if exception_line is not None else None
        before = bisect_left(self.stamped, first)
        after = bisect_left(self.stamped, last + 1)
        return Interval(
            at=own or self.records[first].stamp,
            after=self._stamp(before - 1),
            before=self._stamp(after),
        )

    def _stamp(self, position: int) -> Stamp | None:
        return self.records[self.stamped[position]].stamp if 0 <= position < len(self.stamped) else None


WORDS = ("Traceback (most", 'File "', "RemoteTraceback:", *faulthandler.WORDS)
"""One of these stands in every line with which a traceback is found."""


def extract_traces(
    stream: Sequence[Record], source: int, worth: Container[int] | None = None
) -> tuple[list[Trace], list[Record]]:
    """Traces in one stream's records, in order of their first line, and the records that belong to none."""
    if worth is not None and not any(record.offset in worth for record in stream):
        return [], list(stream)
    state = _Stream(stream, source)
    traces: list[Trace] = []
    zone = Zone(0, 0, woven=False)
    index = 0
    while index < len(stream):
        text = stream[index].text
        if state.used[index] or (worth is not None and stream[index].offset not in worth):
            index += 1
            continue
        if HEADER in text or 'File "' in text:
            if HEADER + "\\n" in text:
                traces += _escaped(state, index)
                index += 1
                continue
            if HEADER in text and not text.startswith((HEADER, " ")) and _prefixed(state, index, traces):
                continue
            if index >= zone.end and (HEADER in text or frame_at(text)) and not SUMMARY_RE.match(text):
                zone = zone_at(state.lines, index, _block_indent(state.lines, index, HEADER not in text))
                if zone.woven and state.affords(zone):
                    traces += _woven(state, zone)
                    index = zone.end
                    continue
        index = _one(state, index, text, traces)
    traces.sort(key=lambda trace: trace.span.first)
    return traces, [record for k, record in enumerate(stream) if not state.used[k]]


def _one(state: _Stream, index: int, text: str, traces: list[Trace]) -> int:
    """Reads what starts at `index`, if anything does, and returns the index to go on from."""
    if GROUP_HEADER_RE.match(text) or HEADER in text:
        return _plain(state, index, traces, headless=False)
    if "Traceback (most" in text and (end := _box(state, index, text, traces)):
        return end
    if faulthandler.starts(text):
        dump = faulthandler.read_dump(state.lines.texts, index)
        traces.append(state.event([*range(index, dump.end)], [dump.link], index, style="faulthandler"))
        return dump.end
    if 'File "' in text and frame_at(text):
        return _plain(state, index, traces, headless=True)
    if "RemoteTraceback:" in text and _REMOTE_RE.match(text):
        return _plain(state, index, traces, headless=True)
    return index + 1


def _box(state: _Stream, index: int, text: str, traces: list[Trace]) -> int:
    """Reads the box of rich that starts at `index` and returns its end; 0 where none does."""
    from triage.core.events import boxes

    if not boxes.starts(text):
        return 0
    box = boxes.read_boxes(state.lines, index, state.lines.kinds[index])
    label = _before(state, index)
    covered = [*range(label.first, box.end)]
    more = {"style": "rich", "label": label.label, "complete": box.complete, "logged": label.logged}
    traces.append(state.event(covered, box.links, box.exception_line, **more))
    return max(box.end, index + 1)


def _plain(state: _Stream, index: int, traces: list[Trace], *, headless: bool) -> int:
    lines = state.lines
    label = _before(state, index)
    if label.style == "summary":
        indent = 2
    else:
        indent = _block_indent(lines, index, headless)
    parsed = Reader(lines, lines.kinds[index]).chain(index, indent, headless=headless)
    if headless and not _worth(parsed, label):
        return max(parsed.end, index + 1)
    end = max(parsed.end, index + 1)
    skipped = set(parsed.skipped)
    covered = [k for k in range(label.first, end) if k not in skipped]
    if label.label.startswith("--- Logging error"):
        end = _call_stack(lines, end)
        covered += range(covered[-1] + 1, end)
    links = parsed.links
    if label.rank is not None:
        links = [replace(link, rank=label.rank) for link in links]
    style = "loguru" if parsed.loguru and label.style in ("python", "logged") else label.style
    more = {"style": style, "label": label.label, "complete": parsed.complete, "logged": label.logged}
    traces.append(state.event(covered, links, parsed.exception_line, **more))
    return end


def _prefixed(state: _Stream, index: int, traces: list[Trace]) -> bool:
    """A traceback whose every line begins with one and the same text that no dialect knows.

    Lines of other prefixes may stand between; as many lines are looked at as the traceback needs.
    """
    texts = state.lines.texts
    prefix = texts[index][: texts[index].find(HEADER)]
    if not prefix.strip() or GROUP_HEADER_RE.match(texts[index]):
        return False
    bare = prefix.rstrip()
    own, reach, size = [index], index + 1, 64
    while True:
        while len(own) < size and reach < len(texts) and reach - own[-1] < 200:
            if texts[reach].startswith(prefix) or texts[reach] == bare:
                own.append(reach)
            reach += 1
        if len(own) < 2 or not frame_at(texts[own[1]][len(prefix) :]):
            return False
        cut = Lines([texts[k][len(prefix) :] for k in own], [state.lines.kinds[k] for k in own], tagged=True)
        parsed = Reader(cut, cut.kinds[0]).chain(0)
        if parsed.end < len(own) - 4 or len(own) < size:
            break
        size *= 2
    skipped = set(parsed.skipped)
    covered = [own[k] for k in range(parsed.end) if k not in skipped]
    where = own[parsed.exception_line] if parsed.exception_line is not None else None
    trace = state.event(covered, parsed.links, where, label=bare[:1000], complete=parsed.complete)
    traces.append(replace(trace, tags=_prefix_tags(bare[:200]).merged(trace.tags)))
    return True


def _prefix_tags(prefix: str) -> Tags:
    """The rank that such a text names: `[Rank 3]`, `rank=3 |`, `local_rank: 3>`, hydra's `[3]` (`mpiexec -prepend-rank`)."""
    local, said = _PREFIX_LOCAL_RE.search(prefix), _PREFIX_RANK_RE.search(prefix)
    return Tags(rank=int(said[1] or said[2]) if said else None, local_rank=int(local[1]) if local else None)


def _worth(parsed: Parsed, label: _Label) -> bool:
    """Frames without a header count when they lead to an exception, or when Ray announced them."""
    return bool(parsed.links) and (parsed.complete or "ray::" in label.label)


def _block_indent(lines: Lines, index: int, headless: bool) -> int:
    """How far a whole traceback is indented: two less than its first frame."""
    text = lines.texts[index]
    if headless:
        return max(0, indent_of(text) - 2) if frame_at(text) else 0
    following = lines.texts[index + 1] if index + 1 < len(lines.texts) else ""
    own = indent_of(text)
    if frame_at(following) and not following.lstrip().startswith(">"):
        return max(0, min(indent_of(following) - 2, own))
    return own if text.lstrip().startswith(HEADER) else 0


def _before(state: _Stream, index: int) -> _Label:
    """Reads the text before a header: on the same line, else on the line above."""
    record = state.records[index]
    position = record.text.find(HEADER)
    prefix = record.text[:position].strip() if position > 0 else ""
    if prefix and prefix != "Original" and not GROUP_HEADER_RE.match(record.text):
        if SUMMARY_RE.match(record.text):
            return _Label("summary", "", index, rank=_summary_rank(state, index))
        if "%|" in prefix:
            return _Label(first=index)
        logged = prefix.endswith(":") and _level(record) not in ("E", "F")
        return _Label("logged" if prefix.endswith(":") else "python", prefix, index, logged)
    if record.level:
        return _Label("logged", "", index, record.level in "WID")
    above = index - 1
    if above < 0 or state.used[above]:
        return _Label(first=index)
    previous = state.records[above]
    text = previous.text.strip()
    if text.startswith("Exception in thread "):
        return _Label("thread", text, above)
    if text.startswith("Exception ignored "):
        return _Label("ignored", text, above)
    if text.startswith("--- Logging error ---"):
        return _Label("logged", text, above, logged=True)
    if "ray::" in text:
        return _Label("python", text[:1000], above)
    program = previous.dialect not in ("glog", "nccl", "torchrun", "slurm", "kernel")
    if (
        program
        and _level(previous) in ("E", "F")
        and not _AGENT_RE.search(f"{previous.raw} {text} {previous.origin}")
    ):
        return _Label("logged", text[:1000], index)
    return _Label(first=index)


def _level(record: Record) -> str:
    if record.level:
        return record.level
    match = _LEVEL_RE.match(record.text)
    if match is None:
        return ""
    return "F" if match[1] in ("CRITICAL", "FATAL") else match[1][0]


def _summary_rank(state: _Stream, index: int) -> int | None:
    for k in range(index - 1, max(-1, index - 7), -1):
        found = _SUMMARY_RANK_RE.match(state.records[k].text)
        if found:
            return int(found[1])
    return None


def _call_stack(lines: Lines, index: int) -> int:
    """The end of `Call stack:` ... `Message:` ... `Arguments:` below a logging error."""
    if index >= len(lines.texts) or not _CALL_STACK_RE.match(lines.texts[index]):
        return index
    for k in range(index + 1, min(index + 400, len(lines.texts))):
        text = lines.texts[k]
        if _CALL_END_RE.match(text):
            return k + 1
        if not text.startswith(("  ", "Message: ")) and text.strip():
            return k
    return index + 1


def _escaped(state: _Stream, index: int) -> list[Trace]:
    """A traceback quoted in one line of text; only an error's own record says that it is one."""
    from triage.core.events.embedded import find_escaped

    found = find_escaped(state.records[index].text)
    if found is None or not found.parsed.links:
        return []
    quoted = state.records[index].level[:1] not in ("E", "F", "C")
    more = {"style": found.style, "label": found.label, "complete": found.parsed.complete, "logged": quoted}
    return [state.event([index], found.parsed.links, index, **more)]


def _woven(state: _Stream, zone: Zone) -> list[Trace]:
    from triage.core.events.untangle import untangle

    traces = []
    for strand in untangle(state.lines, zone, state.budget):
        more = {"complete": strand.link.exception is not None, "woven": True}
        traces.append(state.event(strand.covered, [strand.link], strand.exception_line, **more))
    return traces


def _kind(record: Record) -> object:
    """What tells a logger's line from a plain one; a stamp alone may be a collector's and says nothing."""
    if record.level or record.origin:
        return (record.dialect, record.level, record.origin, record.stamp.text if record.stamp else "")
    return record.dialect or None


def _common_tags(tags: set[Tags]) -> Tags:
    """Field by field what the lines agree on; None where two processes' lines are woven."""
    if len(tags) == 1:
        return next(iter(tags))
    values = []
    for name in names(NO_TAGS):
        found = {getattr(t, name) for t in tags} - {None}
        values.append(found.pop() if len(found) == 1 else None)
    return Tags(*values)
