"""The weighted sum over pattern evaluators, and its alternatives in Table 5 (CTRLEval, Eq. 1)."""

from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

OfTexts = Float[NDArray[np.float64], "*texts evaluators"]  # of one text, of shape (evaluators,), or of many
Weights = Literal["paper", "mean", "max", "min"]


def shares(weights: OfTexts) -> OfTexts:
    """Computes beta of CTRLEval, Eq. 1 and 16: the weights of each text, divided by their sum.

    If all weights of a text are zero, all its betas are equal, as in the released code.
    """
    totals = weights.sum(axis=-1, keepdims=True)
    divisors = np.where(totals > 0, totals, 1.0)
    return np.where(totals > 0, weights / divisors, 1 / weights.shape[-1])


def ensemble(scores: OfTexts, weights: OfTexts) -> Float[NDArray[np.float64], "*texts"]:
    """CTRLEval, Eq. 1: S(I) = sum of beta_j s_j, of one text or of many.

    >>> ensemble(np.array([[1.0, 3.0], [1.0, 3.0]]), np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [1.5, 2.0]
    """
    return np.asarray((shares(weights) * scores).sum(axis=-1))


def aggregate(scores: OfTexts, weights: OfTexts, how: Weights = "paper") -> float:
    """Combines the scores of all evaluators by Eq. 1, or takes their mean, maximum or minimum (CTRLEval, Table 5)."""
    if how == "paper":
        return float(ensemble(scores, weights))
    reduce = {
        "mean": np.mean,
        "max": np.max,
        "min": np.min,
    }[how]
    return float(reduce(scores))


def relevance_score(probabilities: Float[NDArray[np.float64], " labels"], label: int) -> float:
    """CTRLEval, Eq. 14: P(v(a)) / sum over labels a' of P(v(a')): the given label's share of the probability."""
    return float(probabilities[label] / probabilities.sum())


def relevance_weight(probabilities: Float[NDArray[np.float64], " labels"]) -> float:
    """CTRLEval, Eq. 15: w = sum over labels a' of P(v(a')): how likely any label word is in this prompt."""
    return float(probabilities.sum())
