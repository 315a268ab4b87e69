"""From a verdict to text: one module per format, each `render(view, options) -> str`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from triage.report import github, json, markdown, text
from triage.report.view import Options, View, view_of

Renderer = Callable[[View, Options], str]

FORMATS: Mapping[str, Renderer] = MappingProxyType(
    {
        "text": text.render,
        "json": json.render,
        "markdown": markdown.render,
        "github": github.render,
    }
)

__all__ = ["FORMATS", "Options", "Renderer", "View", "view_of"]
