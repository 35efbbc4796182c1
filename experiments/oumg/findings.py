"""Findings of a comparison of two systems: discriminators, logits and relative scores with intervals (OUMG, 3.1)."""

import logging
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.settings import Seed, Several, Text, checked_dataclass
from discriminators.discriminator import Discriminator
from experiments.contracts import Run
from experiments.training.discriminators import DiscriminatorPlan, find_or_train_discriminator
from experiments.training.trained import Trained
from meta_eval.bootstrap import Estimate, bootstrap, number_groups
from oumg.comparison import Comparison, JudgedPairs, OutputPair, judge_pairs, label_pairs
from oumg.relative import (
    Floats,
    accuracy,
    check_paired,
    high_score_rate,
    high_score_rate_difference,
    tie_rate,
    upgrade_rate,
)

log = logging.getLogger(__name__)

SCORES = ("accuracy", "hsr_1", "hsr_2", "hsrd", "ur", "ties")


@dataclass(frozen=True)
class RelativeScores:
    """Two systems under discriminators of one kind: means over seeds, with 95 % bootstrap intervals over inputs.

    Attributes:
        accuracy: of the discriminators on human texts and outputs; near 0.5 the other scores mean little.
        hsr_1, hsr_2: high-score rates.
        hsrd: their difference (Eq. 3).
        ur: upgrade rate of the first system over the second (Eq. 4).
        ties: share of inputs with equal logits.
        by_seed: each score by seed.
        pairs: outputs of each system.
        inputs: different inputs; the bootstrap draws them.
    """

    accuracy: Estimate
    hsr_1: Estimate
    hsr_2: Estimate
    hsrd: Estimate
    ur: Estimate
    ties: Estimate
    by_seed: Mapping[str, tuple[float, ...]]
    pairs: int
    inputs: int


