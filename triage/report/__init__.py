"""From a verdict to text: one module per format, each `render(view, options) -> str`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from triage.report.view import Options, View, view_of

Renderer = Callable[[View, Options], str]


def _late(name: str) -> Renderer:
    """The format's `render`; its module is imported when it is used."""

    def render(view: View, options: Options) -> str:
        made: str = import_module(f"triage.report.{name}").render(view, options)
        return made

    return render


FORMATS: Mapping[str, Renderer] = MappingProxyType(
    {
        "text": _late("text"),
        "json": _late("json"),
        "markdown": _late("markdown"),
        "github": _late("github"),
    }
)

__all__ = ["FORMATS", "Options", "Renderer", "View", "view_of"]
