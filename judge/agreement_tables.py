"""Tables of agreement: of metrics with ratings, of judges with single people, and of raters among themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from judge.tables import Row, Table, collect_reasons, format_cell, format_number, pick, tabulate
from meta_eval.agreement import Agreement
from meta_eval.bootstrap import Estimate
from meta_eval.correlation import Floats
from meta_eval.grouping import Layout
from meta_eval.intervals import USUAL, Resampling
from meta_eval.labels import PEOPLE, SingleAgreement
from meta_eval.raters import Kind, correlate_raters, find_ceiling, krippendorff_alpha, name_scale

LEVEL = 0.05  # of tests against chance
AGREEMENT = "agreement"  # the key of the table of agreement with ratings
AGREEMENT_CELLS = ("metric", "set", "aspect", "n", "pearson", "spearman", "kendall")
AGREEMENT_CELLS += ("beyond_cues", "unscored", "truncated", "synthetic")
SINGLE_CELLS = ("n", "accuracy", "kappa", "weighted_kappa")
NEARLY = 0.1  # a judge that is shown to lie no further below people, in kappa, can stand in for one


def tabulate_agreement(rows: Sequence[Agreement]) -> Table:
    """The table of agreement of metrics with ratings: by set, aspect and grouping the best Spearman first."""
    caption = (
        "Correlation of scores with ratings, from -1 to 1; higher is better. cheap_cues is a prediction by counting "
        "alone that is fitted (cross-fitted) to these ratings, as metrics are not. A metric that does not vary within "
        "a system or an input agrees by 0 there. Intervals: 95 %, drawn over inputs."
    )
    has_groupings = len({row.grouping for row in rows}) > 1
    groups = list(dict.fromkeys((row.set, row.aspect, row.grouping) for row in rows))
    found = []
    for row in sorted(rows, key=lambda row: (groups.index((row.set, row.aspect, row.grouping)), *_rank(row))):
        cells = pick(row, (*AGREEMENT_CELLS, *(("grouping", "groups") if has_groupings else ())))
        found.append({**cells, "reason": collect_reasons(cells)})
    return Table("Agreement with ratings", caption, found, key=AGREEMENT)


def describe_chance(kappa: Estimate, p_value: float, level: float = LEVEL) -> str:
    """What a permutation test says about an agreement and chance; `p_value` is two-sided."""
    if math.isnan(p_value) or math.isnan(kappa.value):
        return f"not held against chance, because {kappa.reason}"
    if p_value >= level:
        return "not shown to be better than chance"
    return "better than chance" if kappa.value > 0 else "worse than chance"


def describe_enough(single: Sequence[SingleAgreement], name: str, is_weighted: bool = False) -> str:
    """Whether a judge agrees with people as they do among themselves, in a clause with both figures."""
    by_name = {each.name: each for each in single}
    if name not in by_name:
        return "whether that is enough is unknown: no text has labels of two people"
    people, judge = (each.weighted_kappa if is_weighted else each.kappa for each in (by_name[PEOPLE], by_name[name]))
    beside = by_name[name].beside_people
    figures = f"people {format_number(people.value)}, {name} {format_number(judge.value)}"
    if not math.isnan(beside.low):
        figures += f", difference {format_cell(beside)}"
    if math.isnan(beside.low):
        return f"with people one by one ({figures}): whether that is enough is unknown, because {beside.reason}"
    if beside.high < 0:
        return f"with people one by one ({figures}): it cannot replace a person here"
    if beside.low > -NEARLY:
        return f"with people one by one ({figures}): it can stand in for a person here"
    return f"with people one by one ({figures}): it is not shown to agree like a person"


def _rank(row: Agreement) -> tuple[float, str]:
    return math.inf if math.isnan(row.spearman.value) else -row.spearman.value, row.metric


def single_table(found: Iterable[tuple[Row, SingleAgreement]]) -> Table:
    """The agreement of judges with each person, beside that of people among themselves."""
    caption = (
        "Observed and expected disagreement are each summed over people (Davies and Fleiss). A judge that agrees with "
        "people as they do among themselves can stand in for one of them. No judge agrees with more of these labels "
        "than what most people say, which includes their own."
    )
    rows = (pick(each, SINGLE_CELLS, **names, judge=each.name) for names, each in found)
    return tabulate("Agreement with single people", caption, rows)


def among_table(
    title: str, raters: Mapping[str, Floats], layout: Layout, kind: Kind = "spearman", resampling: Resampling = USUAL
) -> Table:
    """The agreement of the raters of each aspect, from their ratings of shape (raters, units)."""
    rows: list[Row] = []
    for aspect, table in raters.items():
        scale = name_scale(table)
        cells = {"aspect": aspect, "raters": len(table), "scale": scale}
        cells |= {"alpha": krippendorff_alpha(table, scale, resampling, layout=layout)}
        cells |= {"between_raters": correlate_raters(table, kind, resampling, layout=layout)}
        rows.append(cells | {"ceiling": find_ceiling(table, kind, resampling, layout=layout)})
    caption = (
        f"alpha is for ratings of this scale, correlations are {kind.title()}'s, the ceiling is Spearman-Brown's. "
        "Intervals: 95 %, percentile, drawn over inputs."
    )
    return tabulate(title, caption, rows)
