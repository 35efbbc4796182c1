"""Statistics of pairs with ties: Kendall's tau-c, pairwise accuracy, and tie calibration.

Pairwise accuracy with ties is acc_eq of Deutsch, Foster & Freitag (2023), "Ties Matter: Meta-Evaluating Modern Metrics
with Pairwise Accuracy and Tie Calibration": a metric is right about a pair of outputs when it orders them as people do,
or calls them equal where people do. Metrics with fine-grained scores never tie, so tie calibration chooses the
threshold epsilon below which two scores count as equal.

`x`, `y` and `weights` are as in `meta_eval.correlation`: shapes (n,), (n,) and (resamples, n). Results have one value
per resample, NaN if it is undefined. `x` holds scores and `y` ratings; accuracy is not symmetric in them.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from meta_eval.correlation import Floats

PAIR_BLOCK = 8_000_000  # pairs held at once: 32 MB
LARGEST_CALIBRATION = 3_000  # examples of one group whose pairs are sorted by tie calibration: 4.5 million pairs


def kendall_c(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Kendall's tau-c (Stuart 1953): 2 (concordant - discordant) / (n² (m - 1)/m).

    m is the number of distinct values of x or of y, whichever is smaller.

    In [-1, 1]; unlike tau-b it can reach 1 when x has more distinct values than y.
    """
    balance = _pair_sum(lambda block: _order(x, block) * _order(y, block), weights)
    fewer = np.minimum(_distinct(x, weights), _distinct(y, weights)).astype(np.float64)
    scale = weights.sum(axis=-1) ** 2 * (fewer - 1) / np.maximum(fewer, 1)
    return np.divide(balance, scale, out=np.full(len(weights), np.nan), where=scale > 0)


def pairwise_accuracy(x: Floats, y: Floats, weights: Floats, epsilon: float = 0.0) -> Floats:
    """acc_eq: the share of pairs that scores order, or tie, in the same way as ratings. In [0, 1], higher is better.

    Scores that differ by at most `epsilon` are tied. A resample may draw an example twice; the pair of an example with
    its own copy is left out, because every metric gets this tie right.
    """
    right = _pair_sum(lambda block: (_order(x, block, epsilon) == _order(y, block)).astype(np.float32), weights)
    copies = (weights**2).sum(axis=-1)
    pairs = weights.sum(axis=-1) ** 2 - copies
    return np.divide(right - copies, pairs, out=np.full(len(weights), np.nan), where=pairs > 0)


def calibrate_ties(x: Floats, y: Floats, groups: Sequence[NDArray[np.intp]] | None = None, seed: int = 0) -> float:
    """The smallest epsilon with the highest pairwise accuracy on these scores and ratings, both of shape (n,).

    Args:
        groups: the indices of each group. Pairs lie within groups, and the mean accuracy of the groups is maximised.
            By default all examples form one group.
        seed: of the examples that are drawn from a group with more than `LARGEST_CALIBRATION`.

    Candidates are 0 and the distances between two scores. The accuracy at this epsilon is the best possible one on
    these data, because epsilon is chosen on the ratings that it is compared with.
    """
    rng = np.random.default_rng(seed)
    distances, gains = [np.zeros(1)], [np.zeros(1)]
    for members in groups if groups is not None else [np.arange(len(x))]:
        if len(members) > LARGEST_CALIBRATION:
            members = rng.choice(members, LARGEST_CALIBRATION, replace=False)
        i, j = np.triu_indices(len(members), 1)
        score_gap, rating_gap = (v[members[i]] - v[members[j]] for v in (x, y))
        if not len(i):
            continue
        before = np.sign(score_gap) == np.sign(rating_gap)
        after = rating_gap == 0  # right if the scores are tied
        distances.append(np.abs(score_gap))
        gains.append((after.astype(np.float64) - before) / len(i))
    distance, gain = np.concatenate(distances), np.concatenate(gains)
    order = np.argsort(distance, kind="stable")
    distance, accuracy = distance[order], np.cumsum(gain[order])
    last = np.append(
        np.flatnonzero(np.diff(distance)), len(distance) - 1
    )  # pairs with equal distances tie at the same epsilon
    best = np.flatnonzero(accuracy[last] > accuracy[last].max() - 1e-12)[0]  # sums may differ by rounding
    return float(distance[last[best]])


def _pair_sum(agreement: Callable[[slice], NDArray[np.float32]], weights: Floats) -> Floats:
    """The sum over all i, j of w_i w_j agreement_ij, of shape (resamples,), computed in blocks of columns j."""
    n = weights.shape[1]
    # float32 multiplies twice as fast, and whole numbers below 2**24 are exact in it
    weights32 = weights.astype(np.float32)
    total, width = np.zeros(len(weights)), max(1, PAIR_BLOCK // max(1, n))
    for start in range(0, n, width):
        block = slice(start, start + width)
        total += np.einsum("rj,rj->r", weights32 @ agreement(block), weights[:, block])
    return total


def _order(x: Floats, block: slice, epsilon: float = 0.0) -> NDArray[np.float32]:
    """The sign of x_i - x_j for all i and the j of a block; 0 if they differ by at most epsilon."""
    gap = np.subtract.outer(x, x[block])
    signs = np.sign(gap).astype(np.float32)
    if epsilon > 0:
        signs[np.abs(gap) <= epsilon] = 0
    return signs


def _distinct(x: Floats, weights: Floats) -> NDArray[np.intp]:
    """The number of distinct values of x in each resample."""
    _, value, counts = np.unique(x, return_inverse=True, return_counts=True)
    starts = np.cumsum(counts) - counts
    drawn = np.add.reduceat(weights[:, np.argsort(value, kind="stable")], starts, axis=-1)
    return (drawn > 0).sum(axis=-1)
