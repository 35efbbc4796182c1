"""Agreement on labels: kappa of a judge with people, and of people among themselves.

Labels are numbers in their order, such as 0 and 1 for no and yes, or 1 to 5. Kappa is that of Cohen (1960): 1 is full
agreement, 0 is chance. Of more than two labels it is the weighted one of Cohen (1968): a confusion counts by the square
of its distance. For
several pairs of people, the observed disagreement is summed over pairs, and so is the expected one (Davies & Fleiss
1982, "Measuring Agreement for Multinomial Data").

Every figure is of the same units (inputs), so that differences are paired (`meta_eval.estimates`). The pseudo-units of
kappa are texts of each pair of labels that are equal or next to each other, among those given. They weigh two texts
together: one on which both give the same label, any of them, and one with independent labels. Without them, the
interval of kappa of rare labels ends where the sample happens to end: as long as no text has the rare label from both,
all resamples lie below 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from meta_eval.crowds import seat_crowd
from meta_eval.design import Floats, Indices, Layout, Mask, restrict
from meta_eval.estimates import (
    PRIOR,
    Estimate,
    Estimates,
    divide_known,
    estimate_difference,
    estimate_mean,
    estimate_share,
    linearise,
    measure_design_effects,
)
from meta_eval.permuted import measure_label_chance

MOST_LABELS = 10
NEAR = 1e-9  # a score that is so near a threshold is on it; less expected disagreement is none
CHANCE = "all labels are the same: kappa is not defined"
PEOPLE = "people among themselves"
THEMSELVES = Estimate.undefined("the row is the people themselves, with whom judges are compared")

Pairs = Sequence[tuple[Floats, Floats]]  # columns of labels of shape (n,), NaN where there is none


@dataclass(frozen=True, eq=False)
class LabelAgreement:
    """How well the labels of a judge agree with those of people."""

    labels: Floats
    # the texts with a label of both
    n: int
    # the texts with a label of people and without one of the judge
    missing: int
    accuracy: Estimate
    # of more than two labels weighted
    kappa: Estimate
    # two-sided, that labels of judge and people are independent (`meta_eval.permuted`); NaN without labels of both
    p_chance: float
    # the mean label of the judge minus that of people; below 0 the judge is harsher
    harshness: Estimate
    # the label that the judge gives to all n texts; NaN if there are several
    only_label: float


@dataclass(frozen=True)
class SingleAgreement:
    """How well a judge agrees with single people, or how well each person agrees with the other people."""

    name: str
    # the pairs of labels that are compared
    n: int
    accuracy: Estimate
    # of more than two labels in an order weighted
    kappa: Estimate
    # kappa minus that of people among themselves; NaN for people themselves
    beside_people: Estimate


def find_labels(ratings: Floats) -> Floats | None:
    """Finds the labels in ratings: 2 to `MOST_LABELS` different whole numbers; None for other ratings.

    >>> find_labels(np.array([1.0, 0.0, np.nan])), find_labels(np.array([1.0, 1.5, 2.0]))
    (array([0., 1.]), None)
    """
    values = np.unique(ratings[~np.isnan(ratings)])
    are_whole = (values == np.round(values)).all()
    if are_whole and 2 <= len(values) <= MOST_LABELS:
        return values
    return None


def assign_labels(scores: Floats, labels: Floats) -> Floats:
    """Assigns each score its nearest label, of two equally near ones the higher; NaN for a score of NaN.

    >>> assign_labels(np.array([0.2, 0.5, np.nan]), np.array([0.0, 1.0]))
    array([ 0.,  1., nan])
    """
    ends = (labels[1:] + labels[:-1]) / 2
    nearest = labels[np.searchsorted(ends, scores, side="right")]
    return np.where(np.isnan(scores), np.nan, nearest)


def find_consensus(table: Floats, labels: Floats) -> Floats:
    """Finds the median of people's labels (people, texts) for each text; NaN if the median lies between two labels."""
    is_rated = ~np.isnan(table).all(axis=0)
    medians = np.full(table.shape[1], np.nan)
    medians[is_rated] = np.nanmedian(table[:, is_rated], axis=0)
    return np.where(np.isin(medians, labels), medians, np.nan)


def agree_on_labels(
    people: Floats,
    judge: Floats,
    labels: Floats,
    layout: Layout,
    seed: int = 0,
) -> LabelAgreement:
    """Measures how well the labels of a judge agree with those of people, both of shape (n,), with NaN for no label."""
    labelled = ~np.isnan(people)
    kept = labelled & ~np.isnan(judge)
    given = np.unique(judge[kept])
    p_chance = math.nan
    if kept.any():
        present = restrict(layout, kept)
        p_chance = measure_label_chance(people[kept], judge[kept], present, seed)
    return LabelAgreement(
        labels=labels,
        n=int(kept.sum()),
        missing=int((labelled & ~kept).sum()),
        accuracy=estimate_accuracy(people, judge, layout).only,
        kappa=estimate_kappa([(people, judge)], labels, layout).only,
        p_chance=p_chance,
        harshness=estimate_harshness(people, judge, labels, layout).only,
        only_label=float(given[0]) if len(given) == 1 else math.nan,
    )


def estimate_accuracy(people: Floats, judge: Floats, layout: Layout) -> Estimates:
    """Estimates the share of the texts that both labelled with equal labels."""
    return estimate_share(mark(people, judge, people == judge), layout)


