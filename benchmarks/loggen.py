"""Logs of a made-up run for the benchmarks: 64 ranks of Megatron progress between NCCL INFO noise, one of them out of memory.

The same bytes every time. 1 % of the lines look like failures and are none; each is what healthy runs print.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

RANKS = 64
GPUS = 8
CULPRIT = 29
JOB = 700123
BLOCK_LINES = 2_400
DECOYS_PER_BLOCK = BLOCK_LINES // 100
SECONDS_PER_STEP = 3
START = datetime(2026, 12, 1, 10, 0, 0)

_HOST, _PROCESS, _DEVICE, _RANK = b"gpunode00", b"1000007:1000011", b"[7]", b"[rank07]"
"""Stand-ins of a fixed width, replaced for each rank."""

_STEP = (
    b" [%(time)s] iteration %(step)8d/ 5000000 | consumed samples: %(samples)12d | elapsed time per iteration (ms): 3000.1 | "
    b"throughput per GPU (TFLOP/s/GPU): 402.7 | learning rate: 1.500000E-04 | global batch size:   512 | lm loss: %(loss)s | "
    b"loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)

_NOISE = (
    b"gpunode00:1000007:1000011 [7] NCCL INFO Channel 0%d/0 : 3[3] -> 2[2] via P2P/CUMEM/read\n",
    b"gpunode00:1000007:1000011 [7] NCCL INFO Channel 1%d/0 : 12[4] -> 20[4] [send] via NET/IB/%d/GDRDMA\n",
    b"gpunode00:1000007:1000011 [7] NCCL INFO Trees [%d] 4/-1/-1->3->2 [1] 4/-1/-1->3->2\n",
    b"gpunode00:1000007:1000011 [7] NCCL INFO comm 0x7f2b4c0%d1a0 rank 3 nranks 64 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x8ad%d\n",
    b"gpunode00:1000007:1000011 [7] NCCL INFO AllReduce: opCount %d sendbuff 0x7f2a3e000000 recvbuff 0x7f2a3e000000 count 8192 datatype 9\n",
    b"gpunode00:1000007:1000011 [7] NCCL INFO Connected all rings, use ring PXN %d GDR 1\n",
)

_DECOYS = (
    b"[rank07]:[W1201 10:00:00.%06d socket.cpp:697] [c10d] The client socket has failed to connect to [gpunode00]:29500 (errno: 110 - Connection timed out). Retrying, attempt %d\n",
    b"gpunode00:1000007:1000011 [7] NCCL WARN [Proxy Service 7] Failed to execute operation Close from rank 3, retcode 3 (%d)\n",
    b"gpunode00:1000007:1000011 [7] NCCL WARN [Service thread] Accept failed Resource temporarily unavailable (%d)\n",
    b"gpunode00:1000007:1000011 [7] NCCL INFO TUNER/Plugin: Failed to find ncclTunerPlugin_v%d, using internal tuner instead.\n",
    b"[rank07]:[W1201 10:00:00.%06d Utils.hpp:137] Warning: Environment variable NCCL_ASYNC_ERROR_HANDLING is deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead (function operator())\n",
    b"WARNING:megatron.core.utils:transformer_engine failed to import with exception No module named 'flash_attn_3' (check %d)\n",
    b"/opt/venv/lib/python3.12/site-packages/torch/cuda/memory.py:%d: UserWarning: you may encounter an out-of-memory (OOM) error with this setting\n",
    b"[NeMo E 2026-12-01 10:00:00 nemo_logging:%d] You are running multi-node training without SLURM handling the processes.\n",
    b"[gpunode00:%d] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168\n",
    b"checkpoint saver: %d stale lock files not found, nothing to be killed\n",
    b"timers: all-reduce max time: %d.11 ms; error rate 0.000; timeout budget 600 s\n",
    b"WARNING:root:data loader: retrying read of shard %d after OSError: [Errno 116] Stale file handle (attempt 1 of 5 succeeded)\n",
)

_SURVIVED = (
    b"WARNING:asyncio:upload of metrics failed, will retry\n"
    b"Traceback (most recent call last):\n"
    b'  File "/opt/venv/lib/python3.12/site-packages/metrics/client.py", line 88, in push\n'
    b"    self._post(body)\n"
    b'  File "/opt/venv/lib/python3.12/site-packages/metrics/client.py", line 131, in _post\n'
    b"    raise UploadError(reply.status)\n"
    b"metrics.client.UploadError: 503\n"
)
"""Once in a log of each node: a traceback after which the run goes on."""

_OOM = (
    b"[rank29]: Traceback (most recent call last):\n"
    b'[rank29]:   File "/opt/megatron/pretrain_gpt.py", line 303, in <module>\n'
    b"[rank29]:     pretrain(\n"
    b'[rank29]:   File "/opt/megatron/megatron/training/training.py", line 381, in pretrain\n'
    b"[rank29]:     iteration, num_floating_point_operations_so_far = train(\n"
    b'[rank29]:   File "/opt/megatron/megatron/training/training.py", line 1497, in train\n'
    b"[rank29]:     train_step(forward_step_func,\n"
    b'[rank29]:   File "/opt/megatron/megatron/core/pipeline_parallel/schedules.py", line 484, in forward_backward_no_pipelining\n'
    b"[rank29]:     backward_step(input_tensor, output_tensor, output_tensor_grad, model_type, config)\n"
    b'[rank29]:   File "/opt/venv/lib/python3.12/site-packages/torch/autograd/graph.py", line 823, in _engine_run_backward\n'
    b"[rank29]:     return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass\n"
    b"[rank29]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of 79.15 GiB of "
    b"which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.94 GiB memory in use. Of the allocated memory "
    b"74.21 GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch but unallocated.\n"
)

_TIMEOUT = (
    "[rank{rank}]:[E{glog} ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=8388608, NumelOut=8388608, Timeout(ms)=600000) ran for 600{late:03d} "
    "milliseconds before timing out.\n"
    "[rank{rank}]:[E{glog} ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog "
    "at work sequence id: {seq} PG status: last enqueued work: {seq}, last completed work: {done}\n"
    "[rank{rank}]:[E{glog} ProcessGroupNCCL.cpp:681] [Rank {rank}] Some NCCL operations have failed or timed out. Due to the "
    "asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.\n"
    "[rank{rank}]:[E{glog} ProcessGroupNCCL.cpp:695] [Rank {rank}] To avoid data inconsistency, we are taking the entire process down.\n"
    "terminate called after throwing an instance of 'c10::DistBackendError'\n"
    "  what():  [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog thread terminated with exception: [Rank {rank}] "
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=8388608, NumelOut=8388608, "
    "Timeout(ms)=600000) ran for 600{late:03d} milliseconds before timing out.\n"
)


@dataclass(frozen=True, slots=True)
class _Block:
    """One stretch of log with stand-ins for time, step and rank."""

    template: bytes
    """A `%` template of one (time, step, samples, loss) group per progress line."""
    steps: int


def write_ranks(folder: Path, size: int) -> None:
    """64 files of `size` bytes in all (at least one block each): progress to the end, then the failure."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(20261201)
    blocks = [_block(rng) for _ in range(8)]
    files = [(folder / _name(rank)).open("wb", buffering=0) for rank in range(RANKS)]
    written, number, step = 0, 0, 1
    while written == 0 or written < size:
        block = blocks[number % len(blocks)]
        text = _filled(block, step)
        for rank, file in enumerate(files):
            data = _of_rank(text, rank)
            if number == 0 and rank % GPUS == 0:
                data += _SURVIVED
            file.write(data)
            written += len(data)
        number += 1
        step += block.steps
    for rank, file in enumerate(files):
        file.write(_end(rank, step))
        file.close()


