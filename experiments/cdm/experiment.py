"""CDM on dialogues and on sentences about concepts, against ratings (CDM, section 4).

Every trained model and every sample is a kept stage (`core.stages`): a later run finds it again.
"""

import json
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import Field

from baselines.pairs import to_quality
from baselines.word_count import WordCount
from cdm.amr import Graphs
from cdm.discriminative import (
    POOLINGS,
    ClassifierPooler,
    DiscriminativeCDM,
    MomentumPooling,
    Steps,
    find_steps,
    load_steps,
    save_steps,
)
from cdm.infilling import Pair, PairReading, PartialOrder, TokenisedDialogues, get_turns
from cdm.negatives import (
    Negatives,
    NegativeSampler,
    load_negatives,
    sample_negatives,
    save_negatives,
    to_labelled,
)
from cdm.parallel import find_steps_on_all, sample_negatives_on_all
from cdm.rules import Rule, make_rule_negatives
from cdm.sampling import Sampling
from cdm.segments import Strategy
from core.errors import InputError, SettingError
from core.scores import Metric, Scores
from core.settings import Count, Positive, Several, check, checked_dataclass, one_of
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from data.corpus import Corpus
from discriminators.metric import DiscriminatorScore
from experiments.cdm import tables
from experiments.contracts import Run, Study
from experiments.presentation import present, score_sets
from experiments.training import DiscriminatorPlan, LanguageModelPlan, Pretrained, Trained, find_or_train
from meta_eval.scored_set import ScoredSet
from models.devices import set_aside

EQUAL_MIX = Sampling(gamma=-0.5)  # of amateur and expert: draws the machine turns that check a pooler
GENERATIVE = "cdm_generative"  # begins the rows of Generative CDM, whatever gamma is
BASELINE = "baseline_amateur_alone"  # begins the rows of the paper's baseline: the negatives of the amateur alone
ALONE = {-1.0: "expert alone", 0.0: "amateur alone"}  # who draws segments, by gamma (Table 5)
# the momentum itself is the same for all poolings, so that two explain it
EXPLAINED_POOLINGS: tuple[MomentumPooling, ...] = ("average", "classifier")


@checked_dataclass
class NegativesPlan:
    """Which negatives the discriminators learn from, and how they are made."""

    strategy: Strategy  # where and how often a dialogue is manipulated
    sampling: Sampling  # how segments are drawn from the degraded distribution
    # how many training dialogues get a negative; one is held out from the discriminators, so at least 2
    dialogues: Annotated[int, Field(ge=2)]
    # each dialogue is cut to a random window of at most this many turns, and at least half as many; None keeps all
    turns: Annotated[int, Field(ge=2)] | None = None
    graphs: str | None = None  # for `amr-multi`, a file of AMR graphs in PENMAN notation with alignments (`cdm.amr`)

    def __post_init__(self) -> None:
        if (self.strategy == "amr-multi") != (self.graphs is not None):
            raise ValueError(
                "graphs must be a file of AMR graphs for amr-multi, as a parser such as amrlib writes it (see "
                "cdm/amr.py), and null for any other strategy, but the strategy is "
                f"{self.strategy} and graphs is {self.graphs}"
            )

    def read_graphs(self) -> Graphs | None:
        """Reads the file `graphs`; None if there is no such file. Raises InputError for a missing file."""
        if self.graphs is None:
            return None
        if not Path(self.graphs).is_file():
            raise InputError([f"{self.graphs}: model.negatives.graphs must name a file, but there is none"])
        return Graphs.read(Path(self.graphs))

    def without_contrast(self) -> "NegativesPlan":
        """Returns the same plan with negatives drawn by the amateur alone: the paper's baseline (CDM, Table 5)."""
        return replace(self, sampling=replace(self.sampling, gamma=0.0, plausibility=0.0))


