"""CDM on dialogues and on sentences about concepts, against ratings (CDM, section 4).

Every trained model and every sample is a kept stage (`core.stages`): a later run finds it again.
"""

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np

from baselines.pairs import to_quality
from baselines.word_count import WordCount
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
from cdm.infilling import Pair, PartialOrder, TokenisedDialogues, get_turns
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
from core.errors import SettingError
from core.scores import Metric, Scores
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from data.corpus import Corpus
from data.words import spell
from discriminators.metric import DiscriminatorScore
from experiments.cdm import tables
from experiments.cdm.plans import CdmPlan, NegativesPlan, PoolerPlan
from experiments.contracts import Run, Study
from experiments.presentation import present
from experiments.training import Trained, find_or_train
from meta_eval.scored_set import ScoredSet
from models.devices import set_aside
from models.model import ConditionalLM

LoadMetric: TypeAlias = partial[DiscriminatorScore]
EQUAL_MIX = Sampling(gamma=-0.5)  # of amateur and expert: draws the machine turns that check a pooler
GENERATIVE = "cdm_generative"  # begins the rows of Generative CDM, whatever gamma is
# the momentum itself is the same for all poolings, so that two explain it
EXPLAINED_POOLINGS: tuple[MomentumPooling, ...] = ("average", "classifier")


def cdm(run: Run, data: Corpus, plan: CdmPlan) -> Study:
    """Runs all of CDM on one corpus of dialogues, or of sentences after their concepts, as two turns.

    Before a model is trained, raises InputError for a file of graphs that is missing or faulty.
    """
    plan.negatives.read_graphs()
    trained = train_pair(run, data, plan)
    # refuses turns that the models cannot read, before anything is drawn
    tokenised = [trained.pair.tokenise(get_turns(rated.examples)) for rated in data.rated]
    negatives = get_negatives(run, trained, data, plan.negatives)
    learned = {GENERATIVE: negatives}
    if plan.baseline is not None:
        learned[tables.BASELINE] = get_negatives(run, trained, data, plan.negatives.without_contrast())
    learned |= get_rule_negatives(run, trained, data, plan)
    with set_aside(trained.pair.amateur.model, trained.pair.expert.model):
        discriminators = train_discriminators(run, learned, plan)
    pooler_folder = get_pooler(run, trained, data, plan.pooler)
    pooler = ClassifierPooler.load(pooler_folder / "pooler.json")
    metrics = {
        **list_generative(discriminators, plan.device),
        **make_discriminative(trained.pair, pooler),
    }
    read = [get_steps(run, trained, dialogues) for dialogues in tokenised]
    scored = [
        score_dialogues(run, rated, dialogues, metrics, trained.pair)
        for rated, dialogues in zip(data.rated, read, strict=True)
    ]
    cues = tables.tabulate_cues(learned, get_turns(data.held_out))
    notes = [
        f"How the default settings were chosen: {plan.chosen}",
        *tables.list_baselines(plan),
        *tables.list_warnings(trained.order, negatives, cues, pooler),
        *explain_pooler(data, plan.pooler),
    ]
    models = (trained.amateur, trained.expert, *discriminators.values())
    return present(
        run,
        scored,
        models={model.name: model for model in models},
        tables=[
            *tables.tabulate_damage(scored),
            *tables.tabulate_momentum(scored, [dialogues.steps for dialogues in read]),
            cues,
        ],
        notes=notes,
        settings={
            "data": data.name,
            "spelling": trained.pair.spelling,
            "strategy": plan.negatives.strategy,
            "gamma": plan.negatives.sampling.gamma,
            "pooler": plan.pooler.negatives,
        },
        folders={"pooler": pooler_folder},
        metrics_of=list_metrics(discriminators),
        figures=tables.list_figures(
            pair=trained.pair,
            order=trained.order,
            negatives=negatives,
            data=data,
            plan=plan,
            seed=run.seed,
        ),
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
            "max_length": self.pair.max_length,
            "prompt_turns": self.pair.prompt_turns,
            "spelling": self.pair.spelling,
            "infilling": self.pair.infilling,
            "dtype": self.pair.expert.dtype,
        }


