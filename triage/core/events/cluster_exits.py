"""How processes ended, in the words of the services that run a job: PaddlePaddle's launcher, SkyPilot, Vertex AI, Determined.

Formats: paddle distributed/launch/job/container.py (`Container.__str__`) and controllers/controller.py; SkyPilot
skylet/job_lib's `failed with return code list`; Vertex AI's job errors; determined master/internal/sproto (`FailureType`).
"""

from __future__ import annotations

from triage.core.events.elastic import signal_of
from triage.core.events.model import Exit
from triage.core.events.mpi_exits import Step
from triage.core.lazy import lazy
from triage.core.values import replace

_PADDLE = lazy(
    r"^Container rank (\d{1,7}) status failed cmd .{1,16000} code (-?\d{1,5})(?: log (\S{1,400}))?\s*$"
)
_SKYPILOT = lazy(
    r"^(?:ERROR: )?Job \d{1,9} failed with return code list:\s*\[(\d{1,3}(?:, \d{1,3}){0,4000})\]"
)
_CLEANED_UP = 137
"""What SkyPilot's own cleaning up makes of the other nodes' processes."""
_VERTEX = lazy(
    r"\bThe replica ([\w-]{1,80}(?: \d{1,5})?) (?:ran out-of-memory and )?exited with a non-zero status of (\d{1,3})"
)
_DETERMINED = lazy(
    r"\bresources failed with non-zero exit code: container failed with non-zero exit code: (\d{1,3})\b"
)


def _paddle(base: Exit, text: str) -> Exit | None:
    if (match := _PADDLE.match(text)) is None:
        return None
    code = int(match[2])
    reason = f"code {match[2]}" + (f", see {match[3]}" if match[3] else "")
    return replace(
        base, by="paddle", rank=int(match[1]), exitcode=code, signal=signal_of(code), victim=code == -15, reason=reason
    )  # fmt: skip


def _skypilot(base: Exit, text: str) -> Exit | None:
    if (match := _SKYPILOT.match(text)) is None:
        return None
    codes = [int(code) for code in match[1].split(", ")]
    failed = [code for code in codes if code not in (0, _CLEANED_UP)] or [code for code in codes if code]
    return replace(base, by="skypilot", exitcode=failed[0] if failed else None, reason=match[0])


def _vertex(base: Exit, text: str) -> Exit | None:
    if (match := _VERTEX.search(text)) is None:
        return None
    return replace(base, by="vertex", exitcode=int(match[2]), reason=match[0])


def _determined(base: Exit, text: str) -> Exit | None:
    if (match := _DETERMINED.search(text)) is None:
        return None
    return replace(base, by="determined", exitcode=int(match[1]), reason=match[0])


STEPS: tuple[Step, ...] = (
    (("Container rank ",), True, False, _paddle),
    (("return code list:",), False, False, _skypilot),
    (("exited with a non-zero status",), False, False, _vertex),
    (("resources failed with",), False, False, _determined),
)
