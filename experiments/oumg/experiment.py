"""Compares two systems by discriminators that tell human texts from outputs (OUMG, section 3.1).

The discriminators judge pairs that they have not learned.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, product
from typing import Any

from core.scores import Scores
from core.settings import Seed, Several, Text, checked_dataclass
from core.signature import MODEL_LIBRARIES, Setting, signature
from core.stages import fingerprint
from data.corpus import Corpus
from discriminators.discriminator import Discriminator
from discriminators.explanations import explain_parts
from experiments.contracts import Run, Study, Table
from experiments.presentation import present
from experiments.training import DiscriminatorPlan, Trained, find_or_train
from meta_eval.scored_set import ScoredSet
from oumg.comparison import JudgedPairs, PairedOutputs, judge_pairs, label_pairs
from oumg.relative import SCORES, RelativeScores, relative_scores
from report.wording import format_cell

CAPTION = (
    "Discriminators learned human texts against outputs of both systems and score inputs that they have not seen. "
    "accuracy: of the discriminator, 0.5 is chance. hsr: share of a system's outputs taken for human. hsrd: hsr 1 - "
    "hsr 2. ur: share of inputs where the first system's output is closer to human than the second's; ur 2: the other "
    "way round; ties: where both are equal. texts cut: of the judged human texts and outputs (4 in a pair), those that "
    "were cut to the common length of their pair; truncated: those that lost tokens to a discriminator. Means over "
    "seeds, 95 % intervals over inputs."
)
RELATIVE_SHOWN = ("discriminator", "system_1", "system_2", "n", "accuracy", "hsrd", "ur", "ties")
PLACES = {"human": (0, 1), "g1": (2,), "g2": (3,)}  # of the texts of each origin in a pair
CHANCE = 0.5  # accuracy of a discriminator that learned nothing


@checked_dataclass
class JudgesPlan:
    """The discriminators that judge two systems: one of each kind with each seed."""

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
            known = ", ".join(self.judges)
            raise ValueError(f"kinds must be some of {known}, but {unknown.pop()!r} is not one of these")


@dataclass(frozen=True)
class SystemPair:
    """Two systems to compare, with the texts of the comparison and its label in the results."""

    comparison: PairedOutputs
    # of the names of the trainings in the loggers
    prefix: str = ""
    # further columns of its rows
    columns: Mapping[str, Any] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[str, str]:
        """The names of both systems, from the `system` of their outputs if the names differ; else g1 and g2."""
        pairs = (*self.comparison.train, *self.comparison.test)
        first = name_side({pair.first.system for pair in pairs}, "g1")
        second = name_side({pair.second.system for pair in pairs}, "g2")
        return (first, second) if first != second else ("g1", "g2")


def name_side(systems: Collection[str | None], usual: str) -> str:
    """Returns the only system that outputs name; the usual name if they name several systems, or none."""
    system, *others = systems
    return usual if others else system or usual


@dataclass(frozen=True)
class Findings:
    """The results of one kind of discriminators on a pair of systems."""

    system_pair: SystemPair
    kind: str
    # by seed
    discriminators: Mapping[int, Trained]
    # the logits of all
    judged: JudgedPairs
    # of the test pairs
    scores: RelativeScores


def judge_by_kind(
    run: Run,
    system_pair: SystemPair,
    plan: JudgesPlan,
    kind: str,
) -> Findings:
    """Trains the discriminators of one kind, one for each seed, and scores the test pairs with them."""
    test = system_pair.comparison.test
    learned = label_pairs(system_pair.comparison.train)
    discriminators: dict[int, Trained] = {}
    for seed in plan.seeds:
        name = f"{system_pair.prefix}{kind}_seed_{seed}"
        discriminators[seed] = find_or_train(run, name, plan.judges[kind], learned, seed=seed)
    with run.timed(f"judging by {kind}"):
        loaded = (Discriminator.from_pretrained(trained.source, plan.device) for trained in discriminators.values())
        judged = judge_pairs(test, loaded)
    scores = relative_scores(
        human=judged.human,
        first=judged.first,
        second=judged.second,
        inputs=[pair.input for pair in test],
        human_inputs=[pair.input for pair in test for _ in pair.human],
    )
    return Findings(system_pair=system_pair, kind=kind, discriminators=discriminators, judged=judged, scores=scores)


def score_origins(found: Sequence[Findings], device: str, synthetic: bool = False) -> list[ScoredSet]:
    """Makes a scored set for each origin (human, first, second system): the logits of its test texts by kind and seed.

    A human text in several pairs occurs once for each length to which it was cut. Only the logits of the first seed of
    a kind are explained by sentences, because that costs a pass for each sentence.
    """
    test = found[0].system_pair.comparison.test
    sets: list[ScoredSet] = []
    for origin, places in PLACES.items():
        distinct: dict[tuple[str, tuple[str, ...]], tuple[int, int]] = {}
        for number, place in product(range(len(test)), places):
            distinct[test[number].texts[place].id, tuple(test[number].segments[place])] = number, place
        examples = tuple(test[number].texts[place] for number, place in distinct.values())
        read = [test[number].segments[place] for number, place in distinct.values()]
        numbers, columns = zip(*distinct.values(), strict=True)
        scores: dict[str, Scores] = {}
        for findings in found:
            explained, *_ = findings.discriminators.values()
            judge = Discriminator.from_pretrained(explained.source, device)
            explanations = explain_parts(partial(judge.logits, or_nan=True), read, "sentence")
            for logits, (seed, trained) in zip(findings.judged.logits, findings.discriminators.items(), strict=True):
                scores[f"{findings.kind}_seed_{seed}"] = Scores(
                    {"logit": logits[numbers, columns]},
                    signature("oumg_logit", libraries=MODEL_LIBRARIES, discriminator=trained.identity),
                    explanations=explanations if trained is explained else (),
                )
        sets.append(ScoredSet(origin, examples, scores, synthetic))
    return sets


def relative_row(found: Findings) -> dict[str, Any]:
    """Makes a row: every relative score, its values by seed, and the columns that the pair of systems adds."""
    system_pair = found.system_pair
    first, second = system_pair.systems
    return {
        "discriminator": found.kind,
        "system_1": first,
        "system_2": second,
        "texts_cut": sum(pair.cut for pair in system_pair.comparison.test),
        "truncated": found.judged.truncated,
        "n": found.scores.pairs,
        "inputs": found.scores.inputs,
        **{name: getattr(found.scores, name) for name in SCORES},
        "seeds": list(found.discriminators),
        "by_seed": {name: list(found.scores.by_seed[name]) for name in SCORES},
        **system_pair.columns,
    }


def describe_verdict(found: Findings) -> str:
    """Writes a sentence: which system's outputs look more human, on most inputs, to discriminators of one kind."""
    first, second = found.system_pair.systems
    ur = found.scores.ur
    accuracy = found.scores.accuracy
    if math.isnan(ur.low) or math.isnan(accuracy.low):
        return f"By {found.kind}, no verdict: {ur.reason or accuracy.reason}"
    if accuracy.low <= CHANCE:
        return f"By {found.kind}, no verdict: its discriminators are not shown to tell human texts from outputs"
    shown = f"ur {format_cell(ur)}"
    if ur.low > 0.5:
        return f"By {found.kind}, the outputs of {first} look more human than those of {second} ({shown})"
    if found.scores.ur_2.low > 0.5:
        return f"By {found.kind}, the outputs of {second} look more human than those of {first} ({shown})"
    return f"By {found.kind}, neither {first} nor {second} is shown to look more human ({shown})"


