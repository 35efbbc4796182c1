"""CDM on dialogues and on sentences about concepts, against ratings (CDM, section 4).

Every trained model and every sample is a kept stage.
"""

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
from pydantic import TypeAdapter

from baselines.pairs import to_quality
from baselines.word_count import WordCount
from cdm import discriminative, negatives
from cdm.concepts import check_exchangeable, exchange_concepts, find_known
from cdm.discriminative import POOLINGS, ClassifierPooler, DiscriminativeCDM, MomentumPooling, Steps, find_steps
from cdm.infilling import Pair, PartialOrder, TokenisedDialogues, get_turns
from cdm.negatives import Negatives, NegativeSampler, sample_negatives
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
from experiments.cdm.plans import CdmPlan, DiscrepancyPlan, NegativesPlan, PoolerPlan
from experiments.contracts import Outcome, Run, Table
from experiments.presentation import present
from experiments.training import Trained, find_or_train
from meta_eval.scored_set import ScoredSet
from models.devices import set_aside

LoadMetric: TypeAlias = partial[DiscriminatorScore]
MACHINE = Sampling(gamma=-0.5)  # of the turns that check a pooler
GENERATIVE = "cdm_generative"  # begins the rows of Generative CDM, whatever gamma is
EXPLAINED: tuple[MomentumPooling, ...] = ("average", "classifier")  # the momentum itself is the same for all poolings


def cdm(run: Run, data: Corpus, plan: CdmPlan) -> Outcome:
    """The whole of CDM on one collection of dialogues, or of sentences after their concepts as two turns.

    Raises SettingError for the strategy `exchange` without sentences about concepts, and InputError for a file of
    graphs that is missing or faulty, before a model is trained.
    """
    plan.negatives.read_graphs()
    if plan.negatives.strategy == "exchange":
        chosen = spell(choose_dialogues(data, plan.negatives, run.seed), "normal")
        check_exchangeable(chosen, find_known(spell(get_turns(data.train), "normal")))
    trained = train_pair(run, data, plan)
    # refuses turns that the models cannot read, before anything is drawn
    tokenised = [trained.pair.tokenise(get_turns(rated.examples)) for rated in data.rated]
    sampled = get_negatives(run, trained, data, plan.negatives)
    resampled = get_resampled(run, trained, data, plan)
    learned = {GENERATIVE: sampled, **resampled, **make_ruled(run, trained, data, plan)}
    with set_aside(trained.pair.amateur.model, trained.pair.expert.model):
        discriminators = train_discriminators(run, learned, plan)
    pooler = get_pooler(run, trained, data, plan.pooler)
    fitted = ClassifierPooler.load(pooler / "pooler.json")
    metrics = {**list_generative(discriminators, plan.device), **make_discriminative(trained.pair, fitted)}
    read = [get_steps(run, trained, dialogues) for dialogues in tokenised]
    steps = [of_set.steps for of_set in read]
    scored = [score_dialogues(run, *each, metrics, trained.pair) for each in zip(data.rated, read, strict=True)]
    cues = tables.tabulate_cues(learned, get_turns(data.held_out))
    contrasts = [row for each in zip(scored, steps, strict=True) for row in tables.list_contrasts(*each)]
    return present(
        run,
        scored,
        {model.name: model for model in (trained.amateur, trained.expert, *discriminators.values())},
        tables=[
            *(table for each in zip(scored, steps, strict=True) for table in tables.rank_dialogue_systems(*each)),
            *([Table("Weight of the amateur", tables.CONTRAST_CAPTION, contrasts)] if contrasts else []),
            cues,
        ],
        notes=[
            f"How the default settings were chosen: {plan.chosen}",
            *tables.list_baselines(plan),
            *tables.list_warnings(trained.order, sampled, cues, fitted),
            *tables.list_unlearned((trained.amateur, trained.expert)),
            *explain_pooler(data, plan.pooler),
        ],
        settings={
            "data": data.name,
            "spelling": trained.pair.spelling,
            "strategy": plan.negatives.strategy,
            "gamma": plan.negatives.sampling.gamma,
            "pooler": plan.pooler.negatives,
        },
        folders={"pooler": pooler},
        metrics_of=list_metrics(discriminators),
        figures=tables.list_figures(trained.pair, trained.order, sampled, data, plan, run.seed),
        data=data,
    )


