"""Gives every piece of a woven zone to one of the tracebacks that were written at once.

A beam search over the pieces in their order. Each traceback goes through the same steps (header, then frame and
source line in turn, then the exception), so every piece fits only some of the open ones; of these it goes where the
source line before calls the frame, where the line stands near its frame elsewhere in the zone, where the last source
line raises the exception, and rather to the one that wrote last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from triage.core.events.codes import Key, calls, constructs, nearness
from triage.core.events.model import Link
from triage.core.events.raised import Raised
from triage.core.events.weave import Budget, Piece
from triage.core.lazy import lazy
from triage.core.values import dataclass

MAX_OPEN = 64
WIDTH = 48

_GENERIC = frozenset({
    "_call_impl", "_wrapped_call_impl", "__call__", "forward", "wrapper", "decorate_context", "inner", "apply",
    "_call_with_frames_removed", "__enter__", "__exit__", "__getitem__", "__getattr__", "__next__", "__iter__",
})  # fmt: skip
_CALL_RE = lazy(r"[\w\])]\s*\(")
_NAMES_RE = lazy(r"[^\W\d]\w*(?=\s*\()")


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


class _Open(NamedTuple):
    """How far one traceback has come."""

    number: int
    frame: Key | None = None
    code: str = ""
    done: bool = False

    def alike(self) -> tuple[Key | None, str, bool]:
        return (self.frame, self.code, self.done)


@dataclass(frozen=True, slots=True)
class _State:
    """One way to read the pieces so far."""

    strands: tuple[_Open, ...] = ()
    last: int = -1
    score: float = 0.0
    opened: int = 0
    known: dict[Key | str, str | Key] = field(default_factory=dict)
    """The source line of each frame in this reading, and the frame of each source line."""
    history: tuple[object, ...] = ()
    """(history before, number of the strand that the last piece went to; -1 for none)"""


Move = tuple[Piece, Raised | None]


@lru_cache(maxsize=4096)
def _follows(code: str, function: str, root: bool) -> float:
    """How well a frame of that function follows a source line."""
    if re.match(r"(?:raise|assert)\b", code):
        return -4.0
    if root and "import" not in code:
        return -3.0
    if calls(code, function) or (function == "__init__" and constructs(code)):
        return 4.0
    short = function.rpartition(".")[2].strip("<>")
    if short and re.search(rf"\b{re.escape(short)}\b", code):
        return 3.0
    if not code:
        return 0.0
    if function in _GENERIC and _CALL_RE.search(code):
        return 1.5
    return 0.0 if _CALL_RE.search(code) else -1.5


def _agrees(known: dict[Key | str, str | Key], frame: Key, code: str) -> float:
    """One frame has one source line; one source line may belong to several frames, but mostly does not."""
    before = known.get(frame)
    if before is not None:
        return 1.0 if before == code else -3.0
    owner = known.get(code)
    return 0.0 if owner is None or owner == frame else -1.0


class Weaver:
    """The search; `run` returns the strands in the order of their headers, later ones for what no header began."""

    def __init__(
        self, cut: Sequence[Piece], codes: dict[Key, str], raised: Sequence[Raised], budget: Budget
    ) -> None:
        self.codes = codes
        self.budget = budget
        self.near = nearness(cut)
        frames = [piece.frame for piece in cut if piece.frame is not None]
        self.functions = {frame[2] for frame in frames}
        self.roots = {b.frame for a, b in pairwise(cut) if a.kind == "header" and b.frame is not None}
        self.roots &= {frame for frame in self.roots if frame[2] == "<module>"} or self.roots
        self.roots |= {frame for frame in frames if frame[2] == "<module>"}
        self.moves = list(self._moves(cut, raised))
        self.raises = sorted({found.name.rpartition(".")[2] for found in raised})

    def _moves(self, cut: Sequence[Piece], raised: Sequence[Raised]) -> Iterator[Move]:
        at, names = 0, {found.line for found in raised}
        for piece in cut:
            while at < len(raised) and raised[at].line < piece.line:
                yield Piece("raise", raised[at].line, raised[at].name), raised[at]
                at += 1
            if piece.kind in ("header", "frame", "code") and not (
                piece.kind == "code" and piece.line in names
            ):
                yield piece, None
        for found in raised[at:]:
            yield Piece("raise", found.line, found.name), found

    def run(self) -> list[Strand]:
        states = [_State()]
        for piece, _ in self.moves:
            following: dict[object, _State] = {}
            for state in states:
                self.budget.left -= 1 + len(state.strands) + len(state.known) // 16
                for option in self._options(state, piece):
                    key = (tuple(strand.alike() for strand in option.strands), option.last)
                    if key not in following or following[key].score < option.score:
                        following[key] = option
            width = WIDTH if self.budget.left > 0 else 1
            states = sorted(following.values(), key=lambda state: -state.score)[:width]
        best = max(states, key=self._final)
        self.codes = self.codes | {
            k: v for k, v in best.known.items() if isinstance(k, tuple) and isinstance(v, str)
        }
        return self._strands(best)

    def _final(self, state: _State) -> float:
        return state.score - sum(not strand.done and strand.frame is not None for strand in state.strands)

    def _options(self, state: _State, piece: Piece) -> Iterator[_State]:
        if piece.kind == "header":
            yield self._begun(state, _Open(state.opened), 0.0)
            return
        if piece.kind == "frame" and piece.frame is not None:
            fresh = 3.0 if piece.frame in self.roots else -2.0
            if not any(strand.frame is None and not strand.done for strand in state.strands):
                yield self._begun(state, _Open(state.opened, piece.frame), fresh - 6.0)
        else:
            lost = -2.5 if piece.kind == "raise" else -1.5
            yield replace(state, score=state.score + lost, history=(state.history, -1))
        seen: set[object] = set()
        for index, strand in enumerate(state.strands):
            recent = strand.number == state.last
            if strand.done or ((alike := strand.alike()) in seen and not recent):
                continue
            seen.add(alike)
            moved, score = self._moved(strand, piece)
            if moved is None:
                continue
            known = state.known
            if piece.kind == "code" and moved.frame is not None:
                score += _agrees(known, moved.frame, piece.text)
                if self.budget.left > 0:
                    known = {**known, moved.frame: piece.text, piece.text: moved.frame}
            yield _State(
                (*state.strands[:index], moved, *state.strands[index + 1 :]),
                strand.number,
                state.score + score + (0.4 if recent else 0.0),
                state.opened,
                known,
                (state.history, strand.number),
            )

    def _begun(self, state: _State, strand: _Open, score: float) -> _State:
        return replace(
            state,
            strands=(*state.strands[-(MAX_OPEN - 1) :], strand),
            last=strand.number,
            score=state.score + score,
            opened=state.opened + 1,
            history=(state.history, strand.number),
        )

    def _moved(self, strand: _Open, piece: Piece) -> tuple[_Open | None, float]:
        """The strand with the piece added and how well it fits; None where it cannot follow."""
        if piece.kind == "frame" and piece.frame is not None:
            root = piece.frame in self.roots
            if strand.frame is None:
                return _Open(strand.number, piece.frame), 3.0 if root else -2.0
            score = _follows(strand.code, piece.frame[2], root and piece.frame[2] == "<module>")
            sourceless = strand.frame[0].startswith("<") or strand.frame[0].endswith((".pyx", ".pxi"))
            missing = 2.5 if not strand.code and not sourceless else 0.0
            return _Open(strand.number, piece.frame), score - missing
        if strand.frame is None:
            return None, 0.0
        if piece.kind == "code":
            if strand.code:
                return None, 0.0
            counts = self.near[strand.frame]
            most = max(counts.values(), default=1)
            fits = 1.5 * counts[piece.text] / most + (
                0.7 if self.codes.get(strand.frame) == piece.text else 0.0
            )
            return _Open(strand.number, strand.frame, piece.text), fits - 0.3
        return strand._replace(done=True), self._raises(
            strand.code or self.codes.get(strand.frame, ""), piece.text
        )

    def _raises(self, code: str, name: str) -> float:
        short = name.rpartition(".")[2]
        if re.match(r"raise\b", code):
            other = any(f"{found}(" in code for found in self.raises if found != short)
            return 5.0 if short in code else -2.0 if other else 2.5
        if re.match(r"assert\b", code):
            return 5.0 if short == "AssertionError" else -4.0
        called = set(_NAMES_RE.findall(code[:300])) & self.functions
        return -1.0 if called else 1.0

    def _strands(self, state: _State) -> list[Strand]:
        """Follows the best reading back and lays its pieces out."""
        numbers: list[int] = []
        history: object = state.history
        while isinstance(history, tuple) and history:
            history, number = history
            numbers.append(number)
        strands: dict[int, Strand] = {}
        late: list[Raised] = []
        for (piece, raised), number in zip(self.moves, reversed(numbers), strict=True):
            if number < 0:
                if raised is not None:
                    late.append(raised)
                continue
            strand = strands.setdefault(number, Strand())
            strand.covered.append(piece.line)
            if piece.frame is not None:
                strand.frames.append(piece.frame)
            elif raised is not None:
                strand.raised = raised
                strand.covered += raised.lines
        found = [strands[number] for number in sorted(strands)]
        return [*found, *self._late(found, late)]

    def _late(self, strands: Sequence[Strand], late: Sequence[Raised]) -> list[Strand]:
        """Exceptions that came before the frames they belong to, or whose header was lost: strands without an exception
        take the one that fits, and what is left gets the frames of the last one with its name, as strands of their own."""
        left = [strand for strand in strands if strand.frames and strand.raised is None]
        last = {s.raised.name: s.frames for s in strands if s.raised is not None and s.frames}
        added: list[Strand] = []
        for raised in late:
            if left:
                strand = max(
                    left[-MAX_OPEN:],
                    key=lambda s: (
                        self._raises(self.codes.get(s.frames[-1], ""), raised.name),
                        len(s.frames),
                    ),
                )
                left.remove(strand)
                strand.raised = raised
                strand.covered += raised.lines
                last[raised.name] = strand.frames
            else:
                added.append(Strand(list(last.get(raised.name, ())), list(raised.lines), raised))
        return added
