"""The same for a configuration: a key is taken out, and the checks say whether that holds."""

from __future__ import annotations

from collections.abc import Sequence

from triage.core.megatron.connections import NAME
from triage.core.megatron.finding import Finding
from triage.core.script.fix import EXPORTS, Fix, Judge, holds
from triage.submit.places import places


def fix_config(text: str, findings: Sequence[Finding], judge: Judge) -> list[Fix]:
    """The fixes of a `triage.toml`."""
    place = places(text).get(("environment", NAME))
    wrong = next((item for item in findings if item.check in EXPORTS and item.line is not None), None)
    if wrong is None or place is None or not place.whole:
        return []
    lines = text.split("\n")
    changed = Fix(wrong.check, f"take out {NAME}", "\n".join(lines[: place.line - 1] + lines[place.last :]))
    return [changed] if holds(wrong, findings, judge(changed.text)) else []
