"""Likelihood: how probable a model finds a text, per token. CDM must beat it with either of its models alone."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.scores import NO_TOKENS, Scores


def likelihood_scores(
    log_probabilities: Sequence[NDArray[np.floating]],
    dropped_tokens: Sequence[int],
    line: str,
) -> Scores:
    """The aspect `quality`: the mean log-probability of an example's tokens (nats, at most 0, higher is better).

    NaN for an example without tokens.

    Args:
        log_probabilities: per example those of its tokens, of shape (tokens,).
        dropped_tokens: per example how many tokens were cut.
        line: the signature.

    Raises ValueError for a log-probability that is above 0 or not finite.
    """
    for i, tokens in enumerate(log_probabilities):
        wrong = tokens[~(np.isfinite(tokens) & (tokens <= 1e-5))]  # float32 rounds a certain token to just above 0
        if wrong.size:
            name = line.partition("|")[0]
            raise ValueError(
                f"a log-probability must be finite and at most 0, but {name} has {wrong[0]} in example {i}"
            )
    values = [float(np.mean(tokens, dtype=np.float64)) if len(tokens) else math.nan for tokens in log_probabilities]
    return Scores(
        {"quality": np.array(values, dtype=np.float64)},
        line,
        reasons=[None if len(tokens) else NO_TOKENS for tokens in log_probabilities],
        dropped_tokens=dropped_tokens,
    )
