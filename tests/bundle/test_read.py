"""An archive from elsewhere: what `triage bundle` did not write is refused, in a sentence and with the right exit code."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from tests.bundle.bundles import archive, log_with, manifest_with
from triage.api import collected_of, explain
from triage.bundle import read, tar
from triage.cli.main import main
from triage.errors import InputError

TEXT = b"""\
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    main()
RuntimeError: boom
"""
GOOD = log_with("logs/a.err", [0, 0, 0, len(TEXT)])


def info(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def with_member(head: tarfile.TarInfo | str, data: bytes = TEXT, **manifest: object) -> bytes:
    name = head if isinstance(head, str) else head.name
    log = log_with(name, [0, 0, 0, len(data)]) if data else log_with(name)
    return archive([("bundle.json", manifest_with(log, **manifest)), (head, data)])


HOSTILE = {
    "absolute path": (with_member("/etc/cron.d/x"), "absolute path"),
    "parent": (with_member("logs/../../x"), "leads out of it"),
    "only a parent": (with_member(".."), "leads out of it"),
    "symbolic link": (with_member(info("logs/a.err", tarfile.SYMTYPE, "/etc/passwd"), b""), "symbolic link"),
    "hard link": (with_member(info("logs/a.err", tarfile.LNKTYPE, "bundle.json"), b""), "hard link"),
    "device": (with_member(info("logs/a.err", tarfile.CHRTYPE), b""), "device"),
    "FIFO": (with_member(info("logs/a.err", tarfile.FIFOTYPE), b""), "FIFO"),
    "folder": (with_member(info("logs", tarfile.DIRTYPE), b""), "folder"),
    "long name of GNU tar": (
        archive([("bundle.json", manifest_with()), ("a/" * 120 + "b", TEXT)], tarfile.GNU_FORMAT),
        "no plain file",
    ),
    "pax header": (
        archive([("bundle.json", manifest_with()), ("é" * 120, TEXT)], tarfile.PAX_FORMAT),
        "no plain file",
    ),
    "same name twice": (
        archive([("bundle.json", manifest_with(GOOD)), ("logs/a.err", TEXT), ("logs/a.err", TEXT)]),
        "twice",
    ),
    "manifest twice": (archive([("bundle.json", manifest_with())] * 2), "twice"),
    "archive within": (
        with_member("logs/a.err", gzip.decompress(archive([("bundle.json", manifest_with())]))),
        "is an archive",
    ),
    "file that is not named": (archive([("bundle.json", manifest_with()), ("x", TEXT)]), "does not name"),
    "file that is missing": (archive([("bundle.json", manifest_with(GOOD))]), "is missing"),
    "file that is too short": (
        archive([("bundle.json", manifest_with(GOOD)), ("logs/a.err", TEXT[:3])]),
        "shorter",
    ),
    "no manifest": (archive([("logs/a.err", TEXT)]), "did not write"),
    "manifest is no JSON": (archive([("bundle.json", b"{")]), "no JSON"),
    "manifest too deep": (archive([("bundle.json", b"[" * 200_000)]), "no JSON"),
    "manifest of another schema": (
        archive([("bundle.json", manifest_with(schema="triage.bundle/9"))]),
        "'triage.bundle/9'",
    ),
    "pieces out of order": (
        archive([("bundle.json", manifest_with(log_with("logs/a", [9, 0, 0, 1], [3, 0, 1, 1])))]),
        "triage schema bundle",
    ),
    "piece below 0": (
        archive([("bundle.json", manifest_with(log_with("logs/a", [-1, 0, 0, 1])))]),
        "triage schema bundle",
    ),
    "number as text": (
        archive([("bundle.json", manifest_with(GOOD | {"rank": "3"}), )]),
        "triage schema bundle",
    ),
    "damaged header": (gzip.compress(b"x" * 257 + b"ustar" + bytes(250)), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "why"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_archive_is_refused(
    data: bytes, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b.tar.gz"
    path.write_bytes(data)
    assert main(["explain", str(path)]) == 3
    out, told = capsys.readouterr()
    assert (out, told.count("\n")) == ("", 1)
    assert f"{path} is refused: " in told
    assert why in told
    assert [p.name for p in tmp_path.iterdir()] == ["b.tar.gz"]


def good() -> bytes:
    return archive([("bundle.json", manifest_with(GOOD)), ("logs/a.err", TEXT)])


@pytest.mark.parametrize("form", ["gz", "plain", "xz", "zst"])
def test_a_good_one_is_read_however_it_is_packed_and_whatever_its_name(form: str, tmp_path: Path) -> None:
    import lzma

    import zstandard

    plain = gzip.decompress(good())
    packed = {"gz": good(), "plain": plain, "xz": lzma.compress(plain), "zst": zstandard.compress(plain)}
    path = tmp_path / "slurm-4812.out"
    path.write_bytes(packed[form])
    assert explain(path).category == "python"


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
def test_archive_that_is_cut_off_is_refused(share: float, tmp_path: Path) -> None:
    plain = gzip.decompress(good())
    for data in (good()[: int(len(good()) * share)], plain[: 512 + int(1500 * share)]):
        path = tmp_path / "b.tar.gz"
        path.write_bytes(data)
        with pytest.raises(InputError):
            explain(path)


def test_bomb_is_stopped_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "LIMITS", tar.Limits(10, 4 << 20))
    path = tmp_path / "b.tar.gz"
    path.write_bytes(with_member("logs/a.err", bytes(5 << 20)))
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match="unpacks to more than 4 MiB"):
        explain(path)


def test_size_that_a_header_claims_is_not_allocated(tmp_path: Path) -> None:
    head = tarfile.TarInfo("bundle.json")
    head.size = 1 << 60
    path = tmp_path / "b.tar"
    path.write_bytes(head.tobuf(tarfile.GNU_FORMAT).replace(b"ustar  \0", b"ustar\00000") + bytes(512))
    with pytest.raises(InputError, match="is refused"):
        explain(path)


def test_a_million_files_are_not_counted_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "LIMITS", tar.Limits(3, 4 << 20))
    logs = [log_with(f"logs/{n}", [0, 0, 0, len(TEXT)]) for n in range(5)]
    path = tmp_path / "b.tar.gz"
    path.write_bytes(
        archive([("bundle.json", manifest_with(*logs)), *((f"logs/{n}", TEXT) for n in range(5))])
    )
    with pytest.raises(InputError, match="more than 3 files"):
        explain(path)


def test_log_that_claims_to_be_endless_is_refused(tmp_path: Path) -> None:
    pieces = [[n << 40, 0, n, 1] for n in range(40_000)]
    path = tmp_path / "b.tar.gz"
    path.write_bytes(
        archive([("bundle.json", manifest_with(log_with("logs/a", *pieces))), ("logs/a", b"x" * 40_000)])
    )
    with pytest.raises(InputError, match="longer than 64 GiB"):
        collected_of(path)


def test_archive_beside_logs_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.err").write_bytes(TEXT)
    (tmp_path / "triage-bundle-a.tar.gz").write_bytes(good())
    collected = collected_of(tmp_path)
    assert [one.source.path for one in collected.inputs] == ["a.err"]
    assert [(one.path, one.reason) for one in collected.skipped] == [("triage-bundle-a.tar.gz", "archive")]


def test_terminal_control_in_a_name_does_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b.tar.gz"
    path.write_bytes(archive([("\x1b]0;owned\x07", TEXT)]))
    assert main(["explain", str(path)]) == 3
    assert "\x1b" not in capsys.readouterr().err


def test_nothing_but_plain_headers_is_written() -> None:
    out = io.BytesIO()
    tar.write(out, "a", [b"xy"], 2)
    tar.finish(out)
    members = [(m.name, b"".join(m.data)) for m in tar.read(iter([out.getvalue()]), read.LIMITS)]
    assert members == [("a", b"xy")]
    with tarfile.open(fileobj=io.BytesIO(out.getvalue())) as again:
        assert [(m.name, m.size, m.mtime, m.uid) for m in again] == [("a", 2, 0, 0)]
