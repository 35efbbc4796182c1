"""Permuted units: whether a judge or a metric agrees with people by chance, and whether labels are a random sample.

If a judge knew nothing of what people say, the verdicts on one input would fit the labels of another input as well.
Inputs are put in a random order, and so are the texts within each input. The judge's verdicts are read in this order
and compared with people's labels. The counts of labels do not change, and texts of one input stay together, so that
their dependence does not look like agreement. With one text for each input and two labels this is Fisher's exact test,
which is then computed without random orders.

Inputs of other sizes lie over one another, which breaks them up: in simulations of 60 inputs of 1 to 80 texts, orders
alone found an agreement in .10 to .18 of studies without any. Where sizes differ, flips of the inputs' parts of the
statistic must show it too: together they found one in .02 to .06.

Intervals cannot replace these tests if a label is rare, because the value under independence is no difference of
estimates.

Two metrics of few inputs are compared by swaps (Deutsch, Dror & Roth 2021, "A Statistical Analysis of Summarization
Evaluation Metrics using Resampling Methods"). If they were equally good, it would not matter which of them gave which
score. Both are standardised, or ranked, and the scores of an input are swapped. This departs from the paper's
PERM-BOTH, which swaps single outputs and so takes outputs for one input as independent: it called equally good metrics
different in .19 of simulated studies of 30 inputs and 8 systems.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.special import ndtri

from meta_eval.correlation import average_ranks
from meta_eval.design import Floats, Indices, Layout, Mask
from meta_eval.estimates import BATCH, Estimate, flip_signs, gather, list_flips, step_down, t_quantile

Kind = Literal["pearson", "spearman", "kendall"]

FEWEST_FOR_FLIPS = 30  # inputs; of fewer, flips find true differences of metrics too rarely
PERMUTATIONS = 1999
FEWEST_PERMUTATIONS = 199  # of very many texts
MOST_ORDERED = 20_000_000  # texts of all permutations
ROUNDING = 1e-9  # relative: sums in another order are equal
LEVEL_OF_SAMPLE = 0.01  # of a difference between labelled texts and others that is told
FEWEST_OF_SAMPLE = 5  # labelled texts, and others


def find_p_of_products(
    moved: Floats,
    fixed: Floats,
    layout: Layout,
    seed: int = 0,
    *,
    is_joint: bool = False,
    is_turned: bool = False,
) -> Floats:
    """Computes two-sided p-values, of shape (k,), that columns are independent, adjusted for all k sums of products.

    `moved` and `fixed` have the shape (n, k), or (n, 1), and means of 0: the first one is read in random orders of
    texts. `is_joint` tests the sum over all columns; `is_turned` reverses the columns of inputs at random.
    """
    order = np.argsort(layout.inputs, kind="stable")  # the texts of each input are adjacent
    rng = np.random.default_rng(seed + 1)

    def sum_products(orders: Indices) -> Floats:
        drawn = moved[orders]
        if is_turned and len(orders) > 1:
            turns = rng.random((len(orders), layout.input_count)) < 0.5
            of_texts = np.take_along_axis(turns, layout.inputs[orders], axis=1)
            drawn = np.where(of_texts[..., None], drawn[..., ::-1], drawn)
        products = np.einsum("rnk,nk->rk", drawn, fixed[order])
        return np.abs(products.sum(axis=1, keepdims=True) if is_joint else products)

    observed = sum_products(order[None])[0]
    p_values = step_down(observed, map(sum_products, permute_inputs(layout.inputs, seed)))
    if np.ptp(np.bincount(layout.inputs)) == 0:
        return p_values
    parts = moved * fixed
    if is_joint:
        parts = parts.sum(axis=1, keepdims=True)
    return np.maximum(p_values, flip_signs(gather(parts, layout), seed))


def permute_inputs(inputs: Indices, seed: int) -> Iterator[Indices]:
    """Yields blocks of random orders of texts, of shape (rows, n).

    Inputs are shuffled as wholes, and so are the texts in each input. `inputs`, of shape (n,), numbers the input of
    each text from 0.
    """
    rng = np.random.default_rng(seed)
    texts = max(len(inputs), 1)
    affordable = max(FEWEST_PERMUTATIONS, MOST_ORDERED // texts)
    permutations = min(PERMUTATIONS, affordable)
    input_count = int(inputs.max(initial=-1)) + 1
    rows = max(1, BATCH // texts)
    for start in range(0, permutations, rows):
        drawn = min(rows, permutations - start)
        numbers = np.tile(np.arange(input_count), (drawn, 1))
        places_of_inputs = rng.permuted(numbers, axis=1)
        keys = rng.random((drawn, len(inputs)))  # the order of texts within an input
        keys += places_of_inputs[:, inputs]
        yield keys.argsort(axis=1)


def measure_label_chance(
    people: Floats,
    judge: Floats,
    layout: Layout,
    *,
    is_weighted: bool = False,
    seed: int = 0,
) -> float:
    """Computes the two-sided p-value that labels of people and judge, both of shape (n,) without NaN, are independent.

    The statistic is the observed agreement, which orders tables as kappa does when the counts of labels are fixed;
    `is_weighted` uses squared distances, as weighted kappa does.
    """
    values = np.union1d(people, judge)
    if len(values) == 2 and layout.input_count == len(people):
        return _test_fisher(people == values[1], judge == values[1])
    if is_weighted:
        return _test_marks(people[:, None], judge[:, None], layout, seed)
    return _test_marks(np.equal.outer(people, values), np.equal.outer(judge, values), layout, seed)


def measure_preference_chance(
    people: Floats,
    judge: Floats,
    layout: Layout,
    seed: int = 0,
    *,
    are_exchanged: bool = True,
) -> float:
    """Computes the two-sided p-value that outcomes (1, .5, 0) of people and judge, of shape (n,), are independent.

    If systems change sides (`are_exchanged`), which output is called a is arbitrary: the outcomes of an input are also
    reversed at random, all at once. Else a judge that knows the system only would seem to agree with people.
    """
    outcomes = np.array([0.0, 0.5, 1.0])
    of_people = np.equal.outer(people, outcomes)
    of_judge = np.equal.outer(judge, outcomes)
    return _test_marks(of_people, of_judge, layout, seed, is_turned=are_exchanged)


def _test_marks(
    people: Floats | Mask,
    judge: Floats | Mask,
    layout: Layout,
    seed: int,
    *,
    is_turned: bool = False,
) -> float:
    """The p-value that marks of texts by people and by a judge, of shape (n, marks), are independent.

    `is_turned` reverses the marks of inputs by the judge at random.
    """
    x = _centre(people, is_turned=is_turned)
    y = _centre(judge, is_turned=is_turned)
    return float(find_p_of_products(y, x, layout, seed, is_joint=True, is_turned=is_turned)[0])


def _centre(marks: Floats | Mask, *, is_turned: bool) -> Floats:
    """Marks of shape (n, marks) less their means, which are those in both directions where marks are reversed."""
    means = marks.mean(axis=0)
    if is_turned:
        means = (means + means[::-1]) / 2
    return marks - means


def _test_fisher(is_people: Mask, is_judge: Mask) -> float:
    """Twice the smaller tail of Fisher's exact test, from masks of one label by people and by the judge."""
    from scipy.stats import hypergeom  # takes longer to import than most tools run

    both = int((is_people & is_judge).sum())
    by_people = int(is_people.sum())
    by_judge = int(is_judge.sum())
    shared = hypergeom(M=len(is_people), n=by_people, N=by_judge)
    at_most = float(shared.cdf(both))
    at_least = float(shared.sf(both - 1))
    return min(1.0, 2 * min(at_most, at_least))


