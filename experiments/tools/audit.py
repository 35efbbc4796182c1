"""Audit: what scores depend on, which damage lowers them, and which harmless edits change them.

One metric (`+exp=audit`), or a table of many, each on the first set that has what it needs (`+exp=audit_table`). Both
write metric cards: what a metric measures, what it costs and what fools it, as Markdown.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from core.faults import SettingFault
from core.scores import Metric
from core.selection import find_lack
from core.settings import Count, Fraction, Several, check
from data.corpus import Corpus, RatedSet
from data.damage import DAMAGES
from data.scored import ScoredFile
from data.text_files import open_atomically
from experiments.contracts import Outcome, Run, Table
from experiments.report.tables import markdown_text, to_markdown
from experiments.tools.metric_audit import AspectAudit, MetricAudit, audit_metric
from experiments.tools.tables import length_table
from judge.tables import tabulate
from meta_eval.bootstrap import Estimate

LARGE_EDIT = 0.1  # standard deviations of the scores; a harmless edit should change them by less
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
    run: Run,
    data: ScoredFile | Corpus,
    metric: Metric,
    texts: int,
    strengths: Sequence[float],
    resamples: int,
    card: str | None = None,
) -> Outcome:
    """Audits a metric on at most `texts` texts, drawn by the seed.

    Args:
        data: a file, whose scores are ignored, or a corpus, whose first rated set is used.
        strengths: the shares of a text to damage, weakest first.
        resamples: of the intervals, which are over inputs.
        card: a Markdown file to write with what the metric measures and what fools it.

    Raises SettingFault for wrong settings, InputFaults if no example can be scored.
    """
    check_settings(texts, strengths, resamples)
    rated = RatedSet(data.path.name, data.examples, synthetic=False) if isinstance(data, ScoredFile) else data.rated[0]
    found = audit_metric(run, rated, metric, texts, sorted(strengths), resamples)
    if card is not None:
        write_card(Path(card), found)
    return Outcome(
        signature=f"audit|set={rated.name}|n={found.n}|seed={run.seed}|{found.signature}",
        tables=audit_tables(found),
        plots={f"damage_{aspect}": plot_falls(each, found.strengths) for aspect, each in found.aspects.items()},
        notes=note_weaknesses(found.aspects),
        files=[] if card is None else [Path(card)],
        synthetic=rated.synthetic,
    )


def audit_table(
    run: Run,
    sets: Mapping[str, Corpus],
    metrics: Mapping[str, Metric],
    texts: int,
    strengths: Sequence[float],
    resamples: int,
    cards: str | None = None,
    unaudited: Mapping[str, Unaudited] = MappingProxyType({}),
) -> Outcome:
    """Audits every metric and shows a row for each of its aspects.

    Args:
        run: from the runner.
        sets: data whose first rated set is used, in the order in which a metric looks for what it needs.
        metrics: the metrics by name.
        texts, strengths, resamples: as in `audit`.
        cards: an existing folder for `NAME.md`, the card of a metric, and `README.md`, the table.
        unaudited: metrics by name that get a card without figures.

    Raises SettingFault for wrong settings, and for a metric that no set has the fields for.
    """
    check_settings(texts, strengths, resamples)
    if not metrics:
        raise SettingFault("metrics must name the metrics to audit: metrics=[bleu,rouge_l]")
    folder = None if cards is None else Path(cards)
    if folder is not None and not folder.is_dir():
        raise SettingFault(f"cards must be an existing folder, but there is no {folder}")
    rated = [each.rated[0] for each in sets.values()]
    chosen = {name: find_set(name, metric, rated) for name, metric in metrics.items()}
    found: dict[str, MetricAudit] = {}
    for name, metric in metrics.items():
        found[name] = audit_metric(run, chosen[name], metric, texts, sorted(strengths), resamples)
        if folder is not None:
            write_card(folder / f"{name}.md", found[name])
    synthetic = any(each.synthetic for each in chosen.values())
    tables = [summary_table(found), *([unaudited_table(unaudited)] if unaudited else [])]
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


def check_settings(texts: int, strengths: Sequence[float], resamples: int) -> None:
    """Raises SettingFault for wrong settings."""
    check(Count, texts=texts, resamples=resamples)
    check(Several[Fraction | int], strengths=strengths)


def find_set(name: str, metric: Metric, sets: Sequence[RatedSet]) -> RatedSet:
    """The first set whose examples have all fields that the metric requires."""
    for rated in sets:
        if all(find_lack(example, metric.requires, name) is None for example in rated.examples):
            return rated
    raise SettingFault(f"{name} needs {', '.join(metric.requires)}, which no set in sets has")


def audit_tables(found: MetricAudit) -> list[Table]:
    """The tables of an audit."""
    lengths = {(a, rated): each for a, audited in found.aspects.items() for rated, each in audited.length.items()}
    return [
        property_table(found.aspects),
        length_table(lengths, "aspect"),
        damage_table(found.aspects, found.strengths),
        edit_table(found.aspects),
    ]


def property_table(found: Mapping[str, AspectAudit]) -> Table:
    """The table of correlations between scores and properties of the texts."""
    caption = (
        "Spearman's rho of scores with properties of the texts. repetition: share of words that already occurred in "
        "the text; overlap with context: share of words that also occur in the context; position: place in the file."
    )
    named = [
        ({"aspect": aspect, "property": name}, each)
        for aspect, audited in found.items()
        for name, each in audited.properties.items()
    ]
    return tabulate("What the scores depend on", caption, named, ("n", "spearman"))


def damage_table(found: Mapping[str, AspectAudit], strengths: Sequence[float]) -> Table:
    """The table of falls of the scores under damage."""
    rows = [
        {
            "aspect": aspect,
            "damage": name,
            "n": each.n,
            **{f"fall_{strength:g}": fall for strength, fall in zip(strengths, each.falls, strict=True)},
            "noticed": each.noticed,
            "monotone": "–" if each.falls[-1].reason else "yes" if each.is_monotone else "no",
            "reason": each.falls[-1].reason or "",
        }
        for aspect, audited in found.items()
        for name, each in audited.damages.items()
    ]
    caption = (
        "fall_S: mean fall of the score when a share S of a text is damaged, in standard deviations of the undamaged "
        "scores; it should be positive. noticed: share of texts whose score falls at the greatest strength (ties count "
        "half). monotone: the score falls significantly, and rises significantly at no step. n: texts that the damage "
        "can change and that the metric can score at every strength. Intervals are over inputs: the jackknife, and for "
        "noticed Tango's score interval, which is Wilson's where nothing ties."
    )
    return Table("Damage", caption, rows)


def edit_table(found: Mapping[str, AspectAudit]) -> Table:
    """The table of changes of the scores under harmless edits."""
    caption = (
        "Edits that should not change scores. shift: mean change; size: mean absolute change; both in standard "
        "deviations of the scores before the edit. changed: share of scores that changed at all. 0 is best."
    )
    named = [
        ({"aspect": aspect, "edit": name}, each)
        for aspect, audited in found.items()
        for name, each in audited.edits.items()
    ]
    return tabulate("Harmless edits", caption, named, ("n", "shift", "size", "changed"))


def plot_falls(audited: AspectAudit, strengths: Sequence[float]) -> Figure:
    """Plots the mean fall of the scores by strength with 95 % intervals, one line per damage."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    width = min(np.diff([0.0, *strengths])) / 20
    for i, (name, each) in enumerate(audited.damages.items()):
        values, low, high = (np.array([getattr(fall, end) for fall in each.falls]) for end in ("value", "low", "high"))
        at = np.array(strengths) + width * (i - len(audited.damages) / 2)  # side by side
        axes.errorbar(at, values, yerr=np.abs([values - low, high - values]), marker="o", capsize=2, label=name)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="share of the text that is damaged", ylabel="fall of the score (standard deviations)")
    axes.legend(fontsize=8)
    return figure


