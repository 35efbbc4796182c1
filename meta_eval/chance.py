"""Permutation tests of whether a judge or a metric agrees with people more, or less, than chance would.

If a judge knew nothing of what people say, the verdicts on one input would fit the labels of another input as well.
Inputs are put in a random order, and so are the texts within each input. The judge's verdicts are read in this order
and compared with people's labels. The counts of labels do not change, and texts of one input stay together, so that
their dependence does not look like agreement. With one text for each input and two labels this is Fisher's exact test,
which is then computed without random orders.

Bootstrap intervals cannot replace this test if a label is rare: as long as no text has the rare label from both, kappa
is below 0 in every resample.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from scipy.special import ndtri

from meta_eval.bootstrap import BATCH, Estimate, Floats, Indices, Mask, t_quantile
from meta_eval.correlation import average_ranks
from meta_eval.grouping import Layout
from meta_eval.step_down import step_down

PERMUTATIONS = 1999
FEWEST_PERMUTATIONS = 199  # of very many texts
MOST_ORDERED = 20_000_000  # texts of all permutations
ROUNDING = 1e-9  # relative: sums in another order are equal


def permute_inputs(inputs: Indices, seed: int) -> Iterator[Indices]:
    """Yields blocks of random orders of texts, of shape (rows, n).

    Inputs are shuffled as wholes, and so are the texts in each input. The orders test the independence of two columns
    whose texts are clustered by input. `inputs`, of shape (n,), numbers the input of each text from 0. Index one column
    by an order and the other by `gather(inputs)`.
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


def gather(inputs: Indices) -> Indices:
    """Returns the order of texts, of shape (n,), in which the texts of each input are adjacent."""
    return np.argsort(inputs, kind="stable")


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
    by_input = gather(layout.inputs)
    labels = people[by_input]

    def agree(verdicts: Floats) -> Floats:
        if is_weighted:
            squares = (labels - verdicts) ** 2
            return -squares.mean(axis=-1)
        return (labels == verdicts).mean(axis=-1)

    observed = float(agree(judge[by_input]))
    null = []
    for orders in permute_inputs(layout.inputs, seed):
        null.append(agree(judge[orders]))
    return count_both_tails(observed, np.concatenate(null))


def _test_fisher(is_people: Mask, is_judge: Mask) -> float:
    """Twice the smaller tail of Fisher's exact test, from masks of one label by people and by the judge."""
    from scipy.stats import hypergeom  # takes longer to import than most tools run

    both = int((is_people & is_judge).sum())
    by_people = int(is_people.sum())
    by_judge = int(is_judge.sum())
    shared = hypergeom(
        M=len(is_people),
        n=by_people,
        N=by_judge,
    )
    at_most = float(shared.cdf(both))
    at_least = float(shared.sf(both - 1))
    return min(1.0, 2 * min(at_most, at_least))


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
    by_input = gather(layout.inputs)
    outcomes = people[by_input]
    observed = float((outcomes == judge[by_input]).mean())
    rng = np.random.default_rng(seed + 1)
    blocks = []
    for orders in permute_inputs(layout.inputs, seed):
        turns = rng.random((len(orders), layout.input_count)) < 0.5 * are_exchanged
        inputs = layout.inputs[orders]
        is_turned = np.take_along_axis(turns, inputs, axis=1)
        drawn = judge[orders]
        verdicts = np.where(is_turned, 1 - drawn, drawn)
        blocks.append((outcomes == verdicts).mean(axis=1))
    return count_both_tails(observed, np.concatenate(blocks))


def count_both_tails(observed: float, null: Floats) -> float:
    """Computes the two-sided p-value of a statistic: twice the smaller share of draws as extreme on one side."""
    slack = ROUNDING * max(1.0, abs(observed))
    count_above = int((null >= observed - slack).sum())
    count_below = int((null <= observed + slack).sum())
    above = (1 + count_above) / (1 + len(null))
    below = (1 + count_below) / (1 + len(null))
    return min(1.0, 2 * min(above, below))


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
    by_input = gather(layout.inputs)
    target = _standardise_ranks(ratings)[by_input]
    columns = np.stack([_standardise_ranks(scores[name]) for name in names])  # (metrics, n)
    observed = np.abs(columns[:, by_input] @ target)

    def correlate_blocks() -> Iterator[Floats]:
        for orders in permute_inputs(layout.inputs, seed):
            correlations = columns[:, orders] @ target  # (metrics, rows)
            yield np.abs(correlations).T

    adjusted = step_down(observed, correlate_blocks())
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


def widen_interval(estimate: Estimate, looked_at: int) -> Estimate:
    """Widens the interval of a correlation, so that `looked_at` such intervals hold together (Bonferroni).

    It is widened on Fisher's scale by the ratio of normal quantiles. An interval that is NaN stays NaN.
    """
    if looked_at < 2 or np.isnan(estimate.low):
        return estimate
    ratio = float(ndtri(1 - 0.025 / looked_at)) / t_quantile(np.inf)
    inside = np.clip(
        [estimate.value, estimate.low, estimate.high],
        -1 + 1e-12,
        1 - 1e-12,
    )
    value, low, high = np.arctanh(inside)
    wide_low = value - ratio * (value - low)
    wide_high = value + ratio * (high - value)
    return Estimate(
        value=estimate.value,
        low=float(np.tanh(wide_low)),
        high=float(np.tanh(wide_high)),
        reason=estimate.reason,
    )
