"""What a stack says: in which phase of training it is, and whose code it runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from triage.core.events.model import Frame
from triage.core.lazy import lazy
from triage.core.rules.ruleset import FrameRow
from triage.core.rules.texts import code_path

MAX_FRAMES = 400
"""Outermost and innermost frames that are looked at; a recursion's middle says nothing new."""

_MAX_PATH = 300
_RAISES = ("raise ", "assert ")
"""A script without functions may train at its outermost level: such a line of its own tells no phase."""
_OPTIMIZER_STEP = lazy(r"\boptim\w*\.step\(")


def phase_of(frames: Sequence[Frame], table: Sequence[FrameRow], trained: bool = False) -> str | None:
    """The phase of training in which a stack (outermost frame first) stands, or None.

    The innermost frame that says a phase decides, with four exceptions. A forward inside a backward (recompute) is
    `backward`, and one inside an evaluation is `eval`. A weak row (a constructor, `torch.load`) yields to what a frame
    further out says. An outer row (an engine that sets itself up, evaluators being built) decides wherever it stands.
    Module bodies say nothing by themselves; a stack that ends in the import (or, with a syntax error,
    the compilation) of a module is `init` when nothing else speaks. Where training was seen to run (`trained`), neither this nor a weak row says `init`.
    """
    if len(frames) > MAX_FRAMES:
        frames = (*frames[: MAX_FRAMES // 2], *frames[-MAX_FRAMES // 2 :])
    if frames and (called := _by_code(frames[-1].code)):
        return called
    rows = tuple(row for row in table if row.phase)
    outer = tuple(row for row in rows if row.outer)
    if outer and (
        said := next((r for f in frames if (r := _row(code_path(f.file), f.function[:100], outer))), None)
    ):
        return said.phase
    weak = ""
    found = ""
    for frame in reversed(frames):
        if frame.function == "<module>" or frame.file.startswith("<frozen "):
            continue
        row = _row(code_path(frame.file), frame.function[:100], rows)
        if row is None:
            continue
        if found == "forward":
            if row.phase in ("backward", "eval") and not row.weak:
                return row.phase
        elif weak:
            if row.phase != "init" and not row.weak:
                found, weak = row.phase, ""
        elif row.weak:
            weak = row.phase
        else:
            found = row.phase
        if found not in ("", "forward"):
            return found
    last = found or weak or ("init" if _importing(frames) else None)
    return None if trained and last == "init" and not found else last


def _by_code(code: str) -> str:
    """What the innermost line itself calls, where the stack ends in a script's own line."""
    if ".backward(" in code:
        return "backward"
    return "optimizer" if _OPTIMIZER_STEP.search(code) else ""


def owner_of(frame: Frame, table: Sequence[FrameRow]) -> str:
    """Whose code a frame runs: an owner of the table, else `library` for installed packages, else `user`."""
    path = frame.file[-_MAX_PATH:].replace("\\", "/")
    row = _row(path, frame.function[:100], tuple(row for row in table if row.owner))
    if row is not None:
        return row.owner
    return "library" if "-packages/" in path or path.startswith("<frozen ") else "user"


def _importing(frames: Sequence[Frame]) -> bool:
    if not frames:
        return False
    inner = frames[-1]
    if (
        inner.file.startswith("<frozen importlib")
        or sum(frame.function == "<module>" for frame in frames) > 1
    ):
        return True
    return inner.function in ("<module>", "") and not (len(frames) == 1 and inner.code.startswith(_RAISES))


@lru_cache(maxsize=4096)
def _row(path: str, function: str, rows: tuple[FrameRow, ...]) -> FrameRow | None:
    path = path.replace("\\", "/")
    for row in rows:
        if row.function and not _compiled(row.function).fullmatch(function):
            continue
        if row.file and not _compiled(row.file).search(path):
            continue
        return row
    return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