@checked_dataclass
class PoolerPlan:
    """What the classifier pooler learns from: whole held-out dialogues and their negatives by a rule."""

    dialogues: Count  # how many held-out dialogues, at most
    strength: Positive = 0.1  # scikit-learn's C
    negatives: Rule = "deam_like"


@dataclass(frozen=True)
class TrainedPair:
    """The amateur and the expert, as stages and as loaded models, and the check that the expert is better."""

    amateur: Trained
    expert: Trained
    pair: Pair
    order: PartialOrder

    @property
    def identity(self) -> dict[str, Any]:
        """All that results of the pair depend on, for the hashes of stages."""
        return {
            "amateur": self.amateur.identity,
            "expert": self.expert.identity,
            "reading": self.pair.reading,
            "infilling": self.pair.infilling,
            "dtype": self.pair.expert.dtype,
        }


def cdm(
    run: Run,
    data: Corpus,
    amateur: LanguageModelPlan | Pretrained,
    expert: LanguageModelPlan | Pretrained,
    keep: Literal["loss", "discrepancy"],
    untrained: PairReading | None,
    device: str,
    dtype: str,
    negatives: NegativesPlan,
    baseline: Sequence[str] | None,
    rules: Sequence[Rule],
    discriminators: Mapping[str, DiscriminatorPlan],
    pooler: PoolerPlan,
    chosen: str,
) -> Study:
    """Runs all of CDM on one corpus of dialogues, or of sentences after their concepts, as two turns.

    Args:
        amateur, expert: the pair, which learns `cdm.infilling.Gaps`, or a pretrained one; both have one vocabulary.
        keep: which epoch of the pair is kept: that of the lowest held-out loss of each model, or of both that of the
            largest discrepancy: the amateur's held-out loss minus the expert's, as the authors' trainer does.
        untrained: how a pretrained pair reads dialogues; None for a pair that learned gaps.
        device: where the trained models score and sample; the trainer's settings say where they train.
        dtype: of the weights of the pair while it scores and samples.
        negatives: what the discriminators learn from.
        baseline: which discriminators also learn negatives of the amateur alone, the paper's baseline (Table 5); None
            for no baseline.
        rules: earlier metrics, whose negatives rules make (`cdm.rules`); every discriminator learns these too.
        discriminators: by name; each gives the row `cdm_generative_NAME`.
        chosen: how the default settings were chosen, a phrase that stands beside every result.

    Before a model is trained, raises InputError for a file of graphs that is missing or faulty.
    """
    check(Several[one_of(tuple(discriminators))] | None, **{"model.baseline": baseline})
    negatives.read_graphs()
    load = partial(Pair.from_pretrained, device=device, dtype=dtype, untrained=untrained)
    trained = train_pair(run, data, amateur, expert, keep, load)
    pair = trained.pair
    # refuses turns that the models cannot read, before anything is drawn
    tokenised = [pair.tokenise(get_turns(rated.examples)) for rated in data.rated]
    learned = {GENERATIVE: get_negatives(run, trained, data, negatives)}
    if baseline is not None:
        learned[BASELINE] = get_negatives(run, trained, data, negatives.without_contrast())
    for rule in rules:
        dialogues = choose_dialogues(data, negatives, run.seed)
        learned[rule] = make_by_rule("model.rules", rule, dialogues, run.seed, pair)
    with set_aside(*pair.models):
        judges = train_discriminators(run, learned, discriminators, baseline)
    pooler_folder = get_pooler(run, trained, data, pooler)
    fitted = ClassifierPooler.load(pooler_folder / "pooler.json")
    metrics = make_discriminative(pair, fitted)
    steps = [get_steps(run, trained, dialogues) for dialogues in tokenised]
    by_judges = score_sets(run, data.rated, load_discriminators(judges, device))
    scored: list[ScoredSet] = []
    for rated, dialogues, read, scores in zip(data.rated, tokenised, steps, by_judges, strict=True):
        others = score_dialogues(rated, dialogues, read, pair, metrics)
        scored.append(replace(rated, scores={**scores, **others}))
    notes = [f"How the default settings were chosen: {chosen}"]
    if negatives.sampling.gamma in ALONE:
        notes.append(
            f"cdm_generative_* is a baseline of the paper (Table 5): negatives of the {ALONE[negatives.sampling.gamma]}"
        )
    if not trained.order.holds:
        notes.append(str(trained.order))
    if fitted.refusal:
        notes.append(f"{fitted.refusal}: the tables have no row for this pooling.")
    return present(
        run,
        scored,
        models={model.name: model for model in (trained.amateur, trained.expert, *judges.values())},
        tables=[
            *chain.from_iterable(map(tables.rank_dialogue_systems, scored, steps)),
            tables.tabulate_cues(learned, get_turns(data.held_out)),
        ],
        notes=notes,
        settings={
            "strategy": negatives.strategy,
            "gamma": negatives.sampling.gamma,
            "pooler": pooler.negatives,
        },
        folders={"pooler": pooler_folder},
        metrics_of={
            **{judge.name: [row] for row, judge in judges.items()},
            "amateur": list(metrics),
            "expert": list(metrics),
            "pooler": ["cdm_discriminative_classifier"],
        },
        figures={
            **tables.list_figures(pair, trained.order, learned[GENERATIVE]),
            "dialogues that the pooler learned": len(choose_for_pooler(data, pooler, run.seed)),
        },
        data=data,
    )


