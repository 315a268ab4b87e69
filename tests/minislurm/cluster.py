"""A real Slurm on one machine: munge, MariaDB, slurmdbd, slurmctld and four virtual GPU nodes, all on loopback.

Written for tests: it starts in a few seconds, several can run side by side (own munge, free ports, own folder), outages
are methods, and `stop` leaves no process, no file and no line in /etc/hosts behind. Needs root and the packages that
`.ci/slurm-install` installs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.minislurm.config import Settings, database_arguments, gres_conf, slurm_conf, slurmdbd_conf
from tests.minislurm.processes import (
    ENVIRONMENT,
    MiniSlurmError,
    call,
    end,
    free_ports,
    is_step_daemon,
    of_daemons,
    of_slurm,
    pid_in,
    wait_until,
)

HOSTS = Path("/etc/hosts")
ACCOUNT = "ml"
DAEMONS = ("slurmctld", "slurmdbd", "database", "munged")


@dataclass(frozen=True, slots=True)
class MiniSlurm:
    """A mini-Slurm that runs; make one with `start`."""

    settings: Settings

    @property
    def conf(self) -> Path:
        """What `SLURM_CONF` must name."""
        return self.settings.root / "slurm.conf"

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.settings.nodes

    @property
    def environment(self) -> dict[str, str]:
        return {**ENVIRONMENT, "SLURM_CONF": str(self.conf)}

    @property
    def _mark(self) -> str:
        """Stands in the environment of the daemons alone, so that one without a pid file is found too."""
        return f"MINISLURM_DAEMON_OF={self.settings.root}"

    @property
    def _daemon_environment(self) -> dict[str, str]:
        name, _, value = self._mark.partition("=")
        return {**self.environment, name: value}

    def run(self, *argv: str, timeout: float = 30) -> subprocess.CompletedProcess[str]:
        """A Slurm command against this cluster."""
        return call(argv, self.environment, timeout=timeout)

    def output(self, *argv: str) -> str:
        """What a command that must succeed prints."""
        done = self.run(*argv)
        if done.returncode != 0:
            raise MiniSlurmError(f"{' '.join(argv)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def stop_daemon(self, what: str, *, kill: bool = False) -> None:
        """An outage: `slurmctld`, `slurmdbd` or a node. A node's jobs go on running without its slurmd."""
        pid = pid_in(self._pid_file(what))
        if pid is not None:
            end(pid, number=signal.SIGKILL if kill else signal.SIGTERM)

    def freeze(self, what: str) -> None:
        """The daemon keeps its port open and answers nothing: callers run into their timeouts."""
        self._signal(what, signal.SIGSTOP)

    def thaw(self, what: str) -> None:
        self._signal(what, signal.SIGCONT)

    def start_daemon(self, what: str) -> None:
        if pid_in(self._pid_file(what)) is not None:
            return
        if what in self.nodes:
            self._daemon("slurmd", "-N", what)
        else:
            self._daemon(what)
            self._await(what)

    def lose(self, node: str) -> None:
        """The node dies: its slurmd, its step daemons and every process of its jobs.

        The step daemons go before the processes that they watch, whose end they would report.
        """
        self.stop_daemon(node, kill=True)
        while pids := set(of_slurm(self.conf, node)):
            for pid in sorted(pids, key=lambda pid: not is_step_daemon(pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def sibling(self, cluster: str) -> MiniSlurm:
        """Another cluster with one node and the same accounting, for `-M`; its job ids begin at 1 as well. Stop it first."""
        root = self.settings.root / cluster
        for folder in ("state", "spool", "log"):
            (root / folder).mkdir(parents=True)
        ports = free_ports(2)
        settings = replace(
            self.settings, root=root, nodes=(f"{cluster}1",), controller_port=ports[0], node_ports=(ports[1],),
            cluster=cluster, shared=self.settings.root,
        )  # fmt: skip
        other = MiniSlurm(settings)
        other.conf.write_text(slurm_conf(settings))
        (root / "gres.conf").write_text(gres_conf(settings))
        _learn_names(root, settings.nodes)
        self._account(cluster)
        other.start_daemon("slurmctld")
        other.start_daemon(settings.nodes[0])
        other._await_nodes()
        return other

    def _account(self, cluster: str) -> None:
        for words in (
            f"cluster {cluster}",
            f"account {ACCOUNT} cluster={cluster}",
            f"user root account={ACCOUNT}",
        ):
            self.output("sacctmgr", "-i", "add", *words.split())

    def enforce(self, on: bool) -> MiniSlurm:
        """The same cluster with limits enforced or not; the controller starts anew."""
        changed = MiniSlurm(replace(self.settings, enforce=on))
        self.stop_daemon("slurmctld")
        changed.conf.write_text(slurm_conf(changed.settings))
        changed.start_daemon("slurmctld")
        changed._await_nodes()
        return changed

    def clear(self) -> None:
        """Ends every job and waits until none is left, and until all nodes can be used again."""
        for node in self.nodes:
            self.start_daemon(node)
        self.run("scancel", "--user=root")
        self.run("scancel", "--user=root", "--signal=KILL", "--full")
        wait_until("the queue is empty", lambda: not self.output("squeue", "-h").strip(), seconds=40)
        self._await_nodes()

    def stop(self) -> None:
        """Ends all that this mini-Slurm started and removes its files."""
        if "slurmctld" in self.running():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.run("scancel", "--user=root", "--signal=KILL", "--full", timeout=6)
        for what in (*self.nodes, *DAEMONS):
            self._signal(what, signal.SIGCONT)
            pid = pid_in(self._pid_file(what))
            if pid is not None:
                end(pid, number=signal.SIGKILL if what in self.nodes else signal.SIGTERM)
        for pid in {*of_slurm(self.conf), *of_daemons(self._mark)}:
            end(pid, number=signal.SIGKILL)
        _forget_names(self.settings.root)
        shutil.rmtree(self.settings.root, ignore_errors=True)

    def running(self) -> dict[str, int]:
        """The daemons that are alive, with their process ids."""
        found = {what: pid_in(self._pid_file(what)) for what in (*DAEMONS, *self.nodes)}
        return {what: pid for what, pid in found.items() if pid is not None}

    def _boot(self) -> None:
        mini, root = self.settings, self.settings.root
        for folder in ("state", "spool", "log"):
            (root / folder).mkdir()
        self.conf.write_text(slurm_conf(mini))
        (root / "gres.conf").write_text(gres_conf(mini))
        (root / "slurmdbd.conf").write_text(slurmdbd_conf(mini))
        (root / "slurmdbd.conf").chmod(0o600)
        _learn_names(root, mini.nodes)
        self._start_database()
        self._start_munge()
        wait_until("MariaDB answers", self._database_answers, seconds=30, log=root / "log/database.log")
        self.start_daemon("slurmdbd")
        self._account("mini")
        self.start_daemon("slurmctld")
        for node in mini.nodes:
            self.start_daemon(node)
        self._await_nodes()

    def _start_munge(self) -> None:
        root = self.settings.root
        key = root / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = {"socket": self.settings.socket, "key-file": key, "pid-file": root / "munged.pid",
                 "log-file": root / "log/munged.log", "seed-file": root / "munge.seed"}  # fmt: skip
        self._daemon("munged", "--force", *(f"--{name}={path}" for name, path in files.items()))
        wait_until("munged answers", self.settings.socket.exists, seconds=10, log=root / "log/munged.log")

    def _start_database(self) -> None:
        root = self.settings.root
        (root / "tmp").mkdir()
        made = call(
            ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={root}/database", "--skip-test-db",
             "--auth-root-authentication-method=normal", "--innodb-log-file-size=8M"],
            {**ENVIRONMENT, "TMPDIR": f"{root}/tmp"}, timeout=120,
        )  # fmt: skip
        if made.returncode != 0:
            raise MiniSlurmError(f"mariadb-install-db: {made.stdout[-1000:]}{made.stderr[-1000:]}")
        with open(root / "log/database.log", "wb") as log:
            subprocess.Popen(
                ["mariadbd", *database_arguments(self.settings)],
                env=self._daemon_environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _database_answers(self) -> bool:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.settings.database_port), 1),
        ):
            return True
        return False

    def _daemon(self, *argv: str) -> None:
        done = call(argv, self._daemon_environment, timeout=30)
        if done.returncode != 0:
            raise MiniSlurmError(f"{' '.join(argv)}: exit {done.returncode}\n{done.stdout}{done.stderr}")

    def _await(self, what: str) -> None:
        question = ("scontrol", "ping") if what == "slurmctld" else ("sacctmgr", "-n", "list", "cluster")
        log = self.settings.root / f"log/{what}.log"

        def answers() -> bool:
            done = self.run(*question)
            return done.returncode == 0 and " DOWN" not in done.stdout

        wait_until(f"{what} answers", answers, seconds=30, log=log)

    def _await_nodes(self) -> None:
        def ready() -> bool:
            states = self.output("sinfo", "-h", "-N", "-p", "gpu", "-o", "%T").split()
            return len(states) == len(self.nodes) and set(states) <= {"idle", "mixed", "allocated"}

        with contextlib.suppress(MiniSlurmError):
            wait_until("the nodes are ready", ready, seconds=8)
            return
        self.run("scontrol", "update", f"nodename={','.join(self.nodes)}", "state=resume")
        wait_until("the nodes are ready", ready, seconds=30, log=self.settings.root / "log/slurmctld.log")

    def _signal(self, what: str, number: signal.Signals) -> None:
        pid = pid_in(self._pid_file(what))
        if pid is not None:
            os.kill(pid, number)

    def _pid_file(self, what: str) -> Path:
        return self.settings.root / f"{what}.pid"


