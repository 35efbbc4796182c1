"""CDM on dialogues: train the pair, sample negatives, learn them, score rated dialogues both ways, ask who agrees.

CDM, section 4.1. Forward only; every trained model and every sample is a kept stage.
"""

import json
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from baselines.likelihood import likelihood_scores
from baselines.word_count import WordCount
from cdm.discriminative import POOLINGS, ClassifierPooler, Steps, dialogue_steps, pooled_scores
from cdm.generative import GenerativeCDM, labelled
from cdm.negatives import Negatives, manipulated_negatives, sample_negatives
from cdm.pair import Pair, PartialOrder, turns_of
from cdm.sampling import Sampling
from cdm.segments import Strategy
from core.scores import Scores
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from data.rated import RatedSet
from data.sets.dialogues import DialogueData
from discriminators.discriminator import Discriminator
from experiments.report import plots
from experiments.report.evaluation import evaluate, published_scores
from experiments.runner.contracts import Outcome, Row, Run, ScoredSet
from experiments.training.discriminators import DiscriminatorPlan, trained_discriminator
from experiments.training.language_models import LanguageModelPlan, trained_language_model
from experiments.training.trained import Trained, folders_of

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NegativesPlan:
    """What the discriminators learn from.

    Attributes:
        strategy: where and how often a dialogue is manipulated.
        sampling: how segments are drawn from the degraded distribution.
        dialogues: how many training dialogues get a negative.
        turns: dialogues longer than this are cut into windows of so many turns first; null keeps them whole.
    """

    strategy: Strategy
    sampling: Sampling
    dialogues: int
    turns: int | None = None