def split_held_out(data: Corpus) -> tuple[list[tuple[str, ...]], ...]:
    """Splits the held-out dialogues into three parts, so that no dialogue both chooses a model and checks it.

    The first part chooses the checkpoints of the language models. The second part shows whether the expert is better
    than the amateur, the third whether the classifier pooler scores human turns above machine ones. The pooler reads
    finished models, so it learns the first two parts.

    Raises SettingError for fewer than two training dialogues or fewer than two held-out ones.
    """
    if min(len(data.train), len(data.held_out)) < 2:
        raise SettingError(
            "CDM needs at least 2 training dialogues and 2 held-out ones, but there are "
            f"{len(data.train)} and {len(data.held_out)}: give more dialogues or another data.held_out_fraction"
        )
    dialogues = get_turns(data.held_out)
    return dialogues[::3], dialogues[1::3], dialogues[2::3]


def train_pair(
    run: Run,
    data: Corpus,
    amateur: LanguageModelPlan | Pretrained,
    expert: LanguageModelPlan | Pretrained,
    keep: str = "loss",
    load: Callable[[str, str], Pair] = Pair.from_pretrained,
) -> TrainedPair:
    """Trains amateur and expert, loads them, and compares them on held-out dialogues (the partial order)."""
    train = get_turns(data.train)
    choosing, checking, _ = split_held_out(data)
    if keep == "discrepancy":
        first, second = train_by_discrepancy(run, amateur, expert, train, choosing)
    else:
        first = find_or_train(run, "amateur", amateur, train, choosing)
        second = find_or_train(run, "expert", expert, train, choosing)
    pair = load(first.source, second.source)
    with run.timed("partial order"):
        order = pair.compare(pair.tokenise(checking).tasks(run.seed))
    return TrainedPair(first, second, pair, order)


