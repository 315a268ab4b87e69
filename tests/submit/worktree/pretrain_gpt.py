"""Stands in for a training: tells what it was given, and fails where it is told to."""

import json
import os
import sys
import time

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
print(
    json.dumps(
        {
            "rank": rank,
            "arguments": sys.argv[1:],
            "asked": {name: os.environ.get(name) for name in os.environ.get("SHOW", "").split()},
        }
    )
)
print(
    f"using world size: {world}, data-parallel size: {world}, context-parallel size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: 1"
)
if os.environ.get("FAIL_RANK") == str(rank):
    raise ValueError("vocabulary of 7 words is too small")
if os.environ.get("WAIT"):
    print("waiting", flush=True)
    time.sleep(60)
print(f"[after training is done] datetime: 2026-12-01 10:00:00 on rank {rank}")