def measure_correlation_chance(
    scores: Mapping[str, Floats],
    ratings: Floats,
    layout: Layout,
    seed: int = 0,
) -> dict[str, float]:
    """Computes, for each metric, the two-sided p-value that its ranks are independent of those of `ratings` (n,).

    The p-values are adjusted for all metrics (`step_down` of the largest Spearman correlation). A text without a score
    counts as if it had the middle rank. NaN for a metric whose scores are all equal.
    """
    p_values = dict.fromkeys(scores, np.nan)
    names = [name for name, values in scores.items() if _varies(values)]
    if not names or not len(ratings) or np.ptp(ratings) == 0:
        return p_values
    columns = np.stack([_standardise_ranks(scores[name]) for name in names], axis=1)  # (n, metrics)
    adjusted = find_p_of_products(columns, _standardise_ranks(ratings)[:, None], layout, seed)
    p_values.update(zip(names, adjusted.tolist(), strict=True))
    return p_values


def _varies(values: Floats) -> bool:
    """Whether there are two different values beside NaN."""
    if np.isnan(values).all():
        return False
    return bool(np.nanmin(values) < np.nanmax(values))


def _standardise_ranks(values: Floats) -> Floats:
    """The ranks of values of shape (n,) with mean 0 and length 1; 0 for NaN."""
    is_known = ~np.isnan(values)
    ranks = average_ranks(values[is_known])
    centred = np.zeros(len(values))
    centred[is_known] = ranks - ranks.mean()
    return centred / np.sqrt(float(centred @ centred))


