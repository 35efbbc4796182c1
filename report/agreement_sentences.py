"""Sentences about agreement that experiments and verbs share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from meta_eval.agreement import NOT_METRICS, SYSTEM_ALONE, Agreement
from meta_eval.estimates import Estimate
from meta_eval.permuted import widen_interval
from report.wording import format_cell, format_number

ROUNDING = 1e-9


def describe_systems(rows: Sequence[Agreement], best: str) -> list[str]:
    """Says what systems have to do with the rank correlation of the metric that agrees best over all texts.

    Returns a clause if the name of the system alone agrees better than any metric, and one on the agreement of this
    metric within systems; none where fewer than two systems are named. `rows` are those of one aspect of one set.
    """
    by_name = {row.metric: row for row in rows}
    if SYSTEM_ALONE not in by_name:
        return []
    clauses: list[str] = []
    alone = by_name[SYSTEM_ALONE].spearman
    shown = f"{_show(alone)}{show_n(rows, SYSTEM_ALONE)}"
    values = [row.spearman.value for row in rows if row.metric not in NOT_METRICS]
    highest = max((value for value in values if not math.isnan(value)), default=math.nan)
    if alone.value - highest > ROUNDING and alone.value > ROUNDING and not alone.low <= 0:
        clauses.append(f"which system wrote a text agrees better ({shown}) than any metric ({format_number(highest)})")
    return [*clauses, _describe_within(best, by_name[best].within_systems, len(values), show_n(rows, best))]


def show_n(rows: Sequence[Agreement], metric: str) -> str:
    """The end of a figure, such as ` on 60 texts`, where the rows of an aspect differ in n; else nothing."""
    counts = {row.metric: row.n for row in rows}
    are_equal = len({*counts.values()}) == 1
    return "" if are_equal else f" on {counts[metric]} texts"


def _describe_within(
    metric: str,
    within: Estimate,
    looked_at: int,
    n: str,
) -> str:
    """Whether a metric that was chosen among others agrees within systems."""
    widened = widen_interval(within, looked_at)
    shown = f"{_show(within)}{n}"
    if math.isnan(within.value):
        return f"the agreement of {metric} within systems is unknown ({within.reason})"
    if widened.low > 0:
        return f"within systems {metric} agrees ({shown})"
    if within.value < 0 and not widened.high >= 0:
        return f"within systems {metric} agrees in reverse ({shown})"
    return f"within systems no agreement of {metric} is shown ({shown})"


def _show(estimate: Estimate) -> str:
    """A rank correlation with its interval, or without one."""
    shown = f"spearman {format_cell(estimate)}"
    return f"{shown}, no interval" if math.isnan(estimate.low) else shown
