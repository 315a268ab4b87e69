"""CPython's faulthandler: `Fatal Python error`, then one stack per thread, innermost frame first."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.events.frames import FrameStack
from triage.core.events.model import Frame, Link
from triage.core.lazy import lazy
from triage.core.values import dataclass

# CPython Python/traceback.c: _Py_DumpTracebackThreads, write_thread_id, dump_frame
FATAL_RE = lazy(r"Fatal Python error: (?P<what>.*)|(?P<timeout>Timeout \([\d:.]+\)!)")
THREAD_RE = lazy(
    r"(?P<who>Current t|T)hread (?:0x)?[0-9a-fA-F]+(?: \[[^\]\n]*\])? \(most recent call first\):"
)
_FRAME_RE = lazy(
    r'  File "(?P<file>[^"\n]{0,4096})", line (?P<line>\d{1,9}|\?\?\?) in (?P<function><[^<>\n]{1,200}>|\S+)'
)
_BETWEEN_RE = lazy(
    r"\Z|\s*\Z|Python runtime state: |\s*\.\.\.|  <no Python frame>|  <invalid frame>|  <tstate|  Garbage-collecting"
    r"|Current thread's C stack trace|  Binary file "
)
WORDS = ("Fatal Python error: ", "Timeout (", "(most recent call first):")
"""One of these stands in every line with which a dump begins."""
_MODULES_RE = lazy(r"Extension modules: ")


@dataclass(frozen=True, slots=True)
class Dump:
    link: Link
    end: int
    threads: int


def starts(text: str) -> bool:
    return FATAL_RE.match(text) is not None or THREAD_RE.match(text) is not None


def read_dump(texts: Sequence[str], start: int) -> Dump:
    """The dump that starts at `start`; its link holds the stack of the thread that crashed, outermost first."""
    index, end, message = start, start + 1, ""
    fatal = FATAL_RE.match(texts[start])
    if fatal is not None:
        message, index = texts[start].strip(), start + 1
    stacks: list[tuple[bool, FrameStack]] = []
    idle = 0
    while index < len(texts) and idle < 4:
        text = texts[index]
        thread, frame = THREAD_RE.match(text), _FRAME_RE.match(text)
        if thread is not None:
            stacks.append((thread["who"].startswith("C"), FrameStack()))
        elif frame is not None and stacks:
            line = None if frame["line"] == "???" else int(frame["line"])
            stacks[-1][1].add(Frame(frame["file"], line, frame["function"]))
        elif _MODULES_RE.match(text):
            end = index + 1
            break
        elif not _BETWEEN_RE.match(text):
            break
        if text.strip():
            end, idle = index + 1, 0
        else:
            idle += 1
        index += 1
    chosen = next((stack for current, stack in stacks if current), stacks[0][1] if stacks else FrameStack())
    return Dump(Link(None, message, tuple(reversed(chosen.frames()))), end, len(stacks))
