"""CDM on dialogues: train the pair, sample negatives, learn them, score rated dialogues both ways, ask who agrees.

CDM, section 4.1. Forward only; every trained model and every sample is a kept stage.
"""

import json
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

from baselines.likelihood import likelihood_scores
from baselines.word_count import WordCount
from cdm.discriminative import POOLINGS, ClassifierPooler, Steps, dialogue_steps, pooled_scores
from cdm.generative import GenerativeCDM, labelled
from cdm.infilling import train_infilling_model
from cdm.negatives import Negatives, manipulated_negatives, sample_negatives
from cdm.pair import SEPARATOR, Pair, PartialOrder, tokenise, turns_of
from cdm.sampling import Sampling
from cdm.segments import Strategy
from core.example import Example
from core.scores import Scores
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from data.rated import RatedSet
from data.sets.dialogues import DialogueData
from discriminators.discriminator import Discriminator
from discriminators.training import TrainingSettings, train_discriminator
from experiments.report import plots
from experiments.report.evaluation import evaluate, published_scores
from experiments.runner.contracts import Outcome, Row, Run, ScoredSet
from language_models.seq2seq import Seq2SeqLM
from language_models.training import Schedule

log = logging.getLogger(__name__)


class ModelPlan(Protocol):
    """What to build: a frozen dataclass of settings that makes a model."""

    def build(self, texts: Sequence[str], additional: tuple[str, ...], seed: int) -> Seq2SeqLM:
        """The model before training."""
        ...


@dataclass(frozen=True)
class InfillingPlan:
    """One of the two models: what to build, how long to train it, and how many gaps each dialogue has per epoch."""

    model: ModelPlan
    schedule: Schedule
    gaps_per_dialogue: int = 1


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


@dataclass(frozen=True)
class DiscriminatorPlan:
    """A discriminator: what to build (a partial of new_bert or new_bilstm) and how long to train it."""

    build: partial[Discriminator]
    training: TrainingSettings


