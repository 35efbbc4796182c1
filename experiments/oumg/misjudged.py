"""Texts that discriminators take for those of the other side, with what each sentence adds to the logit."""

from dataclasses import replace
from typing import Any

import numpy as np

from core.scores import Scores
from discriminators.discriminator import Discriminator
from discriminators.explanations import explain_parts
from experiments.oumg.findings import SystemFindings
from experiments.oumg.tables import logit_signature
from experiments.report.disagreements import find_worst
from meta_eval.scored_set import ScoredSet


def find_misjudged(found: SystemFindings, device: str, synthetic: bool) -> ScoredSet:
    """The test texts, rated 1 for human and 0 for machine, with the logits of the first discriminator of each kind.

    The texts with the largest disagreement are explained; the others have no explanation.
    """
    pairs = found.comparison.test
    texts = [
        (replace(example, ratings={"human": float(place < 2)}), tuple(segments))
        for pair in pairs
        for place, (example, segments) in enumerate(
            zip((*pair.human, pair.first, pair.second), pair.segments, strict=True)
        )
    ]
    once = list({(e.id, e.ratings["human"], segments): i for i, (e, segments) in enumerate(texts)}.values())
    ratings = np.array([texts[i][0].ratings["human"] for i in once])
    scores: dict[str, Scores] = {}
    for kind, each in found.kinds.items():
        seed, trained = next(iter(each.discriminators.items()))
        judged = each.judged
        human = judged.human[0].reshape(-1, 2)
        logits = np.column_stack([human, judged.first[0], judged.second[0]]).ravel()[once]
        explanations: list[dict[str, Any]] = [{} for _ in once]
        if worst := [i for i, *_ in find_worst(ratings, logits)]:
            judge = Discriminator.from_pretrained(trained.source, device)
            found_parts = explain_parts(judge.logits_or_nan, [texts[once[i]][1] for i in worst], "sentence")
            for i, explained in zip(worst, found_parts, strict=True):
                explanations[i] = explained
        scores[f"{kind}_seed_{seed}"] = Scores({"logit": logits}, logit_signature(trained), explanations=explanations)
    return ScoredSet("human or machine", tuple(texts[i][0] for i in once), scores, synthetic)
