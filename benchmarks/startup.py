"""Start-up of the installed command, beside Python's own.

    python -m benchmarks.startup [--runs 20]

Builds the wheel of this checkout, installs it into a fresh virtual environment and prints medians as a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measure import run

HERE = Path(__file__).resolve().parent.parent
SMALL = HERE / "fixtures" / "cases" / "core-heads-tp" / "logs"


def installed(folder: Path) -> Path:
    """The `bin` folder of a new environment that holds the wheel."""
    subprocess.run([sys.executable, "-m", "venv", os.fspath(folder / "venv")], check=True)
    binaries = folder / "venv" / "bin"
    pip = [os.fspath(binaries / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", os.fspath(folder), os.fspath(HERE)], check=True
    )
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", os.fspath(wheel)], check=True)
    return binaries


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        binaries = installed(Path(folder))
        commands = {
            "python -c pass": [os.fspath(binaries / "python"), "-c", "pass"],
            "triage --help": [os.fspath(binaries / "triage"), "--help"],
            "triage explain (a small folder)": [os.fspath(binaries / "triage"), "explain", os.fspath(SMALL)],
        }
        print(f"| command | median of {options.runs} | best | peak memory |\n|---|---|---|---|")
        for name, command in commands.items():
            run(command)
            runs = [run(command) for _ in range(options.runs)]
            seconds = [one.seconds for one in runs]
            peak = max(one.peak for one in runs) / 1e6
            print(
                f"| `{name}` | {median(seconds):.3f} s | {min(seconds):.3f} s | {peak:.0f} MB |", flush=True
            )


if __name__ == "__main__":
    main()
