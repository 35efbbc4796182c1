"""The paper's analyses of scores that are already known: biased subsets and fewer evaluators (sections 4.6 and 4.7)."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from ctrl_eval.ensemble import ensemble

Correlation = Callable[[NDArray[np.float64], NDArray[np.float64]], float]
QUARTILES = 4
REPEATS = 20  # draws of each number of evaluators


def quartiles(ratings: Float[NDArray[np.float64], " n"], rng: np.random.Generator) -> NDArray[np.int64]:
    """Returns the quartile (0 to 3) of each example by its rating. All have the same size; ties are broken at random.

    >>> quartiles(np.array([4.0, 1.0, 2.0, 3.0]), np.random.default_rng(0)).tolist()
    [3, 0, 1, 2]
    """
    n = len(ratings)
    ties = rng.permutation(n)
    order = np.lexsort((ties, ratings))
    quartile = np.empty(n, dtype=np.int64)
    quartile[order] = np.arange(n) * QUARTILES // n
    return quartile


def biased_subsets(ratings: Float[NDArray[np.float64], " n"], seed: int) -> list[NDArray[np.int64]]:
    """Draws four subsets of the examples, from mostly bad to mostly good ones (section 4.6.2, Figure 3).

    Subset j takes an example of quartile i with the probability 1 / (|j - i| + 1). Each has its indices in ascending
    order.
    """
    rng = np.random.default_rng(seed)
    quartile = quartiles(ratings, rng)
    subsets: list[NDArray[np.int64]] = []
    for j in range(QUARTILES):
        probabilities = 1 / (np.abs(quartile - j) + 1)
        is_drawn = rng.random(len(quartile)) < probabilities
        subsets.append(np.flatnonzero(is_drawn))
    return subsets


def number_of_evaluators(
    scores: Float[NDArray[np.float64], "n evaluators"],
    weights: Float[NDArray[np.float64], "n evaluators"],
    ratings: Float[NDArray[np.float64], " n"],
    numbers: Sequence[int],
    correlation: Correlation,
    seed: int,
) -> dict[int, tuple[float, float]]:
    """Measures how agreement with ratings depends on the number of evaluators, which are drawn at random (Figure 4).

    Returns the mean and the standard deviation of the correlation for each number. The weights of the drawn evaluators
    are renormalised. If all weights are zero, the evaluators weigh the same.
    """
    rng = np.random.default_rng(seed)
    by_number: dict[int, tuple[float, float]] = {}
    for number in numbers:
        values: list[float] = []
        for _ in range(REPEATS):
            drawn = rng.choice(scores.shape[1], number, replace=False)
            ensembled = ensemble(scores[:, drawn], weights[:, drawn])
            values.append(correlation(ensembled, ratings))
        mean = float(np.mean(values))
        deviation = float(np.std(values))
        by_number[number] = (mean, deviation)
    return by_number
