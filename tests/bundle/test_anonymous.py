"""Of planted secrets and names none is found in a bundle, and what it says is the same but for them."""

from __future__ import annotations

import json
import os
import tarfile
import zlib
from functools import cache
from pathlib import Path

import pytest

from tests.bundle.bundles import bundle_of
from tests.bundle.planted import FAILURE, NAMES, SECRETS, plant
from tests.support import CASES, case_names
from triage.bundle.identities import Identities
from triage.bundle.make import told_alike
from triage.bundle.pseudonyms import Pseudonyms
from triage.bundle.same import differences
from triage.bundle.vocabulary import Vocabulary
from triage.files.rules import load

SHARE = 1 if os.environ.get("TRIAGE_SLOW") else 12
SAMPLE = [n for n in case_names() if zlib.crc32(f"anonymous/{n}".encode()) % SHARE == 0]


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary(load({}, examples=True).rules)


def unpacked(path: Path) -> str:
    """All that the archive holds, names of its files included."""
    with tarfile.open(path) as archive:
        files = [(member.name, archive.extractfile(member)) for member in archive]
    with tarfile.open(path) as archive:
        texts = []
        for member in archive:
            file = archive.extractfile(member)
            assert file is not None
            texts.append(f"{member.name}\n{file.read().decode('utf-8', 'replace')}")
    assert files
    return "\n".join(texts)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted") / "logs"
    plant(folder)
    return folder


def test_no_planted_secret_is_found(planted: Path, tmp_path: Path) -> None:
    packed, again = bundle_of(planted, tmp_path / "b.tar.gz")
    held = unpacked(tmp_path / "b.tar.gz")
    assert [secret for secret in (*SECRETS, "k9J8h7G6f5D4") if secret in held] == []
    assert FAILURE.splitlines()[-1] in held
    assert not differences(packed.manifest.verdict, told_alike(again.to_json()))


def test_no_planted_name_is_found_where_names_are_replaced(planted: Path, tmp_path: Path) -> None:
    assert len(SECRETS) + len(NAMES) >= 40
    packed, again = bundle_of(planted, tmp_path / "b.tar.gz", anonymous=vocabulary())
    held = unpacked(tmp_path / "b.tar.gz").lower()
    assert [name for name in (*SECRETS, *NAMES) if name.lower() in held] == []
    assert again.root is not None
    assert (again.category, again.root.rank) == ("shape", 3)
    assert again.root.frame is not None
    assert again.root.frame.file.endswith("site-packages/megatron/core/tensor_parallel/layers.py")
    assert not differences(packed.manifest.verdict, told_alike(again.to_json()))
    assert packed.manifest.anonymized


@pytest.mark.parametrize("name", SAMPLE)
def test_bundle_of_a_case_without_names_keeps_its_verdict(name: str, tmp_path: Path) -> None:
    packed, again = bundle_of(CASES / name / "logs", tmp_path / "b.tar.gz", anonymous=vocabulary())
    assert not differences(packed.manifest.verdict, told_alike(again.to_json()))


def names_in(*lines: str) -> Pseudonyms:
    identities = Identities(vocabulary())
    for line in lines:
        identities.add_line(line)
    return Pseudonyms(identities)


def test_hosts_keep_their_order_and_lists_stay_lists() -> None:
    names = names_in("SLURM_JOB_NODELIST=wombat[008-010,100]", "host: wombat009.cluster.corp.com")
    assert names.replace("SLURM_JOB_NODELIST=wombat[008-010,100]") == "SLURM_JOB_NODELIST=node[0001-0004]"
    assert (
        names.replace("wombat100: wombat009.cluster.corp.com wombat0")
        == "node0004: node0002.site01.example wombat0"
    )
    assert names.replace("hostname=wombat010, x=1") == "hostname=node0003, x=1"


def test_a_name_that_is_a_common_word_is_replaced_only_where_it_is_stated() -> None:
    names = names_in("USER=train", "cd /home/train/x", "HOSTNAME=loss")
    assert names.replace("USER=train") == "USER=user1"
    assert names.replace("train loss: 2.0 in /home/train/x") == "train loss: 2.0 in /home/user1/x"


def test_what_rules_read_of_a_path_stays() -> None:
    names = names_in(
        'File "/opt/marmot/lib/python3.12/site-packages/torch/nn/modules/linear.py", line 3, in f'
    )
    assert names.replace("/opt/marmot/lib/python3.12/site-packages/torch/nn/modules/linear.py").endswith(
        "/lib/python3.12/site-packages/torch/nn/modules/linear.py"
    )
    assert (
        names.replace("/marmot/megatron/training/checkpointing.py")
        == "/name01/megatron/training/checkpointing.py"
    )
    assert (
        names.replace("No such file: /data/ckpt/iter_0000100/mp_rank_00")
        == "No such file: /data/ckpt/iter_0000100/mp_rank_00"
    )


def test_name_of_the_job_in_the_name_of_its_log_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "quokkas-48123.out").write_text("quokkas ends\n")
    (tmp_path / "logs" / "train-48123.err").write_text("train loss\n")
    packed, _ = bundle_of(tmp_path / "logs", tmp_path / "b.tar.gz", anonymous=vocabulary())
    assert [log.member for log, _ in packed.logs] == ["logs/name001-48123.out", "logs/train-48123.err"]
    assert "quokkas" not in unpacked(tmp_path / "b.tar.gz")


def test_names_are_as_long_as_what_they_stand_for() -> None:
    """rich wraps paths at a column that its reader looks for."""
    for user in ("kim", "jdoe", "sortm", "okonkwo-b", "a-very-long-name"):
        names = names_in(f"USER={user}")
        assert len(names.replace(f"/home/{user}/x.py")) == len(f"/home/{user}/x.py")
        assert user not in names.replace(f"/home/{user}/x.py")


@pytest.mark.parametrize(
    "text",
    [
        "https://pytorch.org/docs/stable/notes/cuda.html",
        "localhost:29500 127.0.0.1 ::1 0.0.0.0",
        " [2026-12-01 10:00:00] iteration 3/ 8 | consumed samples: 12 | elapsed time per iteration (ms): 1.0 |",
        "c10::Error at::native std::runtime_error torch::autograd::Engine",
        "NCCL version 2.21.5+cuda12.4",
        "user code raised; node failure; host memory; on node exit",
        "[rank0]:2025-02-03 13:39:06,055 - root - INFO - Starting job",
    ],
)
def test_what_names_nobody_stays(text: str) -> None:
    assert names_in(text).replace(text) == text


def test_replaced_once_where_real_names_look_like_replacements() -> None:
    names = names_in("SLURM_JOB_NODELIST=node[0003-0005]", "USER=user0002", "LOGNAME=user0003")
    assert (
        names.replace("node0003 node0004 node0005 user0002 user0003")
        == "node0001 node0002 node0003 user0001 user0002"
    )
    assert json.loads(json.dumps(names.replace("HOST=node0005"))) == "HOST=node0003"
