"""Events wake a watcher for its results, and for nothing else that is written beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from triage.files import waker as module
from triage.files.waker import Waker


@pytest.fixture
def waker() -> Iterator[Waker]:
    made = Waker()
    yield made
    made.close()


def test_a_result_that_is_renamed_into_place_wakes_and_is_named(waker: Waker, tmp_path: Path) -> None:
    waker.watch([f"{tmp_path}/m.json", f"{tmp_path}/out-*.json"])
    (tmp_path / "part").write_text("{}")
    (tmp_path / "part").rename(tmp_path / "m.json")
    waker.wait(10)
    assert f"{tmp_path}/m.json" in waker.changed()


def test_a_chatty_log_beside_the_result_wakes_nobody(waker: Waker, tmp_path: Path) -> None:
    waker.watch([f"{tmp_path}/m-*.json"])
    (tmp_path / "train.log").write_text("hello\n")
    (tmp_path / "m-1.json").write_text("{}")
    waker.wait(10)
    assert waker.changed() == {f"{tmp_path}/m-*.json"}


def test_only_so_many_folders_are_listened_to(
    waker: Waker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FOLDERS", 2)
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        waker.watch([f"{tmp_path}/{number}/m.json"])
    (tmp_path / "2" / "m.json").write_text("{}")
    (tmp_path / "0" / "m.json").write_text("{}")
    waker.wait(10)
    assert waker.changed() == {f"{tmp_path}/0/m.json"}


def test_a_folder_that_is_not_there_yet_is_no_error(waker: Waker, tmp_path: Path) -> None:
    waker.watch([f"{tmp_path}/later/m.json"])
    assert waker.changed() == frozenset()
