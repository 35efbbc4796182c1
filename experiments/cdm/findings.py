"""What CDM finds on texts: the pair, its negatives, what learned them, and the scores of rated texts both ways.

Forward only; every trained model and every sample is a kept stage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from baselines.pairs import likelihood_scores
from baselines.word_count import WordCount
from cdm.discriminative import (
    POOLINGS,
    ClassifierPooler,
    MomentumPooling,
    Steps,
    explain_steps,
    pooled_scores,
)
from cdm.generative import GenerativeCDM, labelled
from cdm.infilling import Gaps, TokenisedDialogues
from cdm.negatives import Negatives
from cdm.pair import Pair, PartialOrder, turns_of
from cdm.rules import Rule, rule_negatives
from cdm.spelling import spell
from core.faults import SettingFault
from core.scores import Scores
from core.signature import MODEL_LIBRARIES, signature
from data.corpus import Corpus, RatedSet
from data.words import LETTERS
from experiments.cdm.stages import (
    NegativesPlan,
    PoolerPlan,
    TrainedPair,
    chosen_dialogues,
    kept_negatives,
    kept_pooler,
    kept_steps,
)
from experiments.contracts import Run
from experiments.training import DiscriminatorPlan, LanguageModelPlan, Trained, find_or_train
from meta_eval.scored_set import ScoredSet

EXPLAINED: tuple[MomentumPooling, ...] = ("average", "classifier")  # the momentum itself is the same for all poolings


@dataclass(frozen=True)
class CdmPlan:
    """The models of CDM and what they learn from.

    Attributes:
        amateur, expert: the pair; both must have one vocabulary.
        negatives: what the discriminators learn from.
        discriminators: by name; each gives a row, whose name `generative_row` begins.
        pooler: what the classifier pooler learns from.
        rules: earlier metrics, whose negatives rules make (`cdm.rules`); every discriminator learns these too.
        device: where the trained models score and sample; the trainer's settings say where they train.
        dtype: of the weights of the pair while it scores and samples.
        chosen: how the default settings were chosen, a phrase that stands beside every result.
    """

    amateur: LanguageModelPlan
    expert: LanguageModelPlan
    negatives: NegativesPlan
    discriminators: Mapping[str, DiscriminatorPlan]
    pooler: PoolerPlan
    rules: Sequence[Rule]
    device: str
    dtype: str
    chosen: str

    @property
    def pair(self) -> dict[str, LanguageModelPlan]:
        """Amateur and expert by name."""
        return {"amateur": self.amateur, "expert": self.expert}


@dataclass(frozen=True)
class HeldOut:
    """Held-out dialogues by what they are for, so that no dialogue serves two purposes.

    Attributes:
        choosing: choose the checkpoints of language models.
        checking: show whether the expert is the better one.
        developing: settings are chosen on them (`+exp=cdm_development`).
    """

    choosing: Sequence[tuple[str, ...]]
    checking: Sequence[tuple[str, ...]]
    developing: Sequence[tuple[str, ...]]

    @classmethod
    def of(cls, data: Corpus) -> "HeldOut":
        """Every third held-out dialogue for each purpose.

        Raises SettingFault where two dialogues to train on, or one for each of the first two purposes, are missing.
        """
        if min(len(data.train), len(data.held_out)) < 2:
            raise SettingFault(
                "CDM needs at least 2 dialogues to train on and 2 held-out ones, but there are "
                f"{len(data.train)} and {len(data.held_out)}: give more dialogues or another data.held_out_fraction"
            )
        dialogues = turns_of(data.held_out)
        return cls(dialogues[::3], dialogues[1::3], dialogues[2::3])


@dataclass(frozen=True)
class CdmFindings:
    """What CDM finds on one collection of dialogues.

    Attributes:
        trained: the pair.
        order: whether the expert is the better one.
        windowed: the share of the expert's training gaps whose source does not hold the whole dialogue.
        passes: how often amateur and expert read the training text.
        negatives: what the discriminators learned.
        non_words: the share of the words in negatives that no training dialogue has.
        discriminators: by name, those of a rule by rule and name, as trained.
        pooler: the folder of the classifier pooler.
        scored: the rated sets with their scores.
        steps: by set, the log-probabilities of the tokens of each dialogue under the pair.
    """

    trained: TrainedPair
    order: PartialOrder
    windowed: float
    passes: Mapping[str, float]
    negatives: Negatives
    non_words: float
    discriminators: Mapping[str, Trained]
    pooler: Path
    scored: Sequence[ScoredSet]
    steps: Mapping[str, Sequence[Steps]]


def find_cdm(run: Run, data: Corpus, plan: CdmPlan) -> CdmFindings:
    """Trains the pair, samples negatives, learns them, and scores the rated dialogues."""
    train, held_out = turns_of(data.train), HeldOut.of(data)
    weaker = find_or_train(run, "amateur", plan.amateur, train, held_out.choosing)
    stronger = find_or_train(run, "expert", plan.expert, train, held_out.choosing)
    pair = Pair.from_pretrained(weaker.source, stronger.source, plan.device, plan.dtype)
    for rated in data.rated:
        pair.tokenise(turns_of(rated.examples))  # refuses turns that the models cannot read, before anything is drawn
    trained = TrainedPair(weaker, stronger, pair)
    with run.timed("partial order"):
        order = pair.partial_order(pair.tokenise(held_out.checking).tasks(run.seed))
        text = pair.tokenise(train)
        passes = {name: count_passes(each, text, run.seed) for name, each in plan.pair.items()}
        windowed = float(np.mean([task.dropped > 0 for task in text.tasks(run.seed, gaps_of(plan.expert).windows)]))
    sampled = kept_negatives(run, trained, train, plan.negatives)
    learned = {"": sampled}
    for rule in plan.rules:
        chosen = spell(chosen_dialogues(train, plan.negatives, run.seed), pair.spelling)
        learned[f"{rule}_"] = rule_negatives(chosen, rule, run.seed, pair.given)
    judges = {
        f"{kind}{name}": find_or_train(run, f"discriminator_{kind}{name}", each, labelled(negatives))
        for kind, negatives in learned.items()
        for name, each in plan.discriminators.items()
    }
    pooler = kept_pooler(run, trained, [*held_out.choosing, *held_out.checking], plan.pooler, plan.negatives)
    row = generative_row(plan.negatives)
    generative = {
        f"{row}_{name}" if name in plan.discriminators else name: GenerativeCDM.from_pretrained(
            judge.source, plan.device
        )
        for name, judge in judges.items()
    }
    fitted = ClassifierPooler.load(pooler / "pooler.json")
    steps = {each.name: kept_steps(run, trained, each.name, turns_of(each.examples)) for each in data.rated}
    scored = [score_rated(run, each, trained, fitted, generative, steps[each.name]) for each in data.rated]
    non_words = non_word_share(sampled, train)
    return CdmFindings(trained, order, windowed, passes, sampled, non_words, judges, pooler, scored, steps)


def score_rated(
    run: Run,
    rated: RatedSet,
    trained: TrainedPair,
    pooler: ClassifierPooler,
    generative: Mapping[str, GenerativeCDM],
    steps: Sequence[Steps],
) -> ScoredSet:
    """One rated set under every metric."""
    dialogues = turns_of(rated.examples)
    explanations = explain_steps(trained.pair, dialogues, steps)
    with run.timed(f"scoring {rated.name}"):
        scores = {name: metric.score(rated.examples) for name, metric in generative.items()}
        for pooling in POOLINGS:
            name = f"cdm_discriminative_{pooling}"
            explained = explanations if pooling in EXPLAINED else ()
            scores[name] = pooled_scores(steps, pooling, signature(name, libraries=MODEL_LIBRARIES), pooler, explained)
        for name in [name for name in generative if name.startswith("cdm_")]:
            both = f"{name}_and_classifier"
            scores[both] = rank_average(both, scores[name], scores["cdm_discriminative_classifier"])
        dropped = [s.dropped for s in steps]
        for name, rows in (("amateur", [s.amateur for s in steps]), ("expert", [s.expert for s in steps])):
            line = signature(f"{name}_likelihood", libraries=MODEL_LIBRARIES)
            scores[f"{name}_likelihood"] = likelihood_scores(rows, dropped, line)
        scores["word_count"] = WordCount().score(rated.examples)
    return ScoredSet.of(rated, scores)


def gaps_of(plan: LanguageModelPlan) -> Gaps:
    """What a model of a pair learns; a pair learns nothing but gaps."""
    return cast(Gaps, plan.learns)


def count_passes(plan: LanguageModelPlan, text: TokenisedDialogues, seed: int) -> float:
    """How often a model reads the training text: epochs times the share of its tokens that an epoch reads."""
    learns = gaps_of(plan)
    every = text.tasks(seed, learns.windows)
    drawn = plan.tasks_per_text * len(every)
    learned = drawn if learns.most is None else min(learns.most, drawn)
    return plan.schedule.epochs * text.share_read(every) * learned / len(every)


def generative_row(plan: NegativesPlan) -> str:
    """What the row of a discriminator is called: at gamma 0 and -1 its negatives come from one model (CDM, Table 5)."""
    if plan.mixture:
        return "cdm_mixture"
    return {-1.0: "cdm_resampled_expert", 0.0: "cdm_resampled_amateur"}.get(plan.sampling.gamma, "cdm_generative")


def rank_average(name: str, first: Scores, second: Scores) -> Scores:
    """The mean rank of each example under two metrics, in (0, 1); higher is better. It depends on the whole set.

    >>> one, two = (Scores({"quality": np.array(values)}, "") for values in ([1.0, 5.0], [7.0, 9.0]))
    >>> rank_average("both", one, two).values["quality"].tolist()
    [0.25, 0.75]
    """
    scored = [scores.values["quality"] for scores in (first, second)]
    known = ~np.isnan(scored[0] + scored[1])
    values = np.full(len(known), np.nan)
    values[known] = np.mean([(rankdata(each[known]) - 0.5) / known.sum() for each in scored], axis=0)
    reasons = [None if is_known else "one of the two metrics has no score" for is_known in known]
    dropped = [max(counts) for counts in zip(first.dropped_tokens, second.dropped_tokens, strict=True)]
    line = signature(name, libraries=MODEL_LIBRARIES)
    return Scores({"quality": values}, line, reasons=reasons, dropped_tokens=dropped)


def word_count_auc(negatives: Negatives) -> float:
    """How well word count alone tells positives from negatives: AUC, 0.5 is chance, above it positives are longer."""
    texts = [*negatives.positives, *negatives.negatives]
    labels = [1] * len(negatives.positives) + [0] * len(negatives.negatives)
    return float(roc_auc_score(labels, [sum(len(turn.split()) for turn in turns) for turns in texts]))


def non_word_share(negatives: Negatives, dialogues: Sequence[Sequence[str]]) -> float:
    """The share of the words in negatives that no training dialogue has: they alone tell a negative from its positive.

    Words are runs of letters, without case; 0 where the negatives have none.
    """
    known = {word for turns in dialogues for turn in turns for word in LETTERS.findall(turn.casefold())}
    written = [word for turns in negatives.negatives for turn in turns for word in LETTERS.findall(turn.casefold())]
    return float(np.mean([word not in known for word in written])) if written else 0.0
