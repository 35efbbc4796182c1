"""Agreement on labels: kappa of a judge with people and of people among themselves, and a judge's confusions.

Labels are numbers in their order, such as 0 and 1 for no and yes, or 1 to 5. Kappa is that of Cohen (1960): 1 is full
agreement, 0 is chance. Weighted kappa is that of Cohen (1968): a confusion counts by the square of its distance. For
several pairs of people, the observed disagreement is summed over pairs, and so is the expected one (Davies & Fleiss
1982, "Measuring Agreement for Multinomial Data"). Intervals draw inputs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from meta_eval.bootstrap import Estimate, Floats, Indices, Mask
from meta_eval.chance import measure_label_chance
from meta_eval.crowds import seat_crowd
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import Draws, Resampling, Weighted, bound_difference, draw_grouped, share_interval
from meta_eval.linearised import measure_distances

MOST_LABELS = 10
NEAR = 1e-9  # a score that is so near a threshold is on it
CHANCE = "all labels are the same: kappa is not defined"
FEWEST_ALIKE = 5  # labels that both give beside the most frequent one, for an interval by resamples
PEOPLE = "people among themselves"
CEILING = "what most people say (ceiling)"
THEMSELVES = Estimate.undefined("the row is the people themselves, with whom judges are compared")

Pairs = Sequence[tuple[Floats, Floats]]  # columns of labels of shape (n,), NaN where there is none


@dataclass(frozen=True)
class LabelShares:
    """How well a judge recognises one label."""

    label: float
    n_people: int
    n_judge: int
    # the share of the texts with the label that get it, and of the others that do not
    sensitivity: Estimate
    specificity: Estimate


@dataclass(frozen=True, eq=False)
class LabelAgreement:
    """How well the labels of a judge agree with those of people."""

    labels: Floats
    # the texts with a label of both
    n: int
    # the texts with a label of people and without one of the judge
    missing: int
    accuracy: Estimate
    kappa: Estimate
    weighted_kappa: Estimate
    # two-sided, that labels of judge and people are independent (`meta_eval.chance`); NaN without labels of both, and
    # for weighted kappa the same by distances
    p_chance: float
    p_weighted: float
    # the mean label of the judge minus that of people; below 0 the judge is harsher
    harshness: Estimate
    # the texts by label of people and label of the judge, of shape (labels, labels)
    confusion: Indices
    shares: tuple[LabelShares, ...]


@dataclass(frozen=True)
class SingleAgreement:
    """How well a judge agrees with single people, or how well each person agrees with the other people."""

    name: str
    # the pairs of labels that are compared
    n: int
    accuracy: float
    kappa: Estimate
    weighted_kappa: Estimate
    # kappa, of more than two labels in an order the weighted one, minus that of people among themselves, on the same
    # resamples; NaN for people themselves
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


def assign_labels(
    scores: Floats,
    labels: Floats,
    threshold: float | None = None,
) -> tuple[Floats, Floats]:
    """Assigns each score its nearest label; returns the labels and how near another label is.

    Of two equally near labels the higher is taken. With two labels, `threshold` is the lowest score of the higher
    label. A score of NaN has no label.

    >>> assign_labels(np.array([0.2, 0.5, np.nan]), np.array([0.0, 1.0]))
    (array([ 0.,  1., nan]), array([0.3, 0. , nan]))
    """
    ends = (labels[1:] + labels[:-1]) / 2
    if threshold is not None:
        ends = np.array([threshold])
    nearest = labels[np.searchsorted(ends, scores, side="right")]
    assigned = np.where(np.isnan(scores), np.nan, nearest)
    distances = np.abs(scores[:, None] - ends)  # (n, labels - 1)
    return assigned, distances.min(axis=1)


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
    resampling: Resampling,
) -> LabelAgreement:
    """Measures how well the labels of a judge agree with those of people, both of shape (n,), with NaN for no label."""
    labelled = ~np.isnan(people)
    kept = labelled & ~np.isnan(judge)
    x = people[kept]
    y = judge[kept]
    present = restrict(layout, kept)
    pairs = [(x, y)]
    is_same = (x == y).astype(np.float64)
    every_text = np.ones(len(x), dtype=np.bool_)
    p_chance = p_weighted = math.nan
    if len(x):
        p_chance = measure_label_chance(
            x,
            y,
            present,
            seed=resampling.seed,
        )
        p_weighted = measure_label_chance(
            x,
            y,
            present,
            is_weighted=True,
            seed=resampling.seed,
        )
    return LabelAgreement(
        labels=labels,
        n=len(x),
        missing=int((labelled & ~kept).sum()),
        accuracy=_estimate_share(is_same, present, every_text),
        kappa=estimate_kappa(pairs, labels, present, resampling),
        weighted_kappa=estimate_kappa(
            pairs,
            labels,
            present,
            resampling,
            is_weighted=True,
        ),
        p_chance=p_chance,
        p_weighted=p_weighted,
        harshness=_measure_harshness(x, y, labels, present, resampling),
        confusion=count_confusion(pairs, labels).astype(np.intp),
        shares=tuple(_recognise(float(label), x, y, present) for label in labels),
    )


def _measure_harshness(
    x: Floats,
    y: Floats,
    labels: Floats,
    layout: Layout,
    resampling: Resampling,
) -> Estimate:
    """The mean of the judge's labels y minus people's labels x, both of shape (n,).

    Two labels have a score interval, because resamples of rare labels are too alike.
    """
    if len(labels) != 2 or not len(x):
        mean = weigh_mean(y - x, layout)
        return draw_grouped(mean, layout, resampling).estimate
    unit = float(labels[1] - labels[0])
    return bound_difference((y - x) / unit, layout, unit)


def _recognise(
    label: float,
    people: Floats,
    judge: Floats,
    layout: Layout,
) -> LabelShares:
    """How well the judge recognises one label."""
    has_label = people == label
    gets_label = judge == label
    return LabelShares(
        label=label,
        n_people=int(has_label.sum()),
        n_judge=int(gets_label.sum()),
        sensitivity=_estimate_share(gets_label.astype(np.float64), layout, has_label),
        specificity=_estimate_share((~gets_label).astype(np.float64), layout, ~has_label),
    )


def agree_with_single(
    table: Floats,
    judges: Mapping[str, Floats],
    labels: Floats,
    layout: Layout,
    resampling: Resampling,
    *,
    is_ordered: bool = True,
) -> list[SingleAgreement]:
    """Measures agreement with single people: of each judge, of people with one another, and of their majority.

    `table` has shape (people, n), each judge (n,); a crowd, of whom each pair shares few texts, is compared by seats
    (`meta_eval.crowds`). No judge can agree with more of these labels than the majority of people, which includes their
    own votes.
    """
    table = seat_crowd(table)
    by_distance = is_ordered and len(labels) > 2
    rated = (~np.isnan(table)).sum(axis=0)

    def draw_kappa(pairs: Pairs) -> Draws:
        kappa = weigh_kappa(
            pairs,
            labels,
            layout,
            is_weighted=by_distance,
        )
        return draw_grouped(kappa, layout, resampling)

    among_people = [*combinations(table, 2)]
    people_draws = draw_kappa(among_people)
    rows = [
        _agree_where_kept(
            PEOPLE,
            among_people,
            labels,
            layout,
            resampling,
            kept=rated > 1,
        )
    ]
    for name, column in {**judges, CEILING: _find_most_frequent(table, labels)}.items():
        with_people = [(person, column) for person in table]
        kept = (rated > 0) & ~np.isnan(column)
        row = _agree_where_kept(
            name,
            with_people,
            labels,
            layout,
            resampling,
            kept=kept,
        )
        beside_people = draw_kappa(with_people) - people_draws
        rows.append(replace(row, beside_people=beside_people.estimate))
    return rows


def _agree_where_kept(
    name: str,
    pairs: Pairs,
    labels: Floats,
    layout: Layout,
    resampling: Resampling,
    *,
    kept: Mask,
) -> SingleAgreement:
    """The agreement of pairs of columns of shape (n,) on the texts that are kept, not yet compared with people's."""
    present = restrict(layout, kept)
    columns = [(x[kept], y[kept]) for x, y in pairs]
    compared = sum(int(_have_both(x, y).sum()) for x, y in columns)
    agreed = sum(int((x == y).sum()) for x, y in columns)
    return SingleAgreement(
        name=name,
        n=compared,
        accuracy=agreed / compared if compared else math.nan,
        kappa=estimate_kappa(columns, labels, present, resampling),
        weighted_kappa=estimate_kappa(
            columns,
            labels,
            present,
            resampling,
            is_weighted=True,
        ),
        beside_people=THEMSELVES,
    )


