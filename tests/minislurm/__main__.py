"""The mini-Slurm by hand: `python -m tests.minislurm up|down|status|stop|start|kill|freeze|thaw|lose [NODE or DAEMON]`.

State lies under $MINISLURM_ROOT (default /tmp/minislurm). MINISLURM_ENFORCE=1 refuses unknown accounts and jobs over a
limit at once; without it they are accepted and stay pending. WHAT is `slurmctld`, `slurmdbd` or a node (`gpu1`...).
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path

from tests.minislurm.cluster import MiniSlurm, missing, start
from tests.minislurm.config import Settings
from tests.minislurm.processes import MiniSlurmError


def main(arguments: list[str]) -> int:
    root = Path(os.environ.get("MINISLURM_ROOT", "/tmp/minislurm"))
    try:
        return _run(root, arguments)
    except MiniSlurmError as error:
        print(f"minislurm: {error}", file=sys.stderr)
        return 1


def _run(root: Path, arguments: list[str]) -> int:
    match arguments:
        case ["up"]:
            if reason := missing():
                raise MiniSlurmError(reason)
            mini = start(root=root, enforce=bool(os.environ.get("MINISLURM_ENFORCE")))
            _remember(mini)
            print(f"export SLURM_CONF={mini.conf}")
        case ["down"]:
            _recall(root).stop()
        case ["status"]:
            mini = _recall(root)
            print(json.dumps(mini.running()))
            print(mini.run("sinfo", "-N", "-l").stdout, end="")
        case ["stop", what]:
            _recall(root).stop_daemon(what)
        case ["kill", what]:
            _recall(root).stop_daemon(what, kill=True)
        case ["start", what]:
            _recall(root).start_daemon(what)
        case ["freeze", what]:
            _recall(root).freeze(what)
        case ["thaw", what]:
            _recall(root).thaw(what)
        case ["lose", node]:
            _recall(root).lose(node)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def _remember(mini: MiniSlurm) -> None:
    values = dataclasses.asdict(mini.settings)
    (mini.settings.root / "settings.json").write_text(json.dumps(values, default=str))


def _recall(root: Path) -> MiniSlurm:
    try:
        values = json.loads((root / "settings.json").read_text())
    except OSError as error:
        raise MiniSlurmError(f"none runs under {root}: start one with `up`") from error
    values.update(root=root, nodes=tuple(values["nodes"]), node_ports=tuple(values["node_ports"]))
    return MiniSlurm(Settings(**values))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
