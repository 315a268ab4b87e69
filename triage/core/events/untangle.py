"""Puts the pieces of a woven zone together: which frames, which exception, which message belong to one traceback.

Processes of one job run the same program, so a frame follows another when the source line of the one calls the
function of the other. Where two stacks stand at the same frame they are interchangeable. The number of headers is
the number of tracebacks; what cannot be known (whose frame in the middle) does not change the innermost frame.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from triage.core.events.chain import MAX_BYTES
from triage.core.events.frames import FrameStack, Lines, cut_tail
from triage.core.events.model import Frame, Link
from triage.core.events.codes import Key, calls, constructs, learn_codes
from triage.core.events.parallel import common_path
from triage.core.events.weave import Piece, Zone, collapse, known_names, pieces

MAX_OPEN = 64
_GENERIC = frozenset({
    "_call_impl", "_wrapped_call_impl", "__call__", "forward", "wrapper", "decorate_context", "inner", "apply",
    "_call_with_frames_removed", "__enter__", "__exit__", "__getitem__", "__getattr__", "__next__", "__iter__",
})  # fmt: skip
_CALL_RE = re.compile(r"[\w\])]\s*\(")


@dataclass(slots=True)
class Strand:
    """One traceback out of a woven zone."""

    frames: list[Key] = field(default_factory=list)
    covered: list[int] = field(default_factory=list)
    raised: Raised | None = None
    link: Link = Link(None, "")

    @property
    def exception_line(self) -> int | None:
        return self.raised.line if self.raised else None


@dataclass(slots=True)
class Raised:
    """An exception's name as it was printed, and what was found of its message."""

    name: str
    line: int
    message: str | None = None
    lines: list[int] = field(default_factory=list)


def untangle(lines: Lines, zone: Zone) -> list[Strand]:
    """The tracebacks of a woven zone in the order of their headers."""
    cut = pieces(lines, zone)
    path = common_path(cut)
    codes = learn_codes(cut, path)
    raised = _Raises(cut, codes).read()
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


