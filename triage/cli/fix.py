"""`triage check --fix`: shows the smallest changes, and with `--write` makes them."""

from __future__ import annotations

import difflib
import os
import pwd
import shlex
from collections.abc import Iterator, Sequence

from triage.cli.preflight import open_script
from triage.core.megatron.finding import Finding
from triage.core.script.fix import Fix, Judge, fix
from triage.core.values import dataclass
from triage.errors import InputError
from triage.report.mask import one_line, safe
from triage.submit.fix import fix_config
from triage.submit.logs import logs_of

_FOLDER = "storage/log-folder"


@dataclass(frozen=True, slots=True)
class Repair:
    """What can be done about one path."""

    path: str
    before: str
    fixes: tuple[Fix, ...]
    folders: tuple[str, ...]
    """To make."""

    @property
    def after(self) -> str:
        return self.fixes[-1].text if self.fixes else self.before


def repair_script(path: str, findings: Sequence[Finding], judge: Judge) -> Repair:
    """Raises `NotAScript`. Of a script that was read in part only folders are made."""
    text, script = open_script(path)
    folders: tuple[str, ...] = ()
    if any(item.check == _FOLDER for item in findings):
        user = pwd.getpwuid(os.getuid()).pw_name
        named = logs_of(script, os.getcwd(), script.text("job-name") or os.path.basename(path), user)
        folders = tuple(folder for folder in named.folders if not os.path.isdir(folder))
    whole = os.path.getsize(path) == len(text.encode("utf-8", "surrogateescape"))
    return Repair(path, text, tuple(fix(text, findings, judge)) if whole else (), folders)


def repair_config(path: str, text: str, logs: str, findings: Sequence[Finding], judge: Judge) -> Repair:
    missing = any(item.check == _FOLDER for item in findings)
    return Repair(path, text, tuple(fix_config(text, findings, judge)), (logs,) if missing else ())


def told(repair: Repair, *, written: bool) -> str:
    """What is changed and why, with the difference."""
    return safe("".join(f"{line}\n" for line in _lines(repair, written=written)))


def _lines(repair: Repair, *, written: bool) -> Iterator[str]:
    name = one_line(repair.path)
    if not repair.folders and not repair.fixes:
        yield f"{name}: no change is certain to remove a finding: nothing to fix"
    for folder in repair.folders:
        yield f"{name}: {'made' if written else 'fix'}: mkdir -p {shlex.quote(folder)} [{_FOLDER}]"
    for item in repair.fixes:
        yield f"{name}: {'fixed' if written else 'fix'}: {item.what} [{item.check}]"
    difference = difflib.unified_diff(
        repair.before.split("\n"), repair.after.split("\n"), name, name, lineterm="", n=0
    )
    if not written:
        yield from difference


def write(repair: Repair) -> None:
    """Makes the folders and replaces the file, all of it or none. Raises `InputError`."""
    try:
        for folder in repair.folders:
            os.makedirs(folder, exist_ok=True)
        if not repair.fixes:
            return
        target = os.path.realpath(repair.path)
        part = f"{target}.{os.getpid()}.part"
        with open(part, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(repair.after)
        os.chmod(part, os.stat(target).st_mode & 0o7777)
        os.replace(part, target)
    except OSError as error:
        raise InputError(f"{repair.path} cannot be fixed: {error.strerror}: {error.filename}") from error
