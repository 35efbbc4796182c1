"""Tables of agreement: metrics with ratings, judges with single people, and raters among themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from meta_eval.agreement import Agreement
from meta_eval.design import FEWEST_TEXTS, Floats, Layout
from meta_eval.estimates import Estimate
from meta_eval.labels import PEOPLE, SingleAgreement
from meta_eval.raters import Kind, correlate_raters, find_ceiling, krippendorff_alpha, name_scale
from report.tables import Row, Table, pick
from report.wording import format_number, join_names

LEVEL = 0.05  # of tests against chance
AGREEMENT = "agreement"  # the key of the table of agreement with ratings
AGREEMENT_CELLS = ("metric", "set", "aspect", "n", "spearman", "within_systems", "between_systems", "systems")
AGREEMENT_CELLS += ("beyond_cues", "pearson", "kendall", "unscored", "truncated", "synthetic")
AGREEMENT_SHOWN = ("metric", "spearman", "n", "within_systems", "beyond_cues", "between_systems", "aspect", "set")
SINGLE_CELLS = ("n", "accuracy", "kappa")
NEARLY = 0.1  # a judge that is shown to lie no further below people, in kappa, can stand in for one


def tabulate_agreement(rows: Sequence[Agreement]) -> Table:
    """Tabulates the agreement of metrics with ratings, the best Spearman first in each set and aspect."""
    caption = (
        "Correlation of scores with ratings, from -1 to 1; higher is better. spearman, pearson and kendall are over "
        f"all texts; within_systems is Spearman's in each system of at least {FEWEST_TEXTS} texts, on average by size "
        "(0 where a metric does not vary), between_systems that of the means of the systems. Three rows are no metric: "
        "system_alone is how well the name of the system agrees (0 to 1, adjusted for chance), cheap_cues how well "
        "counting does (both are fitted to these ratings), ceiling how well a perfect metric would. Intervals: 95 %, "
        "drawn over inputs; between systems, over systems."
    )
    places = [*dict.fromkeys((row.set, row.aspect) for row in rows)]
    ranked = sorted(rows, key=lambda row: (places.index((row.set, row.aspect)), *_rank(row)))
    shown = [pick(row, AGREEMENT_CELLS) for row in ranked]
    return Table("Agreement with ratings", caption, shown, AGREEMENT_SHOWN, key=AGREEMENT)


def describe_chance(kappa: Estimate, p_value: float, level: float = LEVEL) -> str:
    """Says whether an agreement is above or below chance, by the two-sided `p_value` of a permutation test."""
    if math.isnan(p_value) or math.isnan(kappa.value):
        return f"not compared with chance, because {kappa.reason}"
    if p_value >= level:
        return "not shown to be better than chance"
    return "better than chance" if kappa.value > 0 else "worse than chance"


def show_p(p_value: float) -> str:
    """The end of a figure: the p-value of its permutation test, which its interval need not follow; "" without one."""
    return "" if math.isnan(p_value) else f", p {format_number(p_value)} by permutations"


def describe_enough(single: Sequence[SingleAgreement], names: Iterable[str]) -> str:
    """Says, with kappas, whether judges agree with people as well as people agree among themselves.

    A judge can stand in for a person if the interval of its kappa minus people's kappa is above -`NEARLY`. It cannot
    replace a person if this interval is below 0.
    """
    by_name = {agreement.name: agreement for agreement in single}
    known = [name for name in names if name in by_name]
    if not known:
        return "whether that is enough is unknown: no text has labels of two people"
    people = by_name[PEOPLE].kappa
    if math.isnan(people.value):
        return f"whether that is enough is unknown: {people.reason}"
    judges_by_verdict: dict[str, list[str]] = {}
    for name in known:
        verdict = _judge_distance(by_name[name].beside_people)
        judges_by_verdict.setdefault(verdict, []).append(f"{name} ({format_number(by_name[name].kappa.value)})")
    said = ", ".join(f"{join_names(judges)} {verdict}" for verdict, judges in judges_by_verdict.items())
    return f"people agree with each other by {format_number(people.value)}: {said}"


def _judge_distance(beside_people: Estimate) -> str:
    """What the distance of a judge from people, in kappa, says."""
    if math.isnan(beside_people.low):
        return "cannot be compared with people: too few inputs have labels of several people"
    if beside_people.low > -NEARLY:
        return "can stand in for a person here"
    if beside_people.high < 0:
        return "cannot replace a person here"
    return "cannot be told from a person, nor shown to be as good"


def _rank(row: Agreement) -> tuple[float, str]:
    """The best Spearman first; without one last; equal ones by the name of the metric."""
    agreement = row.spearman.value
    return (math.inf if math.isnan(agreement) else -agreement, row.metric)


def single_table(found: Iterable[tuple[Row, SingleAgreement]]) -> Table:
    """Tabulates the agreement of judges with each person, and of people among themselves."""
    caption = (
        "Observed and expected disagreement are each summed over people (Davies and Fleiss). A judge that agrees with "
        "people as they do among themselves can stand in for one of them."
    )
    rows = (pick(agreement, SINGLE_CELLS, **names, judge=agreement.name) for names, agreement in found)
    return Table("Agreement with single people", caption, [*rows])


def among_table(
    title: str,
    raters: Mapping[str, Floats],
    layout: Layout,
    kind: Kind = "spearman",
) -> Table:
    """Tabulates the agreement among the raters of each aspect, from ratings of shape (raters, units)."""
    rows: list[Row] = []
    for aspect, table in raters.items():
        scale = name_scale(table)
        cells = {
            "aspect": aspect,
            "raters": len(table),
            "scale": scale,
            "alpha": krippendorff_alpha(table, scale, layout=layout),
            "between_raters": correlate_raters(table, kind, layout=layout),
            "ceiling": find_ceiling(table, kind, layout=layout),
        }
        rows.append(cells)
    caption = (
        f"alpha is for ratings of this scale, correlations are {kind.title()}'s, the ceiling is Spearman-Brown's. "
        "Intervals: 95 %, over inputs."
    )
    return Table(title, caption, rows)
