"""The verdict as Markdown, for an issue, a pull request or a CI summary."""

from __future__ import annotations

from collections.abc import Iterable

from triage.report.mask import code_block, code_span, for_markdown
from triage.report.view import Options, View, effect_lines, frame_text, lines_text

_MESSAGE_LINES = 20


def render(view: View, options: Options) -> str:  # noqa: ARG001
    """Text that came from a log stands in code spans or blocks, or is escaped."""
    verdict = view.verdict
    root = verdict.root
    parts = [f"### {for_markdown(view.headline)}", " · ".join(code_span(tag) for tag in view.tags)]
    rows = [
        ("Where", for_markdown(view.where)),
        ("Evidence", code_span(lines_text(root.evidence)) if root else ""),
        ("Frame", code_span(frame_text(root.frame)) if root else ""),
        ("Time", for_markdown(view.time)),
        ("Attempt", view.attempt),
        ("Job", for_markdown(view.job)),
        ("Slurm", for_markdown(view.scheduler)),
        ("Facts", for_markdown("; ".join(view.facts))),
    ]
    parts.append(_bullets(f"**{label}:** {text}" for label, text in rows if text))
    if view.exception:
        lines = view.exception.splitlines()
        more = [f"... ({len(lines) - _MESSAGE_LINES} more lines)"] if len(lines) > _MESSAGE_LINES else []
        parts.append(code_block("\n".join(lines[:_MESSAGE_LINES] + more)))
    for label, effects in (("Downstream", verdict.downstream), ("Not explained", verdict.unexplained)):
        if effects:
            parts.append(f"**{label}**")
            told = effect_lines(effects)
            parts.append(
                _bullets(f"{for_markdown(text)} {code_span(place)}".rstrip() for text, place in told)
            )
    if verdict.next_steps:
        parts.append("**Next steps**")
        parts.append("\n".join(f"{n}. {_with_code(step)}" for n, step in enumerate(verdict.next_steps, 1)))
    if verdict.reasons:
        parts.append("<details><summary>Why</summary>\n")
        parts.append(_bullets(for_markdown(reason) for reason in verdict.reasons))
        parts.append("</details>")
    skipped = f"; skipped {', '.join(view.skipped)}" if view.skipped else ""
    parts.append(f"Scanned {for_markdown(view.scanned + skipped)}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _with_code(text: str) -> str:
    """Prose whose backquoted commands become code spans."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return for_markdown(text)
    return "".join(code_span(part) if n % 2 else _prose(part) for n, part in enumerate(parts))


def _prose(text: str) -> str:
    """Escaped, with the blanks that part it from the code beside it."""
    inner = for_markdown(text)
    if not inner:
        return " " if text else ""
    return f"{' ' if text[:1].isspace() else ''}{inner}{' ' if text[-1:].isspace() else ''}"


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)
