"""Tables of CDM beside the scores: systems by mean momentum (E(p), Eq. 3), figures of the models, and warnings."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from cdm.cues import measure_cues
from cdm.discriminative import Steps
from cdm.infilling import Pair, PartialOrder
from cdm.momentum import distribution_quality
from cdm.negatives import PLAUSIBLE, Negatives
from meta_eval.design import lay_out
from meta_eval.estimates import estimate_mean, estimate_weighted
from meta_eval.scored_set import ScoredSet
from report.tables import Table

SYSTEMS_CAPTION = (
    "E(p) of Eq. 3: the mean momentum of a system's texts in nats per text, which follows length, and per token. "
    "Higher is better. The ratings are means over the same texts."
)
DAMAGE_CAPTION = (
    "How far each kind of damage lowers the scores, in their standard deviations. The other kinds, and which kinds a "
    "text could have, are held fixed (linear regression). 95 % intervals over inputs. A good metric falls "
    "under every kind."
)
CUES_CAPTION = (
    "How well one surface feature alone separates positives from negatives: AUC; 0.5 is chance, and above it positives "
    "have more of the feature. Unseen words are in no held-out dialogue."
)
IMPLAUSIBLE = f"share of drawn tokens beyond the likeliest {PLAUSIBLE:.0%} of the amateur's vocabulary"


def rank_dialogue_systems(rated: ScoredSet, steps: Sequence[Steps]) -> list[Table]:
    """Makes a table of the systems of a rated set, the highest E(p) first; no table if fewer than two are named.

    E(p) is the mean contrastive momentum of the texts of a system p (Eq. 3).
    """
    named = [i for i, example in enumerate(rated.examples) if example.system is not None]
    read = [i for i in named if len(steps[i].turn)]
    rows: list[dict[str, Any]] = []
    for of_system in rated.take(read).by_system():
        chosen = [i for i in read if rated.examples[i].system == of_system.name]
        rows.append({"system": of_system.name, **measure_system(of_system, [steps[i] for i in chosen])})
    if not rows:
        return []
    rows.sort(key=lambda row: -row["E(p)"].value)
    return [Table(f"Systems of {rated.name} by E(p)", SYSTEMS_CAPTION, rows)]


def measure_system(rated: ScoredSet, steps: Sequence[Steps]) -> dict[str, Any]:
    """Measures E(p) of the texts of a system, per text and per token, and the means of their ratings."""
    layout = lay_out(len(rated), inputs=rated.groups)
    momentum = np.array([of_text.momentum.sum() for of_text in steps])
    tokens = np.array([len(of_text.turn) for of_text in steps])

    def measure(inputs: np.ndarray) -> np.ndarray:
        weights = inputs[:, layout.inputs]
        per_token = weights @ momentum / (weights @ tokens)
        return np.stack([distribution_quality(momentum, weights), per_token], axis=1)

    quality, per_token = estimate_weighted(measure, layout).show()
    ratings = {aspect: estimate_mean(rated.ratings(aspect), layout).only for aspect in sorted(rated.aspects)}
    means = {f"rated {aspect}": mean for aspect, mean in ratings.items()}
    return {
        "n": len(rated),
        "E(p)": quality,
        "per token": per_token,
        **means,
    }


def tabulate_damage(scored: Sequence[ScoredSet]) -> list[Table]:
    """Makes a table for each built-in set: how far each kind of damage lowers the scores of each metric.

    The label of a damaged text names its kinds of damage, joined by "+".
    """
    tables: list[Table] = []
    for rated in scored:
        if rated.synthetic and rated.aspects:
            rows = [{"metric": metric, **measure_falls(rated, metric)} for metric in rated.scores]
            tables.append(
                Table(
                    f"Kinds of damage of {rated.name}",
                    DAMAGE_CAPTION,
                    rows,
                    key=f"damage_{rated.name}",
                )
            )
    return tables


def measure_falls(rated: ScoredSet, metric: str) -> dict[str, Any]:
    """Estimates the fall of a metric's scores under each kind of damage; {} if the scores are all the same.

    Texts that could have a kind of damage (named in `extra`) may differ from others: this is held fixed, too.
    """
    aspect, *_ = rated.aspects
    known = rated.take(np.flatnonzero(rated.scored(metric, aspect=aspect)))
    y = known.values(metric, aspect)
    if len({*y.tolist()}) < 2:
        return {}
    damages: list[list[str]] = []
    possible: list[list[str]] = []
    for example in known.examples:
        is_damaged = example.ratings[aspect] < 1
        damages.append(list_kinds(example.label) if is_damaged else [])
        possible.append(list_kinds(example.extra.get("possible_damage")))
    kinds = sorted({*chain(*damages)})
    columns = [np.ones(len(known))]
    for of_texts in (damages, possible):
        for kind in kinds:
            columns.append(np.array([kind in names for names in of_texts]))
    x = np.column_stack(columns)
    layout = lay_out(len(known), inputs=known.groups)

    def fit(inputs: np.ndarray) -> np.ndarray:
        weights = inputs[:, layout.inputs]
        weighted = weights[:, None] * x.T  # (rows, columns, n)
        right = weighted @ y
        slopes = np.linalg.pinv(weighted @ x) @ right[..., None]
        return -slopes[:, 1 : 1 + len(kinds), 0] / y.std()

    falls = estimate_weighted(fit, layout).show()
    return {"n": len(known), **dict(zip(kinds, falls, strict=True))}


def list_kinds(names: str | None) -> list[str]:
    """Lists kinds of damage that are joined by "+"."""
    return names.split("+") if names else []


def list_figures(pair: Pair, order: PartialOrder, negatives: Negatives) -> dict[str, float]:
    """Returns figures by name: held-out losses, sizes of the models, and how the negatives were made."""
    implausible = {} if negatives.implausible is None else {IMPLAUSIBLE: negatives.implausible}
    return {
        "amateur held-out NLL (nats per token)": order.amateur_nll,
        "expert held-out NLL (nats per token)": order.expert_nll,
        "amateur parameters": pair.amateur.parameters,
        "expert parameters": pair.expert.parameters,
        "negatives": len(negatives.negatives),
        "dialogues that could not be manipulated": negatives.failures,
        "dialogues with random segments, for want of those of the strategy": negatives.uncovered,
        "redrawn segments that are cut": negatives.unclosed,
        "source tokens left out while sampling negatives": negatives.dropped,
        **implausible,
    }


def tabulate_cues(learned: Mapping[str, Negatives], reference: Sequence[Sequence[str]]) -> Table:
    """Makes a table of how well surface features give negatives away (`measure_cues`): a row per kind of negatives."""
    rows: list[dict[str, Any]] = []
    for kind, negatives in learned.items():
        cues = measure_cues(negatives, reference)
        rows.append({"negatives": kind, "n": len(negatives.indices), **cues})
    return Table("Surface features of negatives", CUES_CAPTION, rows)
