"""Agreement on labels: kappa of a judge with people and of people among themselves, and what a judge confuses.

Labels are numbers in their order, such as 0 and 1 for no and yes, or 1 to 5. Kappa is that of Cohen (1960); weighted
kappa that of Cohen (1968), where a confusion counts by the square of its distance. Of several pairs of people the
observed disagreement is summed over pairs, and so is the expected one (Davies & Fleiss 1982, "Measuring Agreement for
Multinomial Data"). 1 is full agreement, 0 is chance. Intervals draw the units of a layout, by default its inputs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from meta_eval.bootstrap import Estimate, Floats, Indices, Mask
from meta_eval.chance import measure_label_chance
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import Resampling, Weighted, draw_grouped, share_interval

MOST_LABELS = 10
NEAR = 1e-9  # a score that is so near a threshold is on it
CHANCE = "all labels are the same: kappa is not defined"
FEWEST_ALIKE = 5  # labels that both give beside the most frequent one, for an interval by resamples
PEOPLE, CEILING = "people among themselves", "what most people say (ceiling)"


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
    """How well a judge, or each person, agrees with each other person."""

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
    """The labels in ratings, or None: labels are 2 to `MOST_LABELS` whole numbers.

    >>> find_labels(np.array([1.0, 0.0, np.nan])), find_labels(np.array([1.0, 1.5, 2.0]))
    (array([0., 1.]), None)
    """
    values = np.unique(ratings[~np.isnan(ratings)])
    return values if 2 <= len(values) <= MOST_LABELS and (values == np.round(values)).all() else None


def assign_labels(scores: Floats, labels: Floats, threshold: float | None = None) -> tuple[Floats, Floats]:
    """The nearest label of each score (of two the higher one), and the distance of the score from a change of label.

    `threshold` is the least score of the higher one of two labels. A score of NaN has no label.

    >>> assign_labels(np.array([0.2, 0.5, np.nan]), np.array([0.0, 1.0]))
    (array([ 0.,  1., nan]), array([0.3, 0. , nan]))
    """
    ends = (labels[1:] + labels[:-1]) / 2 if threshold is None else np.array([threshold])
    nearest = labels[np.searchsorted(ends, scores, side="right")]
    return np.where(np.isnan(scores), np.nan, nearest), np.abs(scores[:, None] - ends).min(axis=1)


def find_consensus(table: Floats, labels: Floats) -> Floats:
    """The median of people's labels, of shape (people, texts), of each text; NaN where it lies between two labels."""
    rated = ~np.isnan(table).all(axis=0)
    found = np.full(table.shape[1], np.nan)
    found[rated] = np.nanmedian(table[:, rated], axis=0)
    return np.where(np.isin(found, labels), found, np.nan)