def _find_most_frequent(table: Floats, labels: Floats) -> Floats:
    """The label that most people give each text, of several the lowest, of shape (n,); NaN where nobody labels it."""
    counts = np.array([(table == label).sum(axis=0) for label in labels])  # (labels, n)
    most_frequent = labels[counts.argmax(axis=0)]
    return np.where(counts.any(axis=0), most_frequent, np.nan)


def _have_both(x: Floats, y: Floats) -> Mask:
    """Whether a text has both labels."""
    return ~np.isnan(x + y)


def estimate_kappa(
    pairs: Pairs,
    labels: Floats,
    layout: Layout,
    resampling: Resampling,
    *,
    is_weighted: bool = False,
) -> Estimate:
    """Estimates Cohen's kappa, or weighted kappa, over pairs of raters; their labels have the shape (n,), or are NaN.

    The interval comes from resamples, or, if the resamples are too alike (`FEWEST_ALIKE`), from `estimate_rare_kappa`.
    """
    kappa = weigh_kappa(
        pairs,
        labels,
        layout,
        is_weighted=is_weighted,
    )
    estimate = draw_grouped(kappa, layout, resampling).estimate
    if math.isnan(estimate.value):
        return replace(estimate, reason=CHANCE)
    has_too_few_inputs = math.isnan(estimate.low) and estimate.reason is not None
    table = count_confusion(pairs, labels)
    alike = np.diag(table)
    alike_but_most_frequent = alike.sum() - alike.max()
    if has_too_few_inputs or alike_but_most_frequent >= FEWEST_ALIKE:
        return estimate
    return estimate_rare_kappa(
        estimate.value,
        table,
        labels,
        inputs=layout.input_count,
        resampling=resampling,
        is_weighted=is_weighted,
    )


