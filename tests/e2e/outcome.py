"""What became of a fault: the verdict beside the right one, and how long it took from the deciding line."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.fault import Fault
from tests.e2e.growth import Growth

if TYPE_CHECKING:
    from tests.e2e.run import Job

_STEP = re.compile(r"iteration +(\d+)/")
RIGHT, UNKNOWN, WRONG = "right", "unknown", "wrong"
NO_RANK = "no rank"
"""The category is right, and the verdict says that nothing singles out a rank."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of the lab's table."""

    fault: str
    judged: str
    category: str
    rank: int | None
    confidence: str
    rule: str | None
    outcome: str
    """As the watcher says how the job ended."""
    exit: int
    seconds: float | None
    """From the deciding line, or from Slurm's change of state, to the verdict."""
    since: str
    """`line`, or the state that Slurm changed to."""
    same: bool
    """`triage explain` gives the same verdict afterwards."""
    refused: bool
    """The preflight refused the job, and it ran with --no-check."""
    summary: str
    evidence: bool
    """The verdict names a line."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def outcome_of(
    job: Job, fault: Fault, growth: Growth, code: int, refused: bool, explained: dict[str, Any] | None
) -> Outcome:
    events = [told for told in job.told if told.get("schema") == "triage.event/1"]
    last = next((told for told in reversed(events) if told["event"] == "verdict"), None)
    if last is None:
        raise AssertionError(
            f"{fault.name}: no verdict, exit {code}: {(job.folder / 'triage.err').read_text()[-2000:]}"
        )
    verdict = last["data"]["verdict"]
    seconds, since = delay(job, growth, events, verdict)
    root = verdict["root"] or {}
    return Outcome(
        fault.name, judged(fault, verdict, code, last["data"]["outcome"], reached(job)), verdict["category"], root.get("rank"),
        verdict["confidence"], verdict["rule"], last["data"]["outcome"], code, seconds, since, same_answer(verdict, explained),
        refused, verdict["summary"], bool(root.get("evidence")),
    )  # fmt: skip


def same_answer(told: dict[str, Any], explained: dict[str, Any] | None) -> bool:
    """Whether both say the same: all of it where the same bytes were read, else the answer itself, for Slurm and the
    watcher may write last lines into the logs of a job that is gone already."""
    if explained is None:
        return False
    if told["scanned"] == explained["scanned"]:
        return told == explained
    root, other = told["root"] or {}, explained["root"] or {}
    return all(
        told[name] == explained[name] for name in ("category", "rule", "confidence", "summary", "slurm")
    ) and all(
        root.get(name) == other.get(name)
        for name in ("rank", "node", "exception", "message", "frame", "evidence")
    )


def judged(fault: Fault, verdict: dict[str, Any], code: int, outcome: str, step: int = 0) -> str:
    """Right in category, rank, exit code, outcome and step; or without a rank; or unknown; or wrong."""
    right, category = fault.right, verdict["category"]
    rank = (verdict["root"] or {}).get("rank")
    fits = (
        category in right.categories
        and code == right.exit(category)
        and right.outcome in (None, outcome)
        and (right.step or 0) <= step
    )
    if fits and right.rank in (None, rank):
        return RIGHT
    if category == "unknown":
        return UNKNOWN
    return NO_RANK if fits and rank is None else WRONG


def reached(job: Job) -> int:
    """The last step of the last attempt."""
    attempts = sorted(job.logs.glob("*/attempt-*"), key=lambda path: path.name)
    steps = [
        int(found[1])
        for path in (attempts[-1].rglob("stdout.log") if attempts else ())
        for found in _STEP.finditer(path.read_text(errors="replace"))
    ]
    return max(steps, default=0)


def delay(
    job: Job, growth: Growth, events: list[dict[str, Any]], verdict: dict[str, Any]
) -> tuple[float | None, str]:
    """Seconds to the first verdict that says the same, and from what they are counted."""
    told = next(event["time"] for event in events if _says(event, verdict))
    evidence = (verdict["root"] or {}).get("evidence")
    if evidence is not None:
        for folder in (job.logs, *job.logs.iterdir()):
            path = Path(folder) / evidence["path"]
            if path.is_file() and (at := growth.when(path, evidence["last_line"])) is not None:
                return max(0.0, round(told - at, 2)), "line"
    ended = next((seen for seen in job.states if seen[1] not in ("PENDING", "CONFIGURING", "RUNNING")), None)
    return (round(told - ended[0], 2), ended[1]) if ended is not None else (None, "")


def _says(event: dict[str, Any], verdict: dict[str, Any]) -> bool:
    said = event["data"].get("verdict")
    if said is None:
        return False
    ranks = [(one["root"] or {}).get("rank") for one in (said, verdict)]
    return bool(said["category"] == verdict["category"] and ranks[0] == ranks[1])
