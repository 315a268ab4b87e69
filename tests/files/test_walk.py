"""Which files are read, and that every one that is not has a reason."""

from __future__ import annotations

import gzip
import io
import os
import random
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from triage.errors import InputError
from triage.files.lines import line_numbers
from triage.files.open import chunks
from triage.files.walk import collect


def made(folder: Path, files: Mapping[str, bytes | str]) -> str:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(folder)


def reasons(folder: str) -> dict[str, str]:
    return {s.path: s.reason for s in collect([folder]).skipped}


def shown(*paths: str) -> list[str]:
    return [i.source.path for i in collect(paths).inputs]


def test_odd_names_are_logs(tmp_path: Path) -> None:
    names = [
        "log",
        "result_4.txt",
        "a.err",
        "a.out",
        "a.log.1",
        "a.stderr",
        ".hidden",
        "sub/x/y",
        "error.json",
        "1",
    ]
    assert shown(made(tmp_path, dict.fromkeys(names, "text\n"))) == sorted(names)


def test_empty_file_is_read(tmp_path: Path) -> None:
    assert shown(made(tmp_path, {"empty.err": ""})) == ["empty.err"]


def test_files_of_a_job_folder_that_are_no_logs_are_skipped_with_a_reason(tmp_path: Path) -> None:
    names = ["train.py", "run.sh", "x.slurm", "x.sbatch", "c.toml", "c.yaml", "c.yml", "README.md", "n.ipynb"]
    folder = made(
        tmp_path, {**dict.fromkeys(names, "CUDA out of memory\n"), "index.json": "{}", "a.log": "x\n"}
    )
    assert shown(folder) == ["a.log"]
    assert set(reasons(folder)) == {*names, "index.json"}
    assert all(reasons(folder).values())


def test_the_only_file_named_is_read_whatever_its_suffix(tmp_path: Path) -> None:
    path = made(tmp_path, {"notes.md": "Traceback\n"}) + "/notes.md"
    assert shown(path) == [path]


BINARY: dict[str, bytes] = {
    "model.pt": b"PK\x03\x04" + bytes(range(256)) * 40,
    "model.safetensors": struct.pack("<Q", 9000) + b'{"a":' + b'"x",' * 4000,
    "tokens.bin": struct.pack("<5000H", *random.Random(1).choices(range(50_000), k=5000)),
    "tokens32.bin": struct.pack("<5000i", *random.Random(1).choices(range(50_000), k=5000)),
    "tokens.idx": b"MMIDIDX\x00\x00" + bytes(100),
    "a.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}",
    "plot.png": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "random": random.Random(2).randbytes(9000),
    "zeros": bytes(20_000),
}


def test_binaries_are_known_by_content(tmp_path: Path) -> None:
    folder = made(tmp_path, {**BINARY, "a.log": "x\n"})
    assert shown(folder) == ["a.log"]
    assert reasons(folder) == dict.fromkeys(BINARY, "binary")


def test_core_dump(tmp_path: Path) -> None:
    folder = made(
        tmp_path, {"core.1234": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x04\x00" + bytes(50), "a.log": ""}
    )
    assert reasons(folder) == {"core.1234": "core dump"}


TEXTS: dict[str, bytes] = {
    "utf16": "erreur\n".encode("utf-16"),
    "latin1": "mémoire épuisée\n".encode("latin-1") * 99,
    "coloured": b"\x1b[31mERROR\x1b[0m \x1b[1mx\x1b[0m\r\n" * 99,
    "bar": b"\r 10%|#         | 1/10 [00:01<00:09]" * 99,
    "one-nul": b"Tried to allocate\x00 2.00 GiB\n" * 9,
    "hole": b"start\n" + bytes(4000) + b"Traceback (most recent call last):\n",
    "long-hole": bytes(20_000) + b"Traceback (most recent call last):\n" * 300,
    "packed.gz": gzip.compress(b"text\n" * 99),
}


def test_texts_of_every_sort_are_read(tmp_path: Path) -> None:
    assert shown(made(tmp_path, TEXTS)) == sorted(TEXTS)


def test_compressed_binary_is_a_binary(tmp_path: Path) -> None:
    folder = made(tmp_path, {"ckpt.gz": gzip.compress(BINARY["tokens.bin"]), "a.log": ""})
    assert reasons(folder) == {"ckpt.gz": "binary"}


def test_special_files_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path, {"a.log": "x\n"})
    os.mkfifo(tmp_path / "pipe.log")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.log")
        assert reasons(folder) == {"pipe.log": "FIFO", "s.log": "socket"}


def test_links(tmp_path: Path) -> None:
    folder = made(tmp_path, {"real/train-12345.log": "x\n"})
    (tmp_path / "a-latest").symlink_to("real")
    (tmp_path / "a-latest.log").symlink_to("real/train-12345.log")
    (tmp_path / "gone.log").symlink_to("nowhere")
    (tmp_path / "real" / "up").symlink_to("..")
    os.link(tmp_path / "real" / "train-12345.log", tmp_path / "real" / "zz-hard.log")
    assert shown(folder) == ["real/train-12345.log"]
    assert reasons(folder) == {
        "a-latest.log": "same file as real/train-12345.log",
        "gone.log": "broken link",
        "real/zz-hard.log": "same file as real/train-12345.log",
    }


