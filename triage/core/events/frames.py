"""The grammar of single traceback lines: headers, frames, exception lines, separators, and lines of other programs."""

from __future__ import annotations

import builtins
import re
from collections import deque
from collections.abc import Sequence

from triage.core.events.model import Frame
from triage.core.lazy import lazy
from triage.core.values import dataclass, field

HEADER = "Traceback (most recent call last):"

FRAME_RE = lazy(
    r'File "(?P<file>[^"\n]{0,4096})", line (?P<line>\d{1,9})(?:, in (?P<function><[^<>\n]{1,200}>(?:\(\))?|\S+))?'
)
REPEAT_RE = lazy(r"\s*\[Previous line repeated (\d{1,9}) more times?\]")
RANK_RE = lazy(r"\s*\(RANK (\d{1,9})\)")
ANCHORS_RE = lazy(r"[\s~^]*[~^][\s~^]*\Z")
VALUE_RE = lazy(r"\s+[│└├]")
NAME_RE = lazy(r"(?:[^\W\d]\w*)(?:\.(?:[^\W\d]\w*|<\w+>))*(?:\([\w.]{1,200}\))?")
SUMMARY_RE = lazy(r"\s*traceback\s*:\s*" + re.escape(HEADER))
GROUP_HEADER_RE = lazy(r"\s*\+ Exception Group " + re.escape(HEADER))
BAR_RE = lazy(r"[^|%\n]{0,60}\d{1,3}%\|")
STRONG_RE = lazy(
    r"(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Group|Timeout|Expired|Abort(?:ed)?|Failure|Failed"
    r"|Fault|Interrupted|Traceback|Stopped|Closed|NotFound|Mismatch|Invalid)\d*(?:\([\w.]+\))?\Z"
)

CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"
SINGLE_LINE_RE = lazy(
    r"""\[Errno\ -?\d+\]\ .{1,400}\Z | No\ module\ named\ '[^']*'(?:;.*)?\Z | name\ '\w+'\ is\ not\ defined | invalid\ literal\ for\ int
    | (?:module|type\ object)?\ ?'[\w.]+'\ (?:object\ )?has\ no\ attribute | cannot\ import\ name | '\S+'\ codec\ can't
    | (?:list|tuple|string)\ index\ out\ of\ range | division\ by\ zero | maximum\ recursion | \S+\(\)\ (?:got|missing|takes)\ """,
    re.VERBOSE,
)
"""Messages that CPython itself makes: they have no second line."""

GOES_ON_RE = lazy(
    r"\s|CUDA kernel errors might|For debugging consider|Compile with `?TORCH|Device-side assert|Search for `|Last error:|nccl\w+: "
    r"|Exception raised from|frame #\d|If reserved |See (?:also )?|Please |Set TORCH_LOGS=|You can suppress this exception|C\+\+ CapturedTraceback|[)\]}'\"]"
)
"""Lines with which a message goes on, whatever stream they stand in."""

SEPARATORS = {CAUSE: "cause", CONTEXT: "context"}

_BARE_LOWER = frozenset({"error", "timeout", "gaierror", "herror"})

FOREIGN_RE = lazy(
    r"""\s{0,3}(?:
      (?:srun|slurmstepd|sbatch|salloc|slurmd|mpirun|orterun|prterun|wandb|make|bash|docker|numactl)(?:[-\[][^\s:]*)?:\s
    | \*{3}\s(?:STEP|JOB|Process)\s
    | (?:DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL)(?::[\w.]+:|\s+[\d\[(]|\s+conda\b)
    | \[?[EWIF]\d{3,4}\s\d\d:\d\d:\d\d\.\d
    | \[?\d{4}-\d\d-\d\d[ T_]\d\d:\d\d:\d\d
    | \[(?:before|after)\s.{1,80}\]\sdatetime:
    | \[?\w+\s[EWIDF]\s\d{4}-\d\d-\d\d\s
    | \S{1,200}:\d+:\d+\s\[\d+\]\s(?:\S+\s){0,3}NCCL\s
    | NCCL\sversion\s
    | \S{1,400}\.pyx?:\d+:\s\w*Warning:
    | warnings\.warn\(
    | iteration\s+\d+/\s*\d+\s\|
    | >?\s?(?:number\sof\sparameters\son|building\strain|initializ|initialised|setting\srandom|finished\screating|padded\svocab)
    | -{10,}\s[\w\s]+\s-{10,}
    | >?\s?\w[\w ,/()-]{0,60}\s\.{3,}\s
    | (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s[A-Z][a-z]{2}\s+\d{1,2}\s\d\d:\d\d:\d\d\b
    | Call\sstack:\s*\Z
    | Killing\ssubprocess\s
    | Child\sprocess\swith\sPID\s
    | (?:mpirun|mpiexec|orterun|prterun|prun)\s(?:detected|noticed|has\sexited)\s | Primary\sjob\s | MPI_ABORT\swas\sinvoked
    | Process\s\d+\sexit\swith\sstatus\scode | (?:Rank\s\d+\scrashed|Global\srank\s\d+\s\(PID\s\d+\)\sexited)\swith\s
    | (?:Loading|Saving|Running|Evaluating|Accumulating)\s[^.]{1,60}\.\.\.\s*\Z
    | using\sworld\ssize:
    | :::MLLOG
    | \S{1,200}\.sh:\sline\s\d+:
    | (?:terminate\scalled|Aborted|Segmentation\sfault|Killed\b|Bus\serror|free\(\)|munmap_chunk|double\sfree|corrupted\s)
    | Fatal\sPython\serror:
    | (?:Current\st|T)hread\s0x
    | Exception\s(?:in\sthread|ignored)\s
    | ---\sLogging\serror\s---
    | Set\sthe\senvironment\svariable\sHYDRA_FULL_ERROR
    | (?:Original\s)?Traceback\s\(most\srecent\scall
    | [╭╰]─
    )""",
    re.VERBOSE,
)
"""Lines that programs other than the failing one print, or that start something new: never part of a message."""

