"""Where a Python with torch is: `TRIAGE_TORCH`, else the environment that `.ci/torch-install` makes."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MADE = ROOT / ".venv-torch" / "bin" / "python"


@cache
def find(*modules: str) -> tuple[Path | None, str]:
    """A Python that imports these modules, or why there is none."""
    named = os.environ.get("TRIAGE_TORCH")
    path = Path(named) if named else MADE
    if not path.exists():
        return (
            None,
            f"no Python with torch: {path} does not exist; .ci/torch-install makes one, or set TRIAGE_TORCH",
        )
    for module in modules:
        words = [
            str(path),
            "-c",
            f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)",
        ]
        if subprocess.run(words, capture_output=True).returncode != 0:
            return None, f"{path} has no {module}: install it there (`python -m pip install {module}`)"
    return path, ""