def relative_scores(
    human: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    inputs: Sequence[Hashable],
    human_inputs: Sequence[Hashable],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> RelativeScores:
    """All relative scores with intervals over inputs.

    The bootstrap draws inputs with replacement, each with its human texts and its outputs, the same ones for all seeds
    and both systems. The intervals show how the mean over these seeds depends on the inputs; `by_seed` shows how the
    scores depend on the seeds.

    Args:
        human: logits of human texts, of shape (seeds, texts).
        first, second: logits of the outputs of both systems, of shape (seeds, pairs).
        inputs: the input of each pair.
        human_inputs: the input of each human text.
        confidence: of the intervals.
        resamples: draws of the bootstrap.
        seed: of the draws.

    Raises ValueError for logits that are not finite or of unlike shapes, and for an input without a human text.
    """
    human, first, second = (_check_logits(*named) for named in (("human", human), ("first", first), ("second", second)))
    first, second = check_paired(first, second)
    if len(human) != len(first):
        raise ValueError(
            "human texts and outputs must be judged with equally many seeds, "
            f"but these are {len(human)} and {len(first)}"
        )
    if len(inputs) != first.shape[1] or len(human_inputs) != human.shape[1]:
        raise ValueError(
            f"each pair and each human text needs the name of its input, but there are {len(inputs)} names of "
            f"{first.shape[1]} pairs and {len(human_inputs)} of {human.shape[1]} human texts"
        )
    if alone := set(inputs) ^ set(human_inputs):
        raise ValueError(f"each input needs outputs and a human text, but {next(iter(alone))!r} lacks one of them")
    pairs = first.shape[1]

    def scores(weights: Floats | None = None) -> dict[str, Floats]:
        """By seed, and by resample where `weights` count the pairs and behind them the human texts."""
        w, human_w = (None, None) if weights is None else (weights[:, :pairs], weights[:, pairs:])
        return {
            "accuracy": accuracy(human, first, second, human_w, w),
            "hsr_1": high_score_rate(first, w),
            "hsr_2": high_score_rate(second, w),
            "hsrd": high_score_rate_difference(first, second, w),
            "ur": upgrade_rate(first, second, w),
            "ties": tie_rate(first, second, w),
        }

    estimates = bootstrap(
        lambda weights: {name: by_seed.mean(axis=0) for name, by_seed in scores(weights).items()},
        number_groups(pairs + human.shape[1], [*inputs, *human_inputs]),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    by_seed = {name: tuple(values.tolist()) for name, values in scores().items()}
    return RelativeScores(**estimates, by_seed=by_seed, pairs=pairs, inputs=len(set(inputs)))


def _check_logits(name: str, values: ArrayLike) -> Floats:
    logits = np.asarray(values, dtype=np.float64)
    if logits.ndim != 2 or not logits.size:
        raise ValueError(f"logits must have the shape (seeds, texts), none empty, but {name} has {logits.shape}")
    if not np.isfinite(logits).all():
        raise ValueError(f"logits must be finite, but {np.count_nonzero(~np.isfinite(logits))} of {name} are not")
    return logits


@checked_dataclass
class DiscriminatorGrid:
    """The discriminators that compare two systems: each of the kinds with each of the seeds.

    Attributes:
        plans: by kind.
        kinds: some of them.
        seeds: of initial weights, order of batches, dropout and the choice of validation inputs.
    """

    plans: Mapping[str, DiscriminatorPlan]
    kinds: Several[Text]
    seeds: Several[Seed]

    def __post_init__(self) -> None:
        if unknown := {*self.kinds} - {*self.plans}:
            raise ValueError(f"kinds must be some of {', '.join(self.plans)}, but {unknown.pop()!r} is among them")


@dataclass(frozen=True)
class KindFindings:
    """The findings of the discriminators of one kind.

    Attributes:
        discriminators: by seed.
        judged: their logits.
        scores: of each part of the test pairs.
    """

    discriminators: Mapping[int, Trained]
    judged: JudgedPairs
    scores: Mapping[str, RelativeScores]


@dataclass(frozen=True)
class SystemFindings:
    """The findings of a comparison.

    Attributes:
        comparison: the pairs.
        parts: of the test pairs, see `part_pairs`.
        names: of the two systems.
        kinds: by kind of discriminator.
        seeds: of the discriminators of each kind.
    """

    comparison: Comparison
    parts: Mapping[str, Sequence[int]]
    names: tuple[str, str]
    kinds: Mapping[str, KindFindings]
    seeds: Sequence[int]

    @property
    def discriminators(self) -> dict[str, Trained]:
        """All discriminators, by kind and seed."""
        return {
            f"{kind}_seed_{seed}": trained
            for kind, found in self.kinds.items()
            for seed, trained in found.discriminators.items()
        }


def compare_systems(
    run: Run,
    comparison: Comparison,
    grid: DiscriminatorGrid,
    device: str,
    names: tuple[str, str] = ("g1", "g2"),
    prefix: str = "",
) -> SystemFindings:
    """Trains discriminators on the training pairs and scores the test pairs, the same for all, with them.

    Args:
        run: from the runner.
        comparison: the pairs.
        grid: the discriminators.
        device: where the trained discriminators score.
        names: of the systems, where their outputs do not name them.
        prefix: of the names of the trainings in the loggers.
    """
    log.info("%d pairs to learn from, %d to judge", len(comparison.train), len(comparison.test))
    texts = label_pairs(comparison.train)
    inputs = [pair.input for pair in comparison.test]
    parts = part_pairs(comparison.test)
    kinds: dict[str, KindFindings] = {}
    for kind in grid.kinds:
        trained = {
            seed: find_or_train_discriminator(run, f"{prefix}{kind}_seed_{seed}", grid.plans[kind], texts, seed)
            for seed in grid.seeds
        }
        with run.timed(f"judging by {kind}"):
            loaded = (Discriminator.from_pretrained(each.source, device) for each in trained.values())
            judged = judge_pairs(comparison.test, loaded)
        scores = {part: _score_pairs(judged, inputs, which) for part, which in parts.items()}
        kinds[kind] = KindFindings(trained, judged, scores)
    return SystemFindings(comparison, parts, _system_names(comparison, names), kinds, grid.seeds)


def part_pairs(pairs: Sequence[OutputPair]) -> dict[str, list[int]]:
    """The indices of all pairs; where a text lost more than half to the common length, of these and of the others."""
    halved = [max(pair.lost) > 0.5 for pair in pairs]
    parts = {"all": [*range(len(pairs))]}
    if any(halved):
        parts["more than half lost"] = [i for i in parts["all"] if halved[i]]
        parts["at most half lost"] = [i for i in parts["all"] if not halved[i]]
    return {part: which for part, which in parts.items() if which}


def _score_pairs(judged: JudgedPairs, inputs: Sequence[str], which: Sequence[int]) -> RelativeScores:
    """The relative scores of some of the pairs."""
    human = [text for i in which for text in (2 * i, 2 * i + 1)]
    return relative_scores(
        judged.human[:, human],
        judged.first[:, which],
        judged.second[:, which],
        [inputs[i] for i in which],
        [inputs[text // 2] for text in human],
    )


def _system_names(comparison: Comparison, otherwise: tuple[str, str]) -> tuple[str, str]:
    """The `system` of the outputs, where all of a side have one and the sides differ."""
    pairs = (*comparison.train, *comparison.test)
    sides = {pair.first.system for pair in pairs}, {pair.second.system for pair in pairs}
    first, second = (side.pop() if len(side) == 1 else None for side in sides)
    return (first or otherwise[0], second or otherwise[1]) if first != second else otherwise
