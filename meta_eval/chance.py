"""Permutation tests of whether a judge or a metric agrees with people more, or less, than chance would.

If a judge knew nothing of what people say, any input's verdicts could as well stand beside another input's labels.
Inputs are put in a random order, their texts in a random order within them, and the judge's verdicts are read in this
order beside people's labels. All counts of labels stay as they are, and texts of one input stay together, so that
their dependence does not look like agreement. With one text for each input and two labels this is Fisher's exact test,
which is then computed and not drawn.

Bootstrap intervals cannot replace it where a label is rare: while no text has the rare label from both, kappa is below
0 in every resample.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from meta_eval.bootstrap import BATCH, Estimate, Floats, t_quantile
from meta_eval.correlation import average_ranks
from meta_eval.grouping import Layout
from meta_eval.step_down import step_down

PERMUTATIONS = 1999
FEWEST_PERMUTATIONS = 199  # of very many texts
MOST_ORDERED = 20_000_000  # texts of all permutations
ROUNDING = 1e-9  # relative: sums in another order are equal


def permute_inputs(inputs: NDArray[np.intp], seed: int) -> Iterator[NDArray[np.intp]]:
    """Blocks of random orders, of shape (rows, n), in which the texts of each input stand together.

    `inputs`, of shape (n,), are numbers. An order belongs to one column, `gather` to the other.
    """
    rng = np.random.default_rng(seed)
    permutations = min(PERMUTATIONS, max(FEWEST_PERMUTATIONS, MOST_ORDERED // max(len(inputs), 1)))
    count = int(inputs.max(initial=-1)) + 1
    rows = max(1, BATCH // max(len(inputs), 1))
    for start in range(0, permutations, rows):
        drawn = min(rows, permutations - start)
        places = rng.permuted(np.tile(np.arange(count), (drawn, 1)), axis=1)
        keys = places[:, inputs] + rng.random((drawn, len(inputs)))
        yield keys.argsort(axis=1)


def gather(inputs: NDArray[np.intp]) -> NDArray[np.intp]:
    """The order of texts, of shape (n,), in which those of each input stand together."""
    return np.argsort(inputs, kind="stable")


def measure_label_chance(
    people: Floats, judge: Floats, layout: Layout, *, is_weighted: bool = False, seed: int = 0
) -> float:
    """The two-sided p-value that labels of people and judge, both of shape (n,) without NaN, are independent.

    The statistic is the agreement that is observed, by which kappa is ordered where the counts of labels are fixed;
    `is_weighted` orders by the squares of distances, as weighted kappa does.
    """
    values = np.union1d(people, judge)
    if len(values) == 2 and layout.input_count == len(people):
        return _test_fisher(people == values[1], judge == values[1])
    beside = people[gather(layout.inputs)]

    def agree(verdicts: Floats) -> Floats:
        if is_weighted:
            return -((beside - verdicts) ** 2).mean(axis=-1)
        return (beside == verdicts).mean(axis=-1)

    observed = float(agree(judge[gather(layout.inputs)]))
    orders = permute_inputs(layout.inputs, seed)
    null = np.concatenate([agree(judge[order]) for order in orders])
    return count_both_tails(observed, null)


def _test_fisher(is_people: NDArray[np.bool_], is_judge: NDArray[np.bool_]) -> float:
    from scipy.stats import hypergeom  # takes longer to import than most tools run

    both = int((is_people & is_judge).sum())
    drawn = hypergeom(len(is_people), int(is_people.sum()), int(is_judge.sum()))
    return min(1.0, 2 * float(min(drawn.cdf(both), drawn.sf(both - 1))))


def measure_preference_chance(people: Floats, judge: Floats, layout: Layout, seed: int = 0) -> float:
    """The two-sided p-value that outcomes 1, .5 and 0 of people and judge, of shape (n,), are independent.

    Which output is called a says nothing: the outcomes of an input are also exchanged at random, all at once.
    """
    start = gather(layout.inputs)
    beside = people[start]
    observed = float((beside == judge[start]).mean())
    rng = np.random.default_rng(seed + 1)
    null = []
    for orders in permute_inputs(layout.inputs, seed):
        is_turned = rng.random((len(orders), layout.input_count)) < 0.5
        turned = np.take_along_axis(is_turned, layout.inputs[orders], axis=1)
        verdicts = np.where(turned, 1 - judge[orders], judge[orders])
        null.append((beside == verdicts).mean(axis=1))
    return count_both_tails(observed, np.concatenate(null))


def count_both_tails(observed: float, null: Floats) -> float:
    """The two-sided p-value of a statistic: twice the smaller share of draws at least as far out on one side."""
    slack = ROUNDING * max(1.0, abs(observed))
    above = (1 + int((null >= observed - slack).sum())) / (1 + len(null))
    below = (1 + int((null <= observed + slack).sum())) / (1 + len(null))
    return min(1.0, 2 * min(above, below))


def measure_correlation_chance(
    scores: Mapping[str, Floats], ratings: Floats, layout: Layout, seed: int = 0
) -> dict[str, float]:
    """Two-sided p-values that the ranks of each metric's scores are independent of those of `ratings`, of shape (n,).

    They are adjusted for all metrics (`step_down` of the largest Spearman correlation). A text without a score counts
    as one in the middle. NaN for a metric that does not vary.
    """
    names = [
        name for name, values in scores.items() if not np.isnan(values).all() and np.nanmin(values) < np.nanmax(values)
    ]
    adjusted = dict.fromkeys(scores, np.nan)
    if not names or not len(ratings) or np.ptp(ratings) == 0:
        return adjusted
    start = gather(layout.inputs)
    target = _standardise(ratings)[start]
    columns = np.stack([_standardise(scores[name]) for name in names])
    observed = np.abs(columns[:, start] @ target)
    null = (np.abs(columns[:, orders] @ target).T for orders in permute_inputs(layout.inputs, seed))
    adjusted.update(zip(names, step_down(observed, null).tolist(), strict=True))
    return adjusted


def _standardise(values: Floats) -> Floats:
    """The ranks of values of shape (n,) with mean 0 and length 1; 0 for NaN."""
    known = ~np.isnan(values)
    found = np.zeros(len(values))
    ranks = average_ranks(values[known])
    found[known] = ranks - ranks.mean()
    return found / np.sqrt(float(found @ found))


def widen_interval(estimate: Estimate, looked_at: int) -> Estimate:
    """The interval of a correlation, as wide as all of so many intervals need to hold at once (Bonferroni).

    It is widened on Fisher's scale by the ratio of normal quantiles. NaN stays.
    """
    if looked_at < 2 or np.isnan(estimate.low):
        return estimate
    ratio = float(ndtri(1 - 0.025 / looked_at)) / t_quantile(np.inf)
    inside = np.clip([estimate.value, estimate.low, estimate.high], -1 + 1e-12, 1 - 1e-12)
    value, low, high = np.arctanh(inside)
    return Estimate(
        estimate.value,
        float(np.tanh(value - ratio * (value - low))),
        float(np.tanh(value + ratio * (high - value))),
        estimate.reason,
    )
