"""A table of CTRLEval besides agreement with ratings: the numbers of Figure 4."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ctrl_eval.analysis import number_of_evaluators
from ctrl_eval.aspects import RELEVANCE, Evaluations
from meta_eval.correlation import plain_pearson
from meta_eval.scored_set import ScoredSet
from report.tables import Table

EVALUATORS = (1, 2, 4, 8, 16, 24, 32, 48)  # how many are drawn at random (Figure 4)
Evaluated: TypeAlias = dict[str, Mapping[str, Sequence[Evaluations]]]  # by pattern function and aspect
Row: TypeAlias = Mapping[str, Any]


def tabulate_evaluators(scored: ScoredSet, evaluated: Evaluated, seed: int) -> Table:
    """Makes the table of the agreement by the number of evaluators; it may have no rows."""
    return Table(
        f"Number of evaluators on {scored.name}",
        f"Pearson's r of attribute relevance, n = {len(scored)}: mean and deviation of 20 draws (Figure 4)",
        list_agreement_by_number(scored, evaluated, seed),
    )


def list_agreement_by_number(scored: ScoredSet, evaluated: Evaluated, seed: int) -> list[Row]:
    """Lists the agreement of attribute relevance by the number of evaluators (Figure 4); the last row uses all.

    An evaluator is a prompt with a verbalizer.
    """
    rated = np.flatnonzero(~np.isnan(scored.ratings(RELEVANCE))).tolist()
    rows: list[Row] = []
    for metric, by_aspect in evaluated.items():
        relevance = [by_aspect[RELEVANCE][i] for i in rated] if by_aspect.get(RELEVANCE) else []
        if not relevance:
            continue
        scores = np.stack([each.scores for each in relevance])
        available = scores.shape[1]
        curve = number_of_evaluators(
            scores,
            np.stack([each.weights for each in relevance]),
            scored.ratings(RELEVANCE)[rated],
            numbers=sorted({number for number in EVALUATORS if number < available} | {available}),
            correlation=plain_pearson,
            seed=seed,
        )
        for number, (mean, deviation) in curve.items():
            rows.append({"metric": metric, "evaluators": number, "pearson": mean, "deviation": deviation})
    return rows
