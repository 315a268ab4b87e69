"""What a path says, and above all what it does not say."""

from __future__ import annotations

from typing import Any

import pytest

from triage.core.logs.source import Source
from triage.files.hosts import looks_like_host, may_be_host
from triage.files.layout import source_of, sources_of

FIELDS = ("stream", "kind", "job", "node", "node_rank", "rank", "local_rank", "task", "attempt")


def said(source: Source) -> dict[str, Any]:
    blank = Source("")
    return {f: getattr(source, f) for f in FIELDS if getattr(source, f) != getattr(blank, f)}


SINGLE: list[tuple[str, dict[str, Any]]] = [
    # Slurm: %x-%j-%N-%t and its subsets
    ("slurm-1203344.out", {"stream": "out", "job": "1203344"}),
    ("slurm-1203344_7.out", {"stream": "out", "job": "1203344_7"}),
    ("slurm-123.0.out", {"stream": "out", "job": "123"}),
    ("train-48120377-2.log", {"job": "48120377", "task": 2}),
    ("train-123456-gpu012-3.log", {"job": "123456", "node": "gpu012", "task": 3}),
    ("train-123456-gpu-12-3.err", {"stream": "err", "job": "123456", "node": "gpu-12", "task": 3}),
    ("train-123456-gpu012.log", {"job": "123456", "node": "gpu012"}),
    ("train-123456-gpu012.example.com-7.log", {"job": "123456", "node": "gpu012.example.com", "task": 7}),
    ("sft_10688214.log", {"job": "10688214"}),
    ("377204.log", {"job": "377204"}),
    ("megatron-123.err", {"stream": "err", "job": "123"}),
    ("40213_0_log.err", {"stream": "err", "job": "40213", "task": 0}),
    ("40213_3_0_log.err", {"stream": "err", "job": "40213_3", "task": 0}),
    ("log-account_1904411_0.out", {"stream": "out", "job": "1904411", "attempt": 0}),
    ("job_7/node_1/stdout.log", {"stream": "out", "job": "7", "node_rank": 1}),
    # words that say a rank
    ("rank-2.err", {"stream": "err", "rank": 2}),
    ("aa-rank-2.err", {"stream": "err", "rank": 2}),
    ("rank_1.log", {"rank": 1}),
    ("2026-08-24_run7/rank7.log", {"rank": 7}),
    ("rank0007", {"rank": 7}),
    ("rank_3_of_8.err.gz", {"stream": "err", "rank": 3}),
    ("nemo_log_globalrank-3_localrank-1.txt", {"rank": 3, "local_rank": 1}),
    ("node-rank-3.log", {"node_rank": 3}),
    # nodes
    ("node-b.err", {"stream": "err", "node": "node-b"}),
    ("node_0.log", {"node_rank": 0}),
    ("node12.log", {"node": "node12"}),
    ("node2_cn1437.log", {"node_rank": 2, "node": "cn1437"}),
    ("node0_gpu3.log", {"node_rank": 0}),
    ("hgx04.log", {"node": "hgx04"}),
    ("ip-10-31-45-209.log", {"node": "ip-10-31-45-209"}),
    ("aa-ip-10-31-45-209.log", {"node": "ip-10-31-45-209"}),
    ("10.0.0.1.log", {"node": "10.0.0.1"}),
    ("worker-node1.out", {"stream": "out", "node": "worker-node1"}),
    ("gb-b200-14/train.log", {"node": "gb-b200-14"}),
    ("pretrain-tug-master-0.log", {"node": "pretrain-tug-master-0"}),
    ("pretrain-tug-worker-3.log", {"node": "pretrain-tug-worker-3"}),
    # launchers' trees
    ("abc_x1y2/attempt_1/3/stderr.log", {"stream": "err", "attempt": 1, "local_rank": 3}),
    ("abc_x1y2/attempt_1/3/error.json", {"kind": "error-file", "attempt": 1, "local_rank": 3}),
    ("node-0-gpu12/attempt-1/rank_3.log", {"node_rank": 0, "node": "gpu12", "attempt": 1, "rank": 3}),
    (
        "LOGS/train-123456/attempt-0/node-3-gb-b200-14/x.err",
        {"stream": "err", "job": "123456", "attempt": 0, "node_rank": 3, "node": "gb-b200-14"},
    ),
    ("worker-" + "0af1" * 14 + "-01000000-12345.err", {"stream": "err"}),
    # the kernel
    ("dmesg.txt", {"kind": "kernel"}),
    ("cx-061/kern.log", {"kind": "kernel", "node": "cx-061"}),
    ("dmesg-cx061.txt", {"kind": "kernel", "node": "cx061"}),
    ("syslog.1", {"kind": "kernel"}),
    ("journal", {"kind": "kernel"}),
]


