"""Labels of log collectors that are unmistakable by their own form: milabench's `name [stderr] `, `kubectl logs --prefix`,
and the files that container runtimes write (CRI: `<stamp> stderr F `)."""

from __future__ import annotations

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import DIGITS, LETTERS, Dialect, Sample, Stripped
from triage.core.logs.record import NO_TAGS, Tags
from triage.core.logs.stamp import find_stamp

_STREAM = lazy(r"([\w.:/-]{1,120}) \[std(?:err|out)\] ?")
_HOST = lazy(r"(?!D\d+$)[A-Za-z][\w-]*\d[\w-]*")
"""milabench's names end in a host, or in a device (`D0`) of the only one."""
_CRI = lazy(r" std(?:err|out) [FP] ")
_POD = lazy(r"\[pod/([^\]\s]{1,200})\] ?")


def _stream(text: str) -> Stripped | None:
    if text.find(" [std", 0, 130) < 0:
        return None
    match = _STREAM.match(text)
    if match is None:
        return None
    host = match[1].rpartition(".")[2] if "." in match[1] else ""
    node = host if _HOST.fullmatch(host) else None
    return Stripped(text[match.end() :], Tags(node=node, actor=match[1]))


def _pod(text: str) -> Stripped | None:
    match = _POD.match(text)
    return None if match is None else Stripped(text[match.end() :], Tags(actor=match[1]))


def _cri(text: str) -> Stripped | None:
    if text.find(" std", 0, 45) < 0:
        return None
    found = find_stamp(text)
    match = None if found is None else _CRI.match(text, found[1])
    return None if found is None or match is None else Stripped(text[match.end() :], NO_TAGS, found[0])


STREAM = Dialect(
    name="collector",
    first=LETTERS,
    strip=_stream,
    carrier=True,
    samples=(
        Sample(
            "llm-lora-mp-nodes.mx-d12 [stderr] [rank6]:   x",
            "[rank6]:   x",
            Tags(node="mx-d12", actor="llm-lora-mp-nodes.mx-d12"),
        ),
        Sample("resnet50.D0 [stdout] x", "x", Tags(actor="resnet50.D0")),
    ),
)

POD = Dialect(
    name="collector",
    first="[",
    behind="p",
    strip=_pod,
    carrier=True,
    samples=(Sample("[pod/train-0/pytorch] Traceback", "Traceback", Tags(actor="train-0/pytorch")),),
)

CRI = Dialect(
    name="collector",
    first=DIGITS,
    strip=_cri,
    samples=(
        Sample(
            "2026-12-01T10:00:00.123456789Z stderr F   File x",
            "  File x",
            stamp="2026-12-01T10:00:00.123456789Z",
        ),
    ),
)
