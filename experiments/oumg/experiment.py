"""Two systems under discriminators that tell human texts from outputs (OUMG, section 3.1).

The discriminators judge pairs that they have not seen.
"""

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.example import Example
from core.scores import Scores
from core.settings import Seed, Several, Text, checked_dataclass
from core.signature import MODEL_LIBRARIES, Setting, signature
from core.stages import fingerprint
from data.corpus import Corpus
from discriminators.discriminator import Discriminator
from experiments.contracts import Outcome, Run, Table
from experiments.presentation import present
from experiments.training import DiscriminatorPlan, Trained, find_or_train
from judge.wording import format_cell
from meta_eval.scored_set import ScoredSet
from oumg.comparison import JudgedPairs, OutputPair, PairedOutputs, judge_pairs, label_pairs
from oumg.relative import SCORES, RelativeScores, relative_scores

log = logging.getLogger(__name__)

CAPTION = (
    "Discriminators learned human texts against outputs of both systems and score inputs that they have not seen. "
    "accuracy: of the discriminator, 0.5 is chance. hsr: share of a system's outputs taken for human. hsrd: hsr 1 - "
    "hsr 2. ur: share of inputs where the first system's output is closer to human than the second's; ties: where "
    "both are equal. texts cut: of the judged human texts and outputs (4 in a pair), those that were cut to the common "
    "length of their pair. Means over seeds, 95 % bootstrap intervals over inputs, from 30 of them on."
)
PLACES = {"human": (0, 1), "g1": (2,), "g2": (3,)}  # of the texts of each origin in a pair


@checked_dataclass
class JudgesPlan:
    """The discriminators that judge two systems: each of the kinds with each of the seeds."""

    # how they are trained, by kind
    judges: Mapping[str, DiscriminatorPlan]
    # some of them
    kinds: Several[Text]
    # of initial weights, order of batches, dropout and the choice of validation inputs
    seeds: Several[Seed]
    # where the trained discriminators score
    device: str = "cpu"

    def __post_init__(self) -> None:
        if unknown := {*self.kinds} - {*self.judges}:
            raise ValueError(f"kinds must be some of {', '.join(self.judges)}, but {unknown.pop()!r} is among them")


@dataclass(frozen=True)
class Contest:
    """Two systems to compare, and how the results show it."""

    comparison: PairedOutputs
    # of the names of the trainings in the loggers
    prefix: str = ""
    # begins its notes; {} are the two systems
    about: str = ""
    # columns of its rows, before and after the scores
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[str, str]:
        """The `system` of the outputs, where all of a side have one and the sides differ; else g1 and g2."""
        pairs = (*self.comparison.train, *self.comparison.test)
        sides = {pair.first.system for pair in pairs}, {pair.second.system for pair in pairs}
        first, second = (side.pop() if len(side) == 1 else None for side in sides)
        return (first or "g1", second or "g2") if first != second else ("g1", "g2")


@dataclass(frozen=True)
class Findings:
    """What the discriminators of one kind found in a contest."""

    contest: Contest
    kind: str
    # by seed
    discriminators: Mapping[int, Trained]
    # the logits of all
    judged: JudgedPairs
    # of the test pairs
    scores: RelativeScores


def judge_systems(run: Run, contest: Contest, plan: JudgesPlan) -> list[Findings]:
    """Trains discriminators on the training pairs and scores the test pairs, the same for all, with them."""
    comparison = contest.comparison
    log.info("%d pairs to learn from, %d to judge", len(comparison.train), len(comparison.test))
    texts = label_pairs(comparison.train)
    inputs = [pair.input for pair in comparison.test]
    found: list[Findings] = []
    for kind in plan.kinds:
        trained = {
            seed: find_or_train(run, f"{contest.prefix}{kind}_seed_{seed}", plan.judges[kind], texts, seed=seed)
            for seed in plan.seeds
        }
        with run.timed(f"judging by {kind}"):
            loaded = (Discriminator.from_pretrained(each.source, plan.device) for each in trained.values())
            judged = judge_pairs(comparison.test, loaded)
        human_inputs = [name for name in inputs for _ in range(2)]
        scores = relative_scores(judged.human, judged.first, judged.second, inputs, human_inputs)
        found.append(Findings(contest, kind, trained, judged, scores))
    return found


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


def score_origins(found: Sequence[Findings], synthetic: bool = False) -> list[ScoredSet]:
    """The logits of the test texts of each origin, by kind and seed."""
    sets: list[ScoredSet] = []
    for name, places in PLACES.items():
        texts = distinct_texts(found[0].contest.comparison.test, places)
        pairs, at = zip(*texts, strict=True)
        scores = {
            f"{each.kind}_seed_{seed}": Scores(
                {"logit": each.judged.logits[number, pairs, at]},
                signature("oumg_logit", libraries=MODEL_LIBRARIES, discriminator=trained.identity),
            )
            for each in found
            for number, (seed, trained) in enumerate(each.discriminators.items())
        }
        sets.append(ScoredSet(name, tuple(texts.values()), scores, synthetic))
    return sets


