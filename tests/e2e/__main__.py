"""One fault by hand: `python -m tests.e2e NAME`, on a mini-Slurm of its own; its folder stays."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.e2e.faults import FAST
from tests.e2e.run import run
from tests.e2e.torchpython import find
from tests.minislurm.cluster import start


def main(names: list[str]) -> int:
    python, why = find("torch")
    if python is None:
        print(why, file=sys.stderr)
        return 1
    mini = start()
    try:
        for fault in FAST:
            if not names or fault.name in names:
                folder = Path(tempfile.mkdtemp(prefix="lab-"))
                print(folder)
                print(json.dumps(run(mini, python, "twin.py", fault, folder).to_json(), indent=1))
    finally:
        mini.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
