"""Small logs, written as torch, NCCL, Slurm and Megatron print them, and the verdict on them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support import Log, blocks, engine, locating, ruleset
from triage.core.analysis import Analysis, Choice
from triage.core.cause.explain import Explained
from triage.core.cause.verdict import Verdict
from triage.files.layout import sources_of

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {gpu} has a total capacity of 79.15 GiB of"
    " which 1.20 GiB is free. Process 77 has 77.9 GiB memory in use."
)


def log(path: str, *parts: str) -> Log:
    """A file of these parts, each ended by a line break."""
    return Log(path, "".join(part if part.endswith("\n") else part + "\n" for part in parts).encode())


def analysed(logs: Sequence[Log], *, naive: bool = False) -> Analysis:
    analysis = Analysis(ruleset(), engine(), naive=naive)
    for source, one in zip(sources_of([one.path for one in logs]), logs, strict=True):
        feed = analysis.open(source)
        for block in blocks(one.data):
            feed.feed(block)
        feed.close()
    return analysis


def explained(
    *logs: Log, attempt: int | None = None, job: str | None = None, asked: list[int] | None = None
) -> Explained:
    """`asked` notes each source whose lines are counted, once a call."""

    def locate(source: int, offsets: Sequence[int]) -> Sequence[tuple[str, int]]:
        if asked is not None:
            asked.append(source)
        return locating(logs)(source, offsets)

    return analysed(logs).explained(locate, Choice(attempt, job))


def verdict(*logs: Log, attempt: int | None = None, job: str | None = None) -> Verdict:
    return explained(*logs, attempt=attempt, job=job).verdict


def at(seconds: float, day: str = "2026-12-01") -> str:
    """A clock time of that day, 10:00:00 plus so many seconds."""
    whole = 10 * 3600 + int(seconds)
    micro = round((seconds - int(seconds)) * 1e6)
    return f"{day} {whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{micro:06d}"


def stamped(seconds: float, text: str = "setting up the data", name: str = "trainer") -> str:
    """A line of Python's logging."""
    return f"{at(seconds)[:19]},{int(seconds % 1 * 1000):03d} - {name} - INFO - {text}"


def step(iteration: int, seconds: float, total: int = 1000) -> str:
    """Megatron's line of one iteration."""
    return (
        f" [{at(seconds)}] iteration {iteration:8d}/{total:8d} | consumed samples: {iteration * 8:12d} |"
        f" elapsed time per iteration (ms): 1000.0 | learning rate: 1.0E-04 | lm loss: 2.5E+00 | number of nan iterations:   0 |"
    )


def steps(first: int, last: int, start: float = 0.0, gap: float = 1.0, total: int = 1000) -> str:
    return "\n".join(step(n, start + (n - first) * gap, total) for n in range(first, last + 1))


def trace(
    said: str = "ValueError: bad luck", function: str = "forward_step", file: str = "/app/model.py"
) -> str:
    """A traceback that ends with this exception."""
    return "\n".join(
        (
            "Traceback (most recent call last):",
            '  File "/app/pretrain.py", line 90, in <module>',
            "    main()",
            f'  File "{file}", line 42, in {function}',
            "    loss = compute(batch)",
            said,
        )
    )


def tagged(rank: int, text: str) -> str:
    """What torch puts in front of stderr's lines after process-group initialisation."""
    return prefixed(f"[rank{rank}]: ", text)


def prefixed(prefix: str, text: str) -> str:
    return "\n".join(prefix + line if line else line for line in text.splitlines())


def oom(gpu: int = 0) -> str:
    return trace(OOM.format(gpu=gpu))


DIST_BACKEND = (
    "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2006,"
    " remote process exited or there was a network error, NCCL version 2.21.5\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
    "Last error:\n"
    "socketProgress: Connection closed by remote peer gpu2<40412>"
)


def dist_backend() -> str:
    return trace(DIST_BACKEND, "all_reduce", "/opt/torch/distributed/distributed_c10d.py")


def watchdog(rank: int, seconds: float, seq: int = 7, ran_ms: int = 600_000) -> str:
    """A time-out of rank's watchdog in the group of all ranks, on torch 2.5."""
    clock = f"E1201 {at(seconds)[11:]}000"
    return (
        f"[rank{rank}]:[{clock} ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout:"
        f" WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)={ran_ms}) ran for {ran_ms} milliseconds"
        " before timing out.\n"
        f"[rank{rank}]:[{clock} ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Exception (either an"
        f" error or timeout) detected by watchdog at work: {seq}, last enqueued NCCL work: {seq}, last completed NCCL work: {seq - 1}."
    )


def cancelled(seconds: float, why: str = "", what: str = "STEP 1234.0", host: str = "gpu1") -> str:
    """slurmstepd's word; `why` is empty for a scancel, or `TIME LIMIT`, `PREEMPTION` ..."""
    clock = at(seconds)[:19].replace(" ", "T")
    return (
        f"slurmstepd: error: *** {what} ON {host} CANCELLED AT {clock}{f' DUE TO {why}' if why else ''} ***"
    )


def summary(
    *failures: tuple[int, int, int], host: str = "gpu1", seconds: float = 100.0, per_node: int = 8
) -> str:
    """torchrun's block; each failure is (rank, exit code, pid), the first one its root cause."""

    def entry(number: int, rank: int, code: int, pid: int) -> str:
        said = (
            f"traceback : Signal {-code} (SIGNAL) received by PID {pid}"
            if code < 0
            else "traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
        )
        return (
            f"[{number}]:\n  time      : {at(seconds)[:19].replace(' ', '_')}\n  host      : {host}\n"
            f"  rank      : {rank} (local_rank: {rank % per_node})\n  exitcode  : {code} (pid: {pid})\n  error_file: <N/A>\n  {said}\n"
        )

    line = "=" * 60
    others = "".join(entry(n, *f) for n, f in enumerate(failures[1:], 1)) or "  <NO_OTHER_FAILURES>\n"
    return (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
        f"{line}\npretrain.py FAILED\n{'-' * 60}\nFailures:\n{others}{'-' * 60}\n"
        f"Root Cause (first observed failure):\n{entry(0, *failures[0])}{line}\n"
    )


def launcher_died(
    *failures: tuple[int, int, int], host: str = "gpu1", seconds: float = 100.0, per_node: int = 8
) -> str:
    """What torchrun prints at the end: its own traceback and the summary."""
    return (
        "Traceback (most recent call last):\n"
        '  File "/opt/bin/torchrun", line 8, in <module>\n    sys.exit(main())\n'
        '  File "/opt/torch/distributed/launcher/api.py", line 264, in launch_agent\n    raise ChildFailedError(\n'
        + summary(*failures, host=host, seconds=seconds, per_node=per_node)
    )
