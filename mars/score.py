"""The score: a weighted mean of the similarities to the references of all masking ratios (MARS, section 2.3)."""

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray


def ratio_weights(n: int, q: float) -> Float[NDArray[np.float64], " n"]:
    """Computes the weights a q^(i-1), i = 1 .. n, whose sum is 1 (MARS, Eq. 7).

    So a = (1 - q) / (1 - q^n), or 1/n if q is 1.

    >>> ratio_weights(3, q=0.5) * 7
    array([4., 2., 1.])
    >>> ratio_weights(2, q=1.0)
    array([0.5, 0.5])
    """
    powers = np.power(float(q), np.arange(n))
    return powers / powers.sum()


def mars(cosines: Float[NDArray[np.float64], "... ratios"], q: float) -> Float[NDArray[np.float64], "..."]:
    """MARS, Eq. 7: sum_i a q^(i-1) cos(candidate, reference_(i-1)), in [-1, 1]; higher is better.

    `cosines` are in the order of the ratios; the first one is that of the human reference. a makes the weights sum to 1
    (`ratio_weights`).

    >>> float(mars(np.array([1.0, 0.0, 0.0]), q=0.5)) * 7
    4.0
    """
    weights = ratio_weights(cosines.shape[-1], q)
    return np.asarray(cosines @ weights)


def cosine(
    a: Float[NDArray[np.float32], "rows dim"], b: Float[NDArray[np.float32], "rows dim"]
) -> Float[NDArray[np.float64], " rows"]:
    """Computes the cosine of each row of `a` with the same row of `b`; NaN if a row is all zeros or has a NaN."""
    first = a.astype(np.float64)
    second = b.astype(np.float64)
    products = (first * second).sum(axis=-1)
    lengths = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lengths > 0, products / lengths, np.nan)
