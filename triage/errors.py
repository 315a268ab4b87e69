"""The one error tree. A message is a sentence for the user that says what to do."""

from __future__ import annotations


class TriageError(Exception):
    """Anything the tool knows how to tell the user."""


class UsageError(TriageError):
    """The command line does not make sense."""


class ConfigError(TriageError):
    """A configuration file is wrong."""


class RuleError(TriageError):
    """One or more rule files are wrong; every mistake is listed, each as `path:line: sentence`."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes


class InputError(TriageError):
    """No readable input: a path that does not exist, an empty folder, only binaries."""


class SchedulerError(TriageError):
    """The scheduler or its accounting did not answer."""

    def __init__(self, message: str, *, transient: bool) -> None:
        super().__init__(message)
        self.transient = transient


class RefusedError(SchedulerError):
    """The scheduler does not accept the job as it is; the sentence says what to change."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=False)


class AbsentError(RefusedError):
    """There is no scheduler on this machine that could take the job."""


class StoreError(TriageError):
    """The store cannot be used."""
