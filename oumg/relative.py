"""Relative scores of two generators under a discriminator: HSR, HSRD and UR (OUMG, Eq. 3-4), with intervals.

The discriminator's logits are compared, not its probabilities D: the sigmoid of two large logits is 1.0 for both, which
would count as a tie. Higher means more like a human text. Every function takes logits whose last axis is the texts; a
first axis of seeds (discriminators trained with different ones) is kept.

HSR depends on what the discriminator was trained against and is not comparable between discriminators; HSRD and UR
compare two systems under one.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

BATCH = 4_000_000  # draws held at once by a bootstrap: 32 MB


def high_score_rate(logits: ArrayLike) -> Floats:
    """HSR: the share of texts with D > 0.5, strictly, which is a logit above 0; in [0, 1], higher is better (OUMG).

    >>> float(high_score_rate([2.0, 0.0, -1.0, 0.5]))
    0.5
    """
    return (np.asarray(logits) > 0).mean(axis=-1)


def high_score_rate_difference(first: ArrayLike, second: ArrayLike) -> Floats:
    """HSRD = HSR_1 - HSR_2 (OUMG, Eq. 3), in [-1, 1], above 0 where the first system is better."""
    return high_score_rate(first) - high_score_rate(second)


def upgrade_rate(first: ArrayLike, second: ArrayLike) -> Floats:
    """UR: the share of inputs with D(G1) > D(G2) (OUMG, Eq. 4), in [0, 1]; text i of both answers the same input.

    A tie is no upgrade, so that equal systems have UR + ties / 2 near one half.

    >>> float(upgrade_rate([200.0, 1.0, 0.0], [100.0, 2.0, 0.0]))  # the first is 1.0 and 1.0 as a probability
    0.3333333333333333
    """
    first, second = _paired(first, second)
    return (first > second).mean(axis=-1)


def tie_rate(first: ArrayLike, second: ArrayLike) -> Floats:
    """The share of inputs with D(G1) = D(G2), in [0, 1]."""
    first, second = _paired(first, second)
    return (first == second).mean(axis=-1)


def accuracy(human: ArrayLike, first: ArrayLike, second: ArrayLike) -> Floats:
    """The mean of two shares: human texts with a logit above 0, outputs without; one half is chance.

    [R] This is the plain accuracy where there are as many human texts as outputs, as in training (N_human = N_G1 +
    N_G2), and does not change where a test set has more or fewer of them.
    """
    machine = np.concatenate([np.asarray(first), np.asarray(second)], axis=-1)
    return (high_score_rate(human) + 1 - high_score_rate(machine)) / 2


def anchored_score(system: ArrayLike, anchor: ArrayLike) -> Floats:
    """HSR of a system less that of a fixed opponent, by a discriminator trained on both; in [-1, 1], higher is better.

    [R] Systems that were each compared with this same opponent, each by a discriminator of its own, can be put in one
    order by it, which their HSR alone does not allow.
    """
    return high_score_rate_difference(system, anchor)


@dataclass(frozen=True)
class Estimate:
    """A statistic with its percentile bootstrap interval.

    Attributes:
        value: the mean over seeds of the statistic.
        low, high: the ends of its interval over inputs; both are `value` where no input differs from another.
        by_seed: the statistic of every seed.
    """

    value: float
    low: float
    high: float
    by_seed: tuple[float, ...]


@dataclass(frozen=True)
class RelativeScores:
    """Two systems under a discriminator: the columns of OUMG's tables and what is needed to read them.

    Attributes:
        accuracy: of the discriminator on human texts and outputs; near one half it cannot tell them apart, and the
            others say little.
        hsr_1, hsr_2: high-score rates.
        hsrd: their difference (Eq. 3).
        ur: upgrade rate of the first over the second (Eq. 4).
        ties: share of inputs with equal logits.
        pairs: outputs of each system.
        inputs: different inputs, over which the intervals are.
    """

    accuracy: Estimate
    hsr_1: Estimate
    hsr_2: Estimate
    hsrd: Estimate
    ur: Estimate
    ties: Estimate
    pairs: int
    inputs: int


ESTIMATES = ("accuracy", "hsr_1", "hsr_2", "hsrd", "ur", "ties")


def relative_scores(
    human: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    inputs: Sequence[Hashable] | None = None,
    human_inputs: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> RelativeScores:
    """All relative scores with intervals over inputs.

    Inputs are drawn with replacement, each with its human texts and its outputs, the same for all seeds and both
    systems. The intervals hold what the choice of inputs does to the mean over these seeds; what the seeds do is in
    `by_seed`. The same seed gives the same intervals.

    Args:
        human: logits of human texts, of shape (texts,) or (seeds, texts).
        first, second: logits of the two systems, of shape (pairs,) or (seeds, pairs).
        inputs: the input of each pair; None where every pair has its own.
        human_inputs: the input of each human text; None where text i belongs to the input of pair i.
        confidence: of the intervals.
        resamples: draws of the bootstrap.
        seed: of the draws.

    Raises ValueError for logits that are not finite or of unlike shape, and for an input without a human text.
    """
    first, second = _paired(_logits(first, "first"), _logits(second, "second"))
    human = _logits(human, "human")
    if len(human) != len(first):
        raise ValueError(
            "human texts and outputs must be judged with equally many seeds, "
            f"but these are {len(human)} and {len(first)}"
        )
    inputs = list(range(first.shape[1])) if inputs is None else list(inputs)
    human_inputs = inputs if human_inputs is None else list(human_inputs)
    pair_of, human_of = _numbered(inputs, human_inputs, first.shape[1], human.shape[1])

    def statistics(weights: Floats) -> dict[str, Floats]:
        hsr_1, hsr_2 = _share(first > 0, pair_of, weights), _share(second > 0, pair_of, weights)
        return {
            "accuracy": 0.5 + (_share(human > 0, human_of, weights) - (hsr_1 + hsr_2) / 2) / 2,
            "hsr_1": hsr_1,
            "hsr_2": hsr_2,
            "hsrd": hsr_1 - hsr_2,
            "ur": _share(first > second, pair_of, weights),
            "ties": _share(first == second, pair_of, weights),
        }

    number = int(pair_of.max()) + 1
    estimates = _bootstrap(statistics, number, confidence, resamples, seed)
    return RelativeScores(**estimates, pairs=first.shape[1], inputs=number)


def anchored_scores(
    runs: Mapping[str, tuple[ArrayLike, ArrayLike]],
    inputs: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """The anchored score of several systems with intervals over inputs, the best first.

    Args:
        runs: by system, its logits and those of the fixed opponent, by the discriminator trained on these two; each of
            shape (pairs,) or (seeds, pairs), the pairs in one order for all systems.
        inputs: the input of each pair; None where every pair has its own.
        confidence, resamples, seed: as in `relative_scores`.

    Raises ValueError as `relative_scores` does, and for systems with unlike numbers of pairs.
    """
    logits = {n: _paired(_logits(a, n), _logits(b, f"the opponent of {n}")) for n, (a, b) in runs.items()}
    sizes = {system.shape[1] for system, _ in logits.values()}
    if len(sizes) != 1:
        raise ValueError(f"all systems must have one number of pairs, but these have {sorted(sizes)}")
    size = sizes.pop()
    named = list(range(size)) if inputs is None else list(inputs)
    of, _ = _numbered(named, named, size, size)

    def statistics(weights: Floats) -> dict[str, Floats]:
        return {n: _share(a > 0, of, weights) - _share(b > 0, of, weights) for n, (a, b) in logits.items()}

    found = _bootstrap(statistics, int(of.max()) + 1, confidence, resamples, seed)
    return dict(sorted(found.items(), key=lambda item: -item[1].value))


def _paired(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(
            f"the logits of two systems must be paired by input, but have the shapes {first.shape} and {second.shape}"
        )
    return first, second


def _logits(values: ArrayLike, name: str) -> Floats:
    """As (seeds, texts)."""
    logits = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if logits.ndim != 2 or not logits.size:
        raise ValueError(
            f"logits must have the shape (texts,) or (seeds, texts), none empty, but {name} has {np.shape(values)}"
        )
    if not np.isfinite(logits).all():
        raise ValueError(f"logits must be finite, but {np.count_nonzero(~np.isfinite(logits))} of {name} are not")
    return logits


def _numbered(
    inputs: Sequence[Hashable], human_inputs: Sequence[Hashable], pairs: int, texts: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The number of the input of each pair and of each human text."""
    if len(inputs) != pairs or len(human_inputs) != texts:
        raise ValueError(
            f"each pair and each human text needs the name of its input, but there are {len(inputs)} names of {pairs} "
            f"pairs and {len(human_inputs)} of {texts} human texts"
        )
    numbers: dict[Hashable, int] = {}
    pair_of = [numbers.setdefault(name, len(numbers)) for name in inputs]
    if set(human_inputs) != set(inputs):
        alone = next(iter(set(inputs) ^ set(human_inputs)))
        raise ValueError(f"each input needs outputs and a human text, but {alone!r} lacks one of them")
    return np.array(pair_of), np.array([numbers[name] for name in human_inputs])


