"""Puts the pieces of a woven zone together: which frames, which exception, which message belong to one traceback.

Processes of one job run the same program, so a frame follows another when the source line of the one calls the
function of the other. Where two stacks stand at the same frame they are interchangeable. The number of headers is
the number of tracebacks; what cannot be known (whose frame in the middle) does not change the innermost frame.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from triage.core.events.chain import MAX_BYTES
from triage.core.events.codes import Key, calls, constructs, learn_codes
from triage.core.events.frames import FrameStack, Lines
from triage.core.events.model import Frame, Link
from triage.core.events.parallel import Budget, common_path
from triage.core.events.raised import Raised, Raises
from triage.core.events.weave import Piece, Zone, pieces

MAX_OPEN = 64
_GENERIC = frozenset({
    "_call_impl", "_wrapped_call_impl", "__call__", "forward", "wrapper", "decorate_context", "inner", "apply",
    "_call_with_frames_removed", "__enter__", "__exit__", "__getitem__", "__getattr__", "__next__", "__iter__",
})  # fmt: skip
_CALL_RE = re.compile(r"[\w\])]\s*\(")


@dataclass(slots=True, eq=False)
class Strand:
    """One traceback out of a woven zone."""

    frames: list[Key] = field(default_factory=list)
    covered: list[int] = field(default_factory=list)
    raised: Raised | None = None
    link: Link = field(default_factory=lambda: Link(None, ""))

    @property
    def exception_line(self) -> int | None:
        return self.raised.line if self.raised else None


def untangle(lines: Lines, zone: Zone, budget: Budget) -> list[Strand]:
    """The tracebacks of a woven zone in the order of their headers."""
    cut = pieces(lines, zone)
    path = common_path(cut, budget)
    codes = learn_codes(cut, path)
    raised = Raises(cut, codes).read()
    if path is not None:
        strands = _alike(cut, path, raised)
    else:
        strands = _Weaver(cut, codes, raised).run()
        _complete(strands, codes)
    for strand in strands:
        strand.link = _link(strand, codes)
        strand.covered = sorted(set(strand.covered))
    if strands:
        taken = {k for strand in strands for k in strand.covered}
        rest = [k for k in range(zone.start, zone.end) if k not in taken]
        strands[0].covered = sorted({*strands[0].covered, *rest})
    return [strand for strand in strands if strand.covered and (strand.frames or strand.raised)]


def _alike(cut: list[Piece], path: list[Key], raised: list[Raised]) -> list[Strand]:
    """One strand per header, and one more per exception whose header was lost; all with the same stack."""
    strands = [Strand(list(path), [piece.line]) for piece in cut if piece.kind == "header"]
    for number, found in enumerate(raised):
        if number >= len(strands):
            strands.append(Strand(list(path)))
        strands[number].raised = found
        strands[number].covered += found.lines
    return strands


def _complete(strands: list[Strand], codes: dict[Key, str]) -> None:
    """A stack that ends at a frame which calls on elsewhere is unfinished: its rest is taken from a finished twin."""
    inner = {frame for strand in strands for frame in strand.frames[:-1]}
    twins: dict[tuple[str, str], list[Strand]] = {}
    for strand in strands:
        if strand.raised is not None and strand.frames and _terminal(strand.frames[-1], inner, codes):
            twins.setdefault((strand.raised.name, _gist(strand.raised)), []).append(strand)
    for strand in strands:
        if strand.raised is None or (strand.frames and _terminal(strand.frames[-1], inner, codes)):
            continue
        found = twins.get((strand.raised.name, _gist(strand.raised)), [])
        for twin in sorted(found, key=lambda s: len(s.frames)):
            if not strand.frames:
                strand.frames = list(twin.frames)
            elif strand.frames[-1] in twin.frames:
                at = len(twin.frames) - 1 - twin.frames[::-1].index(strand.frames[-1])
                strand.frames += twin.frames[at + 1 :]
            else:
                continue
            break
        else:
            if found:
                strand.frames = list(min(found, key=lambda s: len(s.frames)).frames)


def _terminal(frame: Key, inner: set[Key], codes: dict[Key, str]) -> bool:
    return frame not in inner or re.match(r"(?:raise|assert)\b", codes.get(frame, "")) is not None


def _gist(raised: Raised) -> str:
    """A message without its numbers: ranks of one job differ only there."""
    return re.sub(r"\d+", "0", raised.message or "")[:80]


def _link(strand: Strand, codes: dict[Key, str]) -> Link:
    stack = FrameStack()
    for key in strand.frames:
        stack.add(Frame(key[0], key[1], key[2], codes.get(key, "")))
    name = strand.raised.name if strand.raised else None
    message = (strand.raised.message or "") if strand.raised else ""
    return Link(name, message[:MAX_BYTES], stack.frames())


class _Weaver:
    """Gives every frame to the stack whose last source line calls it, and every exception to a stack that raises it."""

    def __init__(self, cut: list[Piece], codes: dict[Key, str], raised: list[Raised]) -> None:
        self.cut = cut
        self.codes = codes
        self.raised = raised
        self.open: list[Strand] = []
        self.all: list[Strand] = []
        self.scores: dict[tuple[Key, Key], float] = {}
        frames = [p.frame for p in cut if p.frame is not None]
        self.pairs = Counter(pairwise(frames))
        self.functions = {frame[2] for frame in frames}
        self.roots = {b.frame for a, b in pairwise(cut) if a.kind == "header" and b.frame is not None}
        self.roots |= {frame for frame in frames if frame[2] == "<module>"}

    def run(self) -> list[Strand]:
        pending: list[Raised] = []
        at, last = 0, None
        for piece in self.cut:
            while at < len(self.raised) and self.raised[at].line < piece.line:
                pending += self._raise(self.raised[at])
                at += 1
            if piece.kind == "header":
                self._new(piece.line)
            elif piece.frame is not None:
                last = self._frame(piece.frame, piece.line)
            elif piece.kind == "code" and last is not None:
                last.covered.append(piece.line)
        for raised in self.raised[at:]:
            pending += self._raise(raised)
        for raised in pending:
            self._late(raised)
        return self.all

    def _new(self, line: int) -> Strand:
        strand = Strand(covered=[line])
        self.all.append(strand)
        self.open.append(strand)
        if len(self.open) > MAX_OPEN:
            self.open.pop(0)
        return strand

    def _frame(self, frame: Key, line: int) -> Strand:
        best, best_score = None, 0.4
        seen: set[Key | None] = set()
        for strand in self.open:
            last = strand.frames[-1] if strand.frames else None
            if last in seen:
                continue
            seen.add(last)
            score = self._fits(strand, frame)
            if score > best_score:
                best, best_score = strand, score
        if best is None:
            best = self._new(line) if not self.open or frame in self.roots else self.open[-1]
        best.frames.append(frame)
        best.covered.append(line)
        self.open.remove(best)
        self.open.append(best)
        return best

    def _fits(self, strand: Strand, frame: Key) -> float:
        if not strand.frames:
            return 6.0 if frame in self.roots else 0.5
        last = strand.frames[-1]
        found = self.scores.get((last, frame))
        if found is None:
            found = self.scores[last, frame] = self._follows(last, frame)
        return found

    def _follows(self, last: Key, frame: Key) -> float:
        code, function = self.codes.get(last, ""), frame[2]
        seen = min(2.0, 0.4 * self.pairs[last, frame])
        if frame in self.roots and function == "<module>" and "import" not in code:
            return 0.0
        if re.match(r"(?:raise|assert)\b", code):
            return 0.1 * seen
        short = function.rpartition(".")[2].strip("<>")
        if calls(code, function):
            return 5.0 + seen
        if short and re.search(rf"\b{re.escape(short)}\b", code):
            return 4.0 + seen
        if function == "__init__" and constructs(code):
            return 4.0 + seen
        if not code:
            return 1.0 + seen
        if function in _GENERIC and _CALL_RE.search(code):
            return 2.0 + seen
        return (0.5 if _CALL_RE.search(code) else 0.0) + seen

    def _raise(self, raised: Raised) -> list[Raised]:
        """Ends the stack that this exception was raised from; returns it when none is ripe yet."""
        best, best_score = None, 1.9
        for strand in self.open:
            score = self._ripe(strand, raised)
            if score > best_score:
                best, best_score = strand, score
        if best is None:
            return [raised]
        self._end(best, raised)
        return []

    def _ripe(self, strand: Strand, raised: Raised) -> float:
        if not strand.frames:
            return 0.0
        code, short = self.codes.get(strand.frames[-1], ""), raised.name.rpartition(".")[2]
        if re.match(r"raise\b", code):
            return 6.0 if short in code else 3.0
        if re.match(r"assert\b", code):
            return 6.0 if short == "AssertionError" else 0.0
        called = any(re.search(rf"\b{re.escape(name)}\b", code) for name in self._called(code))
        return 1.0 if called else 2.0

    def _called(self, code: str) -> set[str]:
        names = set(re.findall(r"[^\W\d]\w*(?=\s*\()", code))
        found = names & self.functions
        if constructs(code) and "__init__" in self.functions:
            found |= {name for name in names if name[:1].isupper()}
        return found

    def _late(self, raised: Raised) -> None:
        """An exception that came before the frames it belongs to, or whose header was lost."""
        left = [strand for strand in self.open if strand.frames]
        if left:
            self._end(max(left, key=lambda s: (self._ripe(s, raised), len(s.frames))), raised)
            return
        same = [s for s in self.all if s.raised is not None and s.raised.name == raised.name and s.frames]
        strand = Strand(
            frames=list(same[-1].frames) if same else [], raised=raised, covered=list(raised.lines)
        )
        self.all.append(strand)

    def _end(self, strand: Strand, raised: Raised) -> None:
        strand.raised = raised
        strand.covered += raised.lines
        self.open.remove(strand)
