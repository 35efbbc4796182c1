"""Audit: what scores depend on, which damage lowers them, and which harmless edits change them.

One metric (`+exp=audit`), or a table of many, each on the first set that has what it needs (`+exp=audit_table`). Both
write metric cards: what a metric measures, what it costs and what fools it, as Markdown.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
from matplotlib.figure import Figure

from core.faults import SettingFault
from core.scores import Metric
from core.selection import find_lack
from data.corpus import Corpus, RatedSet
from data.scored import ScoredFile
from data.text_files import open_atomically
from experiments.contracts import Outcome, Run, Table
from experiments.report.plots import draw_line
from experiments.report.tables import markdown_text, to_markdown
from judge.auditing import AspectAudit, AuditSettings, MetricAudit, audit_metric, summary_table

SYNTHETIC = (
    "The texts, the damage and the small models are synthetic: this project generated or trained them. The figures "
    "show how a metric works; they do not show how good it is with real models on real text."
)


@dataclass(frozen=True)
class Unaudited:
    """A metric that is described only.

    Attributes:
        metric: its constructor, which is not called.
        needs: what an audit of it needs, in words.
    """

    metric: partial[Metric]
    needs: str

    @property
    def kind(self) -> type[Metric]:
        """Its class."""
        return self.metric.func.__self__  # pyright: ignore[reportFunctionMemberAccess]


def audit(
    run: Run, data: ScoredFile | Corpus, metric: Metric, settings: AuditSettings, card: str | None = None
) -> Outcome:
    """Audits a metric, as `judge.auditing.audit_metric` says.

    Args:
        run: from the runner.
        data: a file, whose scores are ignored, or a corpus, whose first rated set is used.
        metric: what is audited.
        settings: of the audit.
        card: a Markdown file to write with what the metric measures and what fools it.
    """
    rated = data if isinstance(data, ScoredFile) else data.rated[0]
    with run.timed("audit"):
        found = audit_metric(rated, metric, settings, run.cues, run.stages)
    if card is not None:
        write_card(Path(card), found)
    return Outcome(
        signature=found.signature,
        tables=found.tables,
        plots={f"damage_{aspect}": plot_falls(each, found.strengths) for aspect, each in found.aspects.items()},
        notes=found.notes,
        files=[] if card is None else [Path(card)],
        synthetic=rated.synthetic,
    )


def audit_table(
    run: Run,
    sets: Mapping[str, Corpus],
    metrics: Mapping[str, Metric],
    settings: AuditSettings,
    cards: str | None = None,
    unaudited: Mapping[str, Unaudited] = MappingProxyType({}),
) -> Outcome:
    """Audits every metric and shows a row for each of its aspects.

    Args:
        run: from the runner.
        sets: data whose first rated set is used, in the order in which a metric looks for what it needs.
        metrics: the metrics by name.
        settings: of each audit.
        cards: an existing folder for `NAME.md`, the card of a metric, and `README.md`, the table.
        unaudited: metrics by name that get a card without figures.

    Raises SettingFault for wrong settings, and for a metric that no set has the fields for.
    """
    if not metrics:
        raise SettingFault("metrics must name the metrics to audit: metrics=[bleu,rouge_l]")
    folder = None if cards is None else Path(cards)
    if folder is not None and not folder.is_dir():
        raise SettingFault(f"cards must be an existing folder, but there is no {folder}")
    rated = [each.rated[0] for each in sets.values()]
    chosen = {name: find_set(name, metric, rated) for name, metric in metrics.items()}
    found: dict[str, MetricAudit] = {}
    for name, metric in metrics.items():
        with run.timed("audit"):
            found[name] = audit_metric(chosen[name], metric, settings, run.cues, run.stages)
        if folder is not None:
            write_card(folder / f"{name}.md", replace(found[name], name=name))
    synthetic = any(each.synthetic for each in chosen.values())
    rows = [{"metric": name, "needs": each.needs} for name, each in unaudited.items()]
    described = Table("Not audited", "Metrics that need a model that is not available here.", rows)
    tables = [summary_table(found), *([described] if rows else [])]
    if folder is not None:
        for name, each in unaudited.items():
            text = f"Not audited: it needs {each.needs}."
            write_page(folder / f"{name}.md", [f"# {name}", describe(each.kind), text])
        parts = ["# Metric cards", "What each metric of this repository reacts to, on built-in texts."]
        parts += [SYNTHETIC] if synthetic else []
        for table in tables:
            parts += [f"## {table.title}", table.caption, to_markdown(table.rows, linked="metric").rstrip()]
        write_page(folder / "README.md", parts)
    return Outcome(
        signature="|".join(["audit_table", *(f"{name}: {each.signature}" for name, each in found.items())]),
        tables=tables,
        files=[] if folder is None else [folder / "README.md"],
        synthetic=synthetic,
    )


def find_set(name: str, metric: Metric, sets: Sequence[RatedSet]) -> RatedSet:
    """The first set whose examples have all fields that the metric requires."""
    for rated in sets:
        if all(find_lack(example, metric.requires, name) is None for example in rated.examples):
            return rated
    raise SettingFault(f"{name} needs {', '.join(metric.requires)}, which no set in sets has")


def plot_falls(audited: AspectAudit, strengths: Sequence[float]) -> Figure:
    """Plots the mean fall of the scores by strength with 95 % intervals, one line per damage."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    width = min(np.diff([0.0, *strengths])) / 20
    for i, (name, each) in enumerate(audited.damages.items()):
        at = np.array(strengths) + width * (i - len(audited.damages) / 2)  # side by side
        draw_line(axes, at.tolist(), each.falls, marker="o", label=name)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="share of the text that is damaged", ylabel="fall of the score (standard deviations)")
    axes.legend(fontsize=8)
    return figure


def describe(metric: type) -> str:
    """What a metric measures, its range and its direction, as its class says it."""
    return inspect.cleandoc(metric.__doc__ or "").split("\n\nAttributes:")[0]


def write_card(path: Path, found: MetricAudit) -> None:
    """Writes the card of an audited metric."""
    needs = " and ".join(f"`{field}`" for field in found.metric.requires) or "nothing"
    kind = "synthetic texts" if found.rated.synthetic else "texts"
    parts = [
        f"# {found.name}",
        describe(type(found.metric)),
        f"Needs beside the text: {needs}. Cost: {found.cost:.2g} seconds per text where the card was made.",
        "## Known weaknesses",
        "\n".join(f"- {markdown_text(note)}" for note in found.notes) or "- The audit found none.",
        f"## Audit on {found.n} {kind} ({found.rated.name}), seed {found.settings.seed}",
        *([SYNTHETIC] if found.rated.synthetic else []),
        f"`{found.signature}`",
    ]
    for table in found.tables:
        parts += [f"### {table.title}", table.caption, to_markdown(table.rows).rstrip()]
    write_page(path, parts)


def write_page(path: Path, parts: Sequence[str]) -> None:
    """Writes the parts of a Markdown page."""
    with open_atomically(path) as file:
        file.write("\n\n".join(parts) + "\n")
