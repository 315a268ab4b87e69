"""Whole real logs: the verdict on each against the status that the log itself reports.

    python -m benchmarks.mlperf --out RESULTS.jsonl REPOSITORY [REPOSITORY ...]

A REPOSITORY is the git directory (bare or not) of a public MLPerf training round, such as
github.com/mlcommons/training_results_v2.1. Every `result_*.txt` and `*.log` in it is explained alone, as if it were all
that is known of its job. `run_stop` of MLLOG says `success` where the run reached its target; a log of MLLOG without it is dead.
Results are appended to RESULTS.jsonl as they come; what stands there already is not done again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_RUN_STOP = re.compile(rb'"key": ?"run_stop".{0,400}?"status": ?"(\w+)"', re.S)
_WANTED = re.compile(r"(?:^|/)(?:result_[^/]*\.txt|[^/]*\.log)$")
_SLOW = 30.0


@dataclass(frozen=True, slots=True)
class Blob:
    """One file of a repository."""

    repository: str
    object: str
    path: str


@dataclass(frozen=True, slots=True)
class Result:
    """What was said about one log."""

    repository: str
    path: str
    size: int
    status: str
    """The last `run_stop`'s: `success`, `aborted`, or `dead` without one; `no run` without any line of MLLOG."""
    category: str
    rule: str
    confidence: str
    ended: bool
    summary: str
    reasons: tuple[str, ...]
    seconds: float

    @property
    def suspicious(self) -> str:
        """Why a person should look at it; empty for what is as expected."""
        if self.category == "crash":
            return "the tool crashed"
        if self.status == "success" and self.category != "none":
            return "succeeded, called failed"
        if self.status == "dead" and self.category == "none" and self.ended:
            return "dead, called a success"
        return "slow" if self.seconds > _SLOW else ""


def blobs(repository: str) -> Iterator[Blob]:
    """The wanted files of its newest commit."""
    listing = subprocess.run(
        ["git", "-C", repository, "ls-tree", "-r", "-z", "HEAD"], capture_output=True, check=True
    ).stdout
    for entry in listing.decode("utf-8", "surrogateescape").split("\0"):
        meta, _, path = entry.partition("\t")
        if path and _WANTED.search(path) and meta.split()[1] == "blob":
            yield Blob(repository, meta.split()[2], path)


def content(blob: Blob) -> bytes:
    """Its bytes; none where the repository is a partial copy without it."""
    return subprocess.run(
        ["git", "-C", blob.repository, "cat-file", "blob", blob.object], capture_output=True
    ).stdout


def explained(blob: Blob) -> Result | None:
    """The verdict on one log; None for an empty or absent file and a pointer to large-file storage."""
    from triage.api import explain
    from triage.errors import TriageError

    data = content(blob)
    if not data.strip() or data.startswith(b"version https://git-lfs"):
        return None
    stops = _RUN_STOP.findall(data)
    status = stops[-1].decode() if stops else "dead" if b":::MLL" in data else "no run"
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, os.path.basename(blob.path))
        file.write_bytes(data)
        try:
            verdict = explain([file])
            said = (
                verdict.category,
                verdict.rule or "",
                verdict.confidence,
                verdict.ended,
                verdict.summary,
                verdict.reasons,
            )
        except TriageError as error:
            said = ("no log", "", "", False, str(error), ())
        except Exception:
            said = ("crash", "", "", False, traceback.format_exc(limit=-4), ())
    return Result(
        blob.repository, blob.path, len(data), status, *said, seconds=round(time.perf_counter() - start, 2)
    )


def run(wanted: Sequence[Blob], out: Path, workers: int) -> None:
    """Explain what has no result yet, in as many processes."""
    done = {(one.repository, one.path) for one in read(out)}
    todo = [blob for blob in wanted if (blob.repository, blob.path) not in done]
    with multiprocessing.Pool(workers, maxtasksperchild=200) as pool, out.open("a") as file:
        for number, result in enumerate(pool.imap_unordered(explained, todo, chunksize=4), 1):
            if result is not None:
                file.write(json.dumps(asdict(result)) + "\n")
                file.flush()
            if number % 100 == 0:
                print(f"{number} of {len(todo)}", file=sys.stderr)


def read(out: Path) -> list[Result]:
    if not out.exists():
        return []
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return [Result(**{**row, "reasons": tuple(row["reasons"])}) for row in rows]


def table(results: Iterable[Result]) -> str:
    """Markdown: one row for each reported status and category said."""
    counts = Counter((one.status, one.category) for one in results)
    high = Counter((one.status, one.category) for one in results if one.confidence == "high")
    rows = ["| reported | said | logs | of them with high confidence |", "|---|---|---|---|"]
    for key in sorted(counts, key=lambda k: (k[0], -counts[k])):
        rows.append(f"| {key[0]} | {key[1]} | {counts[key]} | {high[key]} |")
    dead = [one for one in results if one.status == "dead"]
    unknown = sum(one.category == "unknown" for one in dead)
    wrong = sum(one.status == "success" and one.category != "none" for one in results)
    rows += ["", f"{wrong} successes called failed; {unknown} of {len(dead)} dead runs unknown."]
    return "\n".join(rows)


def main() -> None:
    """Explain, then print the table and whatever looks wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="paths that match this pattern")
    options = parser.parse_args()
    wanted = [b for name in options.repositories for b in blobs(name) if re.search(options.only, b.path)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    run(wanted, options.out, options.workers)
    results = read(options.out)
    print(table(results))
    for one in sorted(results, key=lambda r: (r.suspicious, r.path)):
        if one.suspicious:
            print(
                f"\n{one.suspicious}: {one.path} ({one.size} bytes, {one.seconds} s)\n    {one.category} {one.rule} {one.confidence}: {one.summary[:300]}"
            )


if __name__ == "__main__":
    main()
