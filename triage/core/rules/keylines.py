"""On which line of a TOML text a key stands: `tomllib` does not say."""

from __future__ import annotations

from triage.core.lazy import lazy

_TABLE = lazy(r"\s*\[\[?\s*([\w.\-]+)\s*\]\]?\s*(?:#.*)?$")
_KEY = lazy(r"\s*([\w\-]+)\s*=\s*(.*)$")
_SYNTAX = lazy(r"\(at line (\d+), column \d+\)")


class KeyLines:
    """Line numbers by (table, index of the table, key); a lookup never fails, it falls back to the table or 1."""

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, int, str], int] = {}
        counts: dict[str, int] = {}
        table, index, closing = "", 0, ""
        for number, line in enumerate(text.split("\n"), 1):
            if closing:
                closing = "" if closing in line else closing
                continue
            if found := _TABLE.match(line):
                table = found[1]
                index = counts.get(table, 0)
                counts[table] = index + 1
                self._lines[table, index, ""] = number
            elif found := _KEY.match(line):
                self._lines.setdefault((table, index, found[1]), number)
                for quotes in ("'''", '"""'):
                    if found[2].startswith(quotes) and quotes not in found[2][3:]:
                        closing = quotes

    def of(self, key: str, table: str = "", index: int = 0) -> int:
        return self._lines.get((table, index, key)) or self._lines.get((table, index, "")) or 1


def line_of_syntax_error(message: str, text: str) -> int:
    """The line that a TOMLDecodeError names; the last one where it says "end of document"."""
    found = _SYNTAX.search(message)
    return int(found[1]) if found else text.count("\n") + 1
