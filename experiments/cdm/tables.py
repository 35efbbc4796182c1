"""Tables of CDM beside the scores: systems by mean momentum (E(p), Eq. 3), figures of the models, and warnings."""

from collections.abc import Mapping, Sequence
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
