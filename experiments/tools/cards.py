"""Metric cards: what a metric measures, what it costs and what fools it, as Markdown from an audit."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

from core.scores import Metric
from data.text_files import open_atomically
from experiments.contracts import Table
from experiments.report.exports import markdown_text, to_markdown

SYNTHETIC = (
    "The texts, the damage and the small models are synthetic: this project generated or trained them. The figures "
    "show how a metric works; they do not show how good it is with real models on real text."
)


def describe(metric: type) -> str:
    """What a metric measures, its range and its direction, as its class says it."""
    return inspect.cleandoc(metric.__doc__ or "").split("\n\nAttributes:")[0]


def write_card(
    path: Path,
    metric: Metric,
    signature: str,
    audited: str,
    synthetic: bool,
    cost: float,
    tables: Sequence[Table],
    notes: Sequence[str],
) -> None:
    """Writes the card of a metric.

    Args:
        path: the Markdown file.
        signature: of its scores.
        audited: the texts of the audit, in words.
        synthetic: whether this project generated them.
        cost: seconds per text.
        tables, notes: of the audit.
    """
    needs = " and ".join(f"`{field}`" for field in metric.requires) or "nothing"
    weaknesses = [f"- {markdown_text(note)}" for note in notes] or ["- The audit found none."]
    parts = [
        f"# {signature.split('|')[0]}",
        describe(type(metric)),
        f"Needs beside the text: {needs}. Cost: {cost:.2g} seconds per text where the card was made.",
        "## Known weaknesses",
        "\n".join(weaknesses),
        f"## Audit on {audited}",
        *([SYNTHETIC] if synthetic else []),
        f"`{signature}`",
    ]
    for table in tables:
        parts += [f"### {table.title}", table.caption, to_markdown(table.rows).rstrip()]
    with open_atomically(path) as file:
        file.write("\n\n".join(parts) + "\n")


def write_card_without_audit(path: Path, name: str, metric: type, needs: str) -> None:
    """Writes the card of a metric that was not audited; `needs` says what an audit needs."""
    with open_atomically(path) as file:
        file.write(f"# {name}\n\n{describe(metric)}\n\nNot audited: it needs {needs}.\n")
