"""torchrun's own account of how its workers ended: the summary block and its agents' log lines.

Formats: torch/distributed/elastic/multiprocessing/errors/__init__.py (`_FAILURE_FORMAT_TEMPLATE`,
`_MSG_FORMAT_TEMPLATE`; torch 1.9 to 2.9) and torch/distributed/elastic/multiprocessing/api.py.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import UTC, datetime

from triage.core.events.model import Event, Exit
from triage.core.events.place import place
from triage.core.lazy import lazy
from triage.core.logs.record import Record, Stamp
from triage.core.values import dataclass, field

_RULE = lazy(r"\s*([=*-])\1{19,}\s*")
_OTHERS = lazy(r"\s*(?:Other )?Failures:\s*")
_ROOT = lazy(r"\s*Root Cause(?: \(first observed failure\))?:\s*")
_PROGRAM = lazy(r"\s*(\S.{0,200}?) FAILED\s*")
_NONE = lazy(r"\s*<NO_OTHER_FAILURES>\s*")
_ENTRY = lazy(r"\s*\[\d{1,6}\]:\s*")
_FIELDS = (
    ("time", lazy(r"\s{0,4}time\s*:\s(\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)\s*")),
    ("rank", lazy(r"\s{0,4}rank\s*:\s(\d{1,9} \(local_rank: \d{1,9}\))\s*")),
    ("exitcode", lazy(r"\s{0,4}exitcode\s*:\s(-?\d{1,9} \(pid: \d{1,9}\))(?:\s+\(\w+\))?\s*")),
    ("host", lazy(r"\s{0,4}host\s*:\s(\S+)\s*")),
    ("error_file", lazy(r"\s{0,4}error_file\s*:\s(.*)")),
    ("traceback", lazy(r"\s{0,4}(?:traceback|msg)\s*:\s(.*)")),
)
_NEEDS_BLOCK = frozenset({"host", "error_file", "traceback"})
"""Fields whose wording alone does not show that they belong to a summary."""
_FOREIGN_LIMIT = 64
"""Lines of other writers after which an open block counts as cut off."""
_FAILED = lazy(
    r"failed \(exitcode: (-?\d{1,9})\)(?: local_rank: (\d{1,9}))? \(pid: (\d{1,9})\)(?: of (?:binary|fn): (\S*))?"
)
_CHILD = lazy(r"Child process (\d{1,9}) \(local_rank (\d{1,9})\) FAILED \(exitcode (-?\d{1,9})\)")
_CLOSING = lazy(r"Sending process (\d{1,9}) closing signal (?:Signals\.)?(\w{1,20})")
_FORCED = lazy(
    r"Unable to shutdown process (\d{1,9}) via (?:Signals\.)?\w{1,20}, forcefully exiting via (?:Signals\.)?(\w{1,20})"
)


WORDS = (
    " FAILED", "Failures:", "Root Cause", "exitcode", "(local_rank: ", "Child process", "closing signal", "forcefully exiting",
)  # fmt: skip
"""One of these stands in every line that is read outside of a block, but for the time with which an entry begins."""


def extract_elastic(
    stream: Sequence[Record], source: int, worth: Container[int] | None = None
) -> tuple[list[Event], list[Record]]:
    """Exits from torchrun's lines; a worker's traceback inside a summary stays among the records."""
    reader = _Reader(source)
    rest = [
        record
        for record in stream
        if not (worth is None or record.offset in worth or reader.goes_on(record)) or not reader.take(record)
    ]
    reader.flush()
    return reader.events, rest


def signal_number(name: str) -> int | None:
    """9 for `SIGKILL`, `9` and `KILL`; None for what is no signal."""
    import signal as signals

    if name.isascii() and name.isdigit():
        return int(name) if 0 < int(name[:4]) < 65 else None
    try:
        return int(signals.Signals[name if name.startswith("SIG") else "SIG" + name])
    except KeyError:
        return None


def signal_of(exitcode: int | None) -> int | None:
    """The signal that a negative exit code stands for."""
    return -exitcode if exitcode is not None and -65 < exitcode < 0 else None


@dataclass(slots=True)
class _Entry:
    """One failure of a summary while its lines come in; more than one value per field when two nodes' lines alternate."""

    first: Record
    root: bool
    last: Record | None = None
    values: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Reader:
    """Walks over the records of one stream."""

    source: int
    events: list[Event] = field(default_factory=list)
    in_block: bool = False
    root: bool = False
    in_traceback: bool = False
    foreign: int = 0
    program: str = ""
    """The summary's heading: what failed."""
    entry: _Entry | None = None

    def goes_on(self, record: Record) -> bool:
        """Whether the record has to be read whatever words it holds."""
        return self.in_block or self.entry is not None or record.text.lstrip().startswith("time")

    def take(self, record: Record) -> bool:
        """Whether the record is torchrun's own line and needs no other reader."""
        text = record.text
        if len(text) > 4096:
            return False
        if (self.in_block or "Failures:" in text or "Root Cause" in text) and self._frame_line(record):
            return True
        if self._field_line(record):
            return not self.in_traceback
        if "FAILED" in text and not self.in_traceback and (match := _PROGRAM.fullmatch(text)):
            self.program = match[1]
            return False
        if self.in_block and not self.in_traceback:
            self.foreign += 1
            if self.foreign > _FOREIGN_LIMIT:
                self._close()
        return self._agent_line(record)

    def flush(self) -> None:
        """End the entry that is open."""
        entry, self.entry = self.entry, None
        self.in_traceback = False
        if entry is not None and entry.values:
            self.events.extend(_exits(entry, self.source, self.program))

    def _close(self) -> None:
        self.flush()
        self.in_block = self.root = False

    def _frame_line(self, record: Record) -> bool:
        """Rules, headings and entry numbers of the block."""
        text = record.text
        if _ROOT.fullmatch(text) or _OTHERS.fullmatch(text):
            self.flush()
            self.in_block, self.root, self.foreign = True, "Root" in text, 0
            return True
        if _RULE.fullmatch(text):
            self.flush()
            return True
        if _ENTRY.fullmatch(text):
            if self.entry is None or self.entry.values:
                self.flush()
                self.entry = _Entry(record, self.root)
            return True
        return _NONE.fullmatch(text) is not None

    def _field_line(self, record: Record) -> bool:
        """`name : value` lines; a traceback's header opens the stretch that is left to its parser."""
        if ":" not in record.text[:24]:
            return False
        for name, pattern in _FIELDS:
            if (name in _NEEDS_BLOCK and self.entry is None) or (self.in_traceback and name != "time"):
                continue
            if (match := pattern.fullmatch(record.text)) is None:
                continue
            if self.entry is None or (name == "time" and "traceback" in self.entry.values):
                self.flush()
                self.entry = _Entry(record, self.root)
            self.in_block, self.foreign = True, 0
            self.entry.values.setdefault(name, []).append(match[1])
            self.entry.last = record
            self.in_traceback = name == "traceback" and "Traceback (most recent call last)" in match[1]
            return True
        return False

    def _agent_line(self, record: Record) -> bool:
        """Lines that an agent logs while it ends its workers."""
        text = record.text
        if "exitcode" in text and (match := _FAILED.search(text)):
            code = int(match[1])
            self._add(record, code, int(match[3]), _integer(match[2]), binary=match[4] or "")
        elif "Child process" in text and (match := _CHILD.search(text)):
            self._add(record, int(match[3]), int(match[1]), int(match[2]))
        elif "closing signal" in text and (match := _CLOSING.search(text)):
            number = signal_number(match[2])
            self._add(
                record, None, int(match[1]), None, number, victim=True, reason=f"closing signal {match[2]}"
            )
        elif "forcefully exiting" in text and (match := _FORCED.search(text)):
            number = signal_number(match[2])
            self._add(
                record, None, int(match[1]), None, number, victim=True, reason="Unable to shutdown process"
            )
        else:
            return False
        return True

    def _add(
        self,
        record: Record,
        exitcode: int | None,
        pid: int,
        local_rank: int | None,
        signal: int | None = None,
        *,
        victim: bool = False,
        reason: str = "",
        binary: str = "",
    ) -> None:
        self.events.append(
            Exit(
                *place(self.source, record),
                by="torchrun",
                local_rank=local_rank,
                pid=pid,
                exitcode=exitcode,
                signal=signal_of(exitcode) or signal,
                time=record.stamp,
                victim=victim or exitcode == -15,
                reason=reason,
                binary=binary,
            )
        )