def write_many(folder: Path, count: int, size: int) -> None:
    """`count` files of about `size` bytes, of as many ranks; the culprit is out of memory."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(4096)
    block = _block(rng)
    start = _filled(block, 1)[:size]
    for rank in range(count):
        text, end = _of_rank(start, rank), _end(rank, block.steps + 1)
        room = max(0, size - len(end))
        cut = text.rfind(b"\n", 0, room) + 1
        (folder / f"gpt-{JOB}-gpu{rank // GPUS:04d}-rank{rank}.out").write_bytes(text[:cut] + end)


def write_storm(folder: Path, size: int) -> None:
    """One file in which every line is an error, with one cause at its start."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(200)
    with (folder / f"gpt-{JOB}-gpu00-rank0.out").open("wb") as file:
        written = file.write(_storm_head())
        while written < size:
            lines = b"".join(_storm_lines(rng, 4_000))
            written += file.write(lines)


def _storm_head() -> bytes:
    return _OOM.replace(b"[rank29]", b"[rank0]")


def _storm_lines(rng: random.Random, count: int) -> Iterator[bytes]:
    kinds: tuple[Callable[[], bytes], ...] = (
        lambda: b"ERROR:megatron.core.utils:request %d failed: Connection refused\n" % rng.randrange(10**9),
        lambda: (
            b"[rank0]:[E1201 11:00:00.%09d ProcessGroupNCCL.cpp:681] [Rank 0] error %s in work %d\n"
            % (rng.randrange(10**9), rng.randbytes(6).hex().encode(), rng.randrange(10**6))
        ),
        lambda: (
            b"RuntimeError: %s timed out after %d ms\n"
            % (rng.randbytes(8).hex().encode(), rng.randrange(10**4))
        ),
        lambda: (
            b"gpu00: task %d: Killed (error code %s)\n" % (rng.randrange(64), rng.randbytes(4).hex().encode())
        ),
        lambda: (
            _SURVIVED
            if rng.random() < 0.05
            else b"fatal error: cannot open file shard_%s\n" % rng.randbytes(5).hex().encode()
        ),
    )
    for _ in range(count):
        yield kinds[rng.randrange(len(kinds))]()