def count_confusion(pairs: Pairs, labels: Floats) -> Floats:
    """Counts how often each pair of labels is given, over all pairs of raters; returns shape (labels, labels)."""
    k = len(labels)
    table = np.zeros(k * k)
    for x, y in pairs:
        has_both = _have_both(x, y)
        i = np.searchsorted(labels, x[has_both])
        j = np.searchsorted(labels, y[has_both])
        table += np.bincount(i * k + j, minlength=k * k)
    return table.reshape(k, k)


def estimate_rare_kappa(
    value: float,
    table: Floats,
    labels: Floats,
    inputs: int,
    resampling: Resampling,
    *,
    is_weighted: bool = False,
) -> Estimate:
    """Estimates kappa with an interval from a confusion table in which both sides hardly ever give the rarer labels.

    All resamples of such labels are below 0 or nearly alike. Instead, tables are drawn from a Dirichlet distribution
    with 2 pseudo counts, spread over the cells (Jeffreys' prior for two labels). Each input counts as one label.
    """
    k = len(labels)
    distances = measure_distances(labels, is_weighted=is_weighted)
    total = max(float(table.sum()), 1.0)
    counts = table * min(1.0, inputs / total)
    prior = counts + 2 / k**2
    rng = np.random.default_rng(resampling.seed)
    drawn = rng.dirichlet(prior.ravel(), resampling.resamples)
    tables = drawn.reshape(-1, k, k)
    of_first = tables.sum(axis=2)
    of_second = tables.sum(axis=1)
    observed = (tables * distances).sum(axis=(1, 2))
    expected = np.einsum("ri,ij,rj->r", of_first, distances, of_second)
    kappas = 1 - observed / expected
    low, high = np.quantile(kappas, [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value))


def weigh_kappa(
    pairs: Pairs,
    labels: Floats,
    layout: Layout,
    *,
    is_weighted: bool = False,
) -> Weighted:
    """Returns a function that computes kappa, 1 - O/E, from weights of the inputs, as in a resample.

    O and E, the observed and the expected disagreement, are summed over the pairs of raters in `pairs`. `is_weighted`
    chooses weighted kappa; see `estimate_kappa`.
    """
    distances = measure_distances(labels, is_weighted=is_weighted)
    one_hot = np.eye(len(labels))
    coded = []  # by pair of columns, the texts with both labels and the numbers of these labels
    for x, y in pairs:
        texts = np.flatnonzero(_have_both(x, y))
        if len(texts):
            i = np.searchsorted(labels, x[texts])
            j = np.searchsorted(labels, y[texts])
            coded.append((texts, i, j))

    def kappa(inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        observed = np.zeros(len(weights))
        expected = np.zeros(len(weights))
        for texts, i, j in coded:
            pair_weights = weights[:, texts]
            total = pair_weights.sum(axis=1)
            of_first = pair_weights @ one_hot[i]  # (rows, labels)
            of_second = pair_weights @ one_hot[j]
            by_chance = ((of_first @ distances) * of_second).sum(axis=1)
            observed += pair_weights @ distances[i, j]
            none = np.zeros(len(weights))
            expected += np.divide(
                by_chance,
                total,
                out=none,
                where=total > 0,
            )
        undefined = np.full(len(weights), np.nan)
        return 1 - np.divide(
            observed,
            expected,
            out=undefined,
            where=expected > NEAR,
        )

    return kappa


def weigh_macro_f1(
    people: Floats,
    judge: Floats,
    labels: Floats,
    layout: Layout,
) -> Weighted:
    """Returns a function that computes, from weights of the inputs, the mean F1 of all labels that occur.

    No label may be NaN.
    """
    by_people = np.equal.outer(people, labels).astype(np.float64)  # (n, labels)
    by_judge = np.equal.outer(judge, labels).astype(np.float64)
    given_by_either = by_people + by_judge
    given_by_both = by_people * by_judge

    def macro_f1(inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        either = weights @ given_by_either  # (rows, labels)
        both = weights @ given_by_both
        is_given = either > 0
        f1 = np.divide(
            2 * both,
            either,
            out=np.zeros_like(either),
            where=is_given,
        )
        return f1.sum(axis=1) / is_given.sum(axis=1)

    return macro_f1


def weigh_mean(values: Floats, layout: Layout) -> Weighted:
    """Returns a function that computes, from weights of the inputs, the mean of values (n,).

    The mean is NaN without values.
    """

    def mean(inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        total = weights.sum(axis=1)
        undefined = np.full(len(weights), np.nan)
        return np.divide(
            weights @ values,
            total,
            out=undefined,
            where=total > 0,
        )

    return mean


def _estimate_share(
    values: Floats,
    layout: Layout,
    kept: Mask,
) -> Estimate:
    """The share of 1 among the kept values."""
    if not kept.any():
        return Estimate.undefined("no text has such a label")
    return share_interval(values[kept], restrict(layout, kept))