def note_weaknesses(found: Mapping[str, AspectAudit]) -> list[str]:
    """Notes on what fools the metric, one sentence per finding."""
    notes = []
    for aspect, each in found.items():
        if any(length.counts_words for length in each.length.values()):
            notes.append(f"{aspect}: scores follow the number of words even at equal quality")
        missed = [name for name, of in each.damages.items() if not (of.is_monotone or of.falls[-1].reason)]
        if missed:
            notes.append(f"{aspect}: scores do not reliably fall under: {', '.join(missed)}")
        moved = [name for name, edit in each.edits.items() if edit.size.low > LARGE_EDIT]
        if moved:
            notes.append(
                f"{aspect}: scores change by more than {LARGE_EDIT:g} standard deviations under: {', '.join(moved)}"
            )
    return notes


def summary_table(found: Mapping[str, MetricAudit]) -> Table:
    """A row for each aspect of each metric: length, every damage at the greatest strength, the largest edit."""
    rows: list[dict[str, Any]] = []
    for name, audited in found.items():
        for aspect, each in audited.aspects.items():
            length = each.length.get(aspect) or next(iter(each.length.values()))
            row: dict[str, Any] = {"metric": name, "aspect": aspect, "set": audited.rated.name, "n": audited.n}
            row |= {"length": length.with_length, "counts_words": "yes" if length.counts_words else "no"}
            for damage in DAMAGES:
                fall = each.damages[damage].falls[-1] if damage in each.damages else Estimate.undefined("")
                row[damage.replace(" ", "_")] = fall
            sizes = {edit: audit.size for edit, audit in each.edits.items() if not audit.size.reason}
            worst = max(sizes, key=lambda edit: sizes[edit].value, default="")
            rows.append(row | {"largest_edit": sizes.get(worst, Estimate.undefined("")), "edit": worst})
    caption = (
        "length: Spearman's rho of scores with word counts; counts_words: whether scores follow length at equal "
        "quality. Damage: the mean fall of the score when the whole text is damaged, in standard deviations of the "
        "undamaged scores; it should be positive; – if too few texts can be damaged so. largest_edit: the greatest "
        "mean absolute change under an edit that should change nothing, in the same unit; 0 is best."
    )
    return Table("Audit of all metrics", caption, rows)


