"""Findings of CTRLEval on one rated set: scores by metric, and the analyses behind Figures 2 to 7."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from core.example import Example
from core.faults import InputFaults
from core.scores import Scores
from core.settings import Count, Several, Size, Text, checked_dataclass
from ctrl_eval.analysis import biased_subsets, number_of_evaluators
from ctrl_eval.metric import Aspect, CTRLEval, Evaluations, Weights
from data.corpus import RatedSet
from meta_eval.agreement import Agreement, agree
from meta_eval.correlation import plain_pearson
from meta_eval.scored_set import ScoredSet

FEWEST = 16  # rated texts, four of each quartile: with fewer, no drift is shown
EVERY_WEIGHTS: tuple[Weights, ...] = ("paper", "mean", "max", "min")
RELEVANCE = "attribute_relevance"
Curve = Mapping[int, tuple[float, float]]  # number of evaluators -> mean and deviation of the correlation


@checked_dataclass
class Analyses:
    """Which of the paper's analyses are shown.

    Attributes:
        aspect: of quality drift (the paper: coherence).
        numbers: how many evaluators are drawn at random for Figure 4.
        example: the index of the text whose evaluators are shown (Figure 5).
    """

    aspect: Text = "coherence"
    numbers: Several[Count] = (1, 2, 4, 8, 16, 24, 32)
    example: Size = 0

    def check(self, rated: Sequence[RatedSet]) -> None:
        """Raises InputFaults for sets that lack the example to show."""
        if short := [each for each in rated if len(each.examples) <= self.example]:
            raise InputFaults(
                f"analyses.example must be below the {len(each.examples)} texts of {each.name}, but is {self.example}"
                for each in short
            )


@dataclass(frozen=True)
class QualityDrift:
    """Agreement on four biased subsets (Figure 3).

    Attributes:
        aspect: the rated aspect.
        counts: rating -> how many texts of each subset have it.
        agreements: one for each metric and subset, whose number is the name of the set.
    """

    aspect: str
    counts: Mapping[float, Sequence[int]]
    agreements: Sequence[Agreement]


@dataclass(frozen=True)
class Case:
    """One text of a pair in which people differ (Figures 6 and 7).

    Attributes:
        aspect: the rated aspect.
        example: the text.
        rank: of its rating among all texts of the set; 1 is the best.
        scores: metric -> score and its rank.
    """

    aspect: str
    example: Example
    rank: int
    scores: Mapping[str, tuple[float, int]]


@dataclass(frozen=True)
class CtrlEvalFindings:
    """What CTRLEval finds on one rated set. An analysis is empty where the set lacks what it needs.

    Attributes:
        scored: the texts and their scores by metric.
        analyses: the settings of the analyses.
        quality_drift: Figure 3; None without enough rated texts.
        model_drift: Figure 2, one for each metric, aspect and system, which is the name of the set.
        number_of_evaluators: Figure 4, pattern function -> curve.
        evaluators: those of the text to show (Figure 5).
        cases: two texts for each aspect (Figures 6 and 7).
    """

    scored: ScoredSet
    analyses: Analyses
    quality_drift: QualityDrift | None
    model_drift: Sequence[Agreement]
    number_of_evaluators: Mapping[str, Curve]
    evaluators: Evaluations | None
    cases: Sequence[Case]


def score_weightings(metric: CTRLEval, evaluations: Mapping[Aspect, Sequence[Evaluations]]) -> dict[str, Scores]:
    """The metric, and with the mean, the highest or the lowest evaluator instead of its weights (Table 5)."""
    return {
        "ctrleval" if weights == "paper" else f"ctrleval_{weights}": replace(metric, weights=weights).scores_of(
            evaluations
        )
        for weights in EVERY_WEIGHTS
    }


def analyse(
    scored: ScoredSet, evaluations: Mapping[str, Mapping[Aspect, Sequence[Evaluations]]], analyses: Analyses, seed: int
) -> CtrlEvalFindings:
    """The analyses of Figures 2 to 7, as far as the set has what they need.

    `evaluations` holds those of `ctrleval` and of every other pattern function that was asked for.
    """
    compared = scored.choose([metric for metric in scored.scores if not metric.startswith("ctrleval_")])
    curves = {
        metric: curve
        for metric, found in evaluations.items()
        if (curve := agreement_by_number(scored, found.get(RELEVANCE, ()), analyses.numbers, seed))
    }
    shown = evaluations["ctrleval"][RELEVANCE][analyses.example] if "ctrleval" in curves else None
    return CtrlEvalFindings(
        scored,
        analyses,
        agreement_by_quality(compared, analyses.aspect, seed),
        agreement_by_system(compared),
        curves,
        shown,
        [case for aspect in scored.aspects for case in pick_cases(compared, aspect)],
    )


def agreement_by_system(scored: ScoredSet) -> list[Agreement]:
    """Agreement among the texts of each system, for every aspect (Figure 2).

    Empty unless every text names its system, there are several systems, and enough texts are rated.
    """
    systems = list(scored.by_system())
    return [
        agree(system, metric, aspect)
        for aspect in scored.aspects
        if len(scored.rated(aspect)) >= FEWEST
        for metric in scored.scores
        for system in systems
    ]


def agreement_by_quality(scored: ScoredSet, aspect: str, seed: int) -> QualityDrift | None:
    """Agreement on four subsets, from mostly bad to mostly good texts (Figure 3); None for a set with few ratings."""
    rated = scored.rated(aspect)
    if len(rated) < FEWEST:
        return None
    ratings = rated.ratings(aspect)
    subsets = biased_subsets(ratings, seed)
    counts = {
        float(level): [int((ratings[subset] == level).sum()) for subset in subsets] for level in np.unique(ratings)
    }
    parts = [rated.take(subset, str(j)) for j, subset in enumerate(subsets)]
    return QualityDrift(aspect, counts, [agree(part, metric, aspect) for metric in scored.scores for part in parts])


def agreement_by_number(
    scored: ScoredSet, relevance: Sequence[Evaluations], numbers: Sequence[int], seed: int
) -> Curve:
    """Agreement of attribute relevance by the number of evaluators, all of them last (Figure 4)."""
    at = np.flatnonzero(~np.isnan(scored.ratings(RELEVANCE))).tolist()
    if not at or not relevance:
        return {}
    scores, weights = (np.stack([getattr(relevance[i], name) for i in at]) for name in ("scores", "weights"))
    available = scores.shape[1]
    drawn = sorted({number for number in numbers if number < available} | {available})
    return number_of_evaluators(scores, weights, scored.ratings(RELEVANCE)[at], drawn, plain_pearson, seed)


def pick_cases(scored: ScoredSet, aspect: str) -> list[Case]:
    """The two texts of one group whose ratings differ most, the better one first (Figures 6 and 7).

    No score decides which pair is shown. Empty where no group has two different ratings.
    """
    ratings = scored.ratings(aspect)
    groups: dict[str, list[int]] = {}
    for i in np.flatnonzero(~np.isnan(ratings)).tolist():
        if group := scored.examples[i].group:
            groups.setdefault(group, []).append(i)
    pairs = [(max(g, key=ratings.__getitem__), min(g, key=ratings.__getitem__)) for g in groups.values()]
    best, worst = max(pairs, key=lambda pair: ratings[pair[0]] - ratings[pair[1]], default=(0, 0))
    if best == worst or ratings[best] == ratings[worst]:
        return []
    columns = {metric: scored.values(metric, aspect) for metric in scored.scores}
    ranks = {metric: best_first(values) for metric, values in columns.items()}
    return [
        Case(
            aspect,
            scored.examples[i],
            best_first(ratings)[i],
            {metric: (float(values[i]), ranks[metric][i]) for metric, values in columns.items()},
        )
        for i in (best, worst)
    ]


def best_first(values: Sequence[float] | np.ndarray) -> list[int]:
    """The rank of each value, 1 for the highest. Equal values share the better rank; NaN comes last.

    >>> best_first([0.5, 2.0, 0.5])
    [2, 1, 2]
    """
    return [int(rank) for rank in rankdata(-np.nan_to_num(values, nan=-np.inf), method="min")]
