"""What only the machine or the cluster can tell, handed in by whoever can look."""

from __future__ import annotations

from typing import Protocol


class Facts(Protocol):
    """Answers about the world. `None` is "not known here": then nothing is judged."""

    def exists(self, path: str) -> bool | None:
        """Whether a path exists, relative ones from the folder of submission; `None` where its parent or its mount
        is not to be seen from here."""

    def filesystem(self, path: str) -> str | None:
        """The type of the file system that holds a path, as mount(8) calls it: `nfs4`, `lustre`, `xfs`."""

    def gpu(self, partition: str | None) -> str | None:
        """The one GPU type of a partition (`None` for the default one)."""

    def gpus_per_node(self, partition: str | None) -> int | None:
        """How many GPUs each of its nodes has, where all have the same."""


class Nothing:
    """Facts of a machine that sees neither the files nor the cluster."""

    def exists(self, path: str) -> bool | None:  # noqa: ARG002
        return None

    def filesystem(self, path: str) -> str | None:  # noqa: ARG002
        return None

    def gpu(self, partition: str | None) -> str | None:  # noqa: ARG002
        return None

    def gpus_per_node(self, partition: str | None) -> int | None:  # noqa: ARG002
        return None
