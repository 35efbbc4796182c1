"""Relative scores of two generators under one discriminator: HSR, HSRD and UR (OUMG, section 3.1).

HSR is the high score rate, HSRD the difference of two, UR the upgrade rate. They compare logits, not the probabilities
D: the sigmoid of two large logits is 1.0 for both, which would count as a tie. A higher logit means more like a human
text. Logits have the shape (..., texts); a leading axis of discriminators (seeds) is kept. `weights`, of shape
(rows, texts), say how often each text counts; scores then have the shape (..., rows).

HSR depends on the texts that a discriminator learned, so it cannot be compared between discriminators. HSRD and UR
compare two systems under one discriminator.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meta_eval.design import Floats, lay_out
from meta_eval.estimates import Estimate, estimate_weighted
from meta_eval.ties import subtract

SCORES = ("accuracy", "hsr_1", "hsr_2", "hsrd", "ur", "ur_2", "ties")


def high_score_rate(logits: ArrayLike, weights: Floats | None = None) -> Floats:
    """HSR: the share of texts with D > 0.5, a logit above 0 (OUMG, section 3.1); in [0, 1], higher is better.

    >>> float(high_score_rate([2.0, 0.0, -1.0, 0.5]))
    0.5
    """
    return _share(np.asarray(logits) > 0, weights)


def high_score_rate_difference(first: ArrayLike, second: ArrayLike, weights: Floats | None = None) -> Floats:
    """HSRD = HSR_1 - HSR_2 (OUMG, Eq. 3); in [-1, 1], above 0 if the first system is better."""
    return high_score_rate(first, weights) - high_score_rate(second, weights)


def upgrade_rate(first: ArrayLike, second: ArrayLike, weights: Floats | None = None) -> Floats:
    """UR: the share of inputs with D(G1) > D(G2) (OUMG, Eq. 4), in [0, 1]; text i of both systems has the same input.

    A tie is no upgrade: for equal systems, UR + ties / 2 is near one half.

    >>> float(upgrade_rate([200.0, 1.0, 0.0], [100.0, 2.0, 0.0]))  # the first is 1.0 and 1.0 as a probability
    0.3333333333333333
    """
    return _share(_compare(first, second) > 0, weights)


def tie_rate(first: ArrayLike, second: ArrayLike, weights: Floats | None = None) -> Floats:
    """The share of inputs with D(G1) = D(G2), up to rounding errors; in [0, 1]."""
    return _share(_compare(first, second) == 0, weights)


def accuracy(
    human: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    human_weights: Floats | None = None,
    weights: Floats | None = None,
) -> Floats:
    """The balanced accuracy of a discriminator: the mean of its accuracy on human texts and on outputs; 0.5 is chance.

    This is our choice, because it does not depend on the number of human texts in a test set. With as many human texts
    as outputs, as in training (N_human = N_G1 + N_G2), it is the plain accuracy.
    """
    outputs = (high_score_rate(first, weights) + high_score_rate(second, weights)) / 2
    return 0.5 + (high_score_rate(human, human_weights) - outputs) / 2


def _compare(first: ArrayLike, second: ArrayLike) -> Floats:
    """The differences of paired logits; 0 for those that are rounding."""
    first, second = check_paired(first, second)
    return subtract(first, second)


def _share(hits: NDArray[np.bool_], weights: Floats | None) -> Floats:
    if weights is None:
        return hits.mean(axis=-1)
    return hits @ weights.T / weights.sum(axis=-1)


def check_paired(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Returns the logits as arrays. Raises ValueError unless both have the same shape."""
    first = np.asarray(first, dtype=np.float64)
    second = np.asarray(second, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(
            f"the logits of two systems must be paired by input, but have the shapes {first.shape} and {second.shape}"
        )
    return first, second


@dataclass(frozen=True)
class RelativeScores:
    """The relative scores of two systems: means over discriminators of several seeds, with intervals over the inputs.

    With fewer than 30 inputs there are no intervals.
    """

    # of the discriminators on human texts and outputs; near 0.5 the other scores mean little
    accuracy: Estimate
    # high-score rates
    hsr_1: Estimate
    hsr_2: Estimate
    # their difference (Eq. 3)
    hsrd: Estimate
    # upgrade rate of the first system over the second (Eq. 4)
    ur: Estimate
    # and of the second over the first
    ur_2: Estimate
    # share of inputs with equal logits
    ties: Estimate
    # each score by seed
    by_seed: Mapping[str, tuple[float, ...]]
    # outputs of each system
    pairs: int
    # different inputs, over which the intervals are
    inputs: int


def relative_scores(
    human: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    inputs: Sequence[Hashable],
    human_inputs: Sequence[Hashable],
) -> RelativeScores:
    """Computes all relative scores with intervals over inputs.

    An input counts with its human texts and its outputs, under all seeds and for both systems. The intervals show how
    the mean over these seeds depends on the inputs. `by_seed` shows how the scores depend on the seeds.

    The logits of human texts have the shape (seeds, texts), those of the outputs of both systems (seeds, pairs).
    `inputs` and `human_inputs` name the input of each pair and of each human text.

    Raises ValueError for logits that are not finite or differ in shape, for an input without a human text, and for an
    input without outputs.
    """
    human = np.asarray(human, dtype=np.float64)
    first, second = check_paired(first, second)
    if not all(np.isfinite(logits).all() for logits in (human, first, second)):
        raise ValueError("logits must be finite")
    incomplete = set(inputs) ^ set(human_inputs)
    if incomplete:
        name = next(iter(incomplete))
        lacking = "outputs" if name in human_inputs else "human text"
        raise ValueError(f"each input needs outputs and a human text, but {name!r} has no {lacking}")
    pairs = first.shape[1]

    def scores(weights: Floats | None = None) -> dict[str, Floats]:
        """By seed, and by row where `weights` count the pairs then the human texts."""
        pair_weights = None if weights is None else weights[:, :pairs]
        human_weights = None if weights is None else weights[:, pairs:]
        return {
            "accuracy": accuracy(
                human,
                first,
                second,
                human_weights,
                pair_weights,
            ),
            "hsr_1": high_score_rate(first, pair_weights),
            "hsr_2": high_score_rate(second, pair_weights),
            "hsrd": high_score_rate_difference(first, second, pair_weights),
            "ur": upgrade_rate(first, second, pair_weights),
            "ur_2": upgrade_rate(second, first, pair_weights),
            "ties": tie_rate(first, second, pair_weights),
        }

    layout = lay_out(pairs + human.shape[1], inputs=[*inputs, *human_inputs])

    def average_seeds(weights: Floats) -> Floats:
        by_seed = scores(weights[:, layout.inputs])
        return np.stack([by_seed[name].mean(axis=0) for name in SCORES], axis=1)

    estimates = dict(zip(SCORES, estimate_weighted(average_seeds, layout).show(), strict=True))
    by_seed = {name: tuple(values.tolist()) for name, values in scores().items()}
    return RelativeScores(
        **estimates,
        by_seed=by_seed,
        pairs=pairs,
        inputs=len(set(inputs)),
    )
