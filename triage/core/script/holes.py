"""Values with holes: text of which parts are not known, as ordinary strings.

A part that cannot be resolved stands in the text as one character of Unicode's private plane 15, so that quoting,
splitting and patterns work on it as on any text. The first characters are symbols: values that are not known before
the job runs, but of which it is known what they mean (`SLURM_NODEID`). The others carry a reason each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_FIRST = 0xF0000
_MOST = 4096
_NESTED = 6
_LONGEST = 1 << 16

FIRST_HOST = chr(_FIRST)
"""The first host of the allocation, by name or address."""
HOSTS = chr(_FIRST + 1)
"""All hosts of the allocation, one word each (`scontrol show hostnames`)."""
NODE_LIST = chr(_FIRST + 2)
"""`SLURM_JOB_NODELIST`."""
OWN_HOST = chr(_FIRST + 3)
"""The host on which the command runs."""
NODE_ID = chr(_FIRST + 4)
"""The number of the node within the step: `SLURM_NODEID`, or `SLURM_PROCID` with one task per node."""
TASK_ID = chr(_FIRST + 5)
"""`SLURM_PROCID`, the number of the task within the step."""
LOCAL_ID = chr(_FIRST + 6)
JOB_ID = chr(_FIRST + 7)
NODES = chr(_FIRST + 8)
"""The number of nodes, where no directive says it."""
GPUS = chr(_FIRST + 9)
"""The number of GPUs of a node, as `nvidia-smi -L` counts them."""
HOME = chr(_FIRST + 10)
USER = chr(_FIRST + 11)
SUBMIT_DIR = chr(_FIRST + 12)
"""The folder from which the job was submitted, in which it starts."""
TEMPORARY = chr(_FIRST + 13)
"""`TMPDIR` and its kin: storage of the node."""
TASKS = chr(_FIRST + 14)
"""The number of tasks of the step, `SLURM_NTASKS`."""
EACH_HOST = "is each host in turn"
"""The reason of the hole that a loop over `HOSTS` leaves in its variable."""

_NAMES = {
    FIRST_HOST: "the first host", HOSTS: "the hosts", NODE_LIST: "SLURM_JOB_NODELIST", OWN_HOST: "the own host",
    NODE_ID: "SLURM_NODEID", TASK_ID: "SLURM_PROCID", LOCAL_ID: "SLURM_LOCALID", JOB_ID: "SLURM_JOB_ID",
    NODES: "SLURM_NNODES", GPUS: "the GPUs of the node", HOME: "HOME", USER: "USER",
    SUBMIT_DIR: "SLURM_SUBMIT_DIR", TEMPORARY: "TMPDIR", TASKS: "SLURM_NTASKS",
}  # fmt: skip
PLACES = frozenset(
    {FIRST_HOST, OWN_HOST, JOB_ID, HOME, USER, SUBMIT_DIR, TEMPORARY, NODE_ID, TASK_ID, LOCAL_ID}
)
"""Symbols that stand in names and paths, and in no number that a check needs."""
FIRST_REASON = _FIRST + 64
"""The code of the first hole that is no symbol."""
_HOLE = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + 0xFFFF)}]")

Array = tuple[str, ...]
Table = dict[str, str]


class Sparse(dict[str, str]):
    """An indexed array with gaps, by index."""

    def at(self, place: int) -> str | None:
        """The element of an index; a negative one counts from behind the last."""
        return self.get(str(place if place >= 0 else max(map(int, self), default=0) + 1 + place))


Value = str | Array | Table
"""What a variable holds: a text, an indexed array, or an associative one."""


class Holes:
    """Hands out one character for each reason why something is not known."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[str, ...]], str] = {}
        self._reasons: list[str] = []
        self._choices: list[tuple[str, ...]] = []

    def unknown(self, reason: str, choices: tuple[str, ...] = ()) -> str:
        """A hole with that reason, and what it is in each branch if it is one of a few; many scripts' worth of
        different reasons share the last hole."""
        key = (reason[:200], choices)
        hole = self._known.get(key)
        if hole is None:
            if len(self._reasons) >= _MOST:
                return chr(FIRST_REASON + _MOST - 1)
            hole = self._known[key] = chr(FIRST_REASON + len(self._reasons))
            self._reasons.append(key[0])
            self._choices.append(choices)
        return hole

    def choices(self, hole: str) -> tuple[str, ...]:
        """What a hole is in each branch; empty where that is not known."""
        index = ord(hole) - FIRST_REASON if len(hole) == 1 else -1
        return self._choices[index] if 0 <= index < len(self._choices) else ()

    def chosen(self, text: str, branch: int) -> str:
        """A text as it is if every undecided branch with choices goes that way."""
        for _ in range(_NESTED):
            if known(text) or len(text) > _LONGEST:
                break
            after = _HOLE.sub(lambda match: self._choice(match[0], branch), text)
            if after == text:
                break
            text = after
        return text

    def _choice(self, hole: str, branch: int) -> str:
        found = self.choices(hole)
        return found[min(branch, len(found) - 1)] if found else hole

    def reason(self, text: str) -> str:
        """Why the first hole of a text is not known."""
        match = _HOLE.search(text)
        if match is None:
            return ""
        if match[0] in _NAMES:
            return f"{_NAMES[match[0]]} is known only when the job runs"
        index = ord(match[0]) - FIRST_REASON
        return self._reasons[index] if 0 <= index < len(self._reasons) else "not known"


def clean(text: str) -> str:
    """Input without characters that would read as holes."""
    return _HOLE.sub("\ufffd", text)


def known(text: str) -> bool:
    """Whether nothing of it is missing."""
    return text.isascii() or _HOLE.search(text) is None


def symbols(text: str) -> frozenset[str]:
    """The symbols (and other holes) in a text."""
    return frozenset() if text.isascii() else frozenset(_HOLE.findall(text))


def readable(text: str) -> str:
    """For a message: holes as `<SLURM_NODEID>` or `<?>`."""
    return text if text.isascii() else _HOLE.sub(lambda match: f"<{_NAMES.get(match[0], '?')}>", text)


def flat(value: Value) -> str:
    """What `$NAME` gives: the text, or an array's first element."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return value.get("0", "")
    return value[0] if value else ""


def elements(value: Value) -> Iterable[str]:
    """What `${NAME[@]}` gives."""
    if isinstance(value, str):
        return (value,)
    return tuple(value.values()) if isinstance(value, dict) else value
