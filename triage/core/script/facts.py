"""What only the machine or the cluster can tell, handed in by whoever can look."""

from __future__ import annotations

from typing import Protocol

from triage.core.script.site import Site


class Facts(Protocol):
    """Answers about the world. `None` is "not known here": then nothing is judged."""

    def exists(self, path: str) -> bool | None:
        """Whether a path exists, relative ones from the folder of submission; `None` where its parent or its mount
        is not to be seen from here."""

    def filesystem(self, path: str) -> str | None:
        """The type of the file system that holds a path, as mount(8) calls it: `nfs4`, `lustre`, `xfs`."""

    def site(self) -> Site:
        """The cluster that a job would be submitted to; an empty one where there is none."""


class Nothing:
    """Facts of a machine that sees neither the files nor the cluster."""

    def exists(self, path: str) -> bool | None:  # noqa: ARG002
        return None

    def filesystem(self, path: str) -> str | None:  # noqa: ARG002
        return None

    def site(self) -> Site:
        return Site()
