"""How long it takes from a result's rename to scancel, on a mini-Slurm: `python benchmarks/early_end.py [ROUNDS]`."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.minislurm.cluster import start
from tests.watch.real import RealSite
from triage.watch.options import Options


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    mini = start()
    took, gone = [], []
    try:
        for number in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                site = RealSite(mini, Path(folder))
                job = site.submit("sleep 600\n", "--gres=gpu:2", name=f"round{number}")
                site.runs(job)
                watching = site.watch(job, Options(artifacts=("result.json",)))
                watching.until("found")
                time.sleep(1 + number % 7 / 10)
                part = Path(folder) / "part"
                part.write_text(json.dumps({"job_id": job.number, "restart": 0}))
                renamed = time.time()
                part.rename(Path(folder) / "result.json")
                took.append(watching.until("action", words="was sent scancel").at - renamed)
                assert watching.ended() == 0, watching.said()
                assert site.state(job) not in ("RUNNING", "COMPLETING"), site.state(job)
                gone.append(time.time() - renamed)
    finally:
        mini.stop()
    for name, values in (("rename -> scancel returned", took), ("rename -> watch ended, nodes free", gone)):
        values.sort()
        print(f"{name}: median {statistics.median(values):.2f} s, worst {values[-1]:.2f} s of {len(values)}")


if __name__ == "__main__":
    main()