def train_pair(run: Run, data: Corpus, plan: CdmPlan) -> TrainedPair:
    """Trains amateur and expert, and compares them on held-out dialogues (the partial order)."""
    train = get_turns(data.train)
    choosing, checking, _ = split_held_out(data)
    if plan.keep == "loss":
        amateur = find_or_train(run, "amateur", plan.amateur, train, choosing)
        expert = find_or_train(run, "expert", plan.expert, train, choosing)
    else:
        amateur, expert = train_by_discrepancy(run, plan, train, choosing)
    pair = Pair.from_pretrained(amateur.source, expert.source, plan.device, plan.dtype, plan.untrained)
    with run.timed("partial order"):
        order = pair.compare(pair.tokenise(checking).tasks(run.seed))
    return TrainedPair(amateur, expert, pair, order)


def train_by_discrepancy(
    run: Run,
    plan: CdmPlan,
    train: Sequence[Sequence[str]],
    held_out: Sequence[Sequence[str]],
) -> tuple[Trained, Trained]:
    """Trains amateur and expert; takes the weights of both after the epoch with the largest discrepancy.

    The discrepancy of an epoch is the amateur's held-out loss minus the expert's.
    """
    every_amateur = find_or_train(run, "amateur_epochs", replace(plan.amateur, every_epoch=True), train, held_out)
    losses = [point["val/loss"] for point in every_amateur.curve if "val/loss" in point]
    expert = find_or_train(run, "expert", replace(plan.expert, against=losses), train, held_out)
    discrepancies = [point["val/discrepancy"] for point in expert.curve if "val/discrepancy" in point]
    best = int(np.argmax(discrepancies))
    remaining = iter(discrepancies)
    curve = [dict(point) for point in every_amateur.curve]
    for point in curve:
        if "val/loss" in point:
            point["val/discrepancy"] = next(remaining)

    def build(folder: Path) -> None:
        shutil.copytree(Path(every_amateur.source) / f"epoch_{best}", folder, dirs_exist_ok=True)
        (folder / "curve.json").write_text(json.dumps(curve, indent=1) + "\n", "utf-8")

    depends = {"epochs": every_amateur.identity, "expert": expert.identity}
    folder = run.stages.get("amateur", depends, build)
    return Trained("amateur", folder, tuple(curve)), expert


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
    chosen = choose_dialogues(data, plan, run.seed)
    graphs = plan.read_graphs()

    def build(folder: Path) -> None:
        sampler = NegativeSampler(pair, chosen, plan.strategy, plan.sampling, seed=run.seed, graphs=graphs)
        with run.progress("sampling negatives", len(chosen)) as advance:
            negatives = sample_negatives_on_all(sampler, folder, run.trainer, advance)
        refuse_unchanged(negatives, f"model.negatives.strategy is {plan.strategy}", chosen, run.seed, pair.prompt_turns)
        if run.stages.first:
            save_negatives(folder / "negatives.json", negatives)

    depends = {
        **trained.identity,
        "strategy": plan.strategy,
        "sampling": plan.sampling,
        "graphs": fingerprint(graphs),
        "dialogues": fingerprint(chosen),
        "seed": run.seed,
    }
    with run.timed("sampling negatives"):
        folder = run.stages.get("negatives", depends, build, together=True)
    return load_negatives(folder / "negatives.json")


def refuse_unchanged(
    negatives: Negatives,
    setting: str,
    dialogues: Sequence[Sequence[str]],
    seed: int,
    prompt_turns: int,
) -> None:
    """Raises SettingError if no dialogue got a negative; the message names rules that would change the dialogues.

    `prompt_turns` is the number of leading turns that are never changed.
    """
    if negatives.indices:
        return
    usable = [rule for rule in get_args(Rule) if make_rule_negatives(dialogues, rule, seed, prompt_turns).indices]
    raise SettingError(
        f"{setting}, but this changes none of the {len(dialogues)} dialogues; "
        f"rules that change some: {', '.join(usable) or 'none'}"
    )


def get_rule_negatives(
    run: Run,
    trained: TrainedPair,
    data: Corpus,
    plan: CdmPlan,
) -> dict[str, Negatives]:
    """Makes the negatives of each rule of the plan, by the name of the rule.

    Raises SettingError for a rule that changes no dialogue.
    """
    pair = trained.pair
    chosen = spell(choose_dialogues(data, plan.negatives, run.seed), pair.spelling)
    by_rule: dict[str, Negatives] = {}
    for rule in plan.rules:
        negatives = make_rule_negatives(chosen, rule, run.seed, pair.prompt_turns)
        refuse_unchanged(negatives, f"model.rules is {rule}", chosen, run.seed, pair.prompt_turns)
        by_rule[rule] = negatives
    return by_rule


