"""CDM on dialogues: train the pair, sample negatives, learn them, score rated dialogues both ways, ask who agrees.

CDM, section 4.1. Forward only; every trained model and every sample is a kept stage.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from baselines.likelihood import likelihood_scores
from baselines.word_count import WordCount
from cdm.discriminative import POOLINGS, ClassifierPooler, Steps, dialogue_steps, pooled_scores
from cdm.generative import GenerativeCDM, labelled
from cdm.infilling import Schedule, train_infilling_model
from cdm.negatives import Negatives, sample_negatives
from cdm.pair import SEPARATOR, Pair, PartialOrder, tokenise, turns_of
from cdm.sampling import Sampling
from cdm.segments import Strategy
from data.dialogues import DialogueData, RatedSet
from data.example import Example
from data.scores import Scores
from data.signature import MODEL_LIBRARIES, signature
from data.stages import fingerprint
from discriminators.discriminator import Discriminator
from discriminators.training import TrainingSettings, train_discriminator
from experiments import plots
from experiments.contracts import Outcome, Row, Run, ScoredSet
from experiments.evaluation import evaluate, published_scores
from language_models.seq2seq import Seq2SeqLM

log = logging.getLogger(__name__)


class ModelPlan(Protocol):
    """What to build: a frozen dataclass of settings that makes a model."""

    def build(self, texts: Sequence[str], additional: tuple[str, ...], seed: int) -> Seq2SeqLM:
        """The model before training."""
        ...


@dataclass(frozen=True)
class InfillingPlan:
    """One of the two models: what to build and how long to train it."""

    model: ModelPlan
    schedule: Schedule


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
class DiscriminatorPlan:
    """A discriminator: what to build (a partial of new_bert or new_bilstm) and how long to train it."""

    build: Callable[..., Discriminator]
    training: TrainingSettings


def cdm_dialogue(
    run: Run,
    data: DialogueData,
    amateur: InfillingPlan,
    expert: InfillingPlan,
    longest: int,
    negatives: NegativesPlan,
    discriminators: Mapping[str, DiscriminatorPlan],
) -> Outcome:
    """The whole of CDM on one collection of dialogues.

    Args:
        run: from the runner.
        data: dialogues to train on, held-out ones, and rated sets.
        amateur, expert: the pair; both must have one vocabulary.
        longest: source tokens a model reads; longer dialogues are read in windows.
        negatives: what the discriminators learn from.
        discriminators: by name; each gives a row `cdm_generative_NAME`.
    """
    held_out = turns_of(data.held_out)
    folders = {
        name: _trained_infilling(run, name, plan, data, longest)
        for name, plan in (("amateur", amateur), ("expert", expert))
    }
    pair = Pair.from_pretrained(folders["amateur"], folders["expert"], longest)
    with run.timed("partial order"):
        order = pair.partial_order(pair.tokenise(held_out).tasks(run.seed))

    learned = _negatives(run, "negatives", pair, folders, _windows(turns_of(data.train), negatives.turns), negatives)
    trained = {name: _trained_discriminator(run, name, plan, learned) for name, plan in discriminators.items()}
    pooler = _pooler(run, pair, folders, _windows(held_out, negatives.turns), negatives)

    scored: list[ScoredSet] = []
    rows: list[Row] = []
    steps_of: dict[str, list[Steps]] = {}
    for rated in data.rated:
        steps = steps_of[rated.name] = _steps(run, pair, rated)
        scores = _scores(run, rated, steps, pooler, trained)
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
        models={**{n: f for n, f in folders.items()}, **{f"discriminator_{n}": f for n, (f, _) in trained.items()}},
        notes=_notes(data, order, learned),
        figures=_figures(order, pair, learned),
        synthetic=data.synthetic,
    )


def _trained_infilling(run: Run, name: str, plan: InfillingPlan, data: DialogueData, longest: int) -> Path:
    """The stage of one model of the pair."""

    def build(folder: Path) -> None:
        train = turns_of(data.train)
        lm = plan.model.build([turn for turns in train for turn in turns], (SEPARATOR,), run.seed)
        log.info("%s: %.2f M parameters, %d tokens", name, lm.parameters / 1e6, len(lm.tokenizer))
        train_infilling_model(
            lm,
            tokenise(lm, train, longest),
            tokenise(lm, turns_of(data.held_out), longest).tasks(run.seed),
            plan.schedule,
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
                "train": _dialogues_hash(data.train),
                "held_out": _dialogues_hash(data.held_out),
                "longest": longest,
                "seed": run.seed,
            },
            build,
        )


def _negatives(
    run: Run, name: str, pair: Pair, models: Mapping[str, Path], dialogues: Sequence[Sequence[str]], plan: NegativesPlan
) -> tuple[Negatives, str]:
    """The stage of negatives, with its name for what depends on it."""
    chosen = dialogues[: plan.dialogues]

    def build(folder: Path) -> None:
        with run.progress(f"sampling {name}", total=len(chosen)) as advance:
            found = sample_negatives(pair, chosen, plan.strategy, plan.sampling, run.seed, advance=advance)
        (folder / "negatives.json").write_text(json.dumps(asdict(found), ensure_ascii=False) + "\n", "utf-8")

    with run.timed(f"sampling {name}"):
        folder = run.stages.get(
            name,
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
        )
    stored = json.loads((folder / "negatives.json").read_text("utf-8"))
    return Negatives(
        positives=tuple(tuple(turns) for turns in stored["positives"]),
        negatives=tuple(tuple(turns) for turns in stored["negatives"]),
        indices=tuple(stored["indices"]),
        failures=stored["failures"],
    ), folder.name
