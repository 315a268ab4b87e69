"""Puts the pieces of a woven zone together: which frames, which exception, which message belong to one traceback.

Processes of one job run the same program, so a frame follows another when the source line of the one calls the
function of the other. Where two stacks stand at the same frame they are interchangeable. The number of headers is
the number of tracebacks; what cannot be known (whose frame in the middle) does not change the innermost frame.
"""

from __future__ import annotations

import re

from triage.core.events.chain import MAX_BYTES
from triage.core.events.codes import Key, learn_codes
from triage.core.events.frames import FrameStack, Lines
from triage.core.events.model import Frame, Link
from triage.core.events.parallel import common_path
from triage.core.events.raised import Raised, Raises
from triage.core.events.weave import Budget, Piece, Zone, pieces
from triage.core.events.weaver import Strand, Weaver


def untangle(lines: Lines, zone: Zone, budget: Budget) -> list[Strand]:
    """The tracebacks of a woven zone in the order of their headers."""
    cut = pieces(lines, zone)
    if not any(piece.frame for piece in cut):
        return []
    path = common_path(cut, budget)
    codes = learn_codes(cut, path)
    raised = Raises(cut, codes).read()
    if path is not None:
        strands = _alike(cut, path, raised)
    else:
        weaver = Weaver(cut, codes, raised, budget)
        strands = weaver.run()
        codes = weaver.codes
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