def _name(rank: int) -> str:
    return f"gpt-{JOB}-gpunode{rank // GPUS:02d}-rank{rank}.out"


def _block(rng: random.Random) -> _Block:
    lines = [b"step"] * (BLOCK_LINES // 4)
    for _ in range(BLOCK_LINES - len(lines) - DECOYS_PER_BLOCK):
        lines.append(_numbered(rng, rng.choice(_NOISE)))
    for number in range(DECOYS_PER_BLOCK):
        lines.append(_numbered(rng, _DECOYS[number % len(_DECOYS)], 1_000_000))
    rng.shuffle(lines)
    placed = [_STEP_TEMPLATE if line == b"step" else line.replace(b"%", b"%%") for line in lines]
    return _Block(b"".join(placed), lines.count(b"step"))


_STEP_TEMPLATE = _STEP.replace(b"%(time)s", b"%b").replace(b"%(step)8d", b"%8d").replace(
    b"%(samples)12d", b"%12d"
).replace(b"%(loss)s", b"%b")  # fmt: skip


def _numbered(rng: random.Random, line: bytes, largest: int = 10) -> bytes:
    places = line.count(b"%")
    return line % tuple(rng.randrange(largest) for _ in range(places)) if places else line


def _filled(block: _Block, first: int) -> bytes:
    values: list[bytes | int] = []
    for step in range(first, first + block.steps):
        values += (_stamp(step), step, step * 512, b"%.6E" % (2.0 + 9.0 / step))
    return block.template % tuple(values)


def _stamp(step: int) -> bytes:
    return (START + timedelta(seconds=SECONDS_PER_STEP * step)).strftime("%Y-%m-%d %H:%M:%S.000000").encode()


def _of_rank(text: bytes, rank: int) -> bytes:
    for stand_in, value in (
        (_HOST, f"gpunode{rank // GPUS:02d}"),
        (_PROCESS, f"{1_000_000 + rank}:{2_000_000 + rank}"),
        (_DEVICE, f"[{rank % GPUS}]"),
        (_RANK, f"[rank{rank}]"),
    ):
        text = text.replace(stand_in, value.encode())
    return text


def _end(rank: int, step: int) -> bytes:
    if rank == CULPRIT:
        return _OOM
    late = START + timedelta(seconds=SECONDS_PER_STEP * step + 602)
    glog = late.strftime("%m%d %H:%M:%S") + f".{rank:09d}"
    return _TIMEOUT.format(
        rank=rank, glog=glog, seq=step * 40 + 1, done=step * 40, late=12 + rank % 900
    ).encode()
