"""Cautions: notes on data that can mislead a study, such as repeated texts, different raters, extreme inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from meta_eval.agreement import NOT_METRICS, Agreement
from meta_eval.correlation import spearman
from meta_eval.design import Floats
from meta_eval.estimates import Estimate
from meta_eval.grouping import estimate_correlation
from meta_eval.scored_set import ScoredSet
from meta_eval.systems import Grid
from meta_eval.ties import subtract
from report.wording import format_cell, format_number, join_names

REPEATED = 0.1  # of the texts repeat a context, or another text: they are no longer independent
SEVERE = 0.5  # standard deviations between the means of two raters
OTHER_SCALE = 3.0  # times the spread of another rater
FEWEST_LABELS = 5  # of a rater whose mean and spread say something
CHANCE = 0.01  # raters of whom chance explains the difference more often have no note
UNEVEN = 0.1  # of the shares of two systems that a rater rated
SKEWED = 0.25  # skewness over the root of n: t intervals cover .92 or less (log-normal differences)
CONFOUNDED = "a difference between these systems may be one between their raters"


def note_repeats(scored: ScoredSet) -> Iterator[str]:
    """Notes if contexts or texts repeat and no text names its input: intervals treat such texts as independent."""
    if scored.groups is not None:
        return
    contexts = [example.context for example in scored.examples if example.context]
    texts = [example.full_text for example in scored.examples if not example.is_empty]  # empty ones have their own note
    for what, values in (("contexts", contexts), ("texts", texts)):
        distinct = len(set(values))
        if len(values) - distinct > REPEATED * len(scored):
            yield (
                f"{len(values)} rows have {distinct} different {what} and no group: intervals and tests take rows as "
                "independent; name what they share as group"
            )
            return


def note_copied_ratings(scored: ScoredSet) -> list[str]:
    """Notes each metric whose scores equal the ratings of an aspect."""
    return [
        f"the scores of {name} equal the ratings of {aspect}: are they ratings too?"
        for aspect in scored.aspects
        for name in scored.scores
        if np.array_equal(scored.values(name, aspect), scored.ratings(aspect), equal_nan=True)
    ]


@dataclass(frozen=True)
class RaterScales:
    """How the raters of an aspect use its scale."""

    # which texts each rater rated, of shape (raters, n)
    is_rated: NDArray[np.bool_]
    # the mean and the standard deviation of each rater, of shape (raters,)
    means: Floats
    spreads: Floats
    # whether means, and spreads, differ by more than chance explains
    has_other_means: bool
    has_other_spreads: bool

    @classmethod
    def of(cls, ratings: Floats) -> RaterScales | None:
        """Finds how raters use the scale, from ratings (raters, n).

        Returns None unless two raters rated `FEWEST_LABELS` texts. Means are tested by an analysis of variance, spreads
        by an analysis of variance of the distances from each rater's median (Brown and Forsythe, 1974). Without a test
        the means of many raters with few labels each lie far apart by chance.
        """
        is_rated = ~np.isnan(ratings)
        has_many = is_rated.sum(axis=1) >= FEWEST_LABELS
        if has_many.sum() < 2:
            return None
        kept = ratings[has_many]
        medians = np.nanmedian(kept, axis=1, keepdims=True)
        return cls(
            is_rated=is_rated[has_many],
            means=np.nanmean(kept, axis=1),
            spreads=np.nanstd(kept, axis=1),
            has_other_means=compare_means(kept) < CHANCE,
            has_other_spreads=compare_means(np.abs(kept - medians)) < CHANCE,
        )

    @property
    def usual_spread(self) -> float:
        """The median of the raters' standard deviations."""
        return float(np.median(self.spreads))

    @property
    def gap(self) -> float:
        """The highest mean of a rater minus the lowest mean of a rater."""
        return float(np.ptp(self.means))

    @property
    def ratio(self) -> float:
        """The largest standard deviation of a rater, divided by the smallest standard deviation above 0."""
        above_0 = self.spreads[self.spreads > 0]
        return float(above_0.max() / above_0.min()) if len(above_0) else 1.0

    @property
    def are_different(self) -> bool:
        """Whether raters use different parts of the scale, or a wider part, by more than chance explains.

        If all raters rated all texts, different means do not matter.
        """
        is_severe = self.gap > SEVERE * max(self.usual_spread, 1e-12) and not self.is_rated.all()
        if is_severe and self.has_other_means:
            return True
        return self.ratio > OTHER_SCALE and self.has_other_spreads


def compare_means(table: Floats) -> float:
    """Computes the p-value of a one-way analysis of variance of values (raters, n): are the raters' means equal?

    A missing value is NaN.

    >>> round(compare_means(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])), 3)  # F is 6 with 1 and 4 degrees
    0.07
    """
    counts = (~np.isnan(table)).sum(axis=1)
    means = np.nanmean(table, axis=1, keepdims=True)
    raters = len(table)
    rest = counts.sum() - raters
    between = (counts * (means[:, 0] - np.nanmean(table)) ** 2).sum() / (raters - 1)
    within = np.nansum((table - means) ** 2) / rest
    if within == 0:
        return 0.0 if between > 0 else 1.0
    return float(fdtrc(raters - 1, rest, between / within))