TAIL_RE = lazy(
    r"""(?:(?<=\s)[\w()=./-]+(?:\s\d+)?:\ *)?\d{1,3}%\|
    | /[^\s:]{1,400}\.pyx?:\d+:\ \w*Warning:\s
    | slurmstepd(?:-\S+)?:\s | srun:\s(?:error|Job|Force|launch) | \[[^\]]{10,30}\]\serror:\s\*{3}
    | (?:WARNING|ERROR|INFO|CRITICAL):(?:torch|megatron|root)\b | \[?[EWIF]\d{3,4}\s\d\d:\d\d:\d\d\.\d{6}
    | \[\d{4}-\d\d-\d\d\s\d\d:\d\d:\d\d,\d{3}\]\s
    | Traceback\s\(most\srecent\scall\slast\):
    """,
    re.VERBOSE,
)
"""What other writers glue behind an exception line that was not ended yet."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Texts of one stream, and per line what a logger's prefix said of it (None: nothing)."""

    texts: Sequence[str]
    kinds: Sequence[object]
    tagged: bool = False
    """Whether prefixes say that one process wrote them all."""

    def foreign(self, index: int, base: object) -> bool:
        """Whether the line was written by someone else than the traceback whose lines are of kind `base`."""
        text = self.texts[index]
        if not text or text.isspace():
            return False
        kind = self.kinds[index]
        if kind is not None and kind != base:
            return True
        return FOREIGN_RE.match(text) is not None or BAR_RE.match(text) is not None or self.summary(index)

    def summary(self, index: int) -> bool:
        """Whether torchrun's failure summary starts here: a rule of `=` (of `*` up to torch 1.10) and a line that ends in FAILED."""
        if not self.texts[index].startswith(("=" * 20, "*" * 20)) or index + 1 >= len(self.texts):
            return False
        return self.texts[index + 1].rstrip().endswith("FAILED")


@dataclass(slots=True)
class FrameStack:
    """Frames in printed order; of a very deep stack the first 100 and the last 300."""

    head: list[Frame] = field(default_factory=list)
    tail: deque[Frame] = field(default_factory=lambda: deque(maxlen=300))

    def add(self, frame: Frame) -> None:
        if len(self.head) < 100:
            self.head.append(frame)
        else:
            self.tail.append(frame)

    def last(self) -> Frame | None:
        if self.tail:
            return self.tail[-1]
        return self.head[-1] if self.head else None

    def replace_last(self, frame: Frame) -> None:
        if self.tail:
            self.tail[-1] = frame
        else:
            self.head[-1] = frame

    def repeat(self, times: int) -> None:
        """`[Previous line repeated N more times]`; beyond what is kept the number makes no difference."""
        frame = self.last()
        if frame is not None:
            for _ in range(min(times, 400)):
                self.add(frame)

    def frames(self) -> tuple[Frame, ...]:
        return (*self.head, *self.tail)


def frame_at(text: str) -> re.Match[str] | None:
    """The frame that starts this line (indented, or with loguru's `> `), else None."""
    position = text.find('File "')
    if position < 0 or text[:position].strip() not in ("", ">"):
        return None
    return FRAME_RE.match(text, position)


def frame_of(match: re.Match[str], code: str = "") -> Frame:
    return Frame(match["file"], int(match["line"]), match["function"] or "", code)


def indent_of(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))


def is_exception_name(name: str) -> bool:
    """Whether a name is that of an exception by its ending or by being a builtin."""
    last = name.rpartition(".")[2]
    if STRONG_RE.search(name):
        return True
    found = getattr(builtins, last, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def exception_at(text: str) -> tuple[str, str | None, bool] | None:
    """Name, message (None when there is no colon) and whether the name alone convinces; None if no exception line."""
    match = NAME_RE.match(text)
    if match is None:
        return None
    name, rest = match[0], text[match.end() :]
    strong = is_exception_name(name)
    if not rest.strip():
        last = name.rpartition(".")[2]
        if strong or ("." in name and last[:1].isupper()) or last in _BARE_LOWER:
            return name, None, strong
        return (name, None, False) if last[:1].isupper() and last.isidentifier() else None
    if not rest.startswith(":") or rest.startswith(("://", "::")):
        return None
    if not strong and not ("." in name or name[:1].isupper() or name in _BARE_LOWER):
        return None
    return name, rest[1:].removeprefix(" "), strong


def separator_at(text: str) -> str:
    """`cause` or `context` for a line that chains two tracebacks, else an empty string."""
    return SEPARATORS.get(text.strip(), "")


def cut_tail(message: str) -> str:
    """A message's line without what other writers glued behind it."""
    found = TAIL_RE.search(message)
    return message[: found.start()].rstrip() if found and found.start() else message