def test_linked_folder_outside_is_followed(tmp_path: Path) -> None:
    made(tmp_path / "scratch", {"rank_0.log": "x\n"})
    made(tmp_path / "job", {})
    (tmp_path / "job").mkdir(exist_ok=True)
    (tmp_path / "job" / "logs").symlink_to(tmp_path / "scratch")
    assert shown(str(tmp_path / "job")) == ["logs/rank_0.log"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file_and_folder(tmp_path: Path) -> None:
    folder = made(tmp_path, {"a.log": "x\n", "no.log": "x\n", "shut/x.log": "x\n"})
    (tmp_path / "no.log").chmod(0)
    (tmp_path / "shut").chmod(0)
    try:
        assert reasons(folder) == {
            "no.log": "permission denied",
            "shut": "folder cannot be read: Permission denied",
        }
    finally:
        (tmp_path / "shut").chmod(0o755)


def test_git_and_environments_are_left_out(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        {
            ".git/log": "x",
            ".triage/t/run.sbatch": "x",
            "venv/pyvenv.cfg": "x",
            "venv/lib/a.txt": "x",
            "a.log": "x",
        },
    )
    assert shown(folder) == ["a.log"]
    assert reasons(folder) == {"venv": "Python environment"}


def test_thousands_of_shards_are_one_entry(tmp_path: Path) -> None:
    folder = made(tmp_path, {**{f"ckpt/{n}.pt": b"PK\x03\x04" for n in range(50)}, "a.log": "x"})
    assert reasons(folder) == {"ckpt": "50 files: binary"}


def test_record_of_watch_is_no_log(tmp_path: Path) -> None:
    collected = collect([made(tmp_path, {"triage-4812.json": "{}", "a.log": "x"})])
    assert [i.source.path for i in collected.records] == ["triage-4812.json"]
    assert [i.source.path for i in collected.inputs] == ["a.log"]


def test_glob_that_the_shell_left_alone(tmp_path: Path) -> None:
    folder = made(tmp_path, {"a-1.err": "x", "a-2.err": "x", "b.err": "x"})
    assert [os.path.basename(p) for p in shown(f"{folder}/a-*.err")] == ["a-1.err", "a-2.err"]


def test_file_whose_name_is_a_pattern_is_that_file(tmp_path: Path) -> None:
    path = made(tmp_path, {"a[1].log": "x", "a1.log": "x"}) + "/a[1].log"
    assert shown(path) == [path]


def test_two_folders_with_the_same_names_stay_apart(tmp_path: Path) -> None:
    a, b = made(tmp_path / "a", {"x.log": "1", "only.log": "3"}), made(tmp_path / "b", {"x.log": "2"})
    assert sorted(shown(a, b)) == sorted([f"{a}/x.log", f"{b}/x.log", "only.log"])


def test_argument_inside_a_torchrun_tree_still_says_the_local_rank(tmp_path: Path) -> None:
    folder = made(tmp_path, {"run_x/attempt_2/3/stderr.log": "x"})
    (one,) = collect([folder + "/run_x/attempt_2/3"]).inputs
    assert (one.source.path, one.source.attempt, one.source.local_rank) == ("stderr.log", 2, 3)


def test_folders_above_the_argument_say_nothing(tmp_path: Path) -> None:
    folder = made(tmp_path / "node-3" / "rank_5" / "job-99999", {"train.log": "x"})
    (one,) = collect([folder]).inputs
    assert (one.source.rank, one.source.node, one.source.node_rank, one.source.job) == (
        None,
        None,
        None,
        None,
    )


def test_standard_input_can_be_read_twice() -> None:
    (one,) = collect(["-"], io.BytesIO(b"a\nb\nc\n")).inputs
    assert one.source.path == "-"
    assert b"".join(chunks(one)) == b"a\nb\nc\n"
    assert line_numbers(one, [4]) == [3]
    assert b"".join(chunks(one)) == b"a\nb\nc\n"


def test_compressed_standard_input() -> None:
    (one,) = collect(["-"], io.BytesIO(gzip.compress(b"a\nb\n"))).inputs
    assert b"".join(chunks(one)) == b"a\nb\n"


def test_name_that_is_no_utf8_is_shown_and_opened(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"bad\xff.log")
    with open(path, "wb") as file:
        file.write(b"x\n")
    (one,) = collect([str(tmp_path)]).inputs
    assert one.source.path.encode() == "bad\ufffd.log".encode()
    assert b"".join(chunks(one)) == b"x\n"


@pytest.mark.parametrize(
    ("files", "argument", "words"),
    [
        ({}, "nowhere", "no such file or folder"),
        ({}, "*.log", "no file matches"),
        ({}, "", "the folder is empty"),
        ({"a.pt": b"PK\x03\x04"}, "", "a.pt was skipped: binary"),
        ({"a.pt": b"PK\x03\x04", "b.npy": b"\x93NUMPY"}, "", "all 2 files were skipped (2 binary)"),
        ({"a.pt": b"PK\x03\x04"}, "a.pt", "binary"),
    ],
)
def test_nothing_to_read_says_why(
    tmp_path: Path, files: dict[str, bytes | str], argument: str, words: str
) -> None:
    made(tmp_path, files)
    with pytest.raises(InputError) as caught:
        collect([str(tmp_path / argument)])
    assert words in str(caught.value)


def test_all_missing_paths_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        collect([str(tmp_path / "a"), str(tmp_path / "b")])
    assert len(str(caught.value).splitlines()) == 2
