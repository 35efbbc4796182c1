"""Relative scores of two generators under one discriminator: HSR, HSRD and UR (OUMG, section 3.1).

The scores compare logits, not the probabilities D: the sigmoid of two large logits is 1.0 for both, which would count
as a tie. Higher means more like a human text. Logits are of shape (..., texts); a leading axis of discriminators
(seeds) is kept. `weights`, of shape (resamples, texts), say how often each text counts, as in a bootstrap; the scores
are then of shape (..., resamples).

HSR depends on the texts that a discriminator learned, so it cannot be compared between discriminators. HSRD and UR
compare two systems under one. Against a fixed opponent, HSRD puts several systems in one order (an anchored score).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def high_score_rate(logits: ArrayLike, weights: Floats | None = None) -> Floats:
    """HSR: the share of texts with D > 0.5, a logit above 0 (OUMG, section 3.1); in [0, 1], higher is better.

    >>> float(high_score_rate([2.0, 0.0, -1.0, 0.5]))
    0.5
    """
    return _share(np.asarray(logits) > 0, weights)


def high_score_rate_difference(first: ArrayLike, second: ArrayLike, weights: Floats | None = None) -> Floats:
    """HSRD = HSR_1 - HSR_2 (OUMG, Eq. 3); in [-1, 1], above 0 where the first system is better."""
    return high_score_rate(first, weights) - high_score_rate(second, weights)


def upgrade_rate(first: ArrayLike, second: ArrayLike, weights: Floats | None = None) -> Floats:
    """UR: the share of inputs with D(G1) > D(G2) (OUMG, Eq. 4), in [0, 1]; text i of both systems has the same input.

    A tie is no upgrade: where the systems are equal, UR + ties / 2 is near one half.

    >>> float(upgrade_rate([200.0, 1.0, 0.0], [100.0, 2.0, 0.0]))  # the first is 1.0 and 1.0 as a probability
    0.3333333333333333
    """
    first, second = check_paired(first, second)
    return _share(first > second, weights)


def tie_rate(first: ArrayLike, second: ArrayLike, weights: Floats | None = None) -> Floats:
    """The share of inputs with D(G1) = D(G2), in [0, 1]."""
    first, second = check_paired(first, second)
    return _share(first == second, weights)


def accuracy(
    human: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    human_weights: Floats | None = None,
    weights: Floats | None = None,
) -> Floats:
    """Accuracy of a discriminator: the mean of the share of right human texts and of right outputs; 0.5 is chance.

    Our choice: it does not depend on how many human texts a test set has. With as many human texts as outputs, as in
    training (N_human = N_G1 + N_G2), it is the plain accuracy.
    """
    outputs = (high_score_rate(first, weights) + high_score_rate(second, weights)) / 2
    return 0.5 + (high_score_rate(human, human_weights) - outputs) / 2


def _share(hits: NDArray[np.bool_], weights: Floats | None) -> Floats:
    return hits.mean(axis=-1) if weights is None else hits @ weights.T / weights.sum(axis=-1)


def check_paired(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """The logits as arrays. Raises ValueError unless both have the same shape."""
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(
            f"the logits of two systems must be paired by input, but have the shapes {first.shape} and {second.shape}"
        )
    return first, second
