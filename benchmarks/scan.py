"""`triage explain` against ripgrep looking for the same literals in the same files, both as fresh processes.

    python -m benchmarks.scan [--gb 0.2 2 8] [--many] [--storm] [--runs 5] [--dir FOLDER]

The logs are made (see loggen.py), the verdict is checked in every run, and what was made is deleted at the end. The cache
is warm: each size is read once before. Runs alternate; the best of each counts, for other work on the machine only adds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import loggen
from benchmarks.measure import Run, run
from triage.core.cause.ranges import fold

TRIAGE = [
    sys.executable,
    "-c",
    "import sys; from triage.__main__ import run; sys.exit(run())",
    "explain",
    "--format",
    "json",
]
FAILED = 10
MANY, MANY_SIZE = 32_768, 4 << 10
STORM_SIZE = 200_000_000


def literals() -> str:
    """The engine's own, one a line; in another process, so that this one stays small."""
    code = (
        "from triage.core.analysis import Analysis; from triage.files.rules import load\n"
        "print('\\n'.join(Analysis(load({})).anchors.literals))"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout


def checked(result: Run, ranks: int, culprit: int, downstream: str) -> dict[str, Any]:
    """The verdict, if it is the right one; ends the benchmark if not."""
    verdict: dict[str, Any] = json.loads(result.output) if result.output else {}
    root = verdict.get("root") or {}
    said = {
        name for one in verdict.get("downstream", []) if one["category"] == "nccl" for name in [one["ranks"]]
    }
    right = verdict.get("category") == "oom" and root.get("rank") == culprit and result.code == FAILED
    if not right or (downstream and downstream not in said):
        sys.exit(
            f"wrong verdict on {ranks} ranks: {verdict.get('category')}, rank {root.get('rank')}, exit code {result.code}, "
            f"nccl on {sorted(said)}"
        )
    return verdict


def against_ripgrep(folder: Path, patterns: Path, runs: int) -> tuple[list[Run], list[Run]]:
    """Alternating runs of both."""
    ripgrep = ["rg", "-F", "-f", os.fspath(patterns), "-c", "-j2", os.fspath(folder)]
    run(ripgrep)
    theirs, ours = [], []
    others = fold(set(range(loggen.RANKS)) - {loggen.CULPRIT})
    for _ in range(runs):
        theirs.append(run(ripgrep))
        ours.append(run([*TRIAGE, os.fspath(folder)]))
        checked(ours[-1], loggen.RANKS, loggen.CULPRIT, others)
    return theirs, ours


def alone(folder: Path, runs: int, ranks: int, culprit: int) -> list[Run]:
    found = [run([*TRIAGE, os.fspath(folder)]) for _ in range(runs + 1)][1:]
    for one in found:
        checked(one, ranks, culprit, "")
    return found


def best(runs: Sequence[Run]) -> float:
    return min(one.seconds for one in runs)


def peak(runs: Sequence[Run]) -> str:
    return f"{max(one.peak for one in runs) / 1e6:.0f} MB"


def cpu(runs: Sequence[Run]) -> str:
    return f"{min(one.cpu for one in runs):.2f} s"


def made(folder: Path, make: Callable[[Path], None]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    make(folder)
    return folder


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gb", nargs="*", type=float, default=[0.2, 2.0])
    parser.add_argument("--many", action="store_true", help=f"also {MANY} files of 4 KB")
    parser.add_argument("--storm", action="store_true", help="also 200 MB in which every line is an error")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dir", type=Path, help="where the logs are made; a temporary folder otherwise")
    options = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="triage-bench-", dir=options.dir))
    try:
        patterns = base / "literals"
        patterns.write_text(literals())
        print(
            "| input | ripgrep | CPU | triage | CPU | ratio | peak memory |\n|---|---|---|---|---|---|---|",
            flush=True,
        )
        for size in options.gb:
            folder = made(base / "logs", lambda to, size=size: loggen.write_ranks(to, int(size * 1e9)))  # type: ignore[misc]
            theirs, ours = against_ripgrep(folder, patterns, options.runs)
            row = f"{best(theirs):.2f} s | {cpu(theirs)} | {best(ours):.2f} s | {cpu(ours)} | {best(ours) / best(theirs):.2f}"
            print(f"| {size:g} GB in {loggen.RANKS} files | {row} | {peak(ours)} |", flush=True)
        if options.many:
            folder = made(base / "logs", lambda to: loggen.write_many(to, MANY, MANY_SIZE))
            ours = alone(folder, 1, MANY, loggen.CULPRIT)
            print(
                f"| {MANY} files of 4 KB | | | {best(ours):.2f} s | {cpu(ours)} | | {peak(ours)} |",
                flush=True,
            )
        if options.storm:
            folder = made(base / "logs", lambda to: loggen.write_storm(to, STORM_SIZE))
            ours = alone(folder, 1, 1, 0)
            print(f"| 200 MB of errors | | | {best(ours):.2f} s | {cpu(ours)} | | {peak(ours)} |", flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