def _share(hits: NDArray[np.bool_], of: NDArray[np.intp], weights: Floats) -> Floats:
    """The share of hits (seeds, texts) under weights of the inputs (resamples, inputs), as (resamples, seeds)."""
    number = weights.shape[1]
    sums = np.stack([np.bincount(of, weights=row, minlength=number) for row in hits.astype(np.float64)])
    counts = np.bincount(of, minlength=number).astype(np.float64)
    return (weights @ sums.T) / (weights @ counts)[:, None]


def _bootstrap(
    statistics: Callable[[Floats], Mapping[str, Floats]], number: int, confidence: float, resamples: int, seed: int
) -> dict[str, Estimate]:
    """Estimates of statistics of weighted inputs; a resample is how often each of the `number` inputs was drawn."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, but is {confidence}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, but is {resamples}")
    rng = np.random.default_rng(seed)
    size = max(1, BATCH // number)
    batches = [
        statistics(
            rng.multinomial(number, np.full(number, 1 / number), min(size, resamples - start)).astype(np.float64)
        )
        for start in range(0, resamples, size)
    ]
    tail = 50 * (1 - confidence)
    found: dict[str, Estimate] = {}
    for name, observed in statistics(np.ones((1, number))).items():
        resampled = np.concatenate([batch[name] for batch in batches]).mean(axis=1)
        low, high = np.percentile(resampled, [tail, 100 - tail])
        by_seed = tuple(float(value) for value in observed[0])
        found[name] = Estimate(float(observed.mean()), float(low), float(high), by_seed)
    return found
