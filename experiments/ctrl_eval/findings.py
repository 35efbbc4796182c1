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
from experiments.report.evaluation import aspect_values, plain_pearson
from meta_eval.agreement import agreement
from meta_eval.bootstrap import Estimate

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
class PartAgreement:
    """Pearson's correlation of one metric with one aspect on a part of a set: a system, or a biased subset."""

    metric: str
    aspect: str
    part: str
    n: int
    pearson: Estimate


@dataclass(frozen=True)
class QualityDrift:
    """Agreement on four biased subsets (Figure 3).

    Attributes:
        aspect: the rated aspect.
        counts: rating -> how many texts of each subset have it.
        agreements: one for each metric and subset.
    """

    aspect: str
    counts: Mapping[float, Sequence[int]]
    agreements: Sequence[PartAgreement]


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
        rated: the texts.
        scores: by metric.
        analyses: the settings of the analyses.
        quality_drift: Figure 3; None without enough rated texts.
        model_drift: Figure 2, one for each metric, aspect and system.
        number_of_evaluators: Figure 4, pattern function -> curve.
        evaluators: those of the text to show (Figure 5).
        cases: two texts for each aspect (Figures 6 and 7).
    """

    rated: RatedSet
    scores: Mapping[str, Scores]
    analyses: Analyses
    quality_drift: QualityDrift | None
    model_drift: Sequence[PartAgreement]
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
    rated: RatedSet,
    scores: Mapping[str, Scores],
    evaluations: Mapping[str, Mapping[Aspect, Sequence[Evaluations]]],
    analyses: Analyses,
    seed: int,
) -> CtrlEvalFindings:
    """The analyses of Figures 2 to 7, as far as the set has what they need.

    `evaluations` holds those of `ctrleval` and of every other pattern function that was asked for.
    """
    compared = {metric: found for metric, found in scores.items() if not metric.startswith("ctrleval_")}
    curves = {
        metric: curve
        for metric, found in evaluations.items()
        if (curve := agreement_by_number(rated, found.get(RELEVANCE, ()), analyses.numbers, seed))
    }
    shown = evaluations["ctrleval"][RELEVANCE][analyses.example] if "ctrleval" in curves else None
    return CtrlEvalFindings(
        rated,
        scores,
        analyses,
        agreement_by_quality(rated, compared, analyses.aspect, seed),
        agreement_by_system(rated, compared),
        curves,
        shown,
        [case for aspect in rated_aspects(rated) for case in pick_cases(rated, compared, aspect)],
    )


def rated_aspects(rated: RatedSet) -> list[str]:
    """The aspects that some text is rated for."""
    return list(dict.fromkeys(aspect for example in rated.examples for aspect in example.ratings))


def rated_at(rated: RatedSet, aspect: str) -> list[int]:
    """The indices of the texts that are rated for an aspect."""
    return [i for i, example in enumerate(rated.examples) if aspect in example.ratings]


def agreement_by_system(rated: RatedSet, scores: Mapping[str, Scores]) -> list[PartAgreement]:
    """Agreement among the texts of each system, for every aspect (Figure 2).

    Empty unless every text names its system, there are several systems, and enough texts are rated.
    """
    systems = [example.system for example in rated.examples]
    if len(set(systems)) < 2 or None in systems:
        return []
    return [
        agreement_among(rated, metric, found, aspect, str(system), [i for i in at if systems[i] == system])
        for aspect in rated_aspects(rated)
        if len(at := rated_at(rated, aspect)) >= FEWEST
        for metric, found in scores.items()
        for system in dict.fromkeys(systems)
    ]


def agreement_by_quality(rated: RatedSet, scores: Mapping[str, Scores], aspect: str, seed: int) -> QualityDrift | None:
    """Agreement on four subsets, from mostly bad to mostly good texts (Figure 3); None for a set with few ratings."""
    at = rated_at(rated, aspect)
    if len(at) < FEWEST:
        return None
    ratings = np.array([rated.examples[i].ratings[aspect] for i in at])
    subsets = biased_subsets(ratings, seed)
    counts = {
        float(level): [int((ratings[subset] == level).sum()) for subset in subsets] for level in np.unique(ratings)
    }
    agreements = [
        agreement_among(rated, metric, found, aspect, str(j), [at[i] for i in subset])
        for metric, found in scores.items()
        for j, subset in enumerate(subsets)
    ]
    return QualityDrift(aspect, counts, agreements)


def agreement_among(
    rated: RatedSet, metric: str, scores: Scores, aspect: str, part: str, at: Sequence[int]
) -> PartAgreement:
    """Pearson's correlation with an aspect among the texts `at`, with an interval that draws whole groups."""
    examples = [rated.examples[i] for i in at]
    groups = [example.group for example in examples]
    found = agreement(
        aspect_values(scores, aspect)[list(at)],
        [example.ratings[aspect] for example in examples],
        groups=None if None in groups else groups,
    )
    return PartAgreement(metric, aspect, part, found.n, found.pearson)


def agreement_by_number(rated: RatedSet, relevance: Sequence[Evaluations], numbers: Sequence[int], seed: int) -> Curve:
    """Agreement of attribute relevance by the number of evaluators, all of them last (Figure 4)."""
    at = rated_at(rated, RELEVANCE)
    if not at or not relevance:
        return {}
    scores, weights = (np.stack([getattr(relevance[i], name) for i in at]) for name in ("scores", "weights"))
    ratings = np.array([rated.examples[i].ratings[RELEVANCE] for i in at])
    available = scores.shape[1]
    drawn = sorted({number for number in numbers if number < available} | {available})
    return number_of_evaluators(scores, weights, ratings, drawn, plain_pearson, seed)


def pick_cases(rated: RatedSet, scores: Mapping[str, Scores], aspect: str) -> list[Case]:
    """The two texts of one group whose ratings differ most, the better one first (Figures 6 and 7).

    No score decides which pair is shown. Empty where no group has two different ratings.
    """
    at = rated_at(rated, aspect)
    ratings = {i: rated.examples[i].ratings[aspect] for i in at}
    groups: dict[str | None, list[int]] = {}
    for i in at:
        groups.setdefault(rated.examples[i].group, []).append(i)
    pairs = [(max(g, key=ratings.__getitem__), min(g, key=ratings.__getitem__)) for name, g in groups.items() if name]
    best, worst = max(pairs, key=lambda pair: ratings[pair[0]] - ratings[pair[1]], default=(0, 0))
    if best == worst or ratings[best] == ratings[worst]:
        return []
    rank = dict(zip(at, best_first([ratings[i] for i in at]), strict=True))
    columns = {metric: aspect_values(found, aspect) for metric, found in scores.items()}
    ranks = {metric: best_first(values) for metric, values in columns.items()}
    return [
        Case(
            aspect,
            rated.examples[i],
            rank[i],
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
