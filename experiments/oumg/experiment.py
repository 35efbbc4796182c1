"""Two systems under discriminators that tell human texts from outputs: your own, or summaries (OUMG, section 3.1)."""

import logging
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.example import Example
from core.scores import Scores
from core.settings import Count, Seed, Several, Text, check, checked_dataclass
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from data.builtin.controlled import generate_texts
from data.builtin.reviews import REVIEWS
from data.sentences import split_english
from discriminators.discriminator import Discriminator
from discriminators.explanations import explain_parts
from experiments.contracts import Outcome, Run, Table
from experiments.oumg import tables
from experiments.oumg.plots import plot_logits
from experiments.presentation import present
from experiments.report.texts import find_worst
from experiments.training import DiscriminatorPlan, Trained, find_or_train
from meta_eval.scored_set import ScoredSet
from oumg.comparison import (
    Comparison,
    JudgedPairs,
    OutputPair,
    PairSettings,
    TextSet,
    judge_pairs,
    label_pairs,
    pair_texts,
    read_comparison,
)
from oumg.relative import RelativeScores, relative_scores

log = logging.getLogger(__name__)

SYSTEMS = ("fitting", "contrary")  # of summaries
PLACES = {"human": (0, 1), "g1": (2,), "g2": (3,)}  # of the texts of each origin in a pair


@checked_dataclass
class DiscriminatorGrid:
    """The discriminators that judge two systems: each of the kinds with each of the seeds.

    Attributes:
        judges: how they are trained, by kind.
        kinds: some of them.
        seeds: of initial weights, order of batches, dropout and the choice of validation inputs.
        device: where the trained discriminators score.
    """

    judges: Mapping[str, DiscriminatorPlan]
    kinds: Several[Text]
    seeds: Several[Seed]
    device: str = "cpu"

    def __post_init__(self) -> None:
        if unknown := {*self.kinds} - {*self.judges}:
            raise ValueError(f"kinds must be some of {', '.join(self.judges)}, but {unknown.pop()!r} is among them")


@dataclass(frozen=True)
class KindFindings:
    """The findings of the discriminators of one kind.

    Attributes:
        discriminators: by seed.
        judged: their logits.
        scores: of each part of the test pairs, see `part_pairs`.
    """

    discriminators: Mapping[int, Trained]
    judged: JudgedPairs
    scores: Mapping[str, RelativeScores]


@dataclass(frozen=True)
class SystemFindings:
    """The findings of a comparison: the pairs, the names of the two systems, and the findings by discriminator."""

    comparison: Comparison
    names: tuple[str, str]
    kinds: Mapping[str, KindFindings]

    @property
    def parts(self) -> dict[str, list[int]]:
        """The indices of the test pairs of each part."""
        return part_pairs(self.comparison.test)

    @property
    def models(self) -> dict[str, Trained]:
        """All discriminators, by kind and seed."""
        return {
            f"discriminator_{kind}_seed_{seed}": trained
            for kind, found in self.kinds.items()
            for seed, trained in found.discriminators.items()
        }


def two_systems(
    run: Run, comparison: Comparison, anchored: Sequence[Comparison], discriminators: DiscriminatorGrid
) -> Outcome:
    """A row for each kind of discriminator, the logits of every test text, and anchored scores.

    Args:
        run: from the runner.
        comparison: the two systems.
        anchored: each of the two systems against a fixed opponent, or none.
        discriminators: kinds and seeds.
    """
    found = judge_systems(run, comparison, discriminators)
    with_anchor = [
        judge_systems(run, each, discriminators, (name, "anchor"), prefix=f"{side}_against_anchor_")
        for side, name, each in zip(("g1", "g2"), found.names, anchored, strict=False)
    ]
    shown = [Table("Two systems", tables.CAPTION, tables.relative_rows(found))]
    notes = tables.comparison_notes(found)
    if with_anchor:
        shown.append(Table("Anchored scores", tables.ANCHORED_CAPTION, tables.anchored_rows(with_anchor)))
    for each in with_anchor:
        notes += tables.comparison_notes(each, " against ".join(each.names) + ": ")
    anchor_models = ",".join(model.identity for each in with_anchor for model in each.models.values())
    texts = [label_pairs((*each.train, *each.test)) for each in (comparison, *anchored)]
    return present(
        run,
        score_origins(found),
        found.models,
        shown,
        notes,
        settings={
            "texts": fingerprint([list(text.segments) for each in texts for text in each]),
            **({"anchored": anchor_models} if with_anchor else {}),
        },
        plots=plot_logits(found),
        figures=tables.pair_counts(found),
        shown=[find_misjudged(found, discriminators.device)],
    )


