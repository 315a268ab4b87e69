"""The verdict as a GitHub Actions workflow command: an annotation on the line that holds the evidence."""

from __future__ import annotations

from triage.report.mask import for_github, for_github_property
from triage.report.view import Options, View, frame_text, lines_text

_LONGEST = 4000
"""GitHub cuts an annotation at 64 KiB; one this long is read by nobody."""


def render(view: View, options: Options) -> str:  # noqa: ARG001
    """`::error file=...,line=...::` for a failure, `::notice` for none; always one line."""
    verdict = view.verdict
    properties = []
    evidence = verdict.root.evidence if verdict.root else None
    if evidence is not None and evidence.path != "-":
        properties.append(f"file={for_github_property(evidence.path)}")
        properties.append(f"line={evidence.first_line}")
        properties.append(f"endLine={evidence.last_line}")
    properties.append(f"title={for_github_property(f'triage: {verdict.rule or verdict.category}')}")
    body = [view.headline, ", ".join(view.tags)]
    if verdict.root:
        body += [lines_text(evidence), view.exception[:1000], frame_text(verdict.root.frame)]
    body += [f"next: {step}" for step in verdict.next_steps]
    message = for_github("\n".join(line for line in body if line)[:_LONGEST])
    return f"::{'error' if verdict.failed else 'notice'} {','.join(properties)}::{message}\n"
