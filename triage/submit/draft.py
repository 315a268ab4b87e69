"""From what the user named to a `Record`: pure, and the same for a script and for a configuration."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from triage.core.script.case import Script
from triage.core.values import dataclass
from triage.schedulers.interface import Scheduler
from triage.submit.logs import Logs, logs_of
from triage.submit.record import Record, digest_of

RENDERED = "script.sbatch"
"""Name of a rendered script in the folder of its submission."""
KEPT_CONFIG = "triage.toml"


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be submitted."""

    source: str
    """Absolute path of the script or of the configuration."""
    text: str
    """Of the script."""
    script: Script
    token: str
    folder: str
    """Absolute: where it is submitted from."""
    user: str
    config: str | None = None
    """Text of the configuration that it was rendered from."""
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.script.text("job-name") or posixpath.basename(self.source)

    @property
    def logs(self) -> Logs:
        array = any(option.startswith("--array=") for option in self.options)
        return logs_of(self.script, self.folder, self.name, self.user, array=array)

    def record(self, scheduler: Scheduler, asked: float) -> Record:
        logs = self.logs
        kept = posixpath.join(logs.root, ".triage", self.token)
        record = Record(
            self.token, scheduler.name, self.source,
            self.source if self.config is None else posixpath.join(kept, RENDERED),
            None if self.config is None else posixpath.join(kept, KEPT_CONFIG),
            self.folder, logs.root, self.name, logs.output, logs.error, asked,
            digest_of(self.text.replace(self.token, ""), self.folder, self.options, self.arguments),
            self.options, self.arguments, self.script.text("comment") or "", self.script.text("clusters"),
            self.artifacts,
        )  # fmt: skip
        return replace(record, argv=scheduler.argv(record.request()))