@pytest.mark.parametrize(("path", "expected"), SINGLE, ids=[path for path, _ in SINGLE])
def test_path_says(path: str, expected: dict[str, Any]) -> None:
    assert said(source_of(path)) == expected


@pytest.mark.parametrize(
    "path",
    [
        "train.log",
        "log.txt",
        "main_log.txt",
        "train_output.txt",
        "train_qwen2.log",
        "baichuan2.log",
        "llama-70b-h100-8.log",
        "gpt3-175b-0.log",
        "gpt_4096.log",
        "h100-8.log",
        "fused_kernel.log",
        "result_4.txt",
        "run-20260824_101530.log",
        "240419092057726230862_1.log",
        "tp_rank_00_pp_rank_001.log",
        "log_TP2_PP1_8b.txt",
        "lightning_logs/version_0/x.log",
        "moe-3.log",
        "terror.log",
        "outer.log",
    ],
)
def test_name_that_only_looks_like_it_says_nothing(path: str) -> None:
    assert said(source_of(path)) == {}


def test_bare_number_is_neither_job_nor_rank() -> None:
    assert said(source_of("megatron-7.err")) == {"stream": "err"}


def test_two_ranks_in_one_name_say_none() -> None:
    assert source_of("rank_1_to_rank_4.log").rank is None


def test_launcher_numbers_are_seen_from_the_siblings() -> None:
    assert [said(s) for s in sources_of(["node0.log", "node1.log"])] == [{"node_rank": 0}, {"node_rank": 1}]
    assert [said(s) for s in sources_of(["node3.log", "node9.log"])] == [{"node": "node3"}, {"node": "node9"}]
    assert [s.task for s in sources_of(["gpt-0.log", "gpt-1.log", "gpt-2.log"])] == [0, 1, 2]


def test_runs_that_count_from_zero_are_no_tasks() -> None:
    assert [said(s) for s in sources_of(["result_0.txt", "result_1.txt"])] == [{}, {}]


def test_siblings_of_another_folder_do_not_count() -> None:
    assert [s.task for s in sources_of(["a/gpt-0.log", "b/gpt-1.log"])] == [None, None]


def test_letters_put_in_front_change_nothing() -> None:
    names = ["hgx03.log", "node-b.err", "node1.out", "node0.out", "ksn-0.log", "ksn-1.log", "slurm-12345.out"]
    in_front = [f"{chr(97 + i // 26)}{chr(97 + i % 26)}-{name}" for i, name in enumerate(names)]
    assert [said(s) for s in sources_of(in_front)] == [said(s) for s in sources_of(names)]


def test_torchrun_run_id_is_a_job_only_where_another_name_says_so() -> None:
    tree = "88131_p71m3zzk/attempt_0/3/stdout.log"
    assert source_of(tree).job is None
    assert source_of(tree, ["slurm-88131.out"]).job == "88131"


@pytest.mark.parametrize(
    "word", ["nid005233", "cn1437", "dgx-h100-3", "gpu-b17-n04", "a.internal", "gpu012", "xg9-04"]
)
def test_hosts(word: str) -> None:
    assert looks_like_host(word)


@pytest.mark.parametrize(
    "word", ["train2", "a100", "exp-03", "run-n3", "log", "rank-01", "gpu3", "v1.2.3", ""]
)
def test_no_hosts(word: str) -> None:
    assert not looks_like_host(word)


def test_device_after_node_number_is_no_host() -> None:
    assert may_be_host("jzx-n37")
    assert not may_be_host("gpu3")


def test_many_files_take_linear_time() -> None:
    paths = [f"job-{n % 7}-{'x-' * 60}{n}.log" for n in range(5000)]
    assert len(sources_of(paths)) == 5000


@pytest.mark.parametrize(
    "path", ["", "/", "a/" * 500, "-" * 5000, "rank" * 3000, "\udcff.log", "1" * 5000, "a.b" * 999]
)
def test_hostile_names_are_survived(path: str) -> None:
    assert source_of(path).rank is None
