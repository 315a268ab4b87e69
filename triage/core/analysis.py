"""The only orchestration in core: bytes in, verdict out.

`open` a feed for each source, `feed` it the stream's bytes in order, `close` it (feeds are independent: one thread
each is fine), then ask for the `verdict`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import TYPE_CHECKING

from triage.core.cause.attempts import Attempt, decide, split_attempts
from triage.core.cause.explain import Explained, explain_attempt
from triage.core.cause.joblog import Reason
from triage.core.cause.jobs import choose_job
from triage.core.cause.keeper import NOTHING, Holding, Keeper, Kept, Outcome, is_crowd
from triage.core.cause.places import Locate, Places
from triage.core.cause.verdict import Scanned, Verdict
from triage.core.events.extract import artifact_event, cut_error_file_event, error_file_event, events_of
from triage.core.events.manifest import manifest_of
from triage.core.events.model import Event, Trace
from triage.core.logs.regions import LARGEST, Anchors, Region, RegionFinder
from triage.core.logs.source import Source
from triage.core.rules.engine import Engine
from triage.core.rules.ruleset import RuleSet
from triage.core.values import dataclass, replace

if TYPE_CHECKING:
    from triage.core.cause.twins import Twins

WHOLE_LIMIT = 4 << 20
"""Bytes of a file that is read as one piece of JSON."""

_WHOLE: dict[str, Callable[[int, str], Event | None]] = {
    "error-file": error_file_event,
    "artifact": artifact_event,
    "manifest": manifest_of,
}
"""Kinds of sources that are one piece of JSON, and what they say."""


_LOG = Source("")


class NaiveFinder:
    """Reads every line closely: the slow twin of `RegionFinder`, for tests."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0
        self.passed_over = 0

    def feed(self, data: bytes) -> None:
        self._parts.append(data)
        self.size += len(data)

    def close(self) -> None:
        pass

    def ready_bytes(self) -> int:
        return 0

    def take(self) -> list[Region]:
        data, self._parts = b"".join(self._parts), []
        return [Region(0, data)] if data else []


Finder = RegionFinder | NaiveFinder


@dataclass(slots=True)
class _Reading:
    """What a feed needs between its first byte and its last one."""

    finder: Finder
    keeper: Keeper
    whole: list[bytes] | None


