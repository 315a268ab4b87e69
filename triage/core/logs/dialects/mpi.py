"""mpirun's `--tag-output` labels, those that SageMaker and Horovod make of or like them, and the `[host:pid]` of Open MPI's and
UCX's own messages.

Open MPI up to 4 prints `[job,rank]<stderr>:` with no blank (orte/mca/iof/base/iof_base_output.c), PRRTE
`[prterun-host-12@1,290]<stderr>: `. The second number is the rank in the job. sagemaker_training
rewrites it as `[1,mpirank:3,algo-2]<stderr>`; horovod/runner/common/util/safe_shell_exec.py puts `[3]<stderr>:`.
"""

from __future__ import annotations

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import LETTERS, Dialect, Sample, Stripped, rank_tags
from triage.core.logs.record import Tags

_TAG = lazy(r"\[(?:([^\]\s@]{1,80})@)?\d{1,9},(\d{1,7})\](?:\[[^\]]{1,64}\])?<std(?:err|out|diag)>: ?")
_OLD_TAG = lazy(r"\[\d{1,9},(\d{1,7})\](?:\[[^\]]{1,64}\])?<std(?:err|out|diag)>:")
_SAGEMAKER = lazy(r"\[\d{1,9},mpirank:(\d{1,7}),(algo-\d{1,5})\]<std(?:err|out)>:")
_HOROVOD = lazy(r"\[(\d{1,7})\]<std(?:err|out)>:")
_PROCESS = lazy(r"\[([A-Za-z][\w.-]{0,62}):(\d{2,8})(?: {0,4}:\d{1,8}:\d{1,8})?\] ")
_FILE = lazy(r"\.(?:py|cpp|cc|c|cu|h|hpp|cuh|rs|go|pyx)$")


def _tag(text: str) -> Stripped | None:
    if "<std" not in text[:200]:
        return None
    old = _OLD_TAG.match(text)
    if old is not None:
        return Stripped(text[old.end() :], rank_tags(int(old[1])))
    sagemaker = _SAGEMAKER.match(text)
    if sagemaker is not None:
        return Stripped(text[sagemaker.end() :], Tags(rank=int(sagemaker[1]), node=sagemaker[2]))
    horovod = _HOROVOD.match(text)
    if horovod is not None:
        return Stripped(text[horovod.end() :], rank_tags(int(horovod[1])))
    match = _TAG.match(text)
    if match is None:
        return None
    return Stripped(text[match.end() :], rank_tags(int(match[2])))


def _process(text: str) -> Stripped | None:
    match = _PROCESS.match(text)
    if match is None or _FILE.search(match[1]) or not any(c in "0123456789-." for c in match[1]):
        return None
    return Stripped(text[match.end() :], Tags(node=match[1], pid=int(match[2])))


MPIRUN = Dialect(
    name="mpirun",
    first="[",
    strip=_tag,
    carrier=True,
    samples=(
        Sample(
            "[1,290]<stderr>:!!!! kernel execution error.", "!!!! kernel execution error.", Tags(rank=290)
        ),
        Sample("[1,0]<stdout>:    x = 1", "    x = 1", Tags(rank=0)),
        Sample("[prterun-gpu1-77@1,3]<stderr>: Traceback", "Traceback", Tags(rank=3)),
        Sample("[1,mpirank:3,algo-2]<stderr>:ValueError: x", "ValueError: x", Tags(rank=3, node="algo-2")),
        Sample("[3]<stderr>:  File x", "  File x", Tags(rank=3)),
        Sample("[3]<file>: x", "[3]<file>: x", taken=False),
    ),
)

OPENMPI = Dialect(
    name="openmpi",
    first="[",
    behind=LETTERS,
    strip=_process,
    samples=(
        Sample(
            "[gpu-1:12345] *** Process received signal ***",
            "*** Process received signal ***",
            Tags(node="gpu-1", pid=12345),
        ),
        Sample(
            "[gpu-1:12345:0:12401] Caught signal 11 (Segmentation fault: address not mapped)",
            "Caught signal 11 (Segmentation fault: address not mapped)",
            Tags(node="gpu-1", pid=12345),
        ),
        Sample(
            "[gpu-1:2121 :0:7025] Caught signal 7 (Bus error: nonexistent physical address)",
            "Caught signal 7 (Bus error: nonexistent physical address)",
            Tags(node="gpu-1", pid=2121),
        ),
        Sample("[launch.py:315] text", "[launch.py:315] text", taken=False),
    ),
)