def _integer(text: str | None) -> int | None:
    return None if text is None else int(text)


def _exits(entry: _Entry, source: int, program: str) -> list[Event]:
    """The exits of one entry. Of woven entries only what is the same in all goes beside each rank or pid."""
    width = max(len(values) for values in entry.values.values())
    return [_exit(entry, source, program, index, width) for index in range(width)]


def _exit(entry: _Entry, source: int, program: str, index: int, width: int) -> Exit:
    def value(name: str) -> str | None:
        values = entry.values.get(name, [])
        if len(values) != width:
            return None
        return values[index] if name == key or len(set(values)) == 1 else None

    key = "rank" if len(entry.values.get("rank", [])) == width else "exitcode"
    rank, local_rank = _pair(value("rank"))
    exitcode, pid = _pair(value("exitcode"))
    text = value("traceback") or ""
    known = "Traceback (most recent call last)" not in text and not text.startswith("To enable traceback")
    return Exit(
        *place(source, entry.first, entry.last),
        by="torchrun",
        host=value("host"),
        rank=rank,
        local_rank=local_rank,
        pid=pid,
        exitcode=exitcode,
        signal=signal_of(exitcode),
        time=_stamp(value("time")),
        first=entry.root,
        victim=exitcode == -15,
        reason=text.strip('" ') if known else "",
        binary=program,
    )


def _pair(text: str | None) -> tuple[int | None, int | None]:
    """The two numbers of `6 (local_rank: 2)` or `-9 (pid: 70903)`."""
    if text is None:
        return None, None
    outer, _, inner = text.partition(" (")
    return int(outer), int(inner.rpartition(" ")[2].rstrip(")"))


def _stamp(text: str | None) -> Stamp | None:
    """`2026-12-01_10:03:07`, local time of the agent's node in whole seconds."""
    if text is None or len(text) != len("2026-12-01_10:03:07"):
        return None
    try:
        moment = datetime.fromisoformat(text.replace("_", "T")).replace(tzinfo=UTC)
    except ValueError:
        return None
    return Stamp(text=text, seconds=moment.timestamp(), resolution=1.0)
