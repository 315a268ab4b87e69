"""Tags that name a rank: torch's `[rank3]:`, Lightning's `[rank: 3]`, torchrun's tee `[default3]:`.

torch/distributed/distributed_c10d.py (`_distributed_excepthook`) puts `[rankN]: ` before each non-blank line of a traceback,
c10/util/Logging.cpp puts `[rankN]:` directly before the bracket. torch/distributed/elastic/multiprocessing/tail_log.py
puts `[roleK]:` before each line, with no blank of its own; K is the local rank.
"""

from __future__ import annotations

from triage.core.lazy import lazy
from triage.core.logs.dialects.interface import LETTERS, Dialect, Sample, Stripped, local_rank_tags, rank_tags
from triage.core.logs.record import Tags

_RANK = lazy(r"\[rank(\d{1,7})\]: ?")
_LIGHTNING = lazy(r"\[rank: ?(\d{1,7})\] ")
_ROLE = lazy(r"\[([A-Za-z_][A-Za-z_.-]{0,40})(\d{1,5})\]:")
_NO_ROLE = frozenset(
    [
        "rank",
        "step",
        "steps",
        "epoch",
        "iter",
        "iteration",
        "it",
        "layer",
        "layers",
        "batch",
        "stage",
        "gpu",
        "cuda",
        "device",
        "line",
        "phase",
        "round",
        "trial",
        "fold",
        "loss",
        "attempt",
        "chunk",
        "shard",
        "part",
        "test",
        "case",
        "item",
        "node",
    ]
)


def _rank(text: str) -> Stripped | None:
    if text[1:5] != "rank":
        return None
    match = _RANK.match(text) or _LIGHTNING.match(text)
    if match is None:
        return None
    return Stripped(text[match.end() :], rank_tags(int(match[1])))


def _role(text: str) -> Stripped | None:
    match = _ROLE.match(text)
    if match is None or match[1].lower().strip("_-.") in _NO_ROLE:
        return None
    return Stripped(text[match.end() :], local_rank_tags(int(match[2])))


RANK = Dialect(
    name="rank",
    first="[",
    behind="r",
    strip=_rank,
    samples=(
        Sample(
            "[rank3]: Traceback (most recent call last):", "Traceback (most recent call last):", Tags(rank=3)
        ),
        Sample(
            '[rank15]:   File "/w/train.py", line 3, in main',
            '  File "/w/train.py", line 3, in main',
            Tags(rank=15),
        ),
        Sample("[rank: 3] Received SIGTERM: 15", "Received SIGTERM: 15", Tags(rank=3)),
        Sample("[rank:0] Seed set to 42", "Seed set to 42", Tags(rank=0)),
    ),
)

ROLE = Dialect(
    name="tee",
    first="[",
    behind=LETTERS + "_",
    strip=_role,
    carrier=True,
    samples=(
        Sample(
            "[default3]:    return forward_call(*args)", "    return forward_call(*args)", Tags(local_rank=3)
        ),
        Sample("[trainer0]:training ...", "training ...", Tags(local_rank=0)),
        Sample("[step5]: loss 3.1", "[step5]: loss 3.1", taken=False),
    ),
)