def train_discriminators(run: Run, learned: Mapping[str, Negatives], plan: CdmPlan) -> dict[str, Trained]:
    """Trains the discriminators; returns them by the name of their row in the results, such as `cdm_generative_bert`.

    The name has the kind of negatives, then the model. Only the discriminators that `plan.baseline` names learn the
    negatives of the baseline.
    """
    discriminators: dict[str, Trained] = {}
    for kind, negatives in learned.items():
        texts = to_labelled(negatives)
        names = plan.discriminators
        if kind == tables.BASELINE:
            names = plan.baseline or ()
        for name in names:
            row = f"{kind}_{name}"
            model = f"discriminator_{name}" if kind == GENERATIVE else f"discriminator_{row}"
            discriminators[row] = find_or_train(run, model, plan.discriminators[name], texts)
    return discriminators


def get_pooler(
    run: Run,
    trained: TrainedPair,
    data: Corpus,
    plan: PoolerPlan,
) -> Path:
    """Trains the classifier pooler, or finds it as a stage; returns its folder.

    The pooler learns held-out dialogues and their negatives, never rated ones. The dialogues are whole, as rated ones
    are. Other held-out dialogues show whether the pooler scores human turns above machine turns. These machine turns
    are drawn from both models with equal weight (gamma -1/2), so that the sign of their mean contrastive momentum does
    not follow from Eq. 1. Raises SettingError if no dialogue gets a negative.
    """
    pair = trained.pair
    *_, developing = split_held_out(data)
    learned = choose_for_pooler(data, plan, run.seed)
    checking = developing[: plan.dialogues]

    def find_both(negatives: Negatives) -> tuple[list[Steps], list[Steps]]:
        good = find_steps(pair, pair.tokenise(negatives.positives))
        bad = find_steps(pair, pair.tokenise(negatives.negatives))
        return good, bad

    def build(folder: Path) -> None:
        whole = pair.decode(pair.tokenise(learned).dialogues)
        negatives = make_rule_negatives(whole, plan.negatives, run.seed, pair.prompt_turns)
        refuse_unchanged(negatives, f"model.pooler.negatives is {plan.negatives}", learned, run.seed, pair.prompt_turns)
        pooler = ClassifierPooler.fit(*find_both(negatives), plan.strength)
        machine = sample_negatives(pair, checking, "mixed-multi", EQUAL_MIX, run.seed)
        if machine.indices:
            pooler = pooler.with_auc(*find_both(machine))
        pooler.save(folder / "pooler.json")

    depends = {
        **trained.identity,
        "plan": plan,
        "held_out": fingerprint([*learned, *checking]),
        "seed": run.seed,
    }
    with run.timed("fitting the pooler"):
        return run.stages.get("pooler", depends, build)


def choose_for_pooler(data: Corpus, plan: PoolerPlan, seed: int) -> list[tuple[str, ...]]:
    """Draws at most `plan.dialogues` uncut dialogues to train the classifier pooler on.

    They come from the first two of the three held-out parts (`split_held_out`); the third checks the pooler.
    """
    choosing, checking, _ = split_held_out(data)
    whole = cut_dialogues([*choosing, *checking], None, seed)
    return whole[: plan.dialogues]


def explain_pooler(data: Corpus, plan: PoolerPlan) -> list[str]:
    """Returns a note if the pooler learns fewer dialogues than its plan asks for, else an empty list."""
    learned = len(choose_for_pooler(data, plan, seed=0))
    if learned == plan.dialogues:
        return []
    return [
        f"the classifier pooler learned {learned} held-out dialogues, not the {plan.dialogues} of "
        f"model.pooler.dialogues: {data.name} has {len(data.held_out)} held-out ones, and a third of them checks it"
    ]


def list_generative(discriminators: Mapping[str, Trained], device: str) -> dict[str, LoadMetric]:
    """Returns Generative CDM, its baseline and the rules as metrics, by the name of their row in the results.

    Each discriminator is loaded only when it scores, so that the device holds one discriminator at a time.
    """
    return {
        row: partial(DiscriminatorScore.from_pretrained, judge.source, device, dialogues=True)
        for row, judge in discriminators.items()
    }


