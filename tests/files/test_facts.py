"""What a machine may say of a path, and where it has to be silent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triage.core.script.site import Partition, Site
from triage.files.facts import (
    Machine,
    Mount,
    NotAScript,
    parse_mounts,
    read_mounts,
    read_text,
    same_folder,
)

ABSENT = "no-such-folder-of-any-machine"


def machine(folder: Path | str = "/", *mounts: Mount, settled: bool = True) -> Machine:
    return Machine(str(folder), mounts, settled=settled)


def test_what_is_there_exists_and_what_its_parent_lacks_does_not(tmp_path: Path) -> None:
    (tmp_path / "data.bin").touch()
    here = machine()
    assert here.exists(str(tmp_path / "data.bin")) is True
    assert here.exists(str(tmp_path / "data.idx")) is False
    assert here.exists(str(tmp_path / "data.bin" / "below")) is False
    assert here.exists(f"{tmp_path}/{ABSENT}/data.bin") is None


@pytest.mark.parametrize(
    "path",
    [
        f"/{ABSENT}",
        f"/{ABSENT}/a",
        f"/mnt/{ABSENT}",
        f"/home/{ABSENT}",
        f"/tmp/{ABSENT}",
        f"/dev/shm/{ABSENT}",
        f"/opt/{ABSENT}/bin/python",
        f"/usr/bin/{ABSENT}",
        f"/etc/{ABSENT}",
    ],
)
def test_storage_that_this_machine_does_not_have_is_not_judged(path: str) -> None:
    assert machine().exists(path) is None


def test_a_link_into_storage_that_is_not_mounted_here_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "away").symlink_to(f"/{ABSENT}/data")
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    assert machine().exists(str(tmp_path / "away")) is None
    assert machine().exists(str(tmp_path / "broken")) is False


def test_a_relative_path_is_missing_only_where_the_job_is_surely_submitted(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for settled, missing in ((True, False), (False, None)):
        here = machine(tmp_path, settled=settled)
        assert here.exists("logs") is True
        assert here.exists("./logs") is True
        assert here.exists("logs/old") is missing


@pytest.mark.parametrize("path", ["/tmp/a\0b", "/tmp/" + "x" * 5000, "/tmp/" + "d/" * 5000, "\udcff", ""])
def test_what_is_no_path_is_answered_without_an_error(path: str) -> None:
    assert machine("/").exists(path) in (None, False, True)
    machine("/", Mount("/", "xfs")).filesystem(path)


def test_unseen_storage_is_remembered_and_makes_the_machine_foreign(tmp_path: Path) -> None:
    here = machine(tmp_path, settled=False)
    for path in (f"/tmp/{ABSENT}", "logs", f"/var/lib/{ABSENT}/deep/file"):
        assert here.exists(path) is None
    assert list(here.unseen) == [f"/var/lib/{ABSENT}/deep/file"]
    assert not here.foreign
    here.exists(f"/{ABSENT}/a")
    assert here.foreign


def test_only_what_is_the_jobs_own_makes_the_machine_familiar(tmp_path: Path) -> None:
    here = machine(tmp_path, settled=True)
    for path in ("/tmp", "/usr/bin", "/home", "logs"):
        here.exists(path)
    assert not here.familiar
    (tmp_path / "pretrain_gpt.py").touch()
    here.exists("pretrain_gpt.py")
    assert here.familiar


def test_mountinfo_is_read_with_optional_fields_and_octal_escapes() -> None:
    text = (
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "41 27 0:40 / /net/my\\040data rw shared:7 master:2 - nfs4 host:/x rw\n"
        "half a line\n\n"
        "50 27 0:50 / /x rw -\n"
    )
    assert parse_mounts(text) == (Mount("/", "ext4"), Mount("/net/my data", "nfs4"))


def test_mounts_of_this_machine_hold_a_root_and_a_missing_table_is_empty(tmp_path: Path) -> None:
    assert read_mounts(str(tmp_path / "none")) == ()
    if os.path.exists("/proc/self/mountinfo"):
        assert "/" in {mount.point for mount in read_mounts()}


def test_filesystem_is_that_of_the_deepest_mount_and_the_last_one_there(tmp_path: Path) -> None:
    point = str(tmp_path.resolve())
    here = machine("/", Mount("/", "ext4"), Mount(point, "autofs"), Mount(point, "lustre"))
    assert here.filesystem(f"{point}/not/yet/made") == "lustre"
    assert here.filesystem(f"{point}-beside") == "ext4"


def test_filesystem_behind_a_link_is_that_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "shared")
    point = str((tmp_path / "shared").resolve())
    assert machine("/", Mount("/", "ext4"), Mount(point, "nfs4")).filesystem(f"{tmp_path}/link/x") == "nfs4"


def test_filesystem_of_storage_that_is_not_here_is_not_the_root_one(tmp_path: Path) -> None:
    here = machine("/", Mount("/", "ext4"), Mount(str(tmp_path.resolve()), "autofs"))
    assert here.filesystem(f"/{ABSENT}/x") is None
    assert here.filesystem(f"{tmp_path}/x") is None
    assert machine("/").filesystem(str(tmp_path)) is None


def test_cluster_is_asked_when_it_is_needed() -> None:
    assert machine().site() == Site()
    asked = Site((Partition("gpu", True, None, 4, 8),))
    assert Machine("/", (), settled=True, site=lambda: asked).site() is asked


def test_same_folder_follows_links_and_is_false_for_none(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert same_folder(str(tmp_path), str(tmp_path / "link"))
    assert not same_folder(str(tmp_path), str(tmp_path / "none"))


def test_bytes_that_are_no_utf8_still_name_their_file(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/donn\xe9es"
    try:
        open(name, "w").close()
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    script = tmp_path / "run.sh"
    script.write_bytes(b"#!/bin/bash\n--load " + name)
    assert machine().exists(read_text(str(script), 1 << 16).split()[-1]) is True


def test_line_ends_are_kept_and_size_is_bounded(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_bytes(b"#!/bin/bash\r\n" + b"#" * 1000)
    assert read_text(str(script), 20) == "#!/bin/bash\r\n#######"


def test_what_is_no_text_file_is_told_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"#!/bin/bash\n\0")
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (
        ("binary", "binary data"),
        ("pipe", "no regular file"),
        (".", "is a folder"),
        ("none", "No such file"),
        ("a\0b", "no path"),
    ):
        with pytest.raises(NotAScript, match=reason):
            read_text(f"{tmp_path}/{name}", 100)
