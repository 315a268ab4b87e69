"""Labels of log collectors that are unmistakable by their own form: milabench's `name [stderr] `, `kubectl logs --prefix`."""

from __future__ import annotations

import re

from triage.core.logs.dialects.interface import LETTERS, Dialect, Sample, Stripped
from triage.core.logs.record import Tags

_STREAM = re.compile(r"([\w.:/-]{1,120}) \[std(?:err|out)\] ?")
_POD = re.compile(r"\[pod/([^\]\s]{1,200})\] ?")


def _stream(text: str) -> Stripped | None:
    if text.find(" [std", 0, 130) < 0:
        return None
    match = _STREAM.match(text)
    return None if match is None else Stripped(text[match.end() :], Tags(actor=match[1]))


def _pod(text: str) -> Stripped | None:
    match = _POD.match(text)
    return None if match is None else Stripped(text[match.end() :], Tags(actor=match[1]))


STREAM = Dialect(
    name="collector",
    first=LETTERS,
    strip=_stream,
    carrier=True,
    samples=(
        Sample(
            "llm-lora-mp-nodes.mx-d12 [stderr] [rank6]:   x",
            "[rank6]:   x",
            Tags(actor="llm-lora-mp-nodes.mx-d12"),
        ),
    ),
)

POD = Dialect(
    name="collector",
    first="[",
    strip=_pod,
    carrier=True,
    samples=(Sample("[pod/train-0/pytorch] Traceback", "Traceback", Tags(actor="train-0/pytorch")),),
)
