"""Whether two verdicts say the same, apart from what is counted and from where lines stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_COUNTED = ("scanned", "schema", "other_jobs")
_PLACE = re.compile(r":\d+(?=\b)")
_LINES = frozenset({"first_line", "last_line"})


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """Names of the fields in which two verdicts, as JSON values, differ."""
    names = dict.fromkeys([*left, *right])
    return [n for n in names if n not in _COUNTED and _compared(n, left.get(n)) != _compared(n, right.get(n))]


def _compared(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _compared(key, item) for key, item in value.items() if key not in _LINES}
    if isinstance(value, list | tuple):
        return [_compared(name, item) for item in value]
    if isinstance(value, str):
        return _PLACE.sub("", value) if name == "reasons" else value
    return value