def read_anchored(
    human: Path | str, systems: Sequence[Path | str], anchor: Path | str | None, settings: PairSettings
) -> list[Comparison]:
    """The comparison of each system with the anchor; none without an anchor. Raises InputFaults for the files."""
    return [] if anchor is None else [read_comparison(human, system, anchor, settings) for system in systems]


def oumg_summary(run: Run, inputs: int, pairs: PairSettings, discriminators: DiscriminatorGrid) -> Outcome:
    """Two systems that differ only in whether they answer the source (OUMG, section 1: translation, summary).

    With the source a perfect discriminator has an accuracy of 3/4 and a UR of 1; without it both are 1/2.

    Args:
        run: from the runner.
        inputs: sentences to sum up.
        pairs: how texts are paired; both values of `source` are used.
        discriminators: kinds and seeds.
    """
    check(Count, inputs=inputs)
    human, first, second = (TextSet.of(name, texts) for name, texts in write_summaries(inputs, run.seed).items())

    def judge(source: bool) -> SystemFindings:
        paired = pair_texts(human, first, second, replace(pairs, source=source))
        return judge_systems(run, paired, discriminators, prefix=f"{'with' if source else 'without'}_source_")

    found, without = judge(True), judge(False)
    rows = [
        {"reads": reads, **row}
        for reads, each in (("source and summary", found), ("summary", without))
        for row in tables.relative_rows(each)
    ]
    return present(
        run,
        score_origins(found, synthetic=True),
        found.models,
        [Table("Summaries with and without their source", tables.CAPTION, rows)],
        tables.comparison_notes(found) + tables.comparison_notes(without, "without the source: "),
        settings={
            "inputs": inputs,
            "without_source": ",".join(model.identity for model in without.models.values()),
        },
        plots=plot_logits(found),
        figures=tables.pair_counts(found),
        shown=[find_misjudged(found, discriminators.device, synthetic=True)],
        synthetic=True,
    )


def write_summaries(number: int, seed: int) -> dict[str, list[Example]]:
    """The last sentences of built-in reviews in a few words ("All in all, it was great.") by a human and two systems.

    The human text and that of the first system name a word of the review's label, that of the second system one of the
    other label. The two labels are equally frequent, so the texts of all three are alike without their source.
    """
    rng = random.Random(f"summaries {seed}")
    other = dict(zip(REVIEWS.labels, reversed(REVIEWS.labels), strict=True))
    found: dict[str, list[Example]] = {name: [] for name in ("human", *SYSTEMS)}
    for review in generate_texts(REVIEWS, number, seed):
        source = split_english(review.text)[-1]
        for name, texts in found.items():
            label = other[str(review.label)] if name == "contrary" else str(review.label)
            text = rng.choice(REVIEWS.verdicts).format(word=rng.choice(REVIEWS.label_words[label]))
            system = None if name == "human" else name
            texts.append(Example(f"{name}-{review.id}", text, group=review.id, context=source, system=system))
    return found


def judge_systems(
    run: Run,
    comparison: Comparison,
    discriminators: DiscriminatorGrid,
    names: tuple[str, str] = ("g1", "g2"),
    prefix: str = "",
) -> SystemFindings:
    """Trains discriminators on the training pairs and scores the test pairs, the same for all, with them.

    Args:
        run: from the runner.
        comparison: the pairs.
        discriminators: kinds and seeds.
        names: of the systems, where their outputs do not name them.
        prefix: of the names of the trainings in the loggers.
    """
    log.info("%d pairs to learn from, %d to judge", len(comparison.train), len(comparison.test))
    texts = label_pairs(comparison.train)
    parts = part_pairs(comparison.test)
    kinds: dict[str, KindFindings] = {}
    for kind in discriminators.kinds:
        plan = discriminators.judges[kind]
        trained = {
            seed: find_or_train(run, f"{prefix}{kind}_seed_{seed}", plan, texts, seed=seed)
            for seed in discriminators.seeds
        }
        with run.timed(f"judging by {kind}"):
            loaded = (Discriminator.from_pretrained(each.source, discriminators.device) for each in trained.values())
            judged = judge_pairs(comparison.test, loaded)
        scores = {part: score_pairs(judged, comparison.test, which) for part, which in parts.items()}
        kinds[kind] = KindFindings(trained, judged, scores)
    return SystemFindings(comparison, name_systems(comparison, names), kinds)