class _Raises:
    """Reads exception names and their messages, both possibly glued, in the order of their appearance."""

    def __init__(self, cut: list[Piece], codes: dict[Key, str]) -> None:
        self.cut = cut
        names = known_names(cut)
        self.full = {name.rpartition(".")[2]: name for name in reversed(names) if "." in name}
        self.names = sorted({*names, *self.full}, key=len, reverse=True)[:64]
        known = {code for code in codes.values() if len(code) > 5}
        self.codes = sorted(known, key=len, reverse=True)[:400]
        self.found: list[Raised] = []
        self.waiting: list[Raised] = []
        pattern = "|".join(re.escape(name) for name in self.names)
        modules = r"(?:[^\W\d]\w*\.)*?"
        self.name_re = re.compile(rf"(?<![\w.])({modules})({pattern})(?![(,)\]'\"])") if pattern else None

    def read(self) -> list[Raised]:
        started = False
        for piece in self.cut:
            if piece.kind not in ("code", "text"):
                continue
            if self.name_re is not None and self.name_re.search(piece.text):
                started |= self._names(piece)
            elif started and piece.kind == "text":
                self._message(self._bare(piece.text), piece.line)
        self._fill()
        return self.found

    def _bare(self, text: str) -> str:
        """A piece without source lines that were glued to it and without the colons that end a name."""
        for code in self.codes:
            if code in text:
                text = text.replace(code, "")
        return re.sub(r"\A(?:\s*:\s)+|(?::\s*)+\Z|\A\s*:\s*\Z", "", text.strip() + " ").strip()

    def _names(self, piece: Piece) -> bool:
        text = piece.text
        if piece.kind == "code" and re.match(r"(?:raise|except|assert|return|if|with|from|import)\b", text):
            return False
        for code in self.codes:
            if code in text and len(code) < len(text):
                text = text.replace(code, " ")
        assert self.name_re is not None
        text = self._spread(text)
        starts = [m for m in self.name_re.finditer(text) if self._stands_alone(text, m)]
        if not starts:
            return False
        before = text[: starts[0].start()].strip()
        if before and self.found:
            self._message(self._bare(before), piece.line)
        for match, following in zip(starts, [*starts[1:], None], strict=True):
            name = collapse(match[1] + match[2])
            raised = Raised(self.full.get(name, name), piece.line, lines=[piece.line])
            self.found.append(raised)
            rest = text[match.end() : following.start() if following else len(text)]
            if not rest.strip() and not rest.startswith(":"):
                self.waiting.append(raised)
                continue
            units = _units(self._bare(rest))
            self.waiting.append(raised)
            if units:
                self.waiting.remove(raised)
                raised.message = units[0]
                for unit in units[1:]:
                    self._message(unit, piece.line)
        return True

    def _spread(self, text: str) -> str:
        """Puts a blank between names that stand glued: `KeyErrorKeyError: : ` becomes two names."""
        for name in self.names:
            text = re.sub(rf"({re.escape(name)})(?=[^\W\d])", r"\1 ", text)
        return text

    def _stands_alone(self, text: str, match: re.Match[str]) -> bool:
        rest, before = text[match.end() :], text[: match.start()]
        if re.search(r"\b(?:raise|except|from|import|isinstance)\s*\Z", before):
            return False
        if rest[:1] not in ("", ":", " "):
            return False
        if rest[:1] == " " and rest.strip() and not rest.lstrip().startswith(":"):
            return self.name_re is not None and self.name_re.match(rest.lstrip()) is not None or not before.strip()
        first = self.name_re.search(before) if self.name_re else None
        if first is None or not before.strip():
            return True
        glued = before[first.end() :].strip(" :")
        return not glued or not before.endswith(" ") or match[2].rpartition(".")[2] == first[2].rpartition(".")[2]

    def _message(self, text: str, line: int) -> None:
        for unit in _units(text):
            if self.waiting:
                raised = self.waiting.pop(0)
                raised.message = unit
                raised.lines.append(line)
            elif self.found and len(self.found[-1].message or "") < MAX_BYTES:
                last = self.found[-1]
                if last.message is not None and unit not in last.message and last.lines[-1] in (line, line - 1):
                    last.message += "\n" + unit
                    last.lines.append(line)

    def _fill(self) -> None:
        """An exception whose message was lost gets what others of its name said."""
        common: dict[str, Counter[str]] = {}
        for raised in self.found:
            if raised.message:
                common.setdefault(raised.name, Counter())[raised.message] += 1
        for raised in self.found:
            if not raised.message and raised.name in common and raised in self.waiting:
                raised.message = common[raised.name].most_common(1)[0][0]


def _units(text: str) -> list[str]:
    """A message that stands several times in a row, once per occurrence."""
    text = cut_tail(text).strip()
    if not text:
        return []
    head = text[:16]
    if len(head) < 16:
        half, odd = divmod(len(text), 2)
        return [text[:half]] * 2 if not odd and half > 3 and text[:half] == text[half:] else [text]
    units, position = [], 0
    while True:
        following = text.find(head, position + len(head))
        unit = text[position : following if following >= 0 else len(text)]
        units.append(re.sub(r"(?:\s*:)*\s*\Z", "", unit) if following >= 0 else unit.strip())
        if following < 0 or len(units) > 64:
            return units
        position = following


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
        self.pairs = Counter(zip(frames, frames[1:], strict=False))
        self.functions = {frame[2] for frame in frames}
        self.roots = {
            b.frame for a, b in zip(cut, cut[1:], strict=False) if a.kind == "header" and b.frame is not None
        }
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
        for strand in self.open:
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
        strand = Strand(frames=list(same[-1].frames) if same else [], raised=raised, covered=list(raised.lines))
        self.all.append(strand)

    def _end(self, strand: Strand, raised: Raised) -> None:
        strand.raised = raised
        strand.covered += raised.lines
        self.open.remove(strand)


__all__ = ["Strand", "untangle"]
