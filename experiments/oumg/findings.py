"""Findings of a comparison of two systems: discriminators, their logits and relative scores (OUMG, 3.1)."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.settings import Seed, Several, Text, checked_dataclass
from discriminators.discriminator import Discriminator
from experiments.contracts import Run
from experiments.training import DiscriminatorPlan, Trained, find_or_train
from oumg.comparison import Comparison, JudgedPairs, OutputPair, judge_pairs, label_pairs
from oumg.relative import RelativeScores, relative_scores

log = logging.getLogger(__name__)


@checked_dataclass
class DiscriminatorGrid:
    """The discriminators that compare two systems: each of the kinds with each of the seeds.

    Attributes:
        judges: how they are trained, by kind.
        kinds: some of them.
        seeds: of initial weights, order of batches, dropout and the choice of validation inputs.
    """

    judges: Mapping[str, DiscriminatorPlan]
    kinds: Several[Text]
    seeds: Several[Seed]

    def __post_init__(self) -> None:
        if unknown := {*self.kinds} - {*self.judges}:
            raise ValueError(f"kinds must be some of {', '.join(self.judges)}, but {unknown.pop()!r} is among them")


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


def judge_systems(
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
            seed: find_or_train(run, f"{prefix}{kind}_seed_{seed}", grid.judges[kind], texts, seed=seed)
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
