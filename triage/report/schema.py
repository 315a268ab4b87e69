"""The JSON Schemas that ship with the tool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schemas")

SCHEMAS: Mapping[str, str] = MappingProxyType(
    {
        "bundle": "bundle-1.schema.json",
        "check": "check-1.schema.json",
        "event": "event-1.schema.json",
        "config": "config-1.schema.json",
        "submit": "submit-1.schema.json",
        "verdict": "verdict-1.schema.json",
        "why-not": "why-not-1.schema.json",
    }
)
"""Name on the command line -> file."""


def schema_text(name: str) -> str:
    """The schema of an output, as it is shipped."""
    with open(os.path.join(_FOLDER, SCHEMAS[name]), encoding="utf-8") as file:
        return file.read()