def note_raters(scored: ScoredSet) -> Iterator[str]:
    """Notes if raters use different parts of the scale, or if some raters rated one system more often than another."""
    for aspect, ratings in scored.raters.items():
        scales = RaterScales.of(ratings)
        if scales is not None and scales.are_different:
            lowest = format_number(float(scales.means.min()))
            highest = format_number(float(scales.means.max()))
            yield (
                f"raters of {aspect} use the scale differently: their means lie from {lowest} to {highest}, their "
                f"spreads differ by a factor of {scales.ratio:.1f}; a mean over the raters of a text depends on who "
                "they are"
            )
        confounded = [f"{a} and {b}" for a, b in find_confounded(scored, aspect)]
        if confounded and len(ratings) > 1:
            yield f"no rater of {aspect} rated texts of both {join_names(confounded[:3])}: {CONFOUNDED}"
        elif scales is not None:
            yield from _note_uneven(scored, aspect, scales)


def _note_uneven(scored: ScoredSet, aspect: str, scales: RaterScales) -> Iterator[str]:
    """A note where a rater rated one system more often than another, and raters differ."""
    names = np.array(scored.systems or [])
    systems = list(dict.fromkeys(names.tolist()))
    is_small = scales.gap <= SEVERE * scales.usual_spread / 2
    if len(systems) < 2 or is_small or not scales.has_other_means:
        return
    shares = np.array([scales.is_rated[:, names == system].mean(axis=1) for system in systems])
    unevenness = np.ptp(shares, axis=0)
    rater = int(np.argmax(unevenness))
    if unevenness[rater] <= UNEVEN:
        return
    of_rater = shares[:, rater]
    most = int(np.argmax(of_rater))
    least = int(np.argmin(of_rater))
    yield (
        f"one rater of {aspect} rated {format_number(float(of_rater[most]))} of the texts of {systems[most]} and "
        f"{format_number(float(of_rater[least]))} of {systems[least]}, and means of raters differ by "
        f"{format_number(scales.gap)}: a difference of systems may be one of raters"
    )


def find_confounded(scored: ScoredSet, aspect: str) -> list[tuple[str, str]]:
    """Finds pairs of systems that different people rated: no rater rated texts of both systems for this aspect.

    If raters are not named, no pair is found.
    """
    if aspect not in scored.raters or scored.systems is None:
        return []
    is_rated = ~np.isnan(scored.raters[aspect])
    names = np.array(scored.systems)
    systems = dict.fromkeys(names.tolist())
    raters_by_system = {system: is_rated[:, names == system].any(axis=1) for system in systems}
    rated = [system for system, raters in raters_by_system.items() if raters.any()]
    return [(a, b) for a, b in combinations(rated, 2) if not (raters_by_system[a] & raters_by_system[b]).any()]


def note_groupings(scored: ScoredSet, rows: Sequence[Agreement]) -> Iterator[str]:
    """Notes each metric whose agreement over all texts has the opposite sign within systems or inputs, or between."""
    for row in rows:
        if row.metric in NOT_METRICS:
            continue
        rated = scored.rated(row.aspect)
        within_inputs = estimate_correlation(
            spearman,
            rated.values(row.metric, row.aspect),
            rated.ratings(row.aspect),
            rated.layout,
            grouping="within_inputs",
        )
        parts = {
            "within systems": row.within_systems,
            "within inputs": within_inputs,
            "between means of systems": row.between_systems,
        }
        for where, part in parts.items():
            if _are_opposite(row.spearman, part):
                yield (
                    f"{row.metric} and {row.aspect}: signs disagree, spearman {format_cell(row.spearman)} over all "
                    f"texts and {format_cell(part)} {where}"
                )


def _are_opposite(one: Estimate, other: Estimate) -> bool:
    """Whether the intervals lie on different sides of 0."""
    return (one.low > 0 and other.high < 0) or (one.high < 0 and other.low > 0)


def note_tails(grid: Grid, columns: Mapping[str, Floats]) -> Iterator[str]:
    """Notes each metric for which the mean difference of two systems depends on a few extreme inputs."""
    for name, values in columns.items():
        largest = SKEWED
        worst: tuple[str, str, Floats] | None = None
        for i, j in combinations(range(len(values)), 2):
            gaps = subtract(values[i], values[j])
            gaps = gaps[~np.isnan(gaps)]
            skewness = abs(_measure_skewness(gaps)) if _has_a_tail(gaps) else 0.0
            if skewness > largest:
                largest = skewness
                worst = (grid.systems[i], grid.systems[j], gaps)
        if worst is not None:
            yield f"{name}: {_describe_tail(*worst, largest)}"


def _has_a_tail(gaps: Floats) -> bool:
    """Whether differences have values enough for a skewness that means something."""
    return len(gaps) > 2 and len(np.unique(gaps)) > 3


def _describe_tail(a: str, b: str, gaps: Floats, skewness: float) -> str:
    """How far the mean difference of two systems rests on one input; `skewness` is that over the root of n."""
    extreme = int(np.argmax(np.abs(gaps - np.median(gaps))))
    rest = np.delete(gaps, extreme)
    return (
        f"the mean difference of {a} and {b} rests on a tail (skewness {skewness * len(gaps) ** 0.5:.1f} of "
        f"{len(gaps)} inputs): without one input it is {format_number(float(rest.mean()))} in place of "
        f"{format_number(float(gaps.mean()))}, and its interval may be too narrow"
    )


def _measure_skewness(values: Floats) -> float:
    """The skewness of values over the root of their number."""
    centred = values - values.mean()
    skewness = (centred**3).mean() / (centred**2).mean() ** 1.5
    return float(skewness / np.sqrt(len(values)))
