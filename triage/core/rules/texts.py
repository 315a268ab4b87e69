"""The text forms in which rules see events."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.core.events.model import Exit, Frame, Link
from triage.core.lazy import lazy
from triage.core.values import dataclass

MAX_TEXT = 16 * 1024
"""Characters of an event that rules look at."""

INNER_FRAMES = 8
"""How many innermost frames a rule's `frame` pattern sees."""

_FRAME_LINE = lazy(r'\s*File "(?P<file>[^"]*)"(?:, line (?P<line>\d+))?(?:, in (?P<function>.*))?\s*$')
_STORAGE = lazy(
    r"/(?:(?:home|users?|scratch|lustre|gpfs|fsx|mnt|media|nfs|shared|storage|work|workspace|project)\d*/(?=[^/]+/))?[^/]+/",
    re.IGNORECASE,
)
_HEAD = lazy(r"(?P<exception>[A-Za-z_][\w.]*(?:\([\w.]+\))?)(?:: ?(?P<message>.*))?\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TraceText:
    """One link of a trace as rules see it."""

    exception: str
    """Empty where the log ends before it."""
    head: str
    """`exception: message`, notes appended as further lines."""
    frames: str
    """One `file in function` a line, innermost last."""

    @property
    def all(self) -> str:
        return f"{self.head}\n{self.frames}"


def of_link(link: Link) -> TraceText:
    """The text form of a chain link. An assertion without a message speaks by its own source line."""
    exception = (link.exception or "")[:512]
    asserted = _asserted(link)
    if asserted:
        return TraceText(exception, f"{exception}: {asserted}"[:MAX_TEXT], _frames(link.frames))
    message = "\n".join((link.message, *link.notes))[:MAX_TEXT] if link.notes else link.message[:MAX_TEXT]
    head = f"{exception}: {message}" if message else exception
    return TraceText(exception, head[:MAX_TEXT], _frames(link.frames))


def _asserted(link: Link) -> str:
    """`assert a % b == 0`, where that line is all that the exception says; else empty."""
    if link.message.strip() or not link.frames or not (link.exception or "").endswith("AssertionError"):
        return ""
    code = link.frames[-1].code.strip()
    return code if code.startswith("assert ") else ""


def of_exit(event: Exit) -> str:
    """`torchrun: exitcode -9 signal SIGKILL: reason`, `srun: task 1: Out Of Memory`, `torchrun: victim: ...`."""
    parts = [event.by or "process"]
    if event.victim:
        parts.append("victim")
    if event.by == "srun" and event.ranks:
        parts.append(
            f"task {event.ranks[0]}" if len(event.ranks) == 1 else f"tasks {event.ranks[0]}-{event.ranks[-1]}"
        )
    number = event.signal or (-event.exitcode if event.exitcode is not None and event.exitcode < 0 else None)
    ended = [] if event.exitcode is None else [f"exitcode {event.exitcode}"]
    if number:
        ended.append(f"signal {signal_name(number)}")
    if ended:
        parts.append(" ".join(ended))
    if event.reason:
        parts.append(event.reason)
    return ": ".join(parts)[:MAX_TEXT]


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; the bare number where this platform has no such signal."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def link_from_example(text: str) -> Link:
    """A rule file's example of a trace: `File "f", line 1, in g` lines, then `Exception: message`."""
    frames: list[Frame] = []
    rest = text.strip("\n").split("\n")
    while rest and (rest[0].startswith("Traceback (most recent") or _FRAME_LINE.match(rest[0])):
        if found := _FRAME_LINE.match(rest.pop(0)):
            number = found["line"]
            frames.append(Frame(found["file"], int(number) if number else None, found["function"] or ""))
    head = _HEAD.match("\n".join(rest))
    if head is None:
        return Link(None, "\n".join(rest), tuple(frames))
    return Link(head["exception"], (head["message"] or "").rstrip(), tuple(frames))


def _frames(frames: Sequence[Frame]) -> str:
    return "\n".join(f"{code_path(f.file)} in {f.function[:100]}" for f in frames[-INNER_FRAMES:])


def code_path(file: str) -> str:
    """The end of a file's path that speaks of code: the storage it lies on (`/data/me/`, `/mnt/datasets/`) says
    nothing about what it does."""
    path = file[-300:].replace("\\", "/")
    return path[found.end() :] if (found := _STORAGE.match(path)) else path