def split_held_out(data: Corpus) -> tuple[list[tuple[str, ...]], ...]:
    """Held-out dialogues in three parts of every third one, so that what checks a model has chosen nothing in it.

    The first part chooses the checkpoints of language models, the second one shows whether the expert is the better
    one, the third one whether the classifier pooler scores human turns above machine ones. The pooler, which reads
    finished models, learns the first two parts.

    Raises SettingError where two dialogues to train on, or one for each of the first two purposes, are missing.
    """
    if min(len(data.train), len(data.held_out)) < 2:
        raise SettingError(
            "CDM needs at least 2 dialogues to train on and 2 held-out ones, but there are "
            f"{len(data.train)} and {len(data.held_out)}: give more dialogues or another data.held_out_fraction"
        )
    dialogues = get_turns(data.held_out)
    return dialogues[::3], dialogues[1::3], dialogues[2::3]


@dataclass(frozen=True)
class TrainedPair:
    """The two infilling models, as trained and as loaded, and whether the expert is the better one."""

    amateur: Trained
    expert: Trained
    pair: Pair
    order: PartialOrder

    @property
    def identity(self) -> dict[str, Any]:
        """What results of the pair depend on."""
        return {
            "amateur": self.amateur.identity,
            "expert": self.expert.identity,
            "max_length": self.pair.max_length,
            "given": self.pair.given,
            "spelling": self.pair.spelling,
            "infilling": self.pair.infilling,
            "dtype": self.pair.expert.dtype,
        }


def train_pair(run: Run, data: Corpus, plan: CdmPlan) -> TrainedPair:
    """Amateur and expert, and their partial order on held-out dialogues."""
    train, (choosing, checking, _) = get_turns(data.train), split_held_out(data)
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
    run: Run, plan: CdmPlan, train: Sequence[Sequence[str]], held_out: Sequence[Sequence[str]]
) -> tuple[Trained, Trained]:
    """Amateur and expert as they were after one epoch: that of the largest difference of their held-out losses."""
    every = find_or_train(run, "amateur_epochs", DiscrepancyPlan(**vars(plan.amateur)), train, held_out)
    losses = [point["val/loss"] for point in every.curve if "val/loss" in point]
    expert = find_or_train(run, "expert", DiscrepancyPlan(**vars(plan.expert), against=losses), train, held_out)
    found = [point["val/discrepancy"] for point in expert.curve if "val/discrepancy" in point]
    best, source, given = int(np.argmax(found)), Path(every.source), iter(found)
    curve = [{**point, "val/discrepancy": next(given)} if "val/loss" in point else point for point in every.curve]

    def build(folder: Path) -> None:
        shutil.copytree(source / f"epoch_{best}", folder, dirs_exist_ok=True)
        (folder / "curve.json").write_text(json.dumps(curve, indent=1) + "\n", "utf-8")

    depends = {"epochs": every.identity, "expert": expert.identity}
    folder = run.stages.get("amateur", depends, build)
    return Trained("amateur", folder, tuple(curve)), expert


def get_negatives(run: Run, trained: TrainedPair, data: Corpus, settings: NegativesPlan) -> Negatives:
    """The negatives of the chosen training dialogues. Raises SettingError where there are none."""
    pair = trained.pair
    chosen, graphs = choose_dialogues(data, settings, run.seed), settings.read_graphs()

    def build(folder: Path) -> None:
        if settings.strategy == "exchange":
            known = find_known(spell(get_turns(data.train), pair.spelling))
            found = exchange_concepts(pair, chosen, known, settings.sampling, run.seed)
        else:
            sampler = NegativeSampler.prepare(
                pair, chosen, settings.strategy, settings.sampling, seed=run.seed, graphs=graphs
            )
            with run.progress("sampling negatives", len(chosen)) as advance:
                found = sample_negatives_on_all(sampler, folder, run.trainer, advance)
        refuse_unchanged(found, f"model.negatives.strategy is {settings.strategy}", chosen, run.seed, pair.given)
        if run.stages.first:
            (folder / "negatives.json").write_text(json.dumps(asdict(found), ensure_ascii=False) + "\n", "utf-8")

    depends = {
        **trained.identity,
        "strategy": settings.strategy,
        "sampling": settings.sampling,
        "graphs": fingerprint(graphs),
        "dialogues": fingerprint(chosen),
        **({"train": fingerprint(get_turns(data.train))} if settings.strategy == "exchange" else {}),
        "seed": run.seed,
    }
    with run.timed("sampling negatives"):
        folder = run.stages.get("negatives", depends, build, together=True)
    return TypeAdapter(Negatives).validate_json((folder / "negatives.json").read_bytes())


