"""Which source line belongs to which frame, learned from a woven zone as a whole."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from triage.core.events.frames import exception_at
from triage.core.events.weave import Piece
from triage.core.lazy import lazy

Key = tuple[str, int, str]

_NEAR = (1.0, 0.6, 0.4, 0.25)
_CLASS_CALL_RE = lazy(r"\b[A-Z_]\w*\(|\bcls\(|super\(\)\.__init__\(")


def calls(code: str, function: str) -> bool:
    """Whether a source line calls the function of that name by its name."""
    short = function.rpartition(".")[2].strip("<>")
    if not short or function == "<module>":
        return function == "<module>" and "import" in code
    return f"{short}(" in code and re.search(rf"\b{re.escape(short)}\(", code) is not None


def constructs(code: str) -> bool:
    """Whether a source line may call an `__init__`."""
    return _CLASS_CALL_RE.search(code) is not None


def _names_exception(text: str) -> bool:
    found = exception_at(text)
    return found is not None and (found[2] or "." in found[0])


def nearness(cut: Sequence[Piece]) -> dict[Key, Counter[str]]:
    """How much each source line stands near behind each frame."""
    near: dict[Key, Counter[str]] = defaultdict(Counter)
    for number, piece in enumerate(cut):
        if piece.frame is None:
            continue
        weight, distance = 1.0, 0
        for following in cut[number + 1 : number + 7]:
            if following.frame is not None or following.kind == "header":
                weight *= 0.5
            elif following.kind == "code" or (distance == 0 and not _names_exception(following.text)):
                near[piece.frame][following.text] += weight * _NEAR[min(distance, 3)]  # type: ignore[assignment]
                distance += 1
    return near


def learn_codes(cut: Sequence[Piece], path: Sequence[Key] | None = None) -> dict[Key, str]:
    """The most plausible source line of every frame.

    Lines near behind a frame count most, and a line that calls the function of a frame seen next to it counts more;
    a line goes to the frame it fits best, and to a second one only when that has no other. A `path` that all
    processes print says which frame comes next.
    """
    after: dict[Key, Counter[str]] = defaultdict(Counter)
    recent: list[Key] = []
    for piece in cut if path is None else ():
        if piece.frame is None:
            continue
        for other in recent[-3:]:
            after[other][piece.frame[2]] += 1
        recent = [*recent[-2:], piece.frame]
    for frame, following_frame in pairwise(path or ()):
        after[frame][following_frame[2]] += 1
    return _assign(nearness(cut), after)


def _assign(near: dict[Key, Counter[str]], after: dict[Key, Counter[str]]) -> dict[Key, str]:
    total: Counter[str] = Counter()
    for counts in near.values():
        total.update(counts)
    scored: list[tuple[float, Key, str]] = []
    for key, counts in near.items():
        for code, weight in counts.most_common(12):
            fits = any(
                calls(code, function) or (function == "__init__" and constructs(code))
                for function in after[key]
            )
            scored.append((weight * (0.5 + weight / total[code]) + (1.0 if fits else 0.0), key, code))
    scored.sort(key=lambda item: (-item[0], item[1], item[2]))
    chosen: dict[Key, str] = {}
    taken: set[str] = set()
    for _, key, code in scored:
        if key not in chosen and code not in taken:
            chosen[key] = code
            taken.add(code)
    for score, key, code in scored:
        if key not in chosen and score > 0.7:
            chosen[key] = code
    return chosen
