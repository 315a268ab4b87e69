"""Verdicts to render."""

from __future__ import annotations

from triage.core.cause.verdict import (
    ChainLink,
    Downstream,
    Evidence,
    FrameView,
    Root,
    Scanned,
    Skipped,
    Verdict,
)

OOM = Verdict(
    failed=True,
    category="oom",
    rule="oom/cuda",
    ended=True,
    confidence="high",
    summary="rank 5 (node-a, GPU 5) ran out of GPU memory in backward: tried 2.00 GiB, 1.20 GiB free of 79.15 GiB",
    root=Root(
        rank=5,
        ranks="5",
        local_rank=5,
        node="node-a",
        gpu=5,
        time="2026-12-01T10:03:07.123456",
        time_source="line",
        exception="torch.OutOfMemoryError",
        message="CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of 79.15 GiB.\nSee the docs.",
        frame=FrameView("/lustre/fsw/portfolios/team/users/someone/megatron/core/tensor_parallel/layers.py", 1001, "forward"),
        chain=(ChainLink("ValueError", "first", FrameView("a.py", None, "")), ChainLink(None, "", None)),
        phase="backward",
        attribution="tag",
        evidence=Evidence("node-a.err", 120, 141),
    ),
    facts={"world_size": 16, "tp": 2, "dp": 4, "pp": 2, "requested_gib": 2.0, "gpu_total_gib": 79.15, "last_iteration": 1200},
    downstream=(Downstream("nccl", "nccl/watchdog-timeout", "0-4,6-15", 15, Evidence("node-b.err", 88, 88)),),
    next_steps=("Lower --micro-batch-size.", "Turn on recompute."),
    reasons=("rank 5's traceback precedes every NCCL error by 10 min 2 s (node-a.err:120 before node-b.err:88)",),
    unexplained=(Downstream("network", "network/dns", "", 0, None),),
    attempt=2,
    attempts=2,
    slurm={"job_id": "123456", "state": "FAILED", "reason": "NonZeroExitCode", "exit_code": 1, "signal": 0,
           "restarts": 1, "nodes": "gpu[1-2]", "submitted": None, "started": None, "ended": None},
    scanned=Scanned(16, 123456, None, "0-15", "", (Skipped("core.1234", "binary"),)),
    job="123456",
    other_jobs=("123455",),
)  # fmt: skip

HEALTHY = Verdict(False, "none", None, True, "high", "no failure: training finished", None, {})
UNKNOWN = Verdict(True, "unknown", None, False, "low", "the run failed; the logs do not show why", None, {})
SAMPLES = {"oom": OOM, "healthy": HEALTHY, "unknown": UNKNOWN}

HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \x90q\x9c \u202eevil\u202c zero\u200bwidth \r\n::error file=x::pwned "
    "\n::set-output name=a::b\n##[command]x `` ``` ~~~ <script>x</script> [link](http://x) [bold]x[/bold] @someone #12 | % \x00\x07 \ud800"
)
"""Everything that a terminal, Markdown or a workflow runner could take for an order."""
