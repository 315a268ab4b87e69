"""Whether a path lies on storage of several hosts, where attributes are cached and events of other hosts never come."""

from __future__ import annotations

import os
from collections.abc import Sequence

from triage.core.script.check_storage import SHARED
from triage.files.facts import Machine, Mount, read_mounts


def is_on_network(path: str, mounts: Sequence[Mount] | None = None) -> bool:
    """What cannot be told counts as such: it is the more careful answer."""
    path = os.path.abspath(path)
    while not os.path.lexists(path) and path != "/":
        path = os.path.dirname(path)
    kind = Machine("/", read_mounts() if mounts is None else mounts, settled=False).filesystem(path)
    return kind is None or SHARED.fullmatch(kind) is not None
