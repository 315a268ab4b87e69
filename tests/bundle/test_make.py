"""What a bundle keeps is enough: it is explained as the logs are, with the same places, and nothing in it is secret.

A sample of the cases runs by default; `TRIAGE_SLOW=1` takes them all.
"""

from __future__ import annotations

import gzip
import json
import os
import tarfile
import zlib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.bundle.bundles import bundle_of, verdict_on
from tests.support import CASES, case_names
from triage.api import collected_of
from triage.bundle import ranges
from triage.bundle.make import told_alike
from triage.bundle.manifest import parse
from triage.bundle.same import differences
from triage.report.schema import schema_text

SHARE = 1 if os.environ.get("TRIAGE_SLOW") else 12
SAMPLE = [n for n in case_names() if zlib.crc32(f"bundle/{n}".encode()) % SHARE == 0]

STEP = " [2026-12-01 10:00:{:02d}] iteration {:8d}/ 5000 | consumed samples: {:9d} | elapsed time per iteration (ms): 100.0 | lm loss: 2.0 |\n"
NOISE = "gpu01:100:200 [0] NCCL INFO Channel {:02d}/0 : 3[3] -> 2[2] via P2P/CUMEM/read and nothing else to be seen\n"
TRACE = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "/opt/Megatron-LM/pretrain_gpt.py", line 300, in <module>
[rank0]:     pretrain()
[rank0]:   File "/opt/Megatron-LM/megatron/core/tensor_parallel/layers.py", line 488, in forward
[rank0]:     output = torch.matmul(total_input, weight.t())
[rank0]: RuntimeError: mat1 and mat2 shapes cannot be multiplied (128x64 and 56x128)
"""


def long_log(noise: int = 60_000) -> str:
    """Progress, then megabytes that say nothing, with a failure in their middle."""
    steps = "".join(STEP.format(n % 60, n, n * 512) for n in range(1, 400))
    filling = "".join(NOISE.format(n % 32) for n in range(noise))
    return f"{steps}{filling}{TRACE}{filling}"


@pytest.mark.parametrize("name", SAMPLE)
def test_bundle_of_a_case_keeps_its_verdict(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all of a small log kept, and with nothing but what is read closely."""
    for whole in (ranges._WHOLE, 0):
        monkeypatch.setattr(ranges, "_WHOLE", whole)
        packed, again = bundle_of(CASES / name / "logs", tmp_path / "b.tar.gz")
        assert not differences(packed.manifest.verdict, told_alike(again.to_json()))


def test_of_a_long_log_little_is_kept_and_its_lines_keep_their_numbers(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "rank-0.err").write_text(long_log())
    packed, again = bundle_of(logs, tmp_path / "b.tar.gz")
    assert packed.manifest.verdict["root"]["evidence"]["first_line"] == 60_400
    assert again.to_json() | {"scanned": None} == dict(packed.manifest.verdict) | {"scanned": None}
    assert (logs / "rank-0.err").stat().st_size > 12_000_000
    assert sum(len(data) for _, data in packed.logs) < 200 << 10


def test_gaps_are_told_to_people_who_unpack_it(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "rank-0.err").write_text(long_log(5_000))
    bundle_of(logs, tmp_path / "b.tar.gz")
    with tarfile.open(tmp_path / "b.tar.gz") as archive:
        file = archive.extractfile("logs/rank-0.err")
        assert file is not None
        text = file.read().decode()
    whole = (logs / "rank-0.err").read_text().split("\n")
    notes = [line for line in text.split("\n") if line.startswith("[... ")]
    assert notes
    number = 0
    for line in text.split("\n")[:-1]:
        if line.startswith("[... "):
            number = int(line.split("-")[-1].split()[0])
            continue
        assert line == whole[number]
        number += 1


