"""The verdict as JSON: the contract `triage.verdict/1` (schemas/verdict-1.schema.json)."""

from __future__ import annotations

import json

from triage.core.cause.verdict import FACT_NAMES
from triage.report.view import Options, View


def render(view: View, options: Options) -> str:  # noqa: ARG001
    """One object, keys in the contract's order; every fact is there, unknown ones as null."""
    data = view.verdict.to_json()
    data["facts"] = {**dict.fromkeys(FACT_NAMES), **data["facts"]}
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
