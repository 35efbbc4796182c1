"""The paper's analysis of scores that are already known: fewer evaluators (section 4.7)."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from ctrl_eval.ensemble import ensemble

Correlation = Callable[[NDArray[np.float64], NDArray[np.float64]], float]
REPEATS = 20  # draws of each number of evaluators


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
