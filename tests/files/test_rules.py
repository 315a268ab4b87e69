"""Reading rule folders: what is wrong with a file is told, never skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.errors import InputError, RuleError
from triage.files.rules import load, read_folder, shipped_folder, user_folder


def test_a_file_that_is_not_utf8_or_too_large_is_a_mistake_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "oom").mkdir()
    (tmp_path / "oom" / "a.toml").write_bytes(b"title = 'x'\nrole = '\xff'\n")
    (tmp_path / "oom" / "b.toml").write_bytes(b"#" * (2 << 20))
    with pytest.raises(RuleError) as caught:
        read_folder(tmp_path)
    assert caught.value.mistakes == [
        f"{tmp_path}/oom/a.toml:2: not UTF-8",
        f"{tmp_path}/oom/b.toml:1: larger than 1 MiB, which no rule file is",
    ]


def test_a_missing_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--rules"):
        read_folder(tmp_path / "none")
    with pytest.raises(InputError):
        load({}, [tmp_path / "none"])


def test_only_toml_files_one_level_down_are_read(tmp_path: Path) -> None:
    for name in ("a.toml", "oom/b.toml", "oom/readme.md", "oom/deep/c.toml", ".git/d.toml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert [Path(path).name for path, _ in read_folder(tmp_path)] == ["a.toml", "b.toml"]


def test_the_user_folder_counts_only_where_it_exists(tmp_path: Path) -> None:
    assert user_folder({}) is None
    assert user_folder({"HOME": str(tmp_path)}) is None
    (tmp_path / ".config" / "triage" / "rules").mkdir(parents=True)
    assert user_folder({"HOME": str(tmp_path)}) == str(tmp_path / ".config" / "triage" / "rules")
    assert user_folder({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "/nowhere"}) is None


def test_the_shipped_folder_holds_the_taxonomy() -> None:
    assert (Path(shipped_folder()) / "taxonomy.toml").is_file()
