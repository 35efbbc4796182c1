"""Metric cards: what a metric measures, what it costs and what fools it, as Markdown from an audit."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

from core.scores import Metric
from data.text_files import written_aside
from experiments.report.exports import to_markdown
from experiments.runner.contracts import Table


def write_card(
    path: Path, metric: Metric, signature: str, audited: str, cost: float, tables: Sequence[Table], notes: Sequence[str]
) -> None:
    """Writes the card of a metric.

    Args:
        path: the Markdown file.
        metric: its class says what it measures, its range and its direction.
        signature: of its scores.
        audited: the texts of the audit, in words.
        cost: seconds per text.
        tables, notes: of the audit.
    """
    described = inspect.cleandoc(type(metric).__doc__ or "").split("\n\nAttributes:")[0]
    needs = " and ".join(f"`{field}`" for field in metric.requires) or "nothing"
    weaknesses = [f"- {note}" for note in notes] or ["- The audit found none."]
    parts = [
        f"# {signature.split('|')[0]}",
        described,
        f"Needs beside the text: {needs}. Cost: {cost:.2g} seconds per text where the card was made.",
        "## Known weaknesses",
        "\n".join(weaknesses),
        f"## Audit on {audited}",
        f"`{signature}`",
    ]
    for table in tables:
        parts += [f"### {table.title}", table.caption, to_markdown(table.rows).rstrip()]
    with written_aside(path) as file:
        file.write("\n\n".join(parts) + "\n")
