"""Folders that many jobs share are listed once, and whatever appears in them is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triage.files.folders import Folders


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    listed: list[str] = []
    real = os.listdir

    def listdir(folder: str) -> list[str]:
        listed.append(folder)
        return real(folder)

    monkeypatch.setattr("triage.files.folders.os.listdir", listdir)
    return listed


def test_patterns_mean_what_glob_says(tmp_path: Path) -> None:
    for name in ("train-18.out", "train-18-1.err", "train-181.out", ".train-18-2", "train-17.out"):
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "train-18-3.out").touch()
    folders = Folders()
    found = folders.matches(f"{tmp_path}/train-18[!0-9]*")
    assert sorted(map(os.path.basename, found)) == ["train-18-1.err", "train-18.out"]
    assert [os.path.basename(one) for one in folders.matches(f"{tmp_path}/*/train-18*")] == ["train-18-3.out"]
    assert folders.matches(f"{tmp_path}/none/x*") == []


def test_a_folder_that_does_not_change_is_listed_until_its_time_of_change_is_certain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = Time()
    (tmp_path / "a-1.out").touch()
    folders, listed = Folders(time), counted(monkeypatch)
    folders.matches(f"{tmp_path}/a-1*")
    time.now += 3
    for number in range(100):
        folders.matches(f"{tmp_path}/a-{number}*")
    assert len(listed) == 2


def test_a_file_that_comes_in_the_same_tick_as_the_listing_is_found_later(tmp_path: Path) -> None:
    time = Time()
    folders = Folders(time)
    (tmp_path / "a-1.out").touch()
    before = os.stat(tmp_path).st_mtime_ns
    assert len(folders.matches(f"{tmp_path}/a*")) == 1
    (tmp_path / "a-2.out").touch()
    os.utime(tmp_path, ns=(before, before))
    time.now += 3
    assert len(folders.matches(f"{tmp_path}/a*")) == 2
