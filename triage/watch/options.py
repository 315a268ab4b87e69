"""How a job is watched; kept in the store, so that a daemon or a later `triage watch` goes on the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from triage.core.jobs.artifact import Target, parse_target
from triage.core.jobs.cancel import Cause
from triage.core.jobs.expression import When, parse_when
from triage.core.values import dataclass

GRACE: Mapping[Cause, float] = {Cause.ARTIFACT: 0.0, Cause.FAILURE: 60.0, Cause.HANG: 60.0}
"""Seconds between a decision and the act, unless `--grace` says another number."""


@dataclass(frozen=True, slots=True)
class Options:
    """As `triage watch` names them."""

    artifacts: tuple[str, ...] = ()
    when: str | None = None
    min_age: float = 0.0
    """Seconds that a result must have been as it is."""
    any: bool = False
    """A complete result ends the job although its logs show that it still trains."""
    cancel: bool = True
    dry_run: bool = False
    grace: float | None = None
    on_fail: bool = False
    """A job that has failed with a known root cause and hangs is cancelled."""
    stall_after: float | None = None
    cancel_hung: bool = False
    drain: bool = False
    signal: str | None = None
    break_dependents: bool = False
    whole_array: bool = False
    logs: tuple[str, ...] = ()
    """Further logs that the scheduler does not know of."""

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(parse_target(text) for text in self.artifacts)

    @property
    def condition(self) -> When | None:
        return parse_when(self.when) if self.when is not None else None

    def wait_before(self, cause: Cause) -> float:
        return GRACE[cause] if self.grace is None else self.grace

    def ends_for(self, cause: Cause) -> bool:
        """Whether this watcher may end a job for that cause."""
        asked = {
            Cause.ARTIFACT: bool(self.artifacts),
            Cause.FAILURE: self.on_fail,
            Cause.HANG: self.cancel_hung,
        }
        return self.cancel and not self.dry_run and asked[cause]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def options_of(stored: Mapping[str, Any]) -> Options:
    """What a store of this or an older triage holds; what it lacks is as by default."""
    known = {field.name for field in fields(Options)}
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stored.items()
        if name in known
    }
    return Options(**values)