def unaudited_table(unaudited: Mapping[str, Unaudited]) -> Table:
    """The metrics without figures, and why."""
    rows = [{"metric": name, "needs": each.needs} for name, each in unaudited.items()]
    return Table("Not audited", "Metrics that need a model that is not available here.", rows)


def describe(metric: type) -> str:
    """What a metric measures, its range and its direction, as its class says it."""
    return inspect.cleandoc(metric.__doc__ or "").split("\n\nAttributes:")[0]


def write_card(path: Path, found: MetricAudit) -> None:
    """Writes the card of an audited metric."""
    needs = " and ".join(f"`{field}`" for field in found.metric.requires) or "nothing"
    weaknesses = [f"- {markdown_text(note)}" for note in note_weaknesses(found.aspects)]
    kind = "synthetic texts" if found.rated.synthetic else "texts"
    parts = [
        f"# {found.signature.split('|')[0]}",
        describe(type(found.metric)),
        f"Needs beside the text: {needs}. Cost: {found.cost:.2g} seconds per text where the card was made.",
        "## Known weaknesses",
        "\n".join(weaknesses or ["- The audit found none."]),
        f"## Audit on {found.n} {kind} ({found.rated.name}), seed {found.seed}",
        *([SYNTHETIC] if found.rated.synthetic else []),
        f"`{found.signature}`",
    ]
    for table in audit_tables(found):
        parts += [f"### {table.title}", table.caption, to_markdown(table.rows).rstrip()]
    write_page(path, parts)


def write_page(path: Path, parts: Sequence[str]) -> None:
    """Writes the parts of a Markdown page."""
    with open_atomically(path) as file:
        file.write("\n\n".join(parts) + "\n")