@dataclass(frozen=True)
class PoolerPlan:
    """What the classifier pooler learns from.

    Attributes:
        negatives: `manipulated` (foreign, swapped and repeated turns) or `sampled` (Generative CDM's own).
        strength: scikit-learn's C.
        turns: as in NegativesPlan.
    """

    negatives: Literal["manipulated", "sampled"] = "manipulated"
    strength: float = 0.1
    turns: int | None = None


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
        discriminators: by name; each gives a row `cdm_generative_NAME`.
        pooler: what the classifier pooler learns from.
        device: where the trained models score and sample; where they train is the trainer's to say.
    """
    held_out = turns_of(data.held_out)
    models = {
        name: trained_language_model(run, name, plan, turns_of(data.train), held_out)
        for name, plan in (("amateur", amateur), ("expert", expert))
    }
    pair = Pair.from_pretrained(models["amateur"].source, models["expert"].source, device=device)
    with run.timed("partial order"):
        order = pair.partial_order(pair.tokenise(held_out).tasks(run.seed))

    learned = _negatives(run, pair, models, turns_of(data.train), negatives)
    trained = {
        f"discriminator_{name}": trained_discriminator(run, f"discriminator_{name}", plan, labelled(learned), run.seed)
        for name, plan in discriminators.items()
    }
    generative = {
        name: GenerativeCDM(Discriminator.from_pretrained(trained[f"discriminator_{name}"].source, device))
        for name in discriminators
    }
    pooler_folder, fitted = _pooler(run, pair, models, held_out, pooler, negatives)

    scored: list[ScoredSet] = []
    rows: list[Row] = []
    steps_of: dict[str, list[Steps]] = {}
    for rated in data.rated:
        with run.timed(f"momentum {rated.name}"):
            steps = steps_of[rated.name] = dialogue_steps(pair, turns_of(rated.examples))
        scores = _scores(run, rated, steps, fitted, generative)
        scored.append(ScoredSet(rated, scores))
        rows += evaluate(scores, rated)
    return Outcome(
        signature=_signature(run, data, models, negatives),
        rows=rows,
        scored=scored,
        plots={
            "training_curves": plots.training_curves({name: model.curve for name, model in models.items()}),
            **{f"scores_{s.rated.name}": plots.scores_against_ratings(s) for s in scored},
            **{
                f"momentum_{s.rated.name}": plots.momentum_along_dialogues(s.rated, steps_of[s.rated.name])
                for s in scored
            },
        },
        models={**folders_of({**models, **trained}), "pooler": pooler_folder},
        notes=_notes(order, learned),
        figures=_figures(order, pair, learned),
        synthetic=data.synthetic,
    )


def _negatives(
    run: Run, pair: Pair, models: Mapping[str, Trained], dialogues: Sequence[Sequence[str]], plan: NegativesPlan
) -> Negatives:
    """The stage of negatives."""
    chosen = windows(dialogues, plan.turns, run.seed)[: plan.dialogues]

    def build(folder: Path) -> None:
        with run.progress("sampling negatives", len(chosen)) as advance:
            found = sample_negatives(pair, chosen, plan.strategy, plan.sampling, run.seed, advance=advance)
        (folder / "negatives.json").write_text(json.dumps(asdict(found), ensure_ascii=False) + "\n", "utf-8")

    with run.timed("sampling negatives"):
        folder = run.stages.get(
            "negatives",
            {
                "amateur": models["amateur"].identity,
                "expert": models["expert"].identity,
                "strategy": plan.strategy,
                "sampling": plan.sampling,
                "dialogues": fingerprint(chosen),
                "longest": pair.longest,
                "seed": run.seed,
            },
            build,
            version=1,
        )
    stored = json.loads((folder / "negatives.json").read_text("utf-8"))
    positives, negatives = (tuple(tuple(turns) for turns in stored[key]) for key in ("positives", "negatives"))
    return Negatives(positives, negatives, tuple(stored["indices"]), stored["failures"])


def _pooler(
    run: Run,
    pair: Pair,
    models: Mapping[str, Trained],
    held_out: Sequence[Sequence[str]],
    plan: PoolerPlan,
    sampled: NegativesPlan,
) -> tuple[Path, ClassifierPooler]:
    """The stage of the classifier pooler: it learns held-out dialogues against damaged ones, never the rated set."""
    chosen = windows(held_out, plan.turns, run.seed)

    def build(folder: Path) -> None:
        if plan.negatives == "manipulated":
            found = manipulated_negatives(chosen, run.seed)
        else:
            found = sample_negatives(pair, chosen, sampled.strategy, sampled.sampling, run.seed)
        good, damaged = dialogue_steps(pair, found.positives), dialogue_steps(pair, found.negatives)
        ClassifierPooler.fit(good, damaged, plan.strength).save(folder / "pooler.json")

    with run.timed("fitting the pooler"):
        folder = run.stages.get(
            "pooler",
            {
                "amateur": models["amateur"].identity,
                "expert": models["expert"].identity,
                "plan": plan,
                "sampled": sampled if plan.negatives == "sampled" else None,
                "held_out": fingerprint(chosen),
                "longest": pair.longest,
                "seed": run.seed,
            },
            build,
            version=1,
        )
    return folder, ClassifierPooler.load(folder / "pooler.json")


def windows(dialogues: Sequence[Sequence[str]], turns: int | None, seed: int) -> list[tuple[str, ...]]:
    """The dialogues in random order; those of more than `turns` turns as one random window of so many turns or fewer.

    >>> windows([("a", "b", "c")], None, 0)
    [('a', 'b', 'c')]
    """
    rng = random.Random(seed)
    cut: list[tuple[str, ...]] = []
    for dialogue in rng.sample(dialogues, len(dialogues)):
        length = len(dialogue) if turns is None else min(len(dialogue), rng.randint(max(2, turns // 2), turns))
        start = rng.randint(0, len(dialogue) - length)
        cut.append(tuple(dialogue[start : start + length]))
    return cut


def _scores(
    run: Run,
    rated: RatedSet,
    steps: Sequence[Steps],
    pooler: ClassifierPooler,
    generative: Mapping[str, GenerativeCDM],
) -> dict[str, Scores]:
    """All rows of one rated set by metric."""
    with run.timed(f"scoring {rated.name}"):
        scores = {f"cdm_generative_{name}": metric.score(rated.examples) for name, metric in generative.items()}
        for pooling in POOLINGS:
            name = f"cdm_discriminative_{pooling}"
            scores[name] = pooled_scores(steps, pooling, signature(name, libraries=MODEL_LIBRARIES), pooler)
        dropped = [s.dropped for s in steps]
        scores["amateur_likelihood"] = likelihood_scores([s.amateur for s in steps], dropped, "amateur_likelihood", {})
        scores["expert_likelihood"] = likelihood_scores([s.expert for s in steps], dropped, "expert_likelihood", {})
        scores["word_count"] = WordCount().score(rated.examples)
        scores |= {f"{metric}_published": found for metric, found in published_scores(rated).items()}
    return scores


def _signature(run: Run, data: DialogueData, models: Mapping[str, Trained], plan: NegativesPlan) -> str:
    return signature(
        run.name,
        libraries=MODEL_LIBRARIES,
        data=data.name,
        amateur=models["amateur"].identity,
        expert=models["expert"].identity,
        strategy=plan.strategy,
        gamma=plan.sampling.gamma,
        seed=run.seed,
    )


def _notes(order: PartialOrder, learned: Negatives) -> list[str]:
    notes = [] if order.holds else [str(order)]
    if learned.failures:
        notes.append(f"{learned.failures} dialogues could not be manipulated and have no negative.")
    return notes


def _figures(order: PartialOrder, pair: Pair, learned: Negatives) -> dict[str, float]:
    return {
        "amateur held-out NLL (nats per token)": order.amateur_nll,
        "expert held-out NLL (nats per token)": order.expert_nll,
        "amateur parameters": pair.amateur.parameters,
        "expert parameters": pair.expert.parameters,
        "negatives": len(learned.negatives),
    }
