"""From logs and their verdict to what a bundle holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from triage import __version__
from triage.bundle.manifest import KeptLog, Manifest
from triage.bundle.names import names_of
from triage.bundle.pack import kept_logs, without_secrets, without_secrets_in
from triage.bundle.ranges import cut, kept_ranges
from triage.bundle.secrets import Rewrite, rewritten_value
from triage.bundle.versions import versions
from triage.bundle.vocabulary import Vocabulary
from triage.core.cause.record import Record
from triage.core.cause.verdict import Evidence, Verdict
from triage.core.logs.regions import Anchors
from triage.core.values import dataclass, replace
from triage.files.inputs import Input


@dataclass(frozen=True, slots=True)
class Made:
    """A bundle before it is written."""

    manifest: Manifest
    logs: tuple[tuple[KeptLog, bytes], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the verdict of a bundle was made of beside the logs."""

    record: Record | None
    job: str | None
    attempt: int | None
    own_rules: tuple[str, ...] = ()


def made(
    inputs: Sequence[Input],
    verdict: Verdict,
    asked: Asked,
    anchors: Anchors,
    anonymous: Vocabulary | None = None,
) -> Made:
    """The ranges that matter, without secrets, and what was known; with `anonymous`, without names as well. Logs that
    are by their names those of other jobs stay out."""
    inputs = [one for one in inputs if one.source.job is None or one.source.job not in verdict.other_jobs]
    ranges = kept_ranges(inputs, anchors, frozenset(_cited(verdict)))
    texts = [without_secrets(one, cut(one, kept)) for one, kept in zip(inputs, ranges, strict=True)]
    record = None if asked.record is None else _told(asked.record)
    told = without_secrets_in(verdict.to_json())
    if anonymous is not None:
        names = names_of(texts, anonymous, record)
        texts = [text.rewritten(names.replace) for text in texts]
        told = {
            name: value if name in _OWN_WORDS else rewritten_value(value, names.replace)
            for name, value in told.items()
        }
        record = None if record is None else _replaced(record, names.replace)
    logs = kept_logs(texts)
    manifest = Manifest(
        made_by=__version__,
        anonymized=anonymous is not None,
        verdict=told,
        versions=versions(
            (text.source.kind, one.data.decode("utf-8", "replace")) for text in texts for one in text.cuts
        ),
        own_rules=asked.own_rules,
        record=record,
        job=asked.job,
        attempt=asked.attempt,
        logs=tuple(log for log, _ in logs),
    )
    return Made(manifest, tuple(logs))


_OWN_WORDS = frozenset({"schema", "category", "rule", "confidence", "facts"})
"""Fields of a verdict that hold no words of a log."""


def _told(record: Record) -> Record:
    early = None if record.early is None else without_secrets_in(record.early)
    return replace(record, slurm=without_secrets_in(record.slurm), early=early)


def _replaced(record: Record, rewrite: Rewrite) -> Record:
    early = None if record.early is None else rewrite(record.early)
    return replace(record, slurm=rewritten_value(record.slurm, rewrite), early=early)


def _cited(verdict: Verdict) -> Iterator[str]:
    """Paths of the logs that hold evidence."""
    found: list[Evidence | None] = [one.first for one in (*verdict.downstream, *verdict.unexplained)]
    if verdict.root is not None:
        found.append(verdict.root.evidence)
    yield from (one.path for one in found if one is not None)


def told_alike(value: Any) -> Any:
    """A verdict as JSON, in the words in which a bundle holds it."""
    return without_secrets_in(value)