def relative_row(found: Findings) -> dict[str, Any]:
    """Every relative score, with its value by seed, between what the contest adds."""
    contest, scores = found.contest, found.scores
    return {
        **contest.before,
        "discriminator": found.kind,
        **dict(zip(("system_1", "system_2"), contest.systems, strict=True)),
        "texts_cut": sum(pair.cut for pair in contest.comparison.test),
        "n": scores.pairs,
        "inputs": scores.inputs,
        **{name: getattr(scores, name) for name in SCORES},
        "seeds": list(found.discriminators),
        "by_seed": {name: list(scores.by_seed[name]) for name in SCORES},
        **contest.after,
    }


def comparison_notes(found: Sequence[Findings]) -> list[str]:
    """Templates that were removed, discriminators that are not above chance, and texts that lost tokens."""
    contest = found[0].contest
    notes = [
        f"{template!r} was removed from the {where} of all texts: nearly every text of one origin has it there"
        for where, template in contest.comparison.templates
    ]
    for each in found:
        accuracy = each.scores.accuracy
        if math.isnan(accuracy.low):
            notes.append(f"{each.kind}: whether it tells human texts from outputs is not known: {accuracy.reason}")
        elif not accuracy.low > 0.5:
            notes.append(
                f"{each.kind}: its accuracy is not above chance; it cannot tell human texts from outputs, and its "
                "other scores say little"
            )
        if each.judged.truncated:
            texts = 4 * len(contest.comparison.test)
            notes.append(f"{each.kind}: {each.judged.truncated} of {texts} texts lost tokens")
    return [f"{contest.about.format(*contest.systems)}{note}" for note in notes]


def describe_verdict(found: Findings) -> str:
    """Which system's outputs look more human to the discriminators of one kind, on more than half of the inputs."""
    first, second = found.contest.systems
    ur, ties, accuracy = found.scores.ur, found.scores.ties, found.scores.accuracy
    if math.isnan(ur.low) or math.isnan(accuracy.low):
        return f"By {found.kind}, no verdict: {ur.reason or accuracy.reason}"
    if accuracy.low <= 0.5:
        return f"By {found.kind}, no verdict: it is not shown to tell human texts from outputs"
    shown = f"ur {format_cell(ur)}"
    if ur.low > 0.5:
        return f"By {found.kind}, the outputs of {first} look more human than those of {second} ({shown})"
    if ur.high + ties.value < 0.5:
        return f"By {found.kind}, the outputs of {second} look more human than those of {first} ({shown})"
    return f"By {found.kind}, neither {first} nor {second} is shown to look more human ({shown})"


def compare_systems(
    run: Run,
    plan: JudgesPlan,
    title: str,
    contests: Sequence[Contest],
    *,
    caption: str = CAPTION,
    models: Mapping[str, Trained] | None = None,
    further: Sequence[Table] = (),
    notes: Sequence[str] = (),
    figures: Mapping[str, float] | None = None,
    settings: Mapping[str, Setting] | None = None,
    data: Corpus | None = None,
) -> Outcome:
    """A row for each contest and kind of discriminator, beside what a form of OUMG adds.

    The first contest has the counts, and the logits of its test texts in the results.
    """
    found = [judge_systems(run, each, plan) for each in contests]
    first, pairs = found[0], contests[0].comparison
    judges = {
        f"discriminator_{each.kind}_seed_{seed}": trained
        for each in first
        for seed, trained in each.discriminators.items()
    }
    rows = [relative_row(each) for of_contest in found for each in of_contest]
    finding = "; ".join(describe_verdict(each) for each in first)
    return present(
        run,
        score_origins(first, synthetic=data is not None and data.synthetic),
        {**(models or {}), **judges},
        [Table(title, caption, rows, finding=finding), *further],
        [*notes, *(note for each in found for note in comparison_notes(each))],
        settings=settings,
        figures={"pairs to learn from": len(pairs.train), "pairs to judge": len(pairs.test), **(figures or {})},
        title=" against ".join(contests[0].systems),
        data=data,
    )


def two_systems(run: Run, comparison: PairedOutputs, discriminators: JudgesPlan) -> Outcome:
    """Two systems of your own."""
    texts = label_pairs((*comparison.train, *comparison.test))
    settings = {"texts": fingerprint([list(text.segments) for text in texts])}
    return compare_systems(run, discriminators, "Two systems", [Contest(comparison)], settings=settings)
