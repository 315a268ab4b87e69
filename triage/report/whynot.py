"""Why a rank's failure is not the root, in every format (`triage.why-not/1`, schemas/why-not-1.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from triage.report.mask import for_github, for_markdown, safe
from triage.report.text import wrapped

Renderer = Callable[[int, Sequence[str], int], str]
"""From the rank, the sentences and the columns of the terminal to text."""


def render_text(rank: int, sentences: Sequence[str], width: int) -> str:  # noqa: ARG001
    """One sentence a paragraph, as wide as asked."""
    return "".join(f"{line}\n" for sentence in sentences for line in wrapped(safe(sentence), width))


def render_json(rank: int, sentences: Sequence[str], width: int) -> str:  # noqa: ARG001
    """One object; `reasons` is never empty, the most telling one stands first."""
    data = {"schema": "triage.why-not/1", "rank": rank, "reasons": [safe(text) for text in sentences]}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def render_markdown(rank: int, sentences: Sequence[str], width: int) -> str:  # noqa: ARG001
    """A heading and a list."""
    lines = (f"- {for_markdown(safe(text))}\n" for text in sentences)
    return f"### Why not rank {rank}\n\n{''.join(lines)}"


def render_github(rank: int, sentences: Sequence[str], width: int) -> str:  # noqa: ARG001
    """One annotation, for it is no failure by itself."""
    message = for_github("\n".join(safe(text) for text in sentences))
    return f"::notice title=triage%3A why not rank {rank}::{message}\n"


WHY_NOT: Mapping[str, Renderer] = MappingProxyType(
    {"text": render_text, "json": render_json, "markdown": render_markdown, "github": render_github}
)
