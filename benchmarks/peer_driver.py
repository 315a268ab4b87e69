"""Asks one peer about many logs: `PEER_PYTHON peer_driver.py gpualert|nvrx`, a path on each line of standard input.

Runs in the peer's environment, so it imports nothing of ours. Prints a JSON object for each log, then the seconds spent.
"""

import importlib
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

_EXCEPTION = re.compile(r"\b([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Timeout))\b")


def gpualert(path: str) -> dict[str, Any]:
    """Its label for a log that is wholly given as standard error, as of a command that ended badly without a code."""
    parse = importlib.import_module("gpualert.parse_errors")
    summary = parse.parse_errors(stdout="", stderr=Path(path).read_text(errors="replace"), exit_code=0)
    return {
        "label": summary.splitlines()[0].strip() if summary else "",
        "confidence": parse.get_error_confidence(summary),
    }


def nvrx(path: str) -> dict[str, Any]:
    """The restart agent's deterministic result: its primary failure, and the exceptions that its line names."""
    room = "nvidia_resiliency_ext.attribution.restart_agent"
    models, pipeline, runtime = (
        importlib.import_module(f"{room}.{m}") for m in ("models", "pipeline", "agent_runtime")
    )
    agent = runtime.RestartAgentRuntime(pipeline.RestartAgent(evidence_extractor=None))
    request = models.RestartAgentRequest(log_path=path, job_id=None, cycle_id=None)
    result = agent.analyze_one(request).result.to_payload()
    primary = result.get("primary_failure")
    quotes = [e["quote"] for e in result.get("evidence", ()) if "primary_failure" in e.get("supports", ())]
    names = {name for quote in quotes for name in _EXCEPTION.findall(quote)}
    return {"primary": primary, "exceptions": sorted(names)}


PEERS = {"gpualert": gpualert, "nvrx": nvrx}


def main() -> None:
    """Reads the paths, answers each, and tells how long that took without the first imports."""
    ask = PEERS[sys.argv[1]]
    paths = sys.stdin.read().splitlines()
    if paths:
        ask(paths[0])
    started = time.monotonic()
    for path in paths:
        print(json.dumps(ask(path)))
    print(json.dumps({"seconds": time.monotonic() - started}))


if __name__ == "__main__":
    main()
