"""Faults by hand: `python -m tests.e2e [--twin] NAME...`, on a mini-Slurm of their own; their folders stay."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.e2e.fault import TWIN
from tests.e2e.faults import FAULTS
from tests.e2e.run import run
from tests.e2e.torchpython import find
from tests.minislurm.cluster import start


def main(words: list[str]) -> int:
    names = [word for word in words if word != "--twin"]
    python, why = find("torch")
    if python is None:
        print(why, file=sys.stderr)
        return 1
    mini = start()
    try:
        for fault in FAULTS:
            if fault.name in names:
                trainer = TWIN if "--twin" in words else fault.trainer
                folder = Path(tempfile.mkdtemp(prefix="lab-"))
                print(folder)
                print(json.dumps(run(mini, python, trainer, fault, folder).to_json(), indent=1))
    finally:
        mini.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
