"""Looks at results on disk: the second look, networks, patterns, hostile files."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.core.jobs.artifact import Complete, Line, NotYet, parse_target
from triage.errors import UsageError
from triage.files.artifacts import APART_LOCAL, APART_NETWORK, TRACKER, Observer, expand, look

VALUES = {"job_id": "18", "name": "train"}


def observer(*texts: str, network: bool = False) -> Observer:
    return Observer([parse_target(text) for text in texts], lambda _: network)


def only(seen: Observer, now: float) -> Complete | NotYet:
    (found,) = seen.step(now)[0].values()
    (one,) = found
    return one


def test_a_result_counts_at_the_second_look_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    seen = observer(str(path))
    assert only(seen, 0.0) == NotYet(str(path), "does not exist yet")
    path.write_text('{"a": 1}')
    found, due = seen.step(1.0)
    assert (isinstance(next(iter(found.values()))[0], NotYet), due) == (True, 1.0 + APART_LOCAL)
    assert isinstance(only(seen, 1.0 + APART_LOCAL / 2), NotYet)
    assert isinstance(only(seen, 1.0 + APART_LOCAL), Complete)


def test_on_a_network_the_second_look_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"a": 1}')
    seen = observer(str(path), network=True)
    seen.step(0.0)
    assert isinstance(only(seen, APART_NETWORK - 0.1), NotYet)
    assert isinstance(only(seen, APART_NETWORK), Complete)


def test_a_rewrite_between_the_looks_starts_them_anew(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"a": 1}')
    seen = observer(str(path))
    seen.step(0.0)
    path.write_text('{"a": 22}')
    assert isinstance(only(seen, 1.0), NotYet)
    assert isinstance(only(seen, 2.0), Complete)


def test_a_clock_set_back_starts_the_looks_anew(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"a": 1}')
    seen = observer(str(path))
    seen.step(1000.0)
    assert isinstance(only(seen, 10.0), NotYet)
    assert isinstance(only(seen, 11.0), Complete)


def test_each_match_of_a_pattern_has_its_own_looks(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text('{"a": 1}')
    (tmp_path / "c.json").write_text("{")
    seen = observer(str(tmp_path / "*.json"))
    seen.step(0.0)
    (found,) = seen.step(1.0)[0].values()
    assert [type(one).__name__ for one in found] == ["Complete", "Complete", "NotYet"]
    assert isinstance(only(observer(str(tmp_path / "*.none")), 0.0), NotYet)


def test_a_checkpoint_is_seen_whole(tmp_path: Path) -> None:
    folder = tmp_path / "iter_0000500" / "rank_0"
    folder.mkdir(parents=True)
    seen = observer(f"ckpt:{tmp_path}@500")
    assert only(seen, 0.0) == NotYet(str(tmp_path), "holds no finished checkpoint yet")
    (folder / "model.pt").write_bytes(b"x")
    (tmp_path / TRACKER).write_text("500")
    seen.step(1.0)
    found = only(seen, 2.0)
    assert isinstance(found, Complete)
    assert found.value == {"iteration": 500}
    (folder / "optimizer.pt").touch()
    assert isinstance(only(seen, 3.0), NotYet)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: p.mkdir(), "is no file"),
        (lambda p: os.mkfifo(p), "is no file"),
        (lambda p: p.symlink_to(p), "cannot be read"),
        (lambda p: p.symlink_to("/nowhere/at/all"), "does not exist"),
        (lambda p: p.touch(), "is empty"),
        (lambda p: os.truncate(os.open(p, os.O_CREAT | os.O_WRONLY), 1 << 30), "is not read"),
    ],
    ids=["folder", "fifo", "loop", "broken-link", "empty", "huge"],
)
def test_what_is_no_readable_file_is_told(tmp_path: Path, make: Callable[[Path], object], words: str) -> None:
    path = tmp_path / "m.json"
    make(path)
    problem = look(parse_target(str(path)), str(path), 0.0).problem
    assert problem is not None
    assert words in problem


def test_of_huge_json_lines_only_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    with open(path, "wb") as file:
        file.truncate(40 << 20)
        file.seek(0, 2)
        file.write(b'\n{"i": 7}\n{"i"')
    seen = observer(str(path))
    seen.step(0.0)
    found = only(seen, 1.0)
    assert isinstance(found, Complete)
    assert found.value == {"i": 7}


def deciding(seen: Observer, now: float) -> Line:
    seen.step(now)
    found = only(seen, now + 1.0)
    assert isinstance(found, Complete)
    assert found.line is not None
    return found.line


def test_of_json_lines_it_is_known_what_was_there_at_the_first_look(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"i": 1}\n')
    seen = observer(str(path))
    line = deciding(seen, 0.0)
    assert (line.at, line.is_last, line.first is not None and line.first.size) == (0, True, 9)
    with open(path, "a") as file:
        file.write('{"i":')
    line = deciding(seen, 10.0)
    assert (line.at, line.is_last, line.first is not None and line.first.size) == (0, False, 9)
    with open(path, "a") as file:
        file.write(" 2}\n")
    line = deciding(seen, 20.0)
    assert (line.at, line.is_last, line.first is not None and line.first.size) == (9, True, 9)


def test_json_lines_that_came_after_the_first_look_are_all_new_and_a_cut_file_is_another_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.jsonl"
    seen = observer(str(path))
    seen.step(0.0)
    path.write_text('{"i": 1}\n{"i": 2}\n')
    assert deciding(seen, 10.0) == Line(9, True, None)
    again = observer(str(path))
    again.step(0.0)
    path.write_text('{"i": 3}\n')
    line = deciding(again, 10.0)
    assert line.first is not None
    assert line.first.size == 9


def test_places_are_filled_in_and_relative_paths_begin_at_the_jobs_folder(tmp_path: Path) -> None:
    target = expand(parse_target("out/{name}-{job_id}.json"), VALUES, str(tmp_path))
    assert target.path == f"{tmp_path}/out/train-18.json"
    assert expand(parse_target("*-{name}.json"), {"name": "[x]"}, "/r").path == "/r/*-[[]x].json"


@pytest.mark.parametrize("text", ["{nothing}.json", "x" * 300, "file/below.json", ".", "ckpt:file"])
def test_what_can_never_be_found_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError):
        expand(parse_target(text), VALUES, str(tmp_path))


def _moves(path: Path, other: Path, dice: random.Random) -> list[Callable[[bytes], object]]:
    """What a writer may do to a result, given what it wants to say."""

    def cut(data: bytes) -> None:
        if path.exists():
            os.truncate(path, dice.randrange(len(data)))

    def rename(data: bytes) -> None:
        other.write_bytes(data)
        other.replace(path)

    def link(data: bytes) -> None:
        other.write_bytes(data)
        path.unlink(missing_ok=True)
        path.symlink_to(other)

    def vanish(_: bytes) -> None:
        path.unlink(missing_ok=True)

    def folder(_: bytes) -> None:
        path.unlink(missing_ok=True)
        path.mkdir()
        path.rmdir()

    return [
        path.write_bytes, lambda data: path.write_bytes(data[: dice.randrange(len(data))]), rename, link, vanish, cut,
        lambda data: path.write_bytes(data + data[:3]), lambda data: path.write_bytes(b"[" * 50_000 + data), folder,
    ]  # fmt: skip


def test_a_thousand_rounds_of_torture_find_each_whole_result_and_no_other(tmp_path: Path) -> None:
    """Writers that stop anywhere, rewrite, truncate, rename, swap links and permissions: what counts is on disk, whole,
    and was there at both looks."""
    dice = random.Random(7)
    path, other = tmp_path / "m.json", tmp_path / "other"
    whole = [
        b'{"a": 1}',
        b'{"a": NaN, "b": [1, 2, 3]}',
        b'{"a": "' + b"x" * 5000 + b'"}',
        b"[" * 90 + b"1" + b"]" * 90,
    ]
    moves = _moves(path, other, dice)
    seen = observer(str(path))
    found = 0
    for turn in range(1000):
        dice.choice(moves)(dice.choice(whole))
        now = turn * 10.0
        seen.step(now)
        if dice.random() < 0.3:
            dice.choice(moves)(dice.choice(whole))
        before = path.read_bytes() if path.exists() else b""
        result = only(seen, now + 1.0)
        if isinstance(result, Complete):
            assert result.data == before
            assert before in whole
            found += 1
        quiet = [only(seen, now + 2.0), only(seen, now + 3.0)][-1]
        assert isinstance(quiet, Complete) == (before in whole), (before[:40], quiet)
        if before:
            json_is_whole = isinstance(quiet, Complete)
            assert not json_is_whole or json.loads(before)
    assert found > 100