@dataclass(frozen=True)
class SampleDifference:
    """One difference between the judged texts that people labelled and those that they did not."""

    # what differs: verdicts, or the name of a cell (a system, a pair of systems)
    what: str
    # the mean verdict of the labelled part and of the rest; or the shares that are labelled, of this cell and of others
    labelled: float
    others: float
    p_value: float


def compare_verdicts(is_labelled: Mask, verdicts: Floats, layout: Layout) -> SampleDifference | None:
    """Compares a judge's verdicts (n,) on texts that people labelled with those on the others.

    Labels can correct a judge only if they are a random sample of all texts. Returns None if the difference is not
    significant at `LEVEL_OF_SAMPLE`, or if too few verdicts are known. If people chose texts by what they think of
    them, this cannot be found out.
    """
    is_known = ~np.isnan(verdicts)
    labelled = is_labelled & is_known
    others = ~is_labelled & is_known
    if min(labelled.sum(), others.sum()) < FEWEST_OF_SAMPLE or not _varies(verdicts):
        return None
    usual = float(np.nanmean(verdicts))
    p_value = _test_marks(np.where(is_known, verdicts, usual)[:, None], is_labelled[:, None], layout, seed=0)
    if p_value >= LEVEL_OF_SAMPLE:
        return None
    return SampleDifference(
        what="verdicts",
        labelled=float(verdicts[labelled].mean()),
        others=float(verdicts[others].mean()),
        p_value=p_value,
    )


def compare_cells(is_labelled: Mask, cells: Sequence[str], layout: Layout) -> SampleDifference | None:
    """Finds the cell of texts with the most unusual share of labels; None if no share is unusual.

    `cells` names the cell of each text, such as its pair of systems. P-values are adjusted for all cells.
    """
    names, numbers = np.unique(np.asarray(cells, dtype=object).astype(str), return_inverse=True)
    labelled = int(is_labelled.sum())
    if min(labelled, len(cells) - labelled) < FEWEST_OF_SAMPLE or len(names) < 2:
        return None
    membership = np.eye(len(names))[numbers]  # (n, cells)
    standardised = (membership - membership.mean(axis=0)) / membership.std(axis=0)
    labels = (is_labelled - is_labelled.mean())[:, None]
    p_values = find_p_of_products(labels, standardised, layout)
    most = int(np.argmin(p_values))
    if p_values[most] >= LEVEL_OF_SAMPLE:
        return None
    is_in_cell = membership[:, most] > 0
    return SampleDifference(
        what=str(names[most]),
        labelled=float(is_labelled[is_in_cell].mean()),
        others=float(is_labelled[~is_in_cell].mean()),
        p_value=float(p_values[most]),
    )


