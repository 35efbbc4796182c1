"""The equations of CDM, on log-probabilities alone."""

import math
from typing import TypeVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

OverVocabulary = Float[Tensor, "*rows vocabulary"]
LogProbabilities = TypeVar("LogProbabilities", Tensor, NDArray[np.float64])


def contrastive_momentum(expert: LogProbabilities, amateur: LogProbabilities) -> LogProbabilities:
    """CDM, Eq. 1: m = log p_e - log p_a, in nats, of two tensors or arrays of one shape; higher is better text.

    >>> import torch
    >>> contrastive_momentum(torch.tensor([-1.0]), torch.tensor([-3.0])).tolist()
    [2.0]
    """
    return expert - amateur


def distribution_quality(
    momentum: Float[NDArray[np.float64], " texts"], weights: Float[NDArray[np.float64], "resamples texts"]
) -> Float[NDArray[np.float64], " resamples"]:
    """CDM, Eq. 3: E(p), the mean of m(s) = log p_e(s) - log p_a(s) over texts s that a system p wrote.

    Higher is better. `momentum` is of whole texts, in nats; `weights` say how often each text counts.

    >>> distribution_quality(np.array([1.0, -3.0]), np.array([[1.0, 1.0], [3.0, 1.0]])).tolist()
    [-1.0, 0.0]
    """
    return weights @ momentum / weights.sum(1)


def degraded_log_probabilities(amateur: OverVocabulary, expert: OverVocabulary, gamma: float) -> OverVocabulary:
    """CDM, Eq. 4: log p_n = log p_a - gamma (log p_e - log p_a), renormalised over the vocabulary.

    gamma = 0 gives the amateur, gamma = -1 the expert; gamma > 0 is worse than the amateur. Both inputs must be
    normalised.
    """
    if gamma == 0:
        return amateur
    if gamma == -1:
        return expert
    return (amateur - gamma * contrastive_momentum(expert, amateur)).log_softmax(-1)


def keep_plausible(log_probabilities: OverVocabulary, amateur: OverVocabulary, share: float) -> OverVocabulary:
    """Excludes tokens that the amateur finds less than `share` times as likely as its most likely token.

    Contrastive decoding (Li et al. 2023, Eq. 4) has a similar constraint, but asks the expert, because it looks for
    better text; Eq. 4 of CDM draws worse text. With a share of 0 every token stays.

    >>> import torch
    >>> keep_plausible(torch.zeros(3), torch.tensor([0.7, 0.2, 0.1]).log(), share=0.2).tolist()
    [0.0, 0.0, -inf]
    """
    if share == 0:
        return log_probabilities
    least = amateur.amax(-1, keepdim=True) + math.log(share)
    return log_probabilities.masked_fill(amateur < least, -math.inf)