class SourceFeed:
    """One source's way from bytes to kept events. Small before and after: a call may have a hundred thousand of them."""

    __slots__ = (
        "_anchors",
        "_ended",
        "_engine",
        "_finder",
        "_open",
        "holding",
        "index",
        "passed_over",
        "size",
        "source",
    )

    def __init__(
        self,
        source: Source,
        index: int,
        finder: Callable[[], Finder],
        engine: Engine,
        anchors: Anchors | None = None,
    ) -> None:
        self.source = source
        self.index = index
        self._finder = finder
        self._engine = engine
        self._anchors = anchors
        self._open: _Reading | None = None
        self._ended: SourceFeed | None = None
        """A copy that was closed when this one had the same size."""
        self.size = 0
        self.passed_over = 0
        """Places that were only counted, because too many were alike; known when it is closed."""
        self.holding: Holding = NOTHING
        """What is kept of it; known when it is closed."""

    def feed(self, data: bytes) -> None:
        self.size += len(data)
        reading = self._reading()
        reading.finder.feed(data)
        if reading.whole is not None and self.size <= WHOLE_LIMIT:
            reading.whole.append(data)
        if reading.finder.ready_bytes() >= LARGEST:
            self._read(reading)

    def read(self, data: bytes, twins: Twins | None) -> None:
        """All its bytes at once, and closed."""
        if twins is not None and not self.size and self.source.kind not in _WHOLE:
            self.close_as(twins.outcome(self.index, data))
        else:
            self.feed(data)
            self.close()

    @property
    def is_stale(self) -> bool:
        """It was fed since it was last asked for a closed copy."""
        return self._ended is None or self._ended.size != self.size

    def as_if_ended(self) -> SourceFeed:
        """A closed copy; this one can be fed on."""
        import copy

        if self._ended is None or self.is_stale:
            other = copy.copy(self)
            reading, shared = self._reading(), {id(self._anchors): self._anchors}
            whole = None if reading.whole is None else list(reading.whole)
            other._open = _Reading(copy.deepcopy(reading.finder, shared), reading.keeper.copy(), whole)
            other.close()
            self._ended = other
        return self._ended

    def as_last(self) -> SourceFeed:
        """The closed copy of last time; an empty one if there is none."""
        if self._ended is not None:
            return self._ended
        other = SourceFeed(self.source, self.index, NaiveFinder, self._engine, self._anchors)
        other.close()
        return other

    def close(self) -> None:
        reading = self._reading()
        finder, keeper, whole = reading.finder, reading.keeper, reading.whole
        finder.close()
        event, text = None, ""
        if whole is not None:
            text = b"".join(whole).decode("utf-8", "replace")
            event = _WHOLE[self.source.kind](self.index, text)
        if event is not None:
            keeper.add([event])
        elif whole is None:
            self._read(reading)
            keeper.end()
        elif self.source.kind == "error-file":
            regions = list(finder.take())
            keeper.add(events_of(self.index, regions))
            keeper.end()
            if not any(isinstance(k.event, Trace) for k in keeper.kept()):
                told = cut_error_file_event(self.index, text, self.size, regions)
                keeper.add([told] if told is not None else [])
        self.close_as(Outcome(self.size, finder.passed_over, keeper.holding()))

    def outcome(self) -> Outcome:
        """What another process needs to go on from here, after `close`."""
        return Outcome(self.size, self.passed_over, self.holding)

    def close_as(self, outcome: Outcome) -> None:
        """Closed, as if the bytes had been fed here."""
        self.size, self.passed_over, self.holding = outcome.size, outcome.passed_over, outcome.holding
        self._open = None

    def _reading(self) -> _Reading:
        if self._open is None:
            whole: list[bytes] | None = [] if self.source.kind in _WHOLE else None
            self._open = _Reading(self._finder(), Keeper(self._engine), whole)
        return self._open

    def _read(self, reading: _Reading) -> None:
        batch: list[Region] = []
        size = 0
        for region in reading.finder.take():
            batch.append(region)
            size += len(region.data)
            if size >= LARGEST:
                reading.keeper.add(events_of(self.index, batch))
                batch, size = [], 0
        if batch:
            reading.keeper.add(events_of(self.index, batch))


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user asked for."""

    attempt: int | None = None
    """From 1."""
    job: str | None = None


class Analysis:
    """All sources of one call."""

    def __init__(
        self,
        ruleset: RuleSet,
        engine: Engine | None = None,
        *,
        naive: bool = False,
        anchors: Anchors | None = None,
    ) -> None:
        """`engine` and `anchors` of the same rules may be shared by many analyses."""
        self.ruleset = ruleset
        self.engine = engine or Engine(ruleset)
        self.anchors = anchors or Anchors(ruleset.literals())
        self._finder: Callable[[], Finder] = NaiveFinder if naive else partial(RegionFinder, self.anchors)
        self.twins: Twins | None = None
        """Where files are told that are alike, after `look_for_twins`."""
        self.feeds: list[SourceFeed] = []

    def open(self, source: Source) -> SourceFeed:
        feed = SourceFeed(source, len(self.feeds), self._finder, self.engine, self.anchors)
        self.feeds.append(feed)
        return feed

    def look_for_twins(self) -> None:
        """Of small files that are alike but for their writers' numbers, read a few closely; it pays for many of them."""
        from triage.core.cause.twins import Twins

        self.twins = Twins(self._closely)

    def _closely(self, index: int, data: bytes) -> Outcome:
        """What is left of a log that holds these bytes and nothing else."""
        feed = SourceFeed(_LOG, index, self._finder, self.engine, self.anchors)
        feed.read(data, None)
        return feed.outcome()

    def so_far(self, fresh: Container[int] | None = None) -> Analysis:
        """The same streams as if each had ended here; ask it for the verdict while a job still writes.

        With `fresh`, the indexes of sources that matter, the others are as they were last time: a quick look at
        thousands of streams.
        """
        import copy

        other = copy.copy(self)
        other.feeds = [
            feed.as_if_ended() if fresh is None or feed.index in fresh else feed.as_last()
            for feed in self.feeds
        ]
        return other

    def verdict(self, locate: Locate, choice: Choice | None = None) -> Verdict:
        """The verdict on the chosen job and attempt (the newest job, its last attempt unless asked otherwise)."""
        return self.explained(locate, choice).verdict

    def explained(self, locate: Locate, choice: Choice | None = None) -> Explained:
        """The verdict with the selection behind it, for `--why-not`."""
        choice = choice or Choice()
        sources = [feed.source for feed in self.feeds]
        chosen = choose_job(self.feeds, choice.job)
        holdings = [self.feeds[i].holding for i in chosen.sources]
        crowd = is_crowd(len(self.feeds))
        kept: list[Kept] = [k for held in holdings for k in (held.brief if crowd else held.kept)]
        attempts = split_attempts(sources, kept)
        explained = self._explain(attempts, choice.attempt, locate, chosen.job)
        verdict = replace(
            explained.verdict,
            job=chosen.job,
            other_jobs=chosen.others,
            scanned=self._scanned(explained.verdict.scanned),
        )
        if self.engine.timeouts:
            note = f"rule(s) ran out of time and were skipped: {', '.join(sorted(self.engine.timeouts))}"
            verdict = replace(verdict, reasons=(*verdict.reasons, note))
        return replace(explained, verdict=verdict)

    def say(self, reasons: Sequence[Reason], locate: Locate) -> tuple[str, ...]:
        """Reasons as sentences, places as `path:line`."""
        places = Places(locate)
        return tuple(places.say(reason) for reason in reasons)

    def _explain(
        self, attempts: Sequence[Attempt], wanted: int | None, locate: Locate, job_id: str | None
    ) -> Explained:
        def one(attempt: Attempt) -> Explained:
            return explain_attempt(attempt, attempts, self.feeds, self.ruleset, locate, job_id)

        return decide(attempts, wanted, one)

    def _scanned(self, seen: Scanned) -> Scanned:
        return replace(seen, files=len(self.feeds), bytes=sum(f.size for f in self.feeds))