def train_by_discrepancy(
    run: Run,
    amateur: LanguageModelPlan | Pretrained,
    expert: LanguageModelPlan | Pretrained,
    train: Sequence[Sequence[str]],
    held_out: Sequence[Sequence[str]],
) -> tuple[Trained, Trained]:
    """Trains amateur and expert; takes the weights of both after the epoch with the largest discrepancy.

    The discrepancy of an epoch is the amateur's held-out loss minus the expert's. Raises SettingError unless both are
    trained here, for the same epochs, and the amateur with whole weights.
    """
    if isinstance(amateur, Pretrained) or isinstance(expert, Pretrained):
        raise SettingError("keep=discrepancy chooses an epoch, but a pretrained pair has none: set keep=loss")
    epochs = amateur.schedule.epochs, expert.schedule.epochs
    if epochs[0] != epochs[1] or amateur.schedule.lora is not None:
        raise SettingError(
            "keep=discrepancy compares amateur and expert after the same epochs and keeps all weights of the "
            f"amateur: set as many epochs for both (they are {epochs[0]} and {epochs[1]}) and "
            "amateur.schedule.lora=null, or keep=loss"
        )
    every_amateur = find_or_train(run, "amateur_epochs", replace(amateur, every_epoch=True), train, held_out)
    losses = every_amateur.list_points("val/loss")
    chosen = find_or_train(run, "expert", replace(expert, against=losses), train, held_out)
    discrepancies = chosen.list_points("val/discrepancy")
    best = int(np.argmax(discrepancies))
    leads = iter(discrepancies)
    curve: list[dict[str, float]] = []
    for point in every_amateur.curve:
        lead = {"val/discrepancy": next(leads)} if "val/loss" in point else {}
        curve.append({**point, **lead})

    def build(folder: Path) -> None:
        shutil.copytree(Path(every_amateur.source) / f"epoch_{best}", folder, dirs_exist_ok=True)
        (folder / "curve.json").write_text(json.dumps(curve, indent=1) + "\n", "utf-8")

    depends = {"epochs": every_amateur.identity, "expert": chosen.identity}
    folder = run.keep("training amateur", "amateur", depends, build)
    return Trained("amateur", folder, tuple(curve)), chosen


def get_negatives(
    run: Run,
    trained: TrainedPair,
    data: Corpus,
    plan: NegativesPlan,
) -> Negatives:
    """Makes the negatives of the chosen training dialogues, or finds them as a stage.

    Raises SettingError if no dialogue gets a negative.
    """
    pair = trained.pair
    dialogues = choose_dialogues(data, plan, run.seed)
    graphs = plan.read_graphs()

    def build(folder: Path) -> None:
        sampler = NegativeSampler(pair, dialogues, plan.strategy, plan.sampling, seed=run.seed, graphs=graphs)
        with run.progress("sampling negatives", len(dialogues)) as advance:
            drawn = sample_negatives_on_all(sampler, folder, run.trainer, advance)
        refuse_unchanged(drawn, f"model.negatives.strategy is {plan.strategy}", dialogues, run.seed, pair)
        if run.stages.first:
            save_negatives(folder / "negatives.json", drawn)

    depends = {
        **trained.identity,
        "strategy": plan.strategy,
        "sampling": plan.sampling,
        "graphs": fingerprint(graphs),
        "dialogues": fingerprint(dialogues),
        "seed": run.seed,
    }
    folder = run.keep("sampling negatives", "negatives", depends, build, together=True)
    return load_negatives(folder / "negatives.json")


def make_by_rule(
    setting: str,
    rule: Rule,
    dialogues: Sequence[Sequence[str]],
    seed: int,
    pair: Pair,
) -> Negatives:
    """Makes the negatives of a rule. Raises SettingError, which names `setting`, if it changes no dialogue."""
    negatives = make_rule_negatives(dialogues, rule, seed, pair.reading.prompt_turns)
    refuse_unchanged(negatives, f"{setting} is {rule}", dialogues, seed, pair)
    return negatives


def refuse_unchanged(
    negatives: Negatives,
    setting: str,
    dialogues: Sequence[Sequence[str]],
    seed: int,
    pair: Pair,
) -> None:
    """Raises SettingError if no dialogue got a negative; the message names rules that would change the dialogues."""
    if negatives.indices:
        return
    given = pair.reading.prompt_turns
    rules = [rule for rule in get_args(Rule) if make_rule_negatives(dialogues, rule, seed, given).indices]
    raise SettingError(
        f"{setting}, but this changes none of the {len(dialogues)} dialogues; "
        f"rules that change some: {', '.join(rules) or 'none'}"
    )


