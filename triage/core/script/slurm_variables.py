"""What Slurm sets in a job's environment, as far as the directives tell it.

Source: sbatch(1) and srun(1), "OUTPUT ENVIRONMENT VARIABLES". In the batch script itself SLURM_NODEID, SLURM_PROCID
and SLURM_LOCALID are 0; in srun's tasks they are the task's own.
"""

from __future__ import annotations

from triage.core.script.allocation import Allocation
from triage.core.script.holes import (
    GPUS,
    HOME,
    JOB_ID,
    LOCAL_ID,
    NODE_ID,
    NODE_LIST,
    NODES,
    OWN_HOST,
    SUBMIT_DIR,
    TASK_ID,
    TASKS,
    TEMPORARY,
    USER,
    known,
)

_ALWAYS = {
    "SLURM_JOB_NODELIST": NODE_LIST, "SLURM_NODELIST": NODE_LIST, "SLURM_STEP_NODELIST": NODE_LIST,
    "SLURM_JOB_ID": JOB_ID, "SLURM_JOBID": JOB_ID, "SLURM_SUBMIT_DIR": SUBMIT_DIR, "HOME": HOME, "USER": USER,
    "LOGNAME": USER, "SLURM_JOB_USER": USER, "TMPDIR": TEMPORARY, "SLURM_TMPDIR": TEMPORARY,
}  # fmt: skip
_OWN = {
    "SLURM_NODEID": NODE_ID, "SLURM_PROCID": TASK_ID, "SLURM_LOCALID": LOCAL_ID, "HOSTNAME": OWN_HOST,
    "SLURMD_NODENAME": OWN_HOST,
}  # fmt: skip
_NODE_COUNTS = frozenset({"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_NODES"})


def handed_over(wanted: str) -> frozenset[str] | None:
    """The names that `--export` hands to a job or step, `None` for all of them (srun(1); measured with 22.05)."""
    names = frozenset(item.partition("=")[0].strip() for item in wanted.split(","))
    if "ALL" in names or not wanted or not known(wanted):
        return None
    return names - {"NONE", "NIL"}


def slurm_variable(name: str, job: Allocation, step: Allocation | None, *, per_task: bool) -> str | None:
    """The value of a variable that the script does not set, `None` where that is not known.

    `step` is srun's allocation inside its tasks; `per_task` says that the code runs once per task.
    """
    if name in _ALWAYS:
        return _ALWAYS[name]
    if name in _OWN:
        if per_task:
            one = step is not None and step.tasks_per_node == 1
            return NODE_ID if name == "SLURM_PROCID" and one else _OWN[name]
        return "0" if name in ("SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID") else None
    here = step or job
    numbers = {
        "SLURM_NTASKS": here.tasks or (here.nodes if per_task and step is not None else None),
        "SLURM_NPROCS": here.tasks,
        "SLURM_NTASKS_PER_NODE": here.tasks_per_node,
        "SLURM_GPUS_ON_NODE": job.gpus_per_node,
        "SLURM_JOB_GPUS_PER_NODE": job.gpus_per_node,
    }
    if name in _NODE_COUNTS:
        nodes = (here if name == "SLURM_STEP_NUM_NODES" else job).nodes
        return str(nodes) if nodes is not None else NODES
    if name in numbers:
        number = numbers[name]
        if number is not None:
            return str(number)
        return {"SLURM_NTASKS": TASKS, "SLURM_GPUS_ON_NODE": GPUS}.get(name)
    if name == "SLURM_GPUS_PER_NODE" and job.gpus_per_node is not None and job.gpu is None:
        return str(job.gpus_per_node)
    return None
