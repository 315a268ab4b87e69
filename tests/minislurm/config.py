"""What the daemons of the mini-Slurm read: the texts of their configuration files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

GPUS = 4
"""GPUs of a node: character devices that exist everywhere and that nobody opens."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One mini-Slurm."""

    root: Path
    """Holds all of its files; nothing outside it is written, but for the nodes' lines in /etc/hosts."""
    host: str
    """This machine's short name."""
    nodes: tuple[str, ...]
    controller_port: int
    accounting_port: int
    database_port: int
    node_ports: tuple[int, ...]
    enforce: bool = False
    """Unknown accounts and jobs over a limit are refused; else they are accepted and stay pending."""
    min_job_age: int = 300
    """Seconds for which the controller remembers a job that ended."""

    cluster: str = "mini"
    shared: Path | None = None
    """The folder of the mini-Slurm whose munge and accounting this one uses."""

    @property
    def socket(self) -> Path:
        return (self.shared or self.root) / "munge.sock"


def slurm_conf(mini: Settings) -> str:
    lines = [
        f"ClusterName={mini.cluster}",
        f"SlurmctldHost={mini.host}(127.0.0.1)",
        f"SlurmctldPort={mini.controller_port}",
        "SlurmUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={mini.socket}",
        f"StateSaveLocation={mini.root}/state",
        f"SlurmdSpoolDir={mini.root}/spool/%n",
        f"SlurmctldPidFile={mini.root}/slurmctld.pid",
        f"SlurmdPidFile={mini.root}/%n.pid",
        f"SlurmctldLogFile={mini.root}/log/slurmctld.log",
        f"SlurmdLogFile={mini.root}/log/%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "MpiDefault=none",
        "ReturnToService=2",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "SchedulerParameters=batch_sched_delay=0,sched_interval=2",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        "GresTypes=gpu",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=localhost",
        f"AccountingStoragePort={mini.accounting_port}",
        f"AccountingStoragePass={mini.socket}",
        "AccountingStorageTRES=gres/gpu",
        "JobAcctGatherType=jobacct_gather/none",
        f"MinJobAge={mini.min_job_age}",
        "KillWait=2",
        "SlurmctldTimeout=30",
        "SlurmdTimeout=10",
        "MessageTimeout=5",
        "SlurmdParameters=config_overrides",
    ]
    if mini.enforce:
        lines += ["AccountingStorageEnforce=associations,limits,qos", "EnforcePartLimits=ALL"]
    for node, port in zip(mini.nodes, mini.node_ports, strict=True):
        lines.append(
            f"NodeName={node} NodeHostname={mini.host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=4000"
            f" Gres=gpu:{GPUS} State=UNKNOWN"
        )
    lines += [
        "PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE State=UP",
        "PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF State=UP",
        "PartitionName=short Nodes=ALL MaxTime=1 PriorityTier=1 PreemptMode=OFF State=UP",
        "PartitionName=closed Nodes=ALL MaxTime=1 PriorityTier=1 PreemptMode=OFF State=DOWN",
    ]
    return "\n".join(lines) + "\n"


def gres_conf(mini: Settings) -> str:
    return "".join(f"NodeName={node} Name=gpu File=/dev/tty[10-{9 + GPUS}]\n" for node in mini.nodes)


def slurmdbd_conf(mini: Settings) -> str:
    return "\n".join([
        "AuthType=auth/munge",
        f"AuthInfo=socket={mini.socket}",
        "DbdHost=localhost",
        f"DbdPort={mini.accounting_port}",
        "SlurmUser=root",
        f"LogFile={mini.root}/log/slurmdbd.log",
        f"PidFile={mini.root}/slurmdbd.pid",
        "StorageType=accounting_storage/mysql",
        "StorageHost=127.0.0.1",
        f"StoragePort={mini.database_port}",
        "StorageUser=slurm",
        "StoragePass=slurm",
        "StorageLoc=slurm_acct_db",
        "",
    ])  # fmt: skip


def database_arguments(mini: Settings) -> list[str]:
    """MariaDB for one user, without its own accounts and without waiting for the disk."""
    data = mini.root / "database"
    return [
        "--no-defaults", "--user=root", f"--datadir={data}", f"--tmpdir={mini.root}/tmp", f"--socket={mini.root}/database.sock",
        f"--port={mini.database_port}", "--bind-address=127.0.0.1", f"--pid-file={mini.root}/database.pid",
        "--skip-grant-tables", "--skip-networking=0", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M",
        "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--innodb-lock-wait-timeout=900",
    ]  # fmt: skip
