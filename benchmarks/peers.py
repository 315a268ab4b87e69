"""What a user may take instead of `triage`, and how its answers are read in our terms.

A peer runs in an environment of its own, all cases in one process, so that neither its imports nor ours are counted.
The tables below are the whole translation. They are lenient: a peer's class holds for every category of ours that
its author may have meant, and where a peer names no rank, frame or phase, nothing is held against it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RAISED = frozenset(
    (
        "shape",
        "import",
        "config",
        "data",
        "checkpoint",
        "numerics",
        "cuda",
        "launcher",
        "storage",
        "network",
        "python",
    )
)
"""Categories of failures that are seen as a Python exception: what "an exception" may mean."""
TRAINING = frozenset({"forward", "backward", "optimizer", "data", "eval"})

GPUALERT = "gpualert==0.1.6"
GPUALERT_CLASSES: Mapping[str, frozenset[str]] = {
    "GPU out-of-memory (CUDA OOM)": frozenset({"oom"}),
    "NCCL communication error": frozenset({"nccl", "hang", "launcher"}),
    "CUDA runtime error": frozenset({"cuda", "hardware"}),
    "System out-of-memory (RAM)": frozenset({"host-oom"}),
    "Segmentation fault": frozenset({"signal"}),
    "File not found": frozenset({"data", "checkpoint", "config", "storage"}),
    "Permission denied": frozenset({"storage", "config", "data", "checkpoint"}),
    "Missing Python module": frozenset({"import"}),
    "Division by zero": frozenset({"python", "data"}),
    "Tensor device mismatch": frozenset({"shape", "python"}),
    "NaN detected in loss": frozenset({"numerics"}),
    "Process killed by OS (OOM)": frozenset({"host-oom"}),
    "Assertion failed": RAISED,
    "Python RuntimeError": RAISED,
    "Python exception (traceback)": RAISED,
}

NVRX_REPOSITORY = "https://github.com/NVIDIA/nvidia-resiliency-ext"
NVRX_COMMIT = "d8686d9c7015c39ce91dd01788c0ab111a24818b"
NVRX_CLASSES: Mapping[str, frozenset[str]] = {
    "gpu_hardware_fault": frozenset({"hardware"}),
    "peer_gpu_memory_access_failure": frozenset({"hardware", "cuda"}),
    "infra_policy_event": frozenset({"preempted", "hardware"}),
    "time_limit": frozenset({"timeout", "hang"}),
    "user_cancelled": frozenset({"cancelled"}),
    "observed_exception": RAISED,
    "configuration_validation_failure": frozenset({"config", "shape"}),
    "argument_validation_failure": frozenset({"config", "shape"}),
    "artifact_or_path_not_found": frozenset({"data", "checkpoint", "config", "storage", "import"}),
    "checkpoint_compatibility_mismatch": frozenset({"checkpoint", "shape"}),
    "shape_mismatch": frozenset({"shape", "checkpoint"}),
    "filesystem_permission_denied": frozenset({"storage", "config", "data", "checkpoint"}),
    "cuda_oom": frozenset({"oom"}),
    "nan_or_inf": frozenset({"numerics"}),
    "bad_token_or_window": frozenset({"data"}),
    "framework_crash": frozenset({"signal"}),
    "linux_oom_kill_confirmation": frozenset({"host-oom"}),
    "observed_distributed_operation_timeout": frozenset({"nccl", "hang"}),
    "nccl_cascade": frozenset({"nccl", "hang", "launcher"}),
    "cuda_previous_error_cascade": frozenset({"cuda", "hardware", "oom"}),
}
NVRX_PHASES: Mapping[str, frozenset[str]] = {
    "setup": frozenset({"init", "data", "checkpoint"}),
    "checkpoint": frozenset({"checkpoint"}),
    "first_iter": TRAINING,
    "steady_mid": TRAINING,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says of one case, in our terms."""

    failed: bool
    categories: frozenset[str] = frozenset()
    """Those that the answer allows; empty where it names none."""
    generic: bool = False
    """It says no more than that there was an exception."""
    sure: bool = False
    """The tool itself calls it certain."""
    rank: int | None = None
    exceptions: frozenset[str] = frozenset()
    frames: Sequence[Mapping[str, Any]] = ()
    phases: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool that can be asked here."""

    name: str
    python: Path
    driver: str
    """Which part of `peer_driver.py` asks it."""
    path: str = ""
    """A folder that its Python looks for modules in."""
    fields: frozenset[str] = field(default_factory=frozenset)
    """What its answers can hold beside the category."""

    def ask(self, logs: Sequence[Path]) -> tuple[list[Any], float]:
        """Its raw answers, one for each log, and the seconds that it worked, its imports not counted."""
        driver = Path(__file__).with_name("peer_driver.py")
        started = time.monotonic()
        done = subprocess.run(
            [str(self.python), str(driver), self.driver],
            input="".join(f"{path}\n" for path in logs),
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": self.path},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{self.name} failed after {time.monotonic() - started:.0f} s: {done.stderr[-2000:]}")
        *answers, last = map(json.loads, done.stdout.splitlines())
        return answers, last["seconds"]


def gpualert(folder: Path) -> Peer | str:
    """gpualert, installed from the package index; a sentence where it cannot be had."""
    return _installed(folder / "gpualert", GPUALERT) or Peer(
        "gpualert", _python(folder / "gpualert"), "gpualert"
    )


def nvrx(folder: Path, checkout: Path | None) -> Peer | str:
    """The restart agent of nvidia-resiliency-ext without its language model; a sentence where it cannot be had."""
    place = folder / "nvrx"
    if reason := _installed(place, "pyyaml", "pydantic", "pydantic-settings", "httpx"):
        return reason
    source = place / "source"
    if not (source / "src").is_dir() and (reason := _checked_out(source, checkout)):
        return reason
    return Peer(
        "nvidia-resiliency-ext",
        _python(place),
        "nvrx",
        str(source / "src"),
        frozenset({"rank", "exception", "phase"}),
    )


def of_gpualert(raw: Mapping[str, Any]) -> Answer:
    """From its label and its own word on how sure it is."""
    label = str(raw["label"])
    return Answer(
        failed=bool(label),
        categories=GPUALERT_CLASSES.get(label, frozenset()),
        generic=GPUALERT_CLASSES.get(label) is RAISED,
        sure=raw["confidence"] == "HIGH",
    )


def of_nvrx(raw: Mapping[str, Any]) -> Answer:
    """From its primary failure; it does not say how sure it is."""
    primary = raw["primary"]
    if primary is None:
        return Answer(failed=False)
    name = str(primary["failure_class"])
    rank = str(primary.get("rank") or "")
    return Answer(
        failed=True,
        categories=NVRX_CLASSES.get(name, frozenset()),
        generic=name == "observed_exception",
        rank=int(rank) if rank.isdigit() else None,
        exceptions=frozenset(raw["exceptions"]),
        phases=NVRX_PHASES.get(str(primary.get("phase")), frozenset()),
    )


def _python(place: Path) -> Path:
    return place / "bin" / "python"


def _installed(place: Path, *packages: str) -> str:
    """Makes an environment with the packages; a sentence where that fails."""
    if (place / "ready").exists():
        return ""
    venv.create(place, with_pip=True)
    done = subprocess.run(
        [str(_python(place)), "-m", "pip", "install", "--quiet", *packages], capture_output=True, text=True
    )
    if done.returncode:
        return f"{' '.join(packages)} cannot be installed here"
    (place / "ready").touch()
    return ""


def _checked_out(source: Path, checkout: Path | None) -> str:
    """The pinned commit's `src`, from a local clone or from its public repository; a sentence where that fails."""
    source.mkdir(parents=True, exist_ok=True)
    git = ["git", "-C", str(source)]
    fetch = [*git, "fetch", "--quiet", "--depth=1", str(checkout or NVRX_REPOSITORY), NVRX_COMMIT]
    for command in (
        [*git, "init", "--quiet"],
        fetch,
        [*git, "checkout", "--quiet", "FETCH_HEAD", "--", "src"],
    ):
        if subprocess.run(command, capture_output=True).returncode:
            return f"nvidia-resiliency-ext cannot be fetched here (name a clone with --nvrx): {command[3]} failed"
    return ""
