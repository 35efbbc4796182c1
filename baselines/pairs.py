"""Values of tokens and pairs become the score of an example. All pairs of a call are scored together."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from core.scores import NO_TOKENS, Scores

Pair = TypeVar("Pair")
Values = NDArray[np.float64]


def score_pairs(
    examples: Sequence[Example],
    pairs_of: Callable[[Example], Sequence[Pair]],
    score: Callable[[list[Pair]], tuple[Values, Sequence[int]]],
) -> tuple[list[Values], list[int]]:
    """The values of the pairs of each example (a text beside a source or reference), and how many tokens it lost.

    `score` returns a value and the number of lost tokens for each of one or more pairs.
    """
    pairs = [pairs_of(example) for example in examples]
    flat = [pair for several in pairs for pair in several]
    values, lost = score(flat) if flat else (np.empty(0), [])
    ends = np.cumsum([0, *map(len, pairs)])
    parts = [slice(start, stop) for start, stop in pairwise(ends.tolist())]
    return [values[part] for part in parts], [int(sum(lost[part])) for part in parts]


def to_quality(
    values: Sequence[NDArray[np.floating]],
    aggregate: Callable[[Any], Any],
    signature: str,
    dropped: Sequence[int],
    notes: tuple[str, ...] = (),
) -> Scores:
    """The aspect `quality`: the aggregate of each example's values; NaN with a reason for an example without values."""
    quality = [float(aggregate(each.astype(np.float64))) if len(each) else np.nan for each in values]
    reasons = [None if len(v) else NO_TOKENS for v in values]
    return Scores({"quality": np.array(quality)}, signature, reasons, dropped, notes=notes)


def likelihood_scores(
    log_probabilities: Sequence[NDArray[np.floating]], dropped: Sequence[int], line: str, notes: tuple[str, ...] = ()
) -> Scores:
    """The aspect `quality`: the mean log-probability of an example's tokens (nats, at most 0, higher is better).

    NaN for an example without tokens.

    Args:
        log_probabilities: per example those of its tokens, of shape (tokens,).
        dropped: per example how many tokens were cut.
        line: the signature.
        notes: of the model.

    Raises ValueError for a log-probability that is above 0 or not finite.
    """
    for i, tokens in enumerate(log_probabilities):
        wrong = tokens[~(np.isfinite(tokens) & (tokens <= 1e-5))]  # float32 rounds a certain token to just above 0
        if wrong.size:
            name = line.partition("|")[0]
            raise ValueError(
                f"a log-probability must be finite and at most 0, but {name} has {wrong[0]} in example {i}"
            )
    return to_quality(log_probabilities, np.mean, line, dropped, notes)
