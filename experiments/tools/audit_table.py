"""One table of the audits of many metrics, each on the first set that has what it needs (`+exp=audit_table`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.faults import SettingFault
from core.scores import Metric
from core.selection import find_lack
from data.damage import DAMAGES
from data.rated import RatedSet
from data.text_files import open_atomically
from experiments.contracts import Outcome, Run, Table
from experiments.report.exports import to_markdown
from experiments.tools.audit import (
    HasRated,
    MetricAudit,
    audit_metric,
    audit_tables,
    check_settings,
    note_weaknesses,
)
from experiments.tools.cards import SYNTHETIC, write_card, write_card_without_audit
from meta_eval.bootstrap import Estimate
from meta_eval.intervals import Resampling


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


def audit_table(
    run: Run,
    sets: Mapping[str, HasRated],
    metrics: Mapping[str, Metric],
    texts: int,
    strengths: Sequence[float],
    resampling: Resampling,
    cards: str | None = None,
    unaudited: Mapping[str, Unaudited] = MappingProxyType({}),
) -> Outcome:
    """Audits every metric and shows a row for each of its aspects.

    Args:
        run: from the runner.
        sets: data whose first rated set is used, in the order in which a metric looks for what it needs.
        metrics: the metrics by name.
        texts, strengths, resampling: as in `+exp=audit`.
        cards: an existing folder for `NAME.md`, the card of a metric, and `README.md`, the table.
        unaudited: metrics by name that get a card without figures.

    Raises SettingFault for wrong settings, and for a metric that no set has the fields for.
    """
    check_settings(texts, strengths)
    if not metrics:
        raise SettingFault("metrics must name the metrics to audit: metrics=[bleu,rouge_l]")
    folder = None if cards is None else Path(cards)
    if folder is not None and not folder.is_dir():
        raise SettingFault(f"cards must be an existing folder, but there is no {folder}")
    chosen = {
        name: find_set(name, metric, [each.rated[0] for each in sets.values()]) for name, metric in metrics.items()
    }
    found: dict[str, MetricAudit] = {}
    for name, metric in metrics.items():
        found[name] = audit_metric(run, chosen[name], metric, texts, sorted(strengths), resampling)
        if folder is not None:
            write_audit(folder / f"{name}.md", metric, found[name], chosen[name].synthetic)
    synthetic = any(rated.synthetic for rated in chosen.values())
    tables = [summary_table(found, {name: rated.name for name, rated in chosen.items()})]
    if unaudited:
        tables.append(unaudited_table(unaudited))
    if folder is not None:
        for name, each in unaudited.items():
            write_card_without_audit(folder / f"{name}.md", name, each.kind, each.needs)
        write_summary(folder / "README.md", tables, synthetic)
    return Outcome(
        signature="|".join(["audit_table", *(f"{name}: {each.signature}" for name, each in found.items())]),
        tables=tables,
        files=[] if folder is None else [folder / "README.md"],
        synthetic=synthetic,
    )


def write_audit(path: Path, metric: Metric, found: MetricAudit, synthetic: bool) -> None:
    """Writes the card of an audited metric."""
    tables, notes = audit_tables(found), note_weaknesses(found.aspects)
    write_card(path, metric, found.signature, found.audited, synthetic, found.cost, tables, notes)


def find_set(name: str, metric: Metric, sets: Sequence[RatedSet]) -> RatedSet:
    """The first set whose examples have all fields that the metric requires."""
    for rated in sets:
        if all(find_lack(example, metric.requires, name) is None for example in rated.examples):
            return rated
    raise SettingFault(f"{name} needs {', '.join(metric.requires)}, which no set in sets has")


def summary_table(found: Mapping[str, MetricAudit], sets: Mapping[str, str]) -> Table:
    """A row for each aspect of each metric: length, every damage at the greatest strength, the largest edit."""
    rows: list[dict[str, Any]] = []
    for name, audited in found.items():
        for aspect, each in audited.aspects.items():
            length = each.length.get(aspect) or next(iter(each.length.values()))
            row: dict[str, Any] = {"metric": name, "aspect": aspect, "set": sets[name], "n": audited.n}
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
    return Table("Not audited", "Metrics that mean nothing with the models that are at hand, and what they need.", rows)


def write_summary(path: Path, tables: Sequence[Table], synthetic: bool) -> None:
    """Writes the tables as a page of the documentation; every metric is a link to its card."""
    parts = ["# Metric cards", "What each metric of this repository reacts to, on built-in texts."]
    parts += [SYNTHETIC] if synthetic else []
    for table in tables:
        parts += [f"## {table.title}", table.caption, to_markdown(table.rows, linked="metric").rstrip()]
    with open_atomically(path) as file:
        file.write("\n\n".join(parts) + "\n")
