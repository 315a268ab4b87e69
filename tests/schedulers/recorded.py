"""Recorded outputs of Slurm, and a runner that plays them back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.schedulers.process import Answer, Call

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "slurm" / "22.05"


def text(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text()


def rows(name: str) -> list[dict[str, Any]]:
    """A list of recorded calls with their answers."""
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def error(name: str, command: str) -> Answer:
    """How a program failed, as recorded."""
    row = next(row for row in rows(name) if row["command"] == command)
    return Answer(row["code"], "", row["err"])


UNKNOWN_ID = Answer(1, "", "slurm_load_jobs error: Invalid job id specified\n")


@dataclass(slots=True)
class Replay:
    """Answers each program with what it is told; keeps the calls."""

    answers: Mapping[str, Answer | Callable[[Call], Answer]]
    calls: list[Call] = field(default_factory=list)

    def __call__(self, call: Call) -> Answer:
        self.calls.append(call)
        words = [
            word for word in call.argv if word not in ("timeout", "--kill-after=2") and not word.isdigit()
        ]
        name = " ".join(words[:3]) if words[0] == "scontrol" else words[0]
        answer = self.answers.get(name, Answer(1, "", f"{name}: not recorded"))
        return answer if isinstance(answer, Answer) else answer(call)

    def of(self, program: str) -> list[tuple[str, ...]]:
        return [call.argv for call in self.calls if program in call.argv]
