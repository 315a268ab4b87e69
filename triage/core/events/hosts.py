"""Lines in which a job script says on which host it runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.core.events.model import Facts, Span
from triage.core.logs.record import Record

_HOST = r"([A-Za-z][\w-]{1,62}(?:\.[\w-]{1,62}){0,6})"
_FORMS = (
    re.compile(
        rf"^(?:Clearing cache|Running|Job \d+ starting|Starting|Launching) on (?:host |node )?{_HOST}\s*$"
    ),
    re.compile(
        rf"(?:^|\s)(?:Job \d+ starting on|SLURMD_NODENAME=|SLURM_JOB_NODELIST=|SLURM_NODELIST=){_HOST}\s*$"
    ),
    re.compile(rf"^(?:hostname|host|node(?:name)?) ?[:=] ?{_HOST}\s*$", re.IGNORECASE),
)
"""A list with brackets names several hosts and matches none."""


def extract_hosts(stream: Sequence[Record], source: int) -> list[Facts]:
    """`Facts` with the one value `host`; the records stay for others."""
    found: list[Facts] = []
    for record in stream:
        if not record.text or len(record.text) > 200:
            continue
        for form in _FORMS:
            if match := form.search(record.text):
                span = Span(source, record.offset, record.end)
                found.append(
                    Facts(span=span, tags=record.tags, values={"host": match[1]}, origin="environment")
                )
                break
    return found