def part_pairs(pairs: Sequence[OutputPair]) -> dict[str, list[int]]:
    """The indices of all pairs; where a text lost more than half to the common length, of these and of the others."""
    halved = [max(pair.lost) > 0.5 for pair in pairs]
    parts = {"all": [*range(len(pairs))]}
    if any(halved):
        parts["more than half lost"] = [i for i in parts["all"] if halved[i]]
        parts["at most half lost"] = [i for i in parts["all"] if not halved[i]]
    return {part: which for part, which in parts.items() if which}


def score_pairs(judged: JudgedPairs, pairs: Sequence[OutputPair], which: Sequence[int]) -> RelativeScores:
    """The relative scores of some of the pairs."""
    some = judged.take(which)
    inputs = [pairs[i].input for i in which]
    return relative_scores(some.human, some.first, some.second, inputs, [name for name in inputs for _ in range(2)])


def name_systems(comparison: Comparison, otherwise: tuple[str, str]) -> tuple[str, str]:
    """The `system` of the outputs, where all of a side have one and the sides differ."""
    pairs = (*comparison.train, *comparison.test)
    sides = {pair.first.system for pair in pairs}, {pair.second.system for pair in pairs}
    first, second = (side.pop() if len(side) == 1 else None for side in sides)
    return (first or otherwise[0], second or otherwise[1]) if first != second else otherwise


def distinct_texts(pairs: Sequence[OutputPair], places: Collection[int]) -> dict[tuple[int, int], Example]:
    """The different texts at these places of the pairs, by pair and place.

    A human text of several pairs stands once for each way it was cut.
    """
    found = {
        (example.id, place < 2, tuple(pair.segments[place])): ((i, place), example)
        for i, pair in enumerate(pairs)
        for place, example in enumerate(pair.texts)
        if place in places
    }
    return dict(found.values())


def score_origins(found: SystemFindings, synthetic: bool = False) -> list[ScoredSet]:
    """The logits of the test texts of each origin, by kind and seed."""
    sets: list[ScoredSet] = []
    for name, places in PLACES.items():
        texts = distinct_texts(found.comparison.test, places)
        scores = {
            f"{kind}_seed_{seed}": Scores({"logit": each.judged.logits_of(texts)[number]}, sign_logits(trained))
            for kind, each in found.kinds.items()
            for number, (seed, trained) in enumerate(each.discriminators.items())
        }
        sets.append(ScoredSet(name, tuple(texts.values()), scores, synthetic))
    return sets


def find_misjudged(found: SystemFindings, device: str, synthetic: bool = False) -> ScoredSet:
    """The test texts, rated 1 for human and 0 for machine, with the logits of the first discriminator of each kind.

    The texts that a discriminator misclassifies most clearly are explained: what each sentence adds to the logit.
    """
    pairs = found.comparison.test
    texts = distinct_texts(pairs, range(4))
    rated = [replace(text, ratings={"human": float(place < 2)}) for (_, place), text in texts.items()]
    segments = [tuple(pairs[i].segments[place]) for i, place in texts]
    scores: dict[str, Scores] = {}
    for kind, each in found.kinds.items():
        seed, trained = next(iter(each.discriminators.items()))
        logits = each.judged.logits_of(texts)[0]
        explanations: list[dict[str, Any]] = [{} for _ in texts]
        ratings = ScoredSet("human or machine", tuple(rated), {}).ratings("human")
        if worst := [i for i, *_ in find_worst(ratings, logits)]:
            judge = Discriminator.from_pretrained(trained.source, device)
            explained_texts = explain_parts(judge.logits_or_nan, [segments[i] for i in worst], "sentence")
            for i, explained in zip(worst, explained_texts, strict=True):
                explanations[i] = explained
        scores[f"{kind}_seed_{seed}"] = Scores({"logit": logits}, sign_logits(trained), explanations=explanations)
    return ScoredSet("human or machine", tuple(rated), scores, synthetic)


def sign_logits(discriminator: Trained) -> str:
    """The signature of a discriminator's logits."""
    return signature("oumg_logit", libraries=MODEL_LIBRARIES, discriminator=discriminator.identity)
