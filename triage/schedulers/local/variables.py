"""The variables that Slurm sets, and the patterns of its file names. Pure.

Source: sbatch(1) and srun(1), "OUTPUT ENVIRONMENT VARIABLES" and "FILENAME PATTERN".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from triage.schedulers.local.nodes import host_list
from triage.schedulers.local.plan import Plan

_PATTERN = re.compile(r"%(\d{0,2})([%AaJjNnstux])")


def job_variables(
    plan: Plan, number: int, nodes: Sequence[str], folder: str, user: tuple[str, int, int]
) -> dict[str, str]:
    """What the batch script gets, on the first node; `user` is name, user id and group id."""
    listed = host_list(nodes)
    cpus = (plan.cpus_per_task or 1) * (plan.tasks_per_node or 1)
    per_node = _spread(plan.tasks or plan.nodes * (plan.tasks_per_node or 1), len(nodes))
    found = {
        "SLURM_JOB_ID": str(number), "SLURM_JOBID": str(number), "SLURM_JOB_NAME": plan.name,
        "SLURM_JOB_NODELIST": listed, "SLURM_NODELIST": listed, "SLURM_NNODES": str(len(nodes)),
        "SLURM_JOB_NUM_NODES": str(len(nodes)), "SLURM_TASKS_PER_NODE": _counts(per_node),
        "SLURM_SUBMIT_DIR": folder, "SLURM_SUBMIT_HOST": nodes[0], "SLURM_JOB_USER": user[0],
        "SLURM_JOB_UID": str(user[1]), "SLURM_JOB_GID": str(user[2]), "SLURM_CPUS_ON_NODE": str(cpus),
        "SLURM_JOB_CPUS_PER_NODE": _counts([cpus] * len(nodes)),
        "SLURM_JOB_PARTITION": plan.partition, "SLURM_CLUSTER_NAME": "local", "SLURM_NODEID": "0",
        "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_GTIDS": "0", "SLURMD_NODENAME": nodes[0],
        "ENVIRONMENT": "BATCH",
    }  # fmt: skip
    optional = {
        "SLURM_NTASKS": plan.tasks, "SLURM_NPROCS": plan.tasks, "SLURM_NTASKS_PER_NODE": plan.tasks_per_node,
        "SLURM_CPUS_PER_TASK": plan.cpus_per_task, "SLURM_GPUS_PER_NODE": plan.gpus_per_node,
        "SLURM_GPUS_ON_NODE": plan.gpus_per_node, "SLURM_JOB_ACCOUNT": plan.account or None,
    }  # fmt: skip
    return found | {name: str(value) for name, value in optional.items() if value is not None}


def step_variables(step: int, task: int, nodes: Sequence[str], per_node: Sequence[int]) -> dict[str, str]:
    """What one task of a step gets on top of the job's own variables."""
    node, local, first = 0, task, 0
    while local >= per_node[node]:
        local -= per_node[node]
        first += per_node[node]
        node += 1
    listed, tasks = host_list(nodes), sum(per_node)
    return {
        "SLURM_STEP_ID": str(step), "SLURM_STEPID": str(step), "SLURM_STEP_NODELIST": listed,
        "SLURM_STEP_NUM_NODES": str(len(nodes)), "SLURM_STEP_NUM_TASKS": str(tasks),
        "SLURM_STEP_TASKS_PER_NODE": _counts(per_node), "SLURM_NTASKS": str(tasks), "SLURM_NPROCS": str(tasks),
        "SLURM_NNODES": str(len(nodes)), "SLURM_TASKS_PER_NODE": _counts(per_node), "SLURM_NODEID": str(node),
        "SLURM_PROCID": str(task), "SLURM_LOCALID": str(local), "SLURMD_NODENAME": nodes[node],
        "SLURM_GTIDS": ",".join(str(first + index) for index in range(per_node[node])),
        "SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1", "SLURM_SRUN_COMM_HOST": "127.0.0.1",
    }  # fmt: skip


def spread(tasks: int, nodes: int) -> list[int]:
    """How many tasks each node gets, in blocks; no node without one."""
    return _spread(tasks, min(tasks, nodes))


def _spread(tasks: int, nodes: int) -> list[int]:
    less, more = divmod(tasks, nodes)
    return [less + (index < more) for index in range(nodes)]


def _counts(per_node: Sequence[int]) -> str:
    """`2(x3),1`."""
    parts: list[list[int]] = []
    for value in per_node:
        if parts and parts[-1][0] == value:
            parts[-1].append(value)
        else:
            parts.append([value])
    return ",".join(f"{part[0]}(x{len(part)})" if len(part) > 1 else str(part[0]) for part in parts)


def file_name(pattern: str, variables: Mapping[str, str]) -> str:
    """A file name pattern filled in; a backslash takes all meaning from `%`."""
    if "\\" in pattern:
        return pattern.replace("\\", "")
    job, step = variables.get("SLURM_JOB_ID", ""), variables.get("SLURM_STEP_ID")
    values = {
        "%": "%", "A": job, "a": "4294967294", "j": job, "J": job if step is None else f"{job}.{step}",
        "N": variables.get("SLURMD_NODENAME", "").split(".")[0], "n": variables.get("SLURM_NODEID", "0"),
        "s": "batch" if step is None else step, "t": variables.get("SLURM_PROCID", "0"),
        "u": variables.get("SLURM_JOB_USER", ""), "x": variables.get("SLURM_JOB_NAME", ""),
    }  # fmt: skip

    def fill(match: re.Match[str]) -> str:
        value = values[match[2]]
        return value.zfill(int(match[1])) if match[1] and value.isdigit() else value

    return _PATTERN.sub(fill, pattern)


def is_per_task(pattern: str) -> bool:
    """Whether each task (or node) has a file of its own."""
    return any(match[2] in "tNn" for match in _PATTERN.finditer(pattern))
