"""The folder of a local job: what was asked, how far it is, and a lock that its runner holds as long as it lives."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triage.core.folders import state_folder
from triage.core.values import dataclass
from triage.errors import SchedulerError, StoreError

_FIRST = 100_000
"""The first job's number: five digits and more are known as a job's in a file's name (`train-100000.out`)."""


def root_folder(environment: Mapping[str, str]) -> Path:
    """`$TRIAGE_LOCAL_ROOT`, else in the tool's state folder."""
    if told := environment.get("TRIAGE_LOCAL_ROOT"):
        return Path(told)
    return Path(state_folder(environment)) / "local"


@dataclass(frozen=True, slots=True)
class JobFolder:
    """One job's files."""

    path: Path

    @property
    def number(self) -> int:
        return int(self.path.name)

    @property
    def script(self) -> Path:
        return self.path / "script"

    @property
    def commands(self) -> Path:
        """The folder with `srun` and `scontrol`."""
        return self.path / "bin"

    def write(self, name: str, values: Mapping[str, Any]) -> None:
        """Whole or not at all: a reader never sees half a file."""
        target = self.path / f"{name}.json"
        temporary = target.with_suffix(".tmp")
        temporary.write_text(json.dumps(values, indent=1, sort_keys=True), encoding="utf-8")
        os.replace(temporary, target)

    def read(self, name: str) -> dict[str, Any]:
        """Empty where it has not been written."""
        try:
            values = json.loads((self.path / f"{name}.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise SchedulerError(
                f"{self.path}/{name}.json cannot be read: {error}", transient=False
            ) from error
        return values if isinstance(values, dict) else {}

    def lock(self) -> int:
        """Takes the lock; whoever inherits the descriptor holds it too."""
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor

    def is_held(self) -> bool:
        """Whether a runner lives. No process id is compared: those are reused."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def request_cancel(self) -> None:
        (self.path / "cancel").touch()

    @property
    def is_cancelled(self) -> bool:
        return (self.path / "cancel").exists()


def new_job(root: Path) -> JobFolder:
    """The next number; making the folder is what claims it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        number = max((job.number + 1 for job in all_jobs(root)), default=0)
        number = max(_FIRST, number)
        while True:
            try:
                (root / str(number)).mkdir()
            except FileExistsError:
                number += 1
                continue
            return JobFolder(root / str(number))
    except OSError as error:
        raise StoreError(f"{root} cannot hold local jobs: {error.strerror}; set TRIAGE_LOCAL_ROOT") from error


def all_jobs(root: Path) -> list[JobFolder]:
    """The oldest first."""
    try:
        names = sorted(int(name) for name in os.listdir(root) if name.isascii() and name.isdigit())
    except OSError:
        return []
    return [JobFolder(root / str(number)) for number in names]
