"""Local or network storage, by the mount that holds a path."""

from __future__ import annotations

import pytest

from triage.files.facts import Mount
from triage.files.network import is_on_network

MOUNTS = (Mount("/", "overlay"), Mount("/tmp", "tmpfs"), Mount("/usr", "nfs4"), Mount("/var", "lustre"))


@pytest.mark.parametrize(
    ("path", "network"), [("/tmp/x", False), ("/usr/x/y", True), ("/var", True), ("/etc", False)]
)
def test_the_deepest_mount_tells(path: str, network: bool) -> None:
    assert is_on_network(path, MOUNTS) is network


def test_what_cannot_be_told_is_treated_as_network_storage() -> None:
    assert is_on_network("/tmp/x", ())