def get_resampled(run: Run, trained: TrainedPair, data: Corpus, plan: CdmPlan) -> dict[str, Negatives]:
    """The negatives of the paper's baseline under their name; none where the plan has no baseline."""
    if plan.baseline is None:
        return {}
    return {tables.BASELINE: get_negatives(run, trained, data, plan.negatives.without_contrast())}


def refuse_unchanged(found: Negatives, setting: str, dialogues: Sequence[Sequence[str]], seed: int, given: int) -> None:
    """Raises SettingError, which names the setting and the rules that would do, where no dialogue got a negative."""
    if not found.indices:
        usable = [rule for rule in get_args(Rule) if make_rule_negatives(dialogues, rule, seed, given).indices]
        raise SettingError(
            f"{setting}, but this changes none of the {len(dialogues)} dialogues; {', '.join(usable) or 'no rules'} do"
        )


def make_ruled(run: Run, trained: TrainedPair, data: Corpus, plan: CdmPlan) -> dict[str, Negatives]:
    """The negatives of each rule of the plan. Raises SettingError for a rule that changes no dialogue."""
    chosen = spell(choose_dialogues(data, plan.negatives, run.seed), trained.pair.spelling)
    ruled = {rule: make_rule_negatives(chosen, rule, run.seed, trained.pair.given) for rule in plan.rules}
    for rule, found in ruled.items():
        refuse_unchanged(found, f"model.rules is {rule}", chosen, run.seed, trained.pair.given)
    return ruled


def train_discriminators(run: Run, learned: Mapping[str, Negatives], plan: CdmPlan) -> dict[str, Trained]:
    """The discriminators by row, which the kind of their negatives begins, as in `cdm_generative_bert`.

    Only those that the plan names learn the negatives of the baseline.
    """
    discriminators: dict[str, Trained] = {}
    for kind, found in learned.items():
        texts = negatives.to_labelled(found)
        chosen = plan.baseline or () if kind == tables.BASELINE else plan.discriminators
        for name in chosen:
            row = f"{kind}_{name}"
            model = f"discriminator_{name}" if kind == GENERATIVE else f"discriminator_{row}"
            discriminators[row] = find_or_train(run, model, plan.discriminators[name], texts)
    return discriminators


def get_pooler(run: Run, trained: TrainedPair, data: Corpus, plan: PoolerPlan) -> Path:
    """The folder of the classifier pooler, which learns held-out dialogues against their negatives, never rated ones.

    The dialogues are whole, as rated ones are. Others show whether it scores human turns above machine ones. Both
    models write these turns alike (gamma -1/2), so that the sign of their mean momentum does not follow from Eq. 1.

    Raises SettingError where none of the dialogues gets a negative.
    """
    pair = trained.pair
    *_, developing = split_held_out(data)
    learned = choose_for_pooler(data, plan, run.seed)
    others = developing[: plan.dialogues]

    def build(folder: Path) -> None:
        whole = pair.decode(pair.tokenise(learned).dialogues)
        found = make_rule_negatives(whole, plan.negatives, run.seed, pair.given)
        refuse_unchanged(found, f"model.pooler.negatives is {plan.negatives}", learned, run.seed, pair.given)
        pooler = ClassifierPooler.fit(*find_both(found), plan.strength)
        machine = sample_negatives(pair, others, "mixed-multi", MACHINE, run.seed)
        (pooler.with_auc(*find_both(machine)) if machine.indices else pooler).save(folder / "pooler.json")

    def find_both(found: Negatives) -> tuple[list[Steps], list[Steps]]:
        good, bad = (find_steps(pair, pair.tokenise(texts)) for texts in (found.positives, found.negatives))
        return good, bad

    depends = {
        **trained.identity,
        "plan": plan,
        "held_out": fingerprint([*learned, *others]),
        "seed": run.seed,
    }
    with run.timed("fitting the pooler"):
        return run.stages.get("pooler", depends, build)


def choose_for_pooler(data: Corpus, plan: PoolerPlan, seed: int) -> list[tuple[str, ...]]:
    """The held-out dialogues that the pooler learns: whole ones of the first two parts, at most those of the plan."""
    choosing, checking, _ = split_held_out(data)
    return cut_dialogues([*choosing, *checking], None, seed)[: plan.dialogues]


def explain_pooler(data: Corpus, plan: PoolerPlan) -> list[str]:
    """A note on a pooler that learns fewer dialogues than its plan asks for."""
    learned = len(choose_for_pooler(data, plan, seed=0))
    if learned == plan.dialogues:
        return []
    return [
        f"the classifier pooler learned {learned} held-out dialogues, not the {plan.dialogues} of "
        f"model.pooler.dialogues: {data.name} has {len(data.held_out)} held-out ones, and a third of them checks it"
    ]


