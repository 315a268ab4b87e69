"""Where the tool keeps what must outlive a call."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping


def state_folder(environment: Mapping[str, str]) -> str:
    """`$TRIAGE_STATE`, else `triage` in the user's state folder (XDG base directory specification)."""
    if told := environment.get("TRIAGE_STATE"):
        return told
    base = environment.get("XDG_STATE_HOME", "")
    if not base.startswith("/"):
        base = posixpath.join(environment.get("HOME") or "/", ".local", "state")
    return posixpath.join(base, "triage")