def compare_systems(
    run: Run,
    plan: JudgesPlan,
    title: str,
    system_pairs: Sequence[SystemPair],
    *,
    caption: str = CAPTION,
    models: Mapping[str, Trained] | None = None,
    further: Sequence[Table] = (),
    figures: Mapping[str, float] | None = None,
    settings: Mapping[str, Setting] | None = None,
    data: Corpus | None = None,
) -> Study:
    """Makes the outcome: a row for each pair of systems and kind of discriminator, and what the caller adds.

    The counts in the results, and the logits of test texts, are those of the first pair of systems.
    """
    found = [[judge_by_kind(run, pair, plan, kind) for kind in plan.kinds] for pair in system_pairs]
    first = found[0]
    pairs = system_pairs[0].comparison
    judges = {
        f"discriminator_{findings.kind}_seed_{seed}": trained  # the name of its folder
        for findings in first
        for seed, trained in findings.discriminators.items()
    }
    templates = dict.fromkeys(chain.from_iterable(pair.comparison.templates for pair in system_pairs))
    with run.timed("explaining"):
        scored = score_origins(first, plan.device, synthetic=data is not None and data.synthetic)
    rows = [relative_row(findings) for findings in chain.from_iterable(found)]
    return present(
        run,
        scored,
        models={**(models or {}), **judges},
        tables=[Table(title, caption, rows, shown=RELATIVE_SHOWN), *further],
        notes=[
            f"{template!r} was removed from the {where} of all texts: nearly every text of one origin has it there"
            for where, template in templates
        ],
        answer="; ".join(map(describe_verdict, first)),
        settings=settings,
        figures={"pairs to learn from": len(pairs.train), "pairs to judge": len(pairs.test), **(figures or {})},
        data=data,
    )


def two_systems(run: Run, comparison: PairedOutputs, discriminators: JudgesPlan) -> Study:
    """Compares two systems of your own (OUMG, section 3.1)."""
    texts = label_pairs((*comparison.train, *comparison.test))
    settings = {"texts": fingerprint([list(text.segments) for text in texts])}
    return compare_systems(run, discriminators, "Two systems", [SystemPair(comparison)], settings=settings)