def list_generative(discriminators: Mapping[str, Trained], device: str) -> dict[str, LoadMetric]:
    """Generative CDM, its baseline and the rules, by row. Each is loaded when it scores: the device holds one."""
    return {
        row: partial(DiscriminatorScore.from_pretrained, judge.source, device, dialogues=True)
        for row, judge in discriminators.items()
    }


def list_metrics(discriminators: Mapping[str, Trained]) -> dict[str, Sequence[str]]:
    """The rows of agreement that each trained model scores; the pair and its pooler score those of the momentum."""
    momentum = [f"cdm_discriminative_{pooling}" for pooling in POOLINGS]
    rows: dict[str, Sequence[str]] = {judge.name: [row] for row, judge in discriminators.items()}
    return {**rows, "amateur": momentum, "expert": momentum, "pooler": ["cdm_discriminative_classifier"]}


class ReadDialogues(NamedTuple):
    """Rated dialogues as the pair read them, which all poolings share."""

    tokenised: TokenisedDialogues
    steps: list[Steps]


def get_steps(run: Run, trained: TrainedPair, tokenised: TokenisedDialogues) -> ReadDialogues:
    """The steps of rated dialogues, a stage."""

    def build(folder: Path) -> None:
        steps = find_steps_on_all(trained.pair, tokenised, folder, run.trainer)
        if run.stages.first:
            discriminative.save_steps(folder / "steps.npz", steps)

    depends = {**trained.identity, "dialogues": fingerprint(tokenised.dialogues)}
    with run.timed("momentum"):
        folder = run.stages.get("momentum", depends, build, together=True)
        return ReadDialogues(tokenised, discriminative.load_steps(folder / "steps.npz"))


def make_discriminative(pair: Pair, fitted: ClassifierPooler) -> dict[str, Metric]:
    """Discriminative CDM by row name, a row for each pooling but that of a refused classifier."""
    return {
        f"cdm_discriminative_{pooling}": DiscriminativeCDM(
            pair, pooling, fitted if pooling == "classifier" else None, explain=pooling in EXPLAINED
        )
        for pooling in POOLINGS
        if not (pooling == "classifier" and fitted.refusal)
    }


def score_dialogues(
    run: Run, rated: ScoredSet, read: ReadDialogues, metrics: Mapping[str, Metric | LoadMetric], pair: Pair
) -> ScoredSet:
    """One rated set under every metric: both CDM scores, baselines, and published scores."""
    with run.timed(f"scoring {rated.name}"):
        scores = {name: score_by(metric, rated, read) for name, metric in metrics.items()}
        for name, lm in (("amateur", pair.amateur), ("expert", pair.expert)):
            line = signature(f"{name}_likelihood", libraries=MODEL_LIBRARIES, model=lm.identity)
            rows = [getattr(steps, name) for steps in read.steps]
            scores[f"{name}_likelihood"] = to_quality(rows, line, [steps.dropped for steps in read.steps])
        scores["word_count"] = WordCount().score(rated.examples)
        scores |= {f"{metric}_published": found for metric, found in rated.scores.items()}
    return replace(rated, scores=scores)


def score_by(metric: Metric | LoadMetric, rated: ScoredSet, read: ReadDialogues) -> Scores:
    """The scores of a metric; one that is still to be loaded is loaded now."""
    if isinstance(metric, DiscriminativeCDM):
        return metric.score_steps(read.tokenised, read.steps)
    loaded = metric() if isinstance(metric, partial) else metric
    return loaded.score(rated.examples)


def choose_dialogues(data: Corpus, plan: NegativesPlan, seed: int) -> list[tuple[str, ...]]:
    """The training dialogues that get a negative: the first ones in random order, cut into windows."""
    return cut_dialogues(get_turns(data.train), plan.turns, seed)[: plan.dialogues]


def cut_dialogues(dialogues: Sequence[Sequence[str]], turns: int | None, seed: int) -> list[tuple[str, ...]]:
    """The dialogues in random order; a dialogue of more than `turns` turns as one random window of at most `turns`.

    >>> cut_dialogues([("a", "b", "c")], None, 0)
    [('a', 'b', 'c')]
    """
    rng = random.Random(seed)
    cut: list[tuple[str, ...]] = []
    for dialogue in rng.sample(dialogues, len(dialogues)):
        length = len(dialogue) if turns is None else min(len(dialogue), rng.randint(max(2, turns // 2), turns))
        start = rng.randint(0, len(dialogue) - length)
        cut.append(tuple(dialogue[start : start + length]))
    return cut
