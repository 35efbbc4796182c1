"""CDM on dialogues: train the pair, sample negatives, learn them, score rated dialogues both ways (CDM, section 4.1).

Forward only; every trained model and every sample is a kept stage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from baselines.likelihood import likelihood_scores
from baselines.word_count import WordCount
from cdm.discriminative import POOLINGS, ClassifierPooler, Steps, pooled_scores
from cdm.generative import GenerativeCDM, labelled
from cdm.negatives import Negatives
from cdm.pair import Pair, PartialOrder, turns_of
from core.scores import Scores
from core.signature import MODEL_LIBRARIES, signature
from data.rated import RatedSet
from data.sets.dialogues import DialogueData
from experiments.cdm.plots import plot_momentum
from experiments.cdm.stages import NegativesPlan, PoolerPlan, TrainedPair, kept_negatives, kept_pooler, kept_steps
from experiments.report import plots
from experiments.report.evaluation import evaluate, published_scores
from experiments.runner.contracts import Outcome, Run, ScoredSet
from experiments.training.discriminators import DiscriminatorPlan, trained_discriminator
from experiments.training.language_models import LanguageModelPlan, trained_language_model
from experiments.training.trained import Trained, folders_of

LENGTH_AUC_TOLERANCE = 0.05  # of the AUC of word count from 0.5, beyond which length alone tells negatives


@dataclass(frozen=True)
class RatedDialogues:
    """Rated dialogues, the log-probabilities of their tokens under the pair, and their scores by metric."""

    rated: RatedSet
    steps: Sequence[Steps]
    scores: Mapping[str, Scores]


@dataclass(frozen=True)
class CdmFindings:
    """What CDM finds on one collection of dialogues.

    Attributes:
        trained: the pair.
        order: whether the expert is the better one, on dialogues that chose no checkpoint.
        windowed: the share of training gaps whose source does not hold the whole dialogue.
        negatives: what the discriminators learned.
        discriminators: by name, as trained.
        pooler: the folder of the classifier pooler.
        rated: the rated sets.
    """

    trained: TrainedPair
    order: PartialOrder
    windowed: float
    negatives: Negatives
    discriminators: Mapping[str, Trained]
    pooler: Path
    rated: tuple[RatedDialogues, ...]


def cdm_dialogue(
    run: Run,
    data: DialogueData,
    amateur: LanguageModelPlan,
    expert: LanguageModelPlan,
    negatives: NegativesPlan,
    discriminators: Mapping[str, DiscriminatorPlan],
    pooler: PoolerPlan,
    device: str = "cpu",
) -> Outcome:
    """The whole of CDM on one collection of dialogues.

    Args:
        run: from the runner.
        data: dialogues to train on, held-out ones, and rated sets.
        amateur, expert: the pair; both must have one vocabulary.
        negatives: what the discriminators learn from.
        discriminators: by name; each gives a row, whose name `generative_row` begins.
        pooler: what the classifier pooler learns from.
        device: where the trained models score and sample; the trainer's settings say where they train.
    """
    train, held_out = turns_of(data.train), turns_of(data.held_out)
    chooses, checks = held_out[::2], held_out[1::2]
    weaker = trained_language_model(run, "amateur", amateur, train, chooses)
    stronger = trained_language_model(run, "expert", expert, train, chooses)
    pair = Pair.from_pretrained(weaker.source, stronger.source, device=device)
    trained = TrainedPair(weaker, stronger, pair)
    with run.timed("partial order"):
        order = pair.partial_order(pair.tokenise(checks).tasks(run.seed))
        windowed = float(np.mean([task.dropped > 0 for task in pair.tokenise(train).tasks(run.seed)]))
    sampled = kept_negatives(run, trained, train, negatives)
    judges = {
        name: trained_discriminator(run, f"discriminator_{name}", plan, labelled(sampled), run.seed)
        for name, plan in discriminators.items()
    }
    pooler_folder = kept_pooler(run, trained, held_out, pooler, negatives)
    fitted = ClassifierPooler.load(pooler_folder / "pooler.json")
    generative = {name: GenerativeCDM.from_pretrained(judge.source, device) for name, judge in judges.items()}
    generative = {f"{generative_row(negatives.sampling.gamma)}_{name}": metric for name, metric in generative.items()}
    rated = tuple(_rated(run, each, trained, fitted, generative) for each in data.rated)
    return _outcome(run, data, negatives, CdmFindings(trained, order, windowed, sampled, judges, pooler_folder, rated))


def generative_row(gamma: float) -> str:
    """What the row of a discriminator is called: at gamma 0 and -1 its negatives come from one model (CDM, Table 5).

    >>> [generative_row(gamma) for gamma in (-1, 0, 0.5)]
    ['cdm_resampled_expert', 'cdm_resampled_amateur', 'cdm_generative']
    """
    return {-1.0: "cdm_resampled_expert", 0.0: "cdm_resampled_amateur"}.get(float(gamma), "cdm_generative")


def word_count_auc(negatives: Negatives) -> float:
    """How well word count alone tells positives from negatives: AUC, 0.5 is chance, above it positives are longer."""
    texts = [*negatives.positives, *negatives.negatives]
    labels = [1] * len(negatives.positives) + [0] * len(negatives.negatives)
    return float(roc_auc_score(labels, [sum(len(turn.split()) for turn in turns) for turns in texts]))


def _rated(
    run: Run, rated: RatedSet, trained: TrainedPair, pooler: ClassifierPooler, generative: Mapping[str, GenerativeCDM]
) -> RatedDialogues:
    """One rated set under every metric."""
    steps = kept_steps(run, trained, rated.name, turns_of(rated.examples))
    with run.timed(f"scoring {rated.name}"):
        scores = {name: metric.score(rated.examples) for name, metric in generative.items()}
        for pooling in POOLINGS:
            name = f"cdm_discriminative_{pooling}"
            scores[name] = pooled_scores(steps, pooling, signature(name, libraries=MODEL_LIBRARIES), pooler)
        dropped = [s.dropped for s in steps]
        scores["amateur_likelihood"] = likelihood_scores([s.amateur for s in steps], dropped, "amateur_likelihood", {})
        scores["expert_likelihood"] = likelihood_scores([s.expert for s in steps], dropped, "expert_likelihood", {})
        scores["word_count"] = WordCount().score(rated.examples)
        scores |= {f"{metric}_published": found for metric, found in published_scores(rated).items()}
    return RatedDialogues(rated, steps, scores)


def _outcome(run: Run, data: DialogueData, plan: NegativesPlan, found: CdmFindings) -> Outcome:
    """The findings as rows, plots and notes."""
    amateur, expert, pair = found.trained.amateur, found.trained.expert, found.trained.pair
    scored = [ScoredSet(each.rated, each.scores) for each in found.rated]
    failures, unclosed = found.negatives.failures, found.negatives.unclosed
    length_auc = word_count_auc(found.negatives)
    return Outcome(
        signature=signature(
            run.name,
            libraries=MODEL_LIBRARIES,
            data=data.name,
            amateur=amateur.identity,
            expert=expert.identity,
            strategy=plan.strategy,
            gamma=plan.sampling.gamma,
            seed=run.seed,
        ),
        rows=[row for each in found.rated for row in evaluate(each.scores, each.rated)],
        scored=scored,
        plots={
            "training_curves": plots.training_curves({"amateur": amateur.curve, "expert": expert.curve}),
            **{f"scores_{each.rated.name}": plots.scores_against_ratings(each) for each in scored},
            **{f"momentum_{each.rated.name}": plot_momentum(each.rated, each.steps) for each in found.rated},
        },
        models={
            **folders_of({"amateur": amateur, "expert": expert}),
            "pooler": found.pooler,
            **folders_of({f"discriminator_{name}": judge for name, judge in found.discriminators.items()}),
        },
        notes=[
            *([] if found.order.holds else [str(found.order)]),
            *([f"{failures} dialogues could not be manipulated and have no negative."] if failures else []),
            *([f"{unclosed} redrawn segments did not end by themselves and are cut."] if unclosed else []),
            *(
                [f"Word count alone tells negatives from positives (AUC {length_auc:.2f}; 0.5 is chance)."]
                if abs(length_auc - 0.5) > LENGTH_AUC_TOLERANCE
                else []
            ),
        ],
        figures={
            "amateur held-out NLL (nats per token)": found.order.amateur_nll,
            "expert held-out NLL (nats per token)": found.order.expert_nll,
            "amateur parameters": pair.amateur.parameters,
            "expert parameters": pair.expert.parameters,
            "negatives": len(found.negatives.negatives),
            "redrawn segments that are cut": unclosed,
            "source tokens left out while sampling negatives": found.negatives.dropped,
            "share of training gaps read in a window of their dialogue": found.windowed,
            "AUC of word count, positives against negatives (0.5 is chance)": length_auc,
        },
        synthetic=data.synthetic,
    )