def agree_on_labels(
    people: Floats, judge: Floats, labels: Floats, layout: Layout, resampling: Resampling
) -> LabelAgreement:
    """How well the labels of a judge agree with those of people, both of shape (n,) with NaN for no label."""
    labelled = ~np.isnan(people)
    kept = labelled & ~np.isnan(judge)
    x, y, own, k = people[kept], judge[kept], restrict(layout, kept), len(labels)
    i, j = np.searchsorted(labels, x), np.searchsorted(labels, y)
    pairs, same = [(x, y)], (x == y).astype(np.float64)
    seed = resampling.seed
    harshness = draw_grouped(weigh_mean(y - x, own), own, resampling).estimate
    if k == 2 and len(x):
        unit = float(labels[1] - labels[0])
        share = share_interval(
            (1 + (y - x) / unit) / 2, own
        )  # a score interval: resamples of rare labels are too alike
        ends = [unit * (2 * each - 1) for each in (share.value, share.low, share.high)]
        harshness = Estimate(*ends, reason=share.reason)
    return LabelAgreement(
        labels=labels,
        n=len(x),
        missing=int((labelled & ~kept).sum()),
        accuracy=_share(same, own, np.ones(len(x), dtype=np.bool_)),
        kappa=estimate_kappa(pairs, labels, own, resampling),
        weighted_kappa=estimate_kappa(pairs, labels, own, resampling, is_weighted=True),
        p_chance=measure_label_chance(x, y, own, seed=seed) if len(x) else math.nan,
        p_weighted=measure_label_chance(x, y, own, is_weighted=True, seed=seed) if len(x) else math.nan,
        harshness=harshness,
        confusion=np.bincount(i * k + j, minlength=k * k).reshape(k, k),
        shares=tuple(
            LabelShares(
                float(label),
                int((x == label).sum()),
                int((y == label).sum()),
                _share((y == label).astype(np.float64), own, x == label),
                _share((y != label).astype(np.float64), own, x != label),
            )
            for label in labels
        ),
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
    """How well each of `judges` agrees with each person, people among themselves, and what most people say.

    `table` has shape (people, n), each judge (n,). No judge agrees with more of these labels of people than what most
    people say about each text, which includes their own votes.
    """
    values = np.array([(table == label).sum(axis=0) for label in labels])
    most = np.where(values.any(axis=0), labels[values.argmax(axis=0)], np.nan)
    rated, found = (~np.isnan(table)).sum(axis=0), []
    by_distance = is_ordered and len(labels) > 2
    among = weigh_kappa([*combinations(table, 2)], labels, layout, is_weighted=by_distance)
    among_people = draw_grouped(among, layout, resampling)
    for name, each in {PEOPLE: None, **judges, CEILING: most}.items():
        kept = rated > 1 if each is None else (rated > 0) & ~np.isnan(each)
        people, own = table[:, kept], restrict(layout, kept)
        pairs = [*combinations(people, 2)] if each is None else [(person, each[kept]) for person in people]
        same, n = (sum(int(counted(x, y).sum()) for x, y in pairs) for counted in (np.equal, _both))
        kappa = estimate_kappa(pairs, labels, own, resampling)
        weighted = estimate_kappa(pairs, labels, own, resampling, is_weighted=True)
        beside = Estimate.undefined("the row is the people themselves, with whom judges are compared")
        if each is not None:
            whole = [(person, each) for person in table]
            with_judge = weigh_kappa(whole, labels, layout, is_weighted=by_distance)
            beside = (draw_grouped(with_judge, layout, resampling) - among_people).estimate
        found.append(SingleAgreement(name, n, same / n if n else math.nan, kappa, weighted, beside))
    return found


def _both(x: Floats, y: Floats) -> Mask:
    return ~np.isnan(x + y)


def estimate_kappa(
    pairs: Sequence[tuple[Floats, Floats]],
    labels: Floats,
    layout: Layout,
    resampling: Resampling,
    *,
    is_weighted: bool = False,
) -> Estimate:
    """Cohen's kappa, or the weighted one, of pairs of columns of labels of shape (n,), NaN where there is none.

    The interval is that of resamples, or where they are too alike (`FEWEST_ALIKE`) that of `estimate_rare_kappa`.
    """
    found = draw_grouped(weigh_kappa(pairs, labels, layout, is_weighted=is_weighted), layout, resampling).estimate
    if math.isnan(found.value):
        return replace(found, reason=CHANCE)
    table = count_confusion(pairs, labels)
    alike = np.diag(table)
    if (math.isnan(found.low) and found.reason is not None) or alike.sum() - alike.max() >= FEWEST_ALIKE:
        return found
    return estimate_rare_kappa(found.value, table, labels, layout.input_count, resampling, is_weighted=is_weighted)


def count_confusion(pairs: Sequence[tuple[Floats, Floats]], labels: Floats) -> Floats:
    """How often each pair of labels is given, of shape (labels, labels), by all pairs of columns with NaN."""
    k = len(labels)
    table = np.zeros(k * k)
    for x, y in pairs:
        both = _both(x, y)
        cells = np.searchsorted(labels, x[both]) * k + np.searchsorted(labels, y[both])
        table += np.bincount(cells, minlength=k * k)
    return table.reshape(k, k)


def estimate_rare_kappa(
    value: float, table: Floats, labels: Floats, inputs: int, resampling: Resampling, *, is_weighted: bool = False
) -> Estimate:
    """The interval of a kappa of a confusion table where few texts have the rarer labels from both.

    All resamples of such labels are below 0 or nearly alike. Tables are drawn from the Dirichlet distribution with 2
    labels more in all, spread over the cells (for two labels Jeffreys' prior). The table counts as one label an input.
    """
    k = len(labels)
    apart = np.subtract.outer(labels, labels) ** 2 if is_weighted else 1.0 - np.eye(k)
    counts = table * min(1.0, inputs / max(float(table.sum()), 1.0))
    rng = np.random.default_rng(resampling.seed)
    drawn = rng.dirichlet((counts + 2 / k**2).ravel(), resampling.resamples).reshape(-1, k, k)
    observed = (drawn * apart).sum(axis=(1, 2))
    by_chance = np.einsum("ri,ij,rj->r", drawn.sum(axis=2), apart, drawn.sum(axis=1))
    low, high = np.quantile(1 - observed / by_chance, [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value))


def weigh_kappa(
    pairs: Sequence[tuple[Floats, Floats]], labels: Floats, layout: Layout, *, is_weighted: bool = False
) -> Weighted:
    """Kappa as a function of weights; see `estimate_kappa`."""
    apart = np.subtract.outer(labels, labels) ** 2 if is_weighted else 1.0 - np.eye(len(labels))
    each, parts = np.eye(len(labels)), []
    for x, y in pairs:
        if len(at := np.flatnonzero(_both(x, y))):
            parts.append((at, np.searchsorted(labels, x[at]), np.searchsorted(labels, y[at])))

    def kappa(inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        observed, expected = np.zeros(len(weights)), np.zeros(len(weights))
        for at, i, j in parts:
            own = weights[:, at]
            total, by_chance = own.sum(axis=1), (((own @ each[i]) @ apart) * (own @ each[j])).sum(axis=1)
            observed += own @ apart[i, j]
            expected += np.divide(by_chance, total, out=np.zeros(len(own)), where=total > 0)
        return 1 - np.divide(observed, expected, out=np.full(len(weights), np.nan), where=expected > NEAR)

    return kappa


def weigh_macro_f1(people: Floats, judge: Floats, labels: Floats, layout: Layout) -> Weighted:
    """The mean F1 of the labels that people or the judge give, as a function of weights; no value may be NaN."""
    is_x, is_y = np.equal.outer(people, labels).astype(np.float64), np.equal.outer(judge, labels).astype(np.float64)

    def macro_f1(inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        given = weights @ (is_x + is_y)  # (rows, labels)
        f1 = np.divide(2 * (weights @ (is_x * is_y)), given, out=np.zeros_like(given), where=given > 0)
        return f1.sum(axis=1) / (given > 0).sum(axis=1)

    return macro_f1


def weigh_mean(values: Floats, layout: Layout) -> Weighted:
    """The mean of values of shape (n,) as a function of weights; NaN without any."""

    def mean(inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        total = weights.sum(axis=1)
        return np.divide(weights @ values, total, out=np.full(len(weights), np.nan), where=total > 0)

    return mean


def _share(values: Floats, layout: Layout, kept: Mask) -> Estimate:
    if not kept.any():
        return Estimate.undefined("no text has such a label")
    return share_interval(values[kept], restrict(layout, kept))
