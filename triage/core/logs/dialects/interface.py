"""What a log dialect is: one family of prefixes that can be taken off a line."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from triage.core.logs.record import NO_TAGS, Stamp, Tags
from triage.core.values import dataclass


class Stripped(NamedTuple):
    """A line without one prefix, and what the prefix said. A tuple, because a million lines make a few million of them."""

    text: str
    """The rest, inner indent kept. Equal to the whole text where a dialect only reads and takes nothing off."""
    tags: Tags = NO_TAGS
    stamp: Stamp | None = None
    level: str = ""
    """`E`, `W`, `I`, `F`, `D` or empty."""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """A real line and its expected reading."""

    line: str
    text: str
    tags: Tags = NO_TAGS
    stamp: str = ""
    """Text of the stamp, empty for none."""
    level: str = ""
    origin: str = ""
    taken: bool = True
    """False for a near miss, which the dialect must leave alone."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One row of the table of dialects."""

    name: str
    first: str
    """The characters with which a line of this dialect can begin."""
    strip: Callable[[str], Stripped | None]
    """Takes one prefix off the start of a text, or says None."""
    samples: tuple[Sample, ...]
    last: bool = False
    """What stands behind it is the program's own text, never another prefix."""
    behind: str = ""
    """For one that can begin with a bracket, the characters that can stand behind it; empty for any."""
    carrier: bool = False
    """The writer labels every line (srun, tee, pdsh ...), so the label also covers what a carriage return or a
    progress bar split off that line."""


@lru_cache(maxsize=16384)
def rank_tags(rank: int) -> Tags:
    """One shared value per rank: a log repeats them on every line."""
    return Tags(rank=rank)


@lru_cache(maxsize=4096)
def local_rank_tags(local_rank: int) -> Tags:
    """One shared value per local rank."""
    return Tags(local_rank=local_rank)


DIGITS = "0123456789"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER = "abcdefghijklmnopqrstuvwxyz"
LETTERS = UPPER + LOWER
STAMP = "EWIFCDVJMASONT " + DIGITS
"""The characters with which a stamp can begin."""

_LEVELS = {
    "TRACE": "D", "DEBUG": "D", "VERBOSE": "D", "V": "D", "D": "D",
    "INFO": "I", "SUCCESS": "I", "NOTICE": "I", "I": "I",
    "WARNING": "W", "WARN": "W", "W": "W",
    "ERROR": "E", "ERR": "E", "E": "E",
    "CRITICAL": "F", "CRIT": "F", "FATAL": "F", "C": "F", "F": "F", "ALERT": "F", "EMERG": "F",
}  # fmt: skip

LEVEL = r"(?:TRACE|DEBUG|INFO|SUCCESS|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"
"""Pattern of the level names that Python loggers print."""


def level_letter(name: str) -> str:
    """`WARNING` -> `W`; empty for a name that is no level."""
    return _LEVELS.get(name.upper(), "")