def test_the_same_logs_give_the_same_bytes(tmp_path: Path) -> None:
    folder = CASES / "shape-two-node" / "logs"
    bundle_of(folder, tmp_path / "a.tar.gz")
    bundle_of(folder, tmp_path / "b.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_bundle_of_a_bundle_is_the_bundle(tmp_path: Path) -> None:
    folder = CASES / "shape-two-node" / "logs"
    bundle_of(folder, tmp_path / "a.tar.gz")
    packed, again = bundle_of(tmp_path / "a.tar.gz", tmp_path / "b.tar.gz")
    assert not differences(packed.manifest.verdict, told_alike(again.to_json()))
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def manifest_in(path: Path) -> Any:
    with tarfile.open(path) as archive:
        first = archive.next()
        assert first is not None
        assert first.name == "bundle.json"
        file = archive.extractfile(first)
        assert file is not None
        return json.load(file)


def test_manifest_is_as_its_schema_says(tmp_path: Path) -> None:
    schema = json.loads(schema_text("bundle"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for name in ("shape-two-node", SAMPLE[0]):
        packed, _ = bundle_of(CASES / name / "logs", tmp_path / "b.tar.gz")
        told = manifest_in(tmp_path / "b.tar.gz")
        jsonschema.Draft202012Validator(schema).validate(told)
        assert parse(json.dumps(told).encode()).logs == packed.manifest.logs


def test_too_many_bytes_are_cut_to_the_budget_and_what_is_cited_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "BUDGET", 300 << 10)
    logs = tmp_path / "logs"
    logs.mkdir()
    storm = "".join(
        f"ERROR: step {n:x} of {n * 7919:x} failed: Connection refused by {n:o}\n" for n in range(6000)
    )
    for rank in range(1, 5):
        (logs / f"rank-{rank}.err").write_text(storm)
    (logs / "rank-0.err").write_text(TRACE)
    packed, again = bundle_of(logs, tmp_path / "b.tar.gz")
    assert sum(len(data) for _, data in packed.logs) < 310 << 10
    assert again.root is not None
    assert (again.root.rank, again.category) == (0, "shape")


STRANGE = ["new\nline.err", "-rf.err", "a b.err", "ünï.err", "x" * 200 + ".err", "_00001", ".hidden.err"]


def test_names_of_files_that_an_archive_should_not_carry(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, name in enumerate(STRANGE):
        (logs / name).write_text(f"line {number}\n")
    (logs / os.fsdecode(b"bad\xff.err")).write_text(TRACE)
    packed, again = bundle_of(logs, tmp_path / "b.tar.gz")
    assert all(log.member.isascii() and log.member.isprintable() for log, _ in packed.logs)
    assert len({log.member for log, _ in packed.logs}) == len(STRANGE) + 1
    assert not differences(packed.manifest.verdict, told_alike(again.to_json()))


def test_binary_junk_passes_as_it_is(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    junk = bytes(range(9, 256)) * 3 + b"\n" + b"\0" * 500 + b"\xff\xfe\x80\n\r\x1b[31m"
    (logs / "a.err").write_bytes(b"plain words that are no secret at all, " * 50 + junk + TRACE.encode())
    packed, again = bundle_of(logs, tmp_path / "b.tar.gz")
    assert packed.logs[0][1] == (logs / "a.err").read_bytes()
    assert again.category == "shape"


def test_parts_of_one_log_are_read_as_one_again(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    lines = TRACE.splitlines(keepends=True)
    (logs / "train.log.1").write_text("".join(lines[:3]))
    (logs / "train.log").write_text("".join(lines[3:]))
    packed, again = bundle_of(logs, tmp_path / "b.tar.gz")
    assert again.category == "shape"
    assert not differences(packed.manifest.verdict, told_alike(again.to_json()))


def test_compressed_logs_are_kept_as_text(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.err.gz").write_bytes(gzip.compress(TRACE.encode()))
    packed, again = bundle_of(logs, tmp_path / "b.tar.gz")
    assert packed.logs[0][1].decode() == TRACE
    assert again.category == "shape"
    assert verdict_on(collected_of(logs)).category == "shape"