def estimate_harshness(
    people: Floats,
    judge: Floats,
    labels: Floats,
    layout: Layout,
) -> Estimates:
    """Estimates the mean label of the judge minus that of people; below 0 the judge is harsher."""
    if len(labels) != 2:
        return estimate_mean(judge - people, layout)
    return estimate_difference(judge - people, layout, unit=float(labels[1] - labels[0]))


def mark(people: Floats, judge: Floats, is_so: Mask) -> Floats:
    """Marks the texts that both labelled, of shape (n,): 1 where it is so, 0 elsewhere; NaN without both labels."""
    return np.where(_have_both(people, judge), is_so.astype(np.float64), np.nan)


def agree_with_single(
    table: Floats,
    judges: Mapping[str, Floats],
    labels: Floats,
    layout: Layout,
    *,
    is_ordered: bool = True,
) -> list[SingleAgreement]:
    """Measures agreement with single people: of people with one another, and of each judge.

    `table` has shape (people, n), each judge (n,); a crowd, of whom each pair shares few texts, is compared by seats
    (`meta_eval.crowds`).
    """
    table = seat_crowd(table)

    def agree(name: str, pairs: Pairs) -> tuple[SingleAgreement, Estimates]:
        kappa = estimate_kappa(
            pairs,
            labels,
            layout,
            is_ordered=is_ordered,
        )
        marks = np.array([mark(x, y, x == y) for x, y in pairs]).ravel()
        of_pairs = Layout(np.tile(layout.systems, len(pairs)), np.tile(layout.inputs, len(pairs)))
        row = SingleAgreement(
            name=name,
            n=int((~np.isnan(marks)).sum()),
            accuracy=estimate_share(marks, of_pairs).only,
            kappa=kappa.only,
            beside_people=THEMSELVES,
        )
        return row, kappa

    among, of_people = agree(PEOPLE, [*combinations(table, 2)])
    rows = [among]
    for name, column in judges.items():
        row, kappa = agree(name, [(person, column) for person in table])
        fewer = min(kappa.used, of_people.used, key=np.sum)
        rows.append(replace(row, beside_people=replace(kappa - of_people, used=fewer).only))
    return rows


def _have_both(x: Floats, y: Floats) -> Mask:
    """Whether a text has both labels."""
    return ~np.isnan(x + y)


def estimate_kappa(
    pairs: Pairs,
    labels: Floats,
    layout: Layout,
    *,
    is_ordered: bool = True,
) -> Estimates:
    """Estimates kappa, 1 - O/E over pairs of raters; labels have the shape (n,), or are NaN.

    O and E are the observed and the expected disagreement, summed over pairs: 1 for different labels, or of more than
    two labels in an order the square of their distance.
    """
    k = len(labels)
    distances = 1.0 - np.eye(k)
    if is_ordered and k > 2:
        distances = np.subtract.outer(labels, labels) ** 2
    marks = np.array([mark(x, y, x == y) for x, y in pairs])
    marks = marks.reshape(len(pairs), len(layout.inputs))
    sizes = measure_design_effects(marks.T, layout)
    tables = [_count_by_unit(x, y, labels, layout.units) for x, y in pairs]
    used = sum((table.sum(axis=1) for table in tables), start=np.zeros(layout.unit_count)) > 0
    counts = sum((table.sum(axis=0) for table in tables), start=np.zeros(k * k)).reshape(k, k)
    shares = counts / max(counts.sum(), 1.0)
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    places = np.cumsum(shares.sum(axis=0) + shares.sum(axis=1) > 0)  # among the labels that are given
    near = np.where(np.abs(np.subtract.outer(places, places)) <= 1, independent, 0.0)
    prior = PRIOR / 2 * (np.eye(k) / k + near / max(near.sum(), NEAR))

    def kappa(weights: Floats) -> Floats:
        observed = np.zeros((len(weights), 1))
        expected = np.zeros((len(weights), 1))
        for table, size in zip(tables, sizes, strict=True):
            cells = weights[:, : len(used)] @ table + size * weights[:, len(used) :]
            by_label = cells.reshape(-1, k, k)
            by_chance = np.einsum("ri,ij,rj->r", by_label.sum(axis=2), distances, by_label.sum(axis=1))
            number = cells.sum(axis=1)
            observed += cells @ distances.reshape(-1, 1)
            expected += np.nan_to_num(divide_known(by_chance, number))[:, None]
        return 1 - divide_known(observed, np.where(expected > NEAR, expected, 0.0))

    estimates = linearise(
        kappa,
        used,
        prior.ravel(),
        scale="correlation",
    )
    return replace(estimates, reason=CHANCE)


def _count_by_unit(
    x: Floats,
    y: Floats,
    labels: Floats,
    units: Indices,
) -> Floats:
    """How often two raters give each pair of labels, of shape (units, labels²)."""
    k = len(labels)
    both = np.flatnonzero(_have_both(x, y))
    cells = np.searchsorted(labels, x[both]) * k + np.searchsorted(labels, y[both])
    count = int(units.max(initial=-1)) + 1
    counts = np.bincount(units[both] * k * k + cells, minlength=count * k * k)
    return counts.reshape(-1, k * k).astype(np.float64)
