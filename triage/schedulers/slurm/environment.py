"""The environment that Slurm's commands get: built, not inherited.

An inherited `SQUEUE_STATES` or `SCANCEL_STATE` silently filters what a command sees, `SBATCH_PARTITION` overrides the
script, `SCANCEL_INTERACTIVE=true` waits for ever on a closed stdin.
"""

from __future__ import annotations

from collections.abc import Mapping

_KEPT = ("PATH", "HOME", "USER", "SLURM_CONF")
_PREFIXES = (
    "SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_", "SQUEUE_", "SACCT_", "SACCTMGR_", "SCANCEL_", "SINFO_",
    "SCONTROL_", "SREPORT_", "SPRIO_", "SSHARE_", "SSTAT_", "SATTACH_", "SBCAST_", "PMI_", "PMIX_",
)  # fmt: skip
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
FIXED = {
    "LC_ALL": "C",
    "SLURM_TIME_FORMAT": "%s",
    "SLURM_BITSTR_LEN": "0",
}
"""Times in epoch seconds, whatever the time zone; lists of array tasks whole."""


def query_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """For every command that asks or acts."""
    kept = {name: inherited[name] for name in _KEPT if inherited.get(name)}
    return {"PATH": DEFAULT_PATH, **kept, **FIXED}


def submit_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """For sbatch, which hands its own environment to the job.

    The user's variables (tokens, caches, modules) stay, as with sbatch by hand, and all that sbatch or the srun of the
    job would obey is left out. What `query_environment` fixes is left out too: it would change what the job's own
    commands print.
    """
    kept = {name: value for name, value in inherited.items() if not name.startswith(_PREFIXES)}
    kept.setdefault("PATH", DEFAULT_PATH)
    if inherited.get("SLURM_CONF"):
        kept["SLURM_CONF"] = inherited["SLURM_CONF"]
    return kept
