"""The weighted sum over pattern evaluators, and what Table 5 puts in its place (CTRLEval, Eq. 1)."""

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from core.faults import SettingFault

Weights = Literal["paper", "mean", "max", "min"]


def ensemble(
    scores: Float[NDArray[np.float64], " evaluators"], weights: Float[NDArray[np.float64], " evaluators"]
) -> float:
    """S(I) = sum of beta_j * s_j (Eq. 1), beta being the weights as shares of their sum.

    Where all weights are zero they are taken as equal, as the released code does.

    >>> ensemble(np.array([1.0, 3.0]), np.array([3.0, 1.0])), ensemble(np.array([1.0, 3.0]), np.zeros(2))
    (1.5, 2.0)
    """
    total = weights.sum()
    return float((scores * weights).sum() / total) if total > 0 else float(scores.mean())


def aggregate(
    scores: Float[NDArray[np.float64], " evaluators"],
    weights: Float[NDArray[np.float64], " evaluators"],
    how: Weights = "paper",
) -> float:
    """Eq. 1, or the mean, the highest or the lowest score of all evaluators (Table 5).

    Raises SettingFault for another `how`.
    """
    match how:
        case "paper":
            return ensemble(scores, weights)
        case "mean":
            return float(scores.mean())
        case "max":
            return float(scores.max())
        case "min":
            return float(scores.min())
    raise SettingFault(f"weights must be one of {', '.join(get_args(Weights))}, but is {how!r}")


def relevance_score(probabilities: Float[NDArray[np.float64], " labels"], label: int) -> float:
    """P(v(a)) / sum over labels a' of P(v(a')) (Eq. 14): how much of the labels' probability the asked one has."""
    return float(probabilities[label] / probabilities.sum())


def relevance_weight(probabilities: Float[NDArray[np.float64], " labels"]) -> float:
    """w = sum over labels of P(v(a')) (Eq. 16): how natural any label word is in this prompt."""
    return float(probabilities.sum())
