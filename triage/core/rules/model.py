"""Rules: what a failure looks like, as data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from triage.core.values import dataclass, field

FALLBACK = 5
"""Rules of this specificity or less say only that something failed."""
WEAK = 20
"""Rules of this specificity or less name a symptom whose cause is likely but not shown."""

SUGGESTIVE = 30
"""Rules of this specificity or less (and above `WEAK`) read words that other failures use as well."""


class Role(StrEnum):
    ROOT = "root"
    """It explains a failure by itself."""
    DOWNSTREAM = "downstream"
    """It is a symptom of something elsewhere, and a root only when nothing else is there."""
    TEARDOWN = "teardown"
    """It only tells that processes are being ended."""
    ADVICE = "advice"
    """It is no failure; it may be shown beside one."""


class On(StrEnum):
    TRACE = "trace"
    MESSAGE = "message"
    EXIT = "exit"
    CONCLUSION = "conclusion"
    """No single line shows it: the root-cause selection draws it by name (`hang/at-exit`)."""


@dataclass(frozen=True, slots=True)
class Example:
    text: str
    source: str = ""
    """Where the text was seen: a public file:line or URL."""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule file."""

    id: str
    """`category/name`."""
    category: str
    title: str
    """A few words for lists."""
    role: Role
    on: On
    literals: tuple[str, ...]
    """At least one stands in every text the rule can match (prefilter); empty means every text is tried."""
    pattern: str = ""
    """A `regex` pattern searched in the event's text: a trace link's `exception: message`, a message's text, an exit's reason."""
    exception: str = ""
    """Pattern that must match the whole exception name or its last part (traces)."""
    frame: str = ""
    """Pattern searched in the innermost frames (`file in function`) of the link (traces)."""
    unless: str = ""
    """Pattern that must not be found in the text."""
    scheduler: bool = False
    """The scheduler's own word: outranks the SIGTERM tracebacks it provokes."""
    specificity: int = 50
    """Among rules that match one event the highest wins (0-100)."""
    phase: str = ""
    """Phase implied by the message alone, when frames do not tell."""
    summary: str = ""
    """Templates of one sentence, one a line; the first whose `{name}`s are all known is used (`template.fill`)."""
    next_steps: tuple[str, ...] = ()
    """Each filled in the same way; a step of which no line can be filled is left out."""
    matches: tuple[Example, ...] = ()
    ignores: tuple[Example, ...] = ()
    path: str = ""
    also_on: tuple[On, ...] = ()
    """Further event kinds whose text is searched by the same pattern (`exception` and `frame` then do not apply)."""
    raw: str = ""
    """Text of the lines' prefix by which the raw scan finds them, where the literals contain no anchor (`NCCL WARN`)."""
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule on an event."""

    rule: Rule
    event: int
    """Index into the analysis' events."""
    link: int | None
    """Index of the chain link that matched."""
    captures: Mapping[str, str]
