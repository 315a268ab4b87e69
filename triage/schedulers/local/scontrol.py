"""The local `scontrol`: the questions that job scripts ask."""

from __future__ import annotations

import os
import sys

from triage.core.events.ranges import expand_hosts
from triage.schedulers.local.nodes import host_list


def main(words: list[str]) -> int:
    """`show hostnames [LIST]`, `show hostlist NAMES`, `show job [ID]`; anything else needs Slurm."""
    match [word for word in words if word not in ("-o", "--oneliner", "-d", "--details")]:
        case ["show", ("hostnames" | "hostname"), *rest]:
            print("\n".join(expand_hosts(rest[0] if rest else os.environ.get("SLURM_JOB_NODELIST", ""))))
        case ["show", ("hostlist" | "hostlistsorted"), names]:
            print(host_list(expand_hosts(names)))
        case ["show", ("job" | "jobid"), *_]:
            print(_job())
        case _:
            print(
                f"scontrol: error: `{' '.join(words)}` needs Slurm: this job runs without it", file=sys.stderr
            )
            return 1
    return 0


def _job() -> str:
    told = os.environ.get
    return (
        f"JobId={told('SLURM_JOB_ID', '')} JobName={told('SLURM_JOB_NAME', '')}\n"
        "   JobState=RUNNING Reason=None Dependency=(null)\n"
        "   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
        f"   Partition={told('SLURM_JOB_PARTITION', '')} AllocNode:Sid={told('SLURM_SUBMIT_HOST', '')}:0\n"
        f"   NodeList={told('SLURM_JOB_NODELIST', '')}\n"
        f"   BatchHost={told('SLURMD_NODENAME', '')}\n"
        f"   NumNodes={told('SLURM_JOB_NUM_NODES', '1')}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