def train_discriminators(
    run: Run,
    learned: Mapping[str, Negatives],
    plans: Mapping[str, DiscriminatorPlan],
    baseline: Sequence[str] | None = None,
) -> dict[str, Trained]:
    """Trains the discriminators; returns them by the name of their row in the results, such as `cdm_generative_bert`.

    The name has the kind of negatives, then the model. Only the discriminators that `baseline` names learn the
    negatives of the baseline.
    """
    trained: dict[str, Trained] = {}
    for kind, negatives in learned.items():
        texts = to_labelled(negatives)
        for name in (baseline or ()) if kind == BASELINE else plans:
            row = f"{kind}_{name}"
            model = f"discriminator_{name}" if kind == GENERATIVE else f"discriminator_{row}"
            trained[row] = find_or_train(run, model, plans[name], texts)
    return trained


def get_pooler(
    run: Run,
    trained: TrainedPair,
    data: Corpus,
    plan: PoolerPlan,
) -> Path:
    """Trains the classifier pooler and checks it, or finds it as a stage; returns its folder.

    Held-out dialogues that the pooler did not learn show whether it scores human turns above machine turns. These
    machine turns are drawn from both models with equal weight (gamma -1/2), so that the sign of their mean contrastive
    momentum does not follow from Eq. 1. Raises SettingError if no dialogue gets a negative.
    """
    fitted = fit_pooler(run, trained, data, plan)
    *_, developing = split_held_out(data)
    checking = developing[: plan.dialogues]

    def build(folder: Path) -> None:
        pooler = ClassifierPooler.load(fitted / "pooler.json")
        machine = sample_negatives(trained.pair, checking, "mixed-multi", EQUAL_MIX, run.seed)
        if machine.indices:
            pooler = pooler.with_auc(*find_both(trained.pair, machine))
        pooler.save(folder / "pooler.json")

    depends = {"fitted": fitted.name, "held_out": fingerprint(checking), "seed": run.seed}
    return run.keep("checking the pooler", "pooler", depends, build)


def fit_pooler(
    run: Run,
    trained: TrainedPair,
    data: Corpus,
    plan: PoolerPlan,
) -> Path:
    """Trains the classifier pooler, or finds it as a stage of its own, because it does not depend on Eq. 4.

    The pooler learns held-out dialogues and their negatives by a rule, never rated ones. The dialogues are whole, as
    rated ones are. Raises SettingError if no dialogue gets a negative.
    """
    pair = trained.pair
    learned = choose_for_pooler(data, plan, run.seed)

    def build(folder: Path) -> None:
        whole = pair.decode(pair.tokenise(learned).dialogues)
        negatives = make_by_rule("model.pooler.negatives", plan.negatives, whole, run.seed, pair)
        pooler = ClassifierPooler.fit(*find_both(pair, negatives), plan.strength)
        pooler.save(folder / "pooler.json")

    depends = {
        **trained.identity,
        "plan": plan,
        "held_out": fingerprint(learned),
        "seed": run.seed,
    }
    return run.keep("fitting the pooler", "pooler_fit", depends, build)


def find_both(pair: Pair, negatives: Negatives) -> tuple[list[Steps], list[Steps]]:
    """Computes the log-probabilities of the positives and of the negatives."""
    good = find_steps(pair, pair.tokenise(negatives.positives))
    return good, find_steps(pair, pair.tokenise(negatives.negatives))


def choose_for_pooler(data: Corpus, plan: PoolerPlan, seed: int) -> list[tuple[str, ...]]:
    """Draws at most `plan.dialogues` uncut dialogues to train the classifier pooler on.

    They come from the first two of the three held-out parts (`split_held_out`); the third checks the pooler.
    """
    choosing, checking, _ = split_held_out(data)
    return cut_dialogues([*choosing, *checking], None, seed)[: plan.dialogues]