def list_metrics(discriminators: Mapping[str, Trained]) -> dict[str, Sequence[str]]:
    """Lists, for each trained model, the metrics that score with it, by the names of their rows in the results."""
    momentum_rows = [f"cdm_discriminative_{pooling}" for pooling in POOLINGS]
    rows: dict[str, Sequence[str]] = {judge.name: [row] for row, judge in discriminators.items()}
    rows["amateur"] = momentum_rows
    rows["expert"] = momentum_rows
    rows["pooler"] = ["cdm_discriminative_classifier"]
    return rows


class ReadDialogues(NamedTuple):
    """Rated dialogues with their log-probabilities under both models, which all poolings share."""

    tokenised: TokenisedDialogues
    steps: list[Steps]


def get_steps(run: Run, trained: TrainedPair, tokenised: TokenisedDialogues) -> ReadDialogues:
    """Computes the log-probabilities (`Steps`) of rated dialogues under both models, or finds them as a stage."""

    def build(folder: Path) -> None:
        steps = find_steps_on_all(trained.pair, tokenised, folder, run.trainer)
        if run.stages.first:
            save_steps(folder / "steps.npz", steps)

    depends = {**trained.identity, "dialogues": fingerprint(tokenised.dialogues)}
    with run.timed("momentum"):
        folder = run.stages.get("momentum", depends, build, together=True)
        return ReadDialogues(tokenised, load_steps(folder / "steps.npz"))


def make_discriminative(pair: Pair, pooler: ClassifierPooler) -> dict[str, Metric]:
    """Makes a metric of Discriminative CDM for each pooling, by the name of its row in the results.

    A pooler that must not be used (`ClassifierPooler.refusal`) makes no metric.
    """
    metrics: dict[str, Metric] = {}
    for pooling in POOLINGS:
        needed = pooler if pooling == "classifier" else None
        if needed is not None and needed.refusal:
            continue
        metrics[f"cdm_discriminative_{pooling}"] = DiscriminativeCDM(
            pair,
            pooling,
            needed,
            explain=pooling in EXPLAINED_POOLINGS,
        )
    return metrics


def score_dialogues(
    run: Run,
    rated: ScoredSet,
    read: ReadDialogues,
    metrics: Mapping[str, Metric | LoadMetric],
    pair: Pair,
) -> ScoredSet:
    """Scores one rated set by all metrics: both kinds of CDM and the baselines.

    Keeps the published scores of the set.
    """
    with run.timed(f"scoring {rated.name}"):
        scores = {name: score_by(metric, rated, read) for name, metric in metrics.items()}
        scores["amateur_likelihood"] = score_likelihood("amateur", pair.amateur, read.steps)
        scores["expert_likelihood"] = score_likelihood("expert", pair.expert, read.steps)
        scores["word_count"] = WordCount().score(rated.examples)
        scores |= {f"{metric}_published": published for metric, published in rated.scores.items()}
    return replace(rated, scores=scores)


def score_likelihood(name: str, lm: ConditionalLM, steps: Sequence[Steps]) -> Scores:
    """Scores each dialogue by the mean log-probability (nats) of its tokens under one model of the pair."""
    line = signature(f"{name}_likelihood", libraries=MODEL_LIBRARIES, model=lm.identity)
    log_probabilities = [getattr(of_dialogue, name) for of_dialogue in steps]
    return to_quality(log_probabilities, line, [of_dialogue.dropped for of_dialogue in steps])


def score_by(metric: Metric | LoadMetric, rated: ScoredSet, read: ReadDialogues) -> Scores:
    """Scores a set by one metric. Loads the metric first if it is not loaded."""
    if isinstance(metric, DiscriminativeCDM):
        return metric.score_steps(read.tokenised, read.steps)
    loaded = metric() if isinstance(metric, partial) else metric
    return loaded.score(rated.examples)


def choose_dialogues(data: Corpus, plan: NegativesPlan, seed: int) -> list[tuple[str, ...]]:
    """Draws the training dialogues that get a negative, cut into windows."""
    windows = cut_dialogues(get_turns(data.train), plan.turns, seed)
    return windows[: plan.dialogues]


def cut_dialogues(dialogues: Sequence[Sequence[str]], turns: int | None, seed: int) -> list[tuple[str, ...]]:
    """Shuffles the dialogues, and cuts each of more than `turns` turns to one random window of at most `turns`.

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
