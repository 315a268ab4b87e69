"""Where a script's logs go, told from its directives. Pure.

Slurm fills in a log's name when the job starts and creates no folder: what of the path is known now must be there.
"""

from __future__ import annotations

import posixpath
import re

from triage.core.script.case import Script
from triage.core.values import dataclass

_EARLY = re.compile(r"%(%|\d*[xu])")
"""Patterns that are known before there is a job: its name and its user."""


@dataclass(frozen=True, slots=True)
class Logs:
    """The logs of a job that is submitted from `folder`."""

    output: str
    error: str | None
    """`None`: together with the output."""
    root: str
    """The deepest folder of the output that is known before there is a job."""
    folders: tuple[str, ...]
    """What must exist when the job starts."""


def logs_of(script: Script, folder: str, name: str, user: str, *, array: bool = False) -> Logs:
    """`folder` is absolute; `array` says that the job is one although its script does not."""
    base = posixpath.normpath(posixpath.join(folder, script.text("chdir") or ""))
    array = array or script.directives.get("array") is not None
    told = script.text("output") or ("slurm-%A_%a.out" if array else "slurm-%j.out")
    paths = [told, *filter(None, [script.text("error")])]
    known = [posixpath.normpath(posixpath.join(base, _filled(path, name, user))) for path in paths]
    places = [_known_folder(path) for path in known]
    root = places[0] if places[0] not in ("/", "/dev") else base
    needed = dict.fromkeys(place for place in places if place not in ("/", "/dev"))
    return Logs(known[0], known[1] if len(known) > 1 else None, root, tuple(needed))


def _filled(path: str, name: str, user: str) -> str:
    """A backslash takes all meaning from the patterns (sbatch(1))."""
    if "\\" in path:
        return path.replace("\\", "").replace("%", "%%")
    values = {"%": "%%", "x": name, "u": user}
    return _EARLY.sub(lambda match: values[match[1][-1]], path)


def _known_folder(path: str) -> str:
    """Up to the first part that is filled in later."""
    head = posixpath.dirname(path)
    parts = head.split("/")
    late = next((index for index, part in enumerate(parts) if "%" in part.replace("%%", "")), len(parts))
    return "/".join(parts[:late]).replace("%%", "%") or "/"