def widen_interval(estimate: Estimate, looked_at: int) -> Estimate:
    """Widens the interval of a correlation, so that `looked_at` such intervals hold together (Bonferroni).

    It is widened on Fisher's scale by the ratio of normal quantiles. An interval that is NaN stays NaN.
    """
    if looked_at < 2 or np.isnan(estimate.low):
        return estimate
    ratio = float(ndtri(1 - 0.025 / looked_at)) / t_quantile(np.inf)
    inside = np.clip([estimate.value, estimate.low, estimate.high], -1 + 1e-12, 1 - 1e-12)
    value, low, high = np.arctanh(inside)
    wide_low = value - ratio * (value - low)
    wide_high = value + ratio * (high - value)
    return Estimate(
        value=estimate.value,
        low=float(np.tanh(wide_low)),
        high=float(np.tanh(wide_high)),
        reason=estimate.reason,
    )


def swap_metrics(
    columns: Sequence[Floats],
    ratings: Floats,
    layout: Layout,
    kind: Kind,
    seed: int = 0,
) -> Floats:
    """Computes two-sided p-values, of shape (pairs,), that two metrics agree equally well with ratings, by swaps.

    All pairs share the swaps of inputs, and are adjusted together. A pair's differences are divided by their spread, so
    that all pairs have one scale. A swap that leaves a metric without variation counts as a correlation of 0.
    """
    y = _transform(ratings, kind)
    pairs = [*combinations([_transform(column, kind) for column in columns], 2)]
    correlate = _correlate_signs if kind == "kendall" else _correlate_rows

    def subtract_pairs(swaps: Mask) -> Floats:
        is_swapped = swaps[:, layout.inputs]
        differences = []
        for first, second in pairs:
            a = np.where(is_swapped, second, first)
            b = np.where(is_swapped, first, second)
            differences.append(correlate(a, y) - correlate(b, y))
        return np.stack(differences, axis=1)

    observed = subtract_pairs(np.zeros((1, layout.input_count), dtype=np.bool_))[0]
    rows = max(1, BATCH // len(y))
    null = np.concatenate([subtract_pairs(swaps) for swaps in list_flips(layout.input_count, seed, rows)])
    spread = np.sqrt((null**2).mean(axis=0))
    scale = np.where(spread > ROUNDING, spread, np.inf)  # metrics that are alike do not differ
    return step_down(np.abs(observed) / scale, np.abs(null) / scale)


def _transform(x: Floats, kind: Kind) -> Floats:
    """The scores with mean 0 and deviation 1, or their ranks; ranks of Kendall stay, so that equal ones tie."""
    values = x if kind == "pearson" else average_ranks(x)
    if kind == "kendall":
        return values
    centred = values - values.mean()
    centred /= np.abs(centred).max() or 1.0
    return centred / (centred.std() or 1.0)


def _correlate_rows(x: Floats, y: Floats) -> Floats:
    """Pearson's r of each row of x, of shape (rows, n), with y; 0 for a row without variation."""
    centred = x - x.mean(axis=1, keepdims=True)
    of_ratings = y - y.mean()
    spread = np.sqrt((centred**2).sum(axis=1) * (of_ratings @ of_ratings))
    return np.divide(centred @ of_ratings, spread, out=np.zeros(len(x)), where=spread > ROUNDING)


def _correlate_signs(x: Floats, y: Floats) -> Floats:
    """Kendall's tau-b of each row of x, of shape (rows, n), with y; 0 for a row without variation."""
    of_ratings = np.sign(np.subtract.outer(y, y)).ravel()
    rows = max(1, BATCH // len(of_ratings))
    blocks = []
    for start in range(0, len(x), rows):
        block = x[start : start + rows]
        signs = np.sign(block[:, :, None] - block[:, None, :]).reshape(len(block), -1)
        blocks.append(_correlate_rows(signs, of_ratings))
    return np.concatenate(blocks)
