"""What each exit code means; one table for all commands."""

from __future__ import annotations

from enum import IntEnum

from triage.core.cause.verdict import Verdict
from triage.errors import (
    AbsentError,
    ConfigError,
    InputError,
    RefusedError,
    RuleError,
    SchedulerError,
    StoreError,
    TriageError,
    UsageError,
)


class ExitCode(IntEnum):
    OK = 0
    """No failure; a check is clean; a job completed, or completed early on its artifact."""
    CHECK_FAILED = 1
    """`check` found errors."""
    USAGE = 2
    """Usage, configuration or rules are wrong."""
    NO_INPUT = 3
    """No readable input, or the job was not found."""
    NO_SCHEDULER = 4
    """The scheduler or its accounting did not answer, or is not configured on this machine."""
    REFUSED = 5
    """Refused by the preflight or by the scheduler."""
    NO_STORE = 6
    """The store cannot be used."""
    EXPLAINED = 10
    """A failure, explained."""
    UNKNOWN = 11
    """A failure whose cause is unknown."""
    CANCELLED = 12
    """Cancelled by someone else (the commands that follow a job; `explain` says 10)."""
    BUG = 70
    """A bug in the tool."""
    INTERRUPTED = 130
    """Ctrl-C."""


_BY_ERROR: tuple[tuple[type[TriageError], ExitCode], ...] = (
    (UsageError, ExitCode.USAGE),
    (ConfigError, ExitCode.USAGE),
    (RuleError, ExitCode.USAGE),
    (InputError, ExitCode.NO_INPUT),
    (AbsentError, ExitCode.NO_SCHEDULER),
    (RefusedError, ExitCode.REFUSED),
    (SchedulerError, ExitCode.NO_SCHEDULER),
    (StoreError, ExitCode.NO_STORE),
)


def of_error(error: TriageError) -> ExitCode:
    """The code of an error that the tool knows how to tell."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), ExitCode.USAGE)


def of_verdict(verdict: Verdict) -> ExitCode:
    """The code of an explained run."""
    if verdict.category == "none":
        return ExitCode.OK
    return ExitCode.UNKNOWN if verdict.category == "unknown" else ExitCode.EXPLAINED
