"""What CDM shows beside scores: systems by E(p) (CDM, section 3.1 and Eq. 3), figures of its models, and warnings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from cdm.concepts import share_that_lose_concepts
from cdm.cues import TOLERANCE, measure_cues
from cdm.discriminative import ClassifierPooler, MomentumPooling, Steps, pool
from cdm.infilling import Gaps, Pair, PartialOrder, TokenisedDialogues, get_turns
from cdm.momentum import distribution_quality
from cdm.negatives import PLAUSIBLE, Negatives
from core.scores import Scores
from data.corpus import Corpus
from experiments.cdm.plans import CdmPlan
from experiments.training import LanguageModelPlan, Trained
from judge.tables import Table
from meta_eval.agreement import measure_aspect
from meta_eval.bootstrap import Estimate, bootstrap, estimate_ratio, number_groups
from meta_eval.scored_set import ScoredSet

LEARNED = 0.1  # of its norm: a new token whose embedding moves less is hardly learned
BASELINE = "baseline_amateur_alone"  # begins the rows of the paper's baseline: the negatives of the amateur alone
BETAS = (0.0, 0.5, 0.75, 1.0)
CONTRASTED: tuple[MomentumPooling, ...] = ("average", "sum")
CONTRAST_CAPTION = (
    "log p_e - beta log p_a, pooled: with beta 0 the likelihood of the expert alone, with 1 the momentum of Eq. 1. "
    "Spearman's rho with the ratings and the agreement beyond cheap cues, with 95 % bootstrap intervals over inputs. "
    "Whoever chooses beta or a pooling by this table has chosen it on the set that is reported."
)
SYSTEMS_CAPTION = (
    "E(p) of Eq. 3: the mean momentum of a system's texts in nats per text, which follows length, and per token. "
    "Higher is better. The ratings are means over the same texts."
)
CUES_CAPTION = (
    "How well one surface feature alone tells positives from negatives: AUC, 0.5 is chance, above it positives have "
    "more of it. Unseen words are in no held-out dialogue."
)
IMPLAUSIBLE = f"share of drawn tokens beyond the likeliest {PLAUSIBLE:.0%} of the amateur's vocabulary"


def rank_dialogue_systems(rated: ScoredSet, steps: Sequence[Steps]) -> list[Table]:
    """One table of the systems of a rated set, best E(p) first; none where the examples do not name two systems."""
    of_system: dict[str, list[int]] = {}
    for i, (example, found) in enumerate(zip(rated.examples, steps, strict=True)):
        if example.system is not None and len(found.turn):
            of_system.setdefault(example.system, []).append(i)
    if len(of_system) < 2:
        return []
    rows = [_row(rated, steps, system, places) for system, places in of_system.items()]
    rows.sort(key=lambda row: -row["E(p)"].value)
    return [Table(f"Systems of {rated.name} by E(p)", SYSTEMS_CAPTION, rows)]


def _row(rated: ScoredSet, steps: Sequence[Steps], system: str, places: Sequence[int]) -> dict[str, Any]:
    texts = [rated.examples[i] for i in places]
    units = number_groups(len(places), [text.group or text.id for text in texts])
    momentum = np.array([steps[i].momentum.sum() for i in places])
    tokens = np.array([len(steps[i].turn) for i in places])
    found: dict[str, Estimate] = bootstrap(
        lambda weights: {
            "E(p)": distribution_quality(momentum, weights),
            "per token": weights @ momentum / (weights @ tokens),
        },
        units,
    )
    for aspect in sorted({aspect for text in texts for aspect in text.ratings}):
        rated_places = [i for i, text in enumerate(texts) if aspect in text.ratings]
        ratings = np.array([texts[i].ratings[aspect] for i in rated_places])
        own = units[rated_places]
        found[f"rated {aspect}"] = estimate_ratio(ratings, np.ones(len(ratings)), own, resamples=1000)
    return {"system": system, "n": len(places), **found}


def list_contrasts(rated: ScoredSet, steps: Sequence[Steps]) -> list[dict[str, Any]]:
    """The agreement of a rated set by the weight of the amateur and the pooling.

    A dialogue without tokens is left out.
    """
    places = [i for i, found in enumerate(steps) if len(found.turn)]
    known = rated.take(places)
    cells = [{"pooling": pooling, "beta": beta} for pooling in CONTRASTED for beta in BETAS]
    scores = {
        f"{cell['pooling']} {cell['beta']:g}": Scores(
            {"quality": np.array([pool(steps[i], cell["pooling"], beta=cell["beta"]) for i in places])}, ""
        )
        for cell in cells
    }
    contrasted, named = replace(known, scores=scores), dict(zip(scores, cells, strict=True))
    return [
        {"set": rated.name, "aspect": aspect, **named[row.metric], "n": row.n}
        | {"spearman": row.spearman, "beyond_cues": row.beyond_cues}
        for aspect in known.aspects
        for row in measure_aspect(contrasted, aspect)
    ]


def list_figures(
    pair: Pair, order: PartialOrder, negatives: Negatives, data: Corpus, plan: CdmPlan, seed: int
) -> dict[str, float]:
    """Held-out losses, sizes, what the models read, and what negatives give away, by name."""
    text = pair.tokenise(get_turns(data.train))
    both = {"amateur": plan.amateur, "expert": plan.expert}
    plans = {name: each for name, each in both.items() if isinstance(each, LanguageModelPlan)}
    are_sentences = pair.given == 1 and all(len(turns) == 2 for turns in negatives.positives)  # after their concepts
    lost = {"share of negatives that lose a concept": share_that_lose_concepts(negatives)} if are_sentences else {}
    drawn = {} if negatives.implausible is None else {IMPLAUSIBLE: negatives.implausible}
    windowed = [task.dropped > 0 for task in text.tasks(seed)]
    return {
        "amateur held-out NLL (nats per token)": order.amateur_nll,
        "expert held-out NLL (nats per token)": order.expert_nll,
        "amateur parameters": pair.amateur.parameters,
        "expert parameters": pair.expert.parameters,
        "negatives": len(negatives.negatives),
        "redrawn segments that are cut": negatives.unclosed,
        "source tokens left out while sampling negatives": negatives.dropped,
        "share of training gaps read in a window of their dialogue": float(np.mean(windowed)),
        **{f"passes of the {name} over the training text": count_passes(p, text, seed) for name, p in plans.items()},
        **lost,
        **drawn,
    }


def list_baselines(plan: CdmPlan) -> list[str]:
    """Which rows are a baseline of the paper, not its method."""
    said = []
    writer = plan.negatives.writer
    if plan.baseline is not None:
        said.append(f"{BASELINE}_*: a baseline of the paper (Table 5), not CDM: the amateur draws alone (gamma 0).")
    if writer != "contrast":
        gamma = f"model.negatives.sampling.gamma is {plan.negatives.sampling.gamma:g}"
        said.append(f"{gamma}: cdm_generative_* is a baseline of the paper (Table 5) here: negatives of the {writer}.")
    return said


def tabulate_cues(learned: Mapping[str, Negatives], reference: Sequence[Sequence[str]]) -> Table:
    """What gives negatives away, a row for each kind (`measure_cues`)."""
    rows = [
        {"negatives": kind, "n": len(found.indices), **measure_cues(found, reference)}
        for kind, found in learned.items()
    ]
    return Table("Surface features of negatives", CUES_CAPTION, rows)


def list_warnings(order: PartialOrder, negatives: Negatives, cues: Table, pooler: ClassifierPooler) -> list[str]:
    """What a reader of the table has to know."""
    given_away = [
        f"{row['negatives']} by {cue} ({value:.2f})"
        for row in cues.rows
        for cue, value in row.items()
        if isinstance(value, float) and abs(value - 0.5) > TOLERANCE
    ]
    said = {
        str(order): not order.holds,
        f"{negatives.failures} dialogues could not be manipulated and have no negative.": negatives.failures > 0,
        f"{negatives.uncovered} dialogues have no place that the strategy asks for; their segments are random ones.": (
            negatives.uncovered > 0
        ),
        f"{negatives.unclosed} redrawn segments did not end by themselves and are cut.": negatives.unclosed > 0,
        f"Surface features alone tell negatives from positives (AUC; 0.5 is chance): {', '.join(given_away)}.": (
            bool(given_away)
        ),
        f"{pooler.refusal}: it has no row.": bool(pooler.refusal),
    }
    return [what for what, is_so in said.items() if is_so]


def list_unlearned(models: Sequence[Trained]) -> list[str]:
    """A note for each pretrained model with new tokens whose embeddings training hardly moved."""
    notes: list[str] = []
    for model in models:
        still = [f"{token} by {share:.2g}" for token, share in model.moved.items() if share < LEARNED]
        if still:
            notes.append(
                f"training moved new tokens of the {model.name} by less than {LEARNED} of their embedding's norm "
                f"({', '.join(still)}): the model hardly knows what they mean; train longer, or write them as text"
            )
    return notes


def count_passes(plan: LanguageModelPlan, text: TokenisedDialogues, seed: int) -> float:
    """How often a model reads the training text: epochs times the share of its tokens that an epoch reads."""
    most = cast(Gaps, plan.learns).most  # a pair learns nothing but gaps
    every = text.tasks(seed)
    drawn = plan.tasks_per_text * len(every)
    learned = drawn if most is None else min(most, drawn)
    return plan.schedule.epochs * text.share_read(every) * learned / len(every)