def missing() -> str | None:
    """Why a mini-Slurm cannot be started here, `None` if it can."""
    if not Path("/proc/self/environ").exists():
        return "the mini-Slurm needs Linux"
    path = ENVIRONMENT["PATH"]
    wanted = ("slurmctld", "slurmd", "slurmdbd", "sbatch", "munged", "mariadbd", "mariadb-install-db")
    absent = [name for name in wanted if shutil.which(name, path=path) is None]
    if absent:
        return f"Slurm is not installed ({', '.join(absent)}): run .ci/slurm-install as root"
    if os.geteuid() != 0:
        return "the mini-Slurm must be started by root"
    return None


def start(
    *, nodes: int = 4, enforce: bool = False, min_job_age: int = 300, root: Path | None = None
) -> MiniSlurm:
    """Starts one and waits until jobs can run; raises `MiniSlurmError`, with nothing left behind."""
    if root is None:
        root = Path(tempfile.mkdtemp(prefix="minislurm-", dir="/tmp"))
    else:
        root.mkdir(parents=True)
    root.chmod(0o755)
    ports = free_ports(3 + nodes)
    settings = Settings(
        root, socket.gethostname().split(".")[0], tuple(f"gpu{number}" for number in range(1, nodes + 1)),
        ports[0], ports[1], ports[2], tuple(ports[3:]), enforce, min_job_age,
    )  # fmt: skip
    mini = MiniSlurm(settings)
    try:
        mini._boot()
    except BaseException:
        mini.stop()
        raise
    return mini


def _learn_names(root: Path, nodes: Sequence[str]) -> None:
    """Each node's name resolves to a loopback address of its own, as MASTER_ADDR needs."""
    with _hosts() as lines:
        lines += [f"127.0.1.{number} {node} # {root}" for number, node in enumerate(nodes, 1)]


def _forget_names(root: Path) -> None:
    with _hosts() as lines:
        lines[:] = [line for line in lines if not line.endswith(f" # {root}")]


@contextlib.contextmanager
def _hosts() -> Iterator[list[str]]:
    """The lines of /etc/hosts; changed in place, because containers mount that file."""
    with open(HOSTS, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lines = file.read().splitlines()
        yield lines
        file.seek(0)
        file.write("".join(f"{line}\n" for line in lines))
        file.truncate()
