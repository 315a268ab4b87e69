"""What this machine sees of a job script and of the paths in it: the edge behind `triage.core.script.facts.Facts`.

A script is often checked where its job will not run. What is missing here counts only where the same storage is surely
looked at; everything else is `None`, and is not judged.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence

from triage.core.script.site import Site
from triage.core.values import dataclass

_NODE_LOCAL = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/local", "/localscratch", "/local_scratch", "/scratch.local", "/scratch_local")  # fmt: skip
"""Folders that each machine has of its own: that one is not here, or holds no such entry, says nothing of a node."""

_EVERYWHERE = (*_NODE_LOCAL, "/", "/mnt", "/media", "/home", "/root", "/srv", "/opt", "/net", "/export", "/var")  # fmt: skip
"""Folders of every Linux machine (Filesystem Hierarchy Standard) and node-local ones: what a cluster mounts or keeps
right below is seen from here only if it is there itself."""

_OWN = frozenset({"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr"})
"""Top folders that belong to the machine's own system: a node's may hold what this one's do not."""

_UNTOLD = frozenset({"autofs"})
"""Types that stand for another one, which is mounted on use."""

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system."""

    point: str
    kind: str
    """As mount(8) calls it: `nfs4`, `lustre`, `xfs`."""


def read_mounts(path: str = "/proc/self/mountinfo") -> tuple[Mount, ...]:
    """What is mounted here; empty where the system does not tell."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return parse_mounts(file.read())
    except OSError:
        return ()


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """Lines of /proc/PID/mountinfo (proc_pid_mountinfo(5)): the fifth field, and the one behind ` - `."""
    found = []
    for line in text.splitlines():
        front, dash, behind = line.partition(" - ")
        fields, kinds = front.split(" "), behind.split(" ")
        if dash and len(fields) > 4 and kinds[0]:
            found.append(Mount(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]), kinds[0]))
    return tuple(found)


class Machine:
    """Facts of this machine's files, and of the cluster that it belongs to."""

    def __init__(
        self, folder: str, mounts: Sequence[Mount], *, settled: bool, site: Callable[[], Site] = Site
    ) -> None:
        """`folder`: where relative paths are looked for. `settled`: the job is surely submitted from there; else only
        what is found there counts. `site` is asked when it is needed."""
        self._folder = os.path.abspath(folder)
        self._mounts = tuple(mounts)
        self._settled = settled
        self._site = site
        self._found = False
        self.unseen: dict[str, bool] = {}
        """Absolute paths that were asked for and could not be judged, those of node-local storage left out; true where
        the machine does not see the storage at all."""

    @property
    def familiar(self) -> bool:
        """Whether something of the job's own was found here, so that it may well be submitted from here."""
        return self._found

    @property
    def foreign(self) -> bool:
        """Whether storage was asked for that this machine does not see: then no job is submitted from here."""
        return any(self.unseen.values())

    def exists(self, path: str) -> bool | None:
        """Whether a path exists; `None` where its mount, its top folder or its parent is not to be seen."""
        relative = not path.startswith("/")
        place = os.path.join(self._folder, path)
        there = _there(place)
        own = not _below(place, [f"/{name}" for name in _OWN]) and os.path.abspath(place) not in _EVERYWHERE
        self._found |= there is True and own
        if there is None and not relative and not _below(path, _NODE_LOCAL):
            self.unseen[path] = _stat(_anchor(_resolved(path) or path)) is False
        return None if relative and there is False and not self._settled else there

    def filesystem(self, path: str) -> str | None:
        """The type of the file system that holds the path, or that it will be made on; `None` where its top folder is
        not to be seen."""
        place = _resolved(os.path.join(self._folder, path))
        if place is None or _stat(_anchor(place)) is not True:
            return None
        deepest = max(
            (mount for mount in reversed(self._mounts) if _below(place, (mount.point,))),
            key=lambda mount: len(mount.point),
            default=None,
        )
        return None if deepest is None or deepest.kind in _UNTOLD else deepest.kind

    def site(self) -> Site:
        return self._site()


def _there(path: str) -> bool | None:
    found = _stat(path)
    if found is not False:
        return found
    place = _resolved(path)
    if place is None or place.split("/")[1] in _OWN or _stat(_anchor(place)) is not True:
        return None
    return False if place != _anchor(place) and _stat(os.path.dirname(place)) is True else None


def _stat(path: str) -> bool | None:
    """`None` where it may not be asked for, or is no path."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None
    return True


def _resolved(path: str) -> str | None:
    """The path without links; a link into storage that is not mounted here leads there."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None


def _anchor(path: str) -> str:
    """The folder that must be here for its storage to be seen: the first one below a folder of every machine."""
    above = max((folder for folder in _EVERYWHERE if _below(path, (folder,))), key=len)
    rest = path[len(above.rstrip("/")) + 1 :]
    return os.path.join(above, rest.split("/")[0])


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def same_folder(one: str, other: str) -> bool:
    """Whether both are one folder; false where that cannot be told."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


class NotAScript(Exception):
    """The file holds no text that sbatch could run; the message says why."""


def read_text(path: str, most: int) -> str:
    """A script's text, at most `most` bytes of it. Bytes that are no UTF-8 stay what they are (`surrogateescape`), so
    that paths with them are still found.

    Raises `NotAScript` where it is none, or cannot be read.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            what = "is a folder: name the scripts in it" if os.path.isdir(path) else "is no regular file"
            raise NotAScript(what)
        with open(path, "rb") as file:
            data = file.read(most)
    except OSError as error:
        raise NotAScript(f"cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise NotAScript("is no path") from None
    if b"\0" in data:
        raise NotAScript("is no script: it holds binary data")
    return data.decode("utf-8", "surrogateescape")
