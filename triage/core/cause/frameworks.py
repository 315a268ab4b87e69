"""Which frameworks a run uses, so that advice speaks their language."""

from __future__ import annotations

from itertools import islice

from triage.core.cause.joblog import JobLog
from triage.core.events.model import Trace
from triage.core.rules.frames import owner_of

FRAMEWORKS = ("megatron", "deepspeed", "nemo", "lightning", "huggingface", "torchtitan")
"""Names by which a rule's next steps ask for one."""

_FORMS = {"megatron": "megatron", "deepspeed": "deepspeed", "nemo": "nemo", "transformers": "huggingface"}
"""Whose wording a progress line has."""

TRACES = 64
"""Tracebacks of different failures that are looked at."""
FRAMES = 64
"""Innermost frames of each link that are looked at."""


def frameworks_of(job: JobLog) -> frozenset[str]:
    """By the frames of tracebacks and the wording of progress lines; empty where neither tells.

    NeMo and Lightning set Megatron-LM up by their own configuration, so its options are none of theirs.
    """
    traces = (i.first.event for i in job.incidents if isinstance(i.first.event, Trace))
    frames = (f for trace in islice(traces, TRACES) for link in trace.links for f in link.frames[-FRAMES:])
    owners = {owner_of(frame, job.ruleset.frames) for frame in frames}
    forms = {_FORMS.get(sign.progress.form) for sign in job.timeline.signs}
    found = {name for name in FRAMEWORKS if name in owners or name in forms}
    return frozenset(found - {"megatron"} if found & {"nemo", "lightning"} else found)