def cdm_dialogue(
    run: Run,
    data: DialogueData,
    amateur: InfillingPlan,
    expert: InfillingPlan,
    longest: int,
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
        longest: source tokens a model reads; longer dialogues are read in windows.
        negatives: what the discriminators learn from.
        discriminators: by name; each gives a row `cdm_generative_NAME`.
        pooler: what the classifier pooler learns from.
        device: where the trained models score and sample; where they train is the trainer's to say.
    """
    held_out = turns_of(data.held_out)
    folders = {
        name: _trained_infilling(run, name, plan, data, longest)
        for name, plan in (("amateur", amateur), ("expert", expert))
    }
    pair = Pair.from_pretrained(folders["amateur"], folders["expert"], device=device)
    with run.timed("partial order"):
        order = pair.partial_order(pair.tokenise(held_out).tasks(run.seed))

    learned = _negatives(run, pair, folders, turns_of(data.train), negatives)
    trained = {name: _trained_discriminator(run, name, plan, learned, device) for name, plan in discriminators.items()}
    pooler_folder, fitted = _pooler(run, pair, folders, held_out, pooler, negatives)

    scored: list[ScoredSet] = []
    rows: list[Row] = []
    steps_of: dict[str, list[Steps]] = {}
    for rated in data.rated:
        with run.timed(f"momentum {rated.name}"):
            steps = steps_of[rated.name] = dialogue_steps(pair, turns_of(rated.examples))
        scores = _scores(run, rated, steps, fitted, trained)
        scored.append(ScoredSet(rated, scores))
        rows += evaluate(scores, rated)
    curves = {name: json.loads((folder / "curve.json").read_text("utf-8")) for name, folder in folders.items()}
    return Outcome(
        signature=_signature(run, data, folders, negatives),
        rows=rows,
        scored=scored,
        plots={
            "training_curves": plots.training_curves(curves),
            **{f"scores_{s.rated.name}": plots.scores_against_ratings(s) for s in scored},
            **{
                f"momentum_{s.rated.name}": plots.momentum_along_dialogues(s.rated, steps_of[s.rated.name])
                for s in scored
            },
        },
        models={**folders, "pooler": pooler_folder, **{f"discriminator_{n}": f for n, (f, _) in trained.items()}},
        notes=_notes(order, learned[0]),
        figures=_figures(order, pair, learned[0]),
        synthetic=data.synthetic,
    )


def _trained_infilling(run: Run, name: str, plan: InfillingPlan, data: DialogueData, longest: int) -> Path:
    """The stage of one model of the pair."""

    def build(folder: Path) -> None:
        train = turns_of(data.train)
        lm = plan.model.build([turn for turns in train for turn in turns], (SEPARATOR,), run.seed)
        lm.tokenizer.model_max_length = longest  # saved with the model: how much of a dialogue it has learned to read
        log.info("%s: %.2f M parameters, %d tokens", name, lm.parameters / 1e6, len(lm.tokenizer))
        train_infilling_model(
            lm,
            tokenise(lm, train, longest),
            tokenise(lm, turns_of(data.held_out), longest).tasks(run.seed),
            plan.schedule,
            plan.gaps_per_dialogue,
            folder,
            run.trainer,
            run.loggers(name),
            run.seed,
        )

    with run.timed(f"training {name}"):
        return run.stages.get(
            name,
            {
                "model": asdict(plan.model),  # pyright: ignore[reportArgumentType]
                "schedule": asdict(plan.schedule),
                "gaps_per_dialogue": plan.gaps_per_dialogue,
                "train": _dialogues_hash(data.train),
                "held_out": _dialogues_hash(data.held_out),
                "longest": longest,
                "seed": run.seed,
            },
            build,
            together=True,
            version=1,
        )


def _negatives(
    run: Run, pair: Pair, models: Mapping[str, Path], dialogues: Sequence[Sequence[str]], plan: NegativesPlan
) -> tuple[Negatives, str]:
    """The stage of negatives, with its name for what depends on it."""
    chosen = windows(dialogues, plan.turns, run.seed)[: plan.dialogues]

    def build(folder: Path) -> None:
        with run.progress("sampling negatives", len(chosen)) as advance:
            found = sample_negatives(pair, chosen, plan.strategy, plan.sampling, run.seed, advance=advance)
        (folder / "negatives.json").write_text(json.dumps(asdict(found), ensure_ascii=False) + "\n", "utf-8")

    with run.timed("sampling negatives"):
        folder = run.stages.get(
            "negatives",
            {
                "amateur": models["amateur"].name,
                "expert": models["expert"].name,
                "strategy": plan.strategy,
                "sampling": asdict(plan.sampling),
                "dialogues": fingerprint([list(turns) for turns in chosen]),
                "longest": pair.longest,
                "seed": run.seed,
            },
            build,
            version=1,
        )
    stored = json.loads((folder / "negatives.json").read_text("utf-8"))
    positives, negatives = (tuple(tuple(turns) for turns in stored[key]) for key in ("positives", "negatives"))
    return Negatives(positives, negatives, tuple(stored["indices"]), stored["failures"]), folder.name


def _trained_discriminator(
    run: Run, name: str, plan: DiscriminatorPlan, learned: tuple[Negatives, str], device: str
) -> tuple[Path, Discriminator]:
    """The stage of one discriminator."""
    negatives, negatives_name = learned

    def build(folder: Path) -> None:
        train_discriminator(
            plan.build,
            labelled(negatives),
            folder,
            run.trainer,
            plan.training,
            run.loggers(f"discriminator_{name}"),
            run.seed,
        )

    with run.timed(f"training discriminator {name}"):
        folder = run.stages.get(
            f"discriminator_{name}",
            {
                "build": plan.build.func.__name__,
                "arguments": dict(plan.build.keywords),
                "training": asdict(plan.training),
                "negatives": negatives_name,
                "seed": run.seed,
            },
            build,
            together=True,
            version=1,
        )
        return folder, Discriminator.from_pretrained(folder, device)


def _pooler(
    run: Run,
    pair: Pair,
    models: Mapping[str, Path],
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
                "amateur": models["amateur"].name,
                "expert": models["expert"].name,
                "plan": asdict(plan),
                "sampled": asdict(sampled) if plan.negatives == "sampled" else None,
                "held_out": fingerprint([list(turns) for turns in chosen]),
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
    trained: Mapping[str, tuple[Path, Discriminator]],
) -> dict[str, Scores]:
    """All rows of one rated set by metric."""
    with run.timed(f"scoring {rated.name}"):
        scores = {
            f"cdm_generative_{name}": GenerativeCDM(discriminator).score(rated.examples)
            for name, (_, discriminator) in trained.items()
        }
        for pooling in POOLINGS:
            name = f"cdm_discriminative_{pooling}"
            scores[name] = pooled_scores(steps, pooling, signature(name, libraries=MODEL_LIBRARIES), pooler)
        dropped = [s.dropped for s in steps]
        scores["amateur_likelihood"] = likelihood_scores([s.amateur for s in steps], dropped, "amateur_likelihood", {})
        scores["expert_likelihood"] = likelihood_scores([s.expert for s in steps], dropped, "expert_likelihood", {})
        scores["word_count"] = WordCount().score(rated.examples)
        scores |= {f"{metric}_published": found for metric, found in published_scores(rated).items()}
    return scores


def _dialogues_hash(examples: Sequence[Example]) -> str:
    return fingerprint([list(turns) for turns in turns_of(examples)])


def _signature(run: Run, data: DialogueData, models: Mapping[str, Path], plan: NegativesPlan) -> str:
    return signature(
        run.name,
        libraries=MODEL_LIBRARIES,
        data=data.name,
        amateur=models["amateur"].name,
        expert=models["expert"].name,
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