def get_steps(run: Run, trained: TrainedPair, dialogues: TokenisedDialogues) -> list[Steps]:
    """Computes the log-probabilities of dialogues under both models, or finds them as a stage for all poolings."""

    def build(folder: Path) -> None:
        steps = find_steps_on_all(trained.pair, dialogues, folder, run.trainer)
        if run.stages.first:
            save_steps(folder / "steps.npz", steps)

    depends = {**trained.identity, "dialogues": fingerprint(dialogues.dialogues)}
    return load_steps(run.keep("momentum", "momentum", depends, build, together=True) / "steps.npz")


def make_discriminative(pair: Pair, pooler: ClassifierPooler) -> dict[str, DiscriminativeCDM]:
    """Makes a metric of Discriminative CDM for each pooling, by the name of its row in the results.

    A pooler that must not be used (`ClassifierPooler.refusal`) makes no metric.
    """
    metrics: dict[str, DiscriminativeCDM] = {}
    for pooling in POOLINGS:
        needed = pooler if pooling == "classifier" else None
        if needed is None or not needed.refusal:
            explain = pooling in EXPLAINED_POOLINGS
            metrics[f"cdm_discriminative_{pooling}"] = DiscriminativeCDM(pair, pooling, needed, explain=explain)
    return metrics


def load_discriminators(judges: Mapping[str, Trained], device: str) -> dict[str, Callable[[], Metric]]:
    """Makes a function for each trained discriminator, which loads it as a metric."""
    load = partial(DiscriminatorScore.from_pretrained, device=device, dialogues=True)
    return {row: partial(load, judge.source) for row, judge in judges.items()}


def score_dialogues(
    rated: ScoredSet,
    dialogues: TokenisedDialogues,
    steps: Sequence[Steps],
    pair: Pair,
    metrics: Mapping[str, DiscriminativeCDM],
) -> dict[str, Scores]:
    """Scores one rated set by Discriminative CDM and by the baselines; adds the published scores of the set."""
    scores = {row: metric.score_steps(dialogues, steps) for row, metric in metrics.items()}
    for name, lm in (("amateur", pair.amateur), ("expert", pair.expert)):
        row = f"{name}_likelihood"  # the mean log-probability (nats) of the tokens of a dialogue
        line = signature(row, libraries=MODEL_LIBRARIES, model=lm.identity)
        log_probabilities = [getattr(of_dialogue, name) for of_dialogue in steps]
        scores[row] = to_quality(log_probabilities, line, [of_dialogue.dropped for of_dialogue in steps])
    scores["word_count"] = WordCount().score(rated.examples)
    published = {f"{metric}_published": found for metric, found in rated.scores.items()}
    return {**scores, **published}


def choose_dialogues(data: Corpus, plan: NegativesPlan, seed: int) -> list[tuple[str, ...]]:
    """Draws the training dialogues that get a negative, cut into windows."""
    return cut_dialogues(get_turns(data.train), plan.turns, seed)[: plan.dialogues]


def cut_dialogues(dialogues: Sequence[Sequence[str]], turns: int | None, seed: int) -> list[tuple[str, ...]]:
    """Shuffles the dialogues, and cuts each to one random window, whose length is random, too.

    A window has `turns` turns at most and half as many at least, but never more than its dialogue. None keeps all.

    >>> cut_dialogues([("a", "b", "c")], None, 0)
    [('a', 'b', 'c')]
    """
    rng = random.Random(seed)
    cut: list[tuple[str, ...]] = []
    for dialogue in rng.sample(dialogues, len(dialogues)):
        length = len(dialogue)
        if turns is not None:
            length = min(length, rng.randint(max(2, turns // 2), turns))
        start = rng.randint(0, len(dialogue) - length)
        cut.append(tuple(dialogue[start : start + length]))
    return cut
