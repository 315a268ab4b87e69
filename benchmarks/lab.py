"""The whole lab as a table: `python benchmarks/lab.py [--rows FILE] [--round N] [--only NAME] [--side-by-side N]`.

Every fault of `tests/e2e/faults` runs as a real job, most of them with megatron-core. What has a row in FILE is not run
again, so that an interrupted table goes on; a round is a run of all faults. `--table` prints the rows as Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.e2e.fault import Fault, Unavailable
from tests.e2e.faults import FAULTS
from tests.e2e.run import run
from tests.e2e.table import markdown
from tests.e2e.torchpython import find
from tests.minislurm.cluster import MiniSlurm, start

_WRITING = threading.Lock()


def main() -> int:
    asked = _asked()
    rows = _rows(asked.rows)
    if asked.table:
        print(markdown(FAULTS, rows))
        return 0
    python, why = find("torch", "megatron.core")
    if python is None:
        print(why, file=sys.stderr)
        return 1
    done = {row["fault"] for row in rows if row["round"] == asked.round}
    left = [f for f in FAULTS if f.name not in done and (not asked.only or f.name in asked.only)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    mini = start()
    try:

        def one(fault: Fault) -> None:
            _run(mini, python, fault, asked.rows, asked.round)

        with ThreadPoolExecutor(asked.side_by_side) as pool:
            list(pool.map(one, [fault for fault in left if not fault.alone]))
        for fault in left:
            if fault.alone:
                one(fault)
                mini.clear()
    finally:
        mini.stop()
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=Path, default=Path("lab.jsonl"))
    parser.add_argument("--round", type=int, default=1)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--side-by-side", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _run(mini: MiniSlurm, python: Path, fault: Fault, rows: Path, number: int) -> None:
    """One row more; a fault that could not be run gets one that says why, and its folder is told."""
    folder = Path(tempfile.mkdtemp(prefix="lab-"))
    try:
        row = run(mini, python, fault.trainer, fault, folder).to_json()
    except Unavailable as error:
        row = {"fault": fault.name, "judged": "not run", "summary": str(error)}
    except Exception as error:
        traceback.print_exc()
        row = {"fault": fault.name, "judged": "broken", "summary": str(error)}
    row |= {"round": number, "load": round(os.getloadavg()[0], 1), "folder": str(folder)}
    with _WRITING, rows.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(f"{fault.name}: {row['judged']}: {row['summary']} ({folder})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
