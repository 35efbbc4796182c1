"""Findings of CTRLEval on one rated set: scores by metric, and the analyses of Figures 2 to 5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.faults import InputFaults
from core.scores import Scores
from core.settings import check_count, counts
from ctrl_eval.analysis import model_drift, number_of_evaluators, quality_drift
from ctrl_eval.metric import Aspect, CTRLEval, Evaluations, Weights
from data.rated import RatedSet
from experiments.report.evaluation import plain_pearson

DRIFTING = ("ctrleval", "perplexity", "bartscore", "word_count")  # metrics whose drift is shown
FEWEST = 16  # rated texts, four of each quartile, below which no drift is shown
EVERY_WEIGHTS: tuple[Weights, ...] = ("paper", "mean", "max", "min")


@dataclass(frozen=True)
class Analyses:
    """Which of the paper's analyses are drawn.

    Attributes:
        aspect: of model drift and quality drift (the paper: coherence).
        numbers: how many evaluators are drawn at random for Figure 4.
        example: the index of the text whose evaluators are shown (Figure 5).

    Raises ValueError for numbers that are below 1 or equal, and an index below 0.
    """

    aspect: str = "coherence"
    numbers: Sequence[int] = (1, 2, 4, 8, 16, 24, 32)
    example: int = 0

    def __post_init__(self) -> None:
        counts(self.numbers, "analyses.numbers")
        check_count("analyses.example", self.example, least=0)

    def check(self, rated: Sequence[RatedSet]) -> None:
        """Raises InputFaults for sets that lack the example to show."""
        if short := [each for each in rated if len(each.examples) <= self.example]:
            raise InputFaults(
                f"analyses.example must be below the {len(each.examples)} texts of {each.name}, but is {self.example}"
                for each in short
            )


@dataclass(frozen=True)
class CtrlEvalFindings:
    """What CTRLEval finds on one rated set; an analysis is empty where the set lacks what it needs.

    Attributes:
        rated: the texts.
        scores: by metric.
        analyses: which aspect and example they show.
        quality_drift: by metric, Pearson's correlation on four biased subsets (Figure 3).
        model_drift: by metric and system, Pearson's correlation (Figure 2).
        number_of_evaluators: mean and deviation of Pearson's correlation by how many are drawn (Figure 4).
        evaluators: of the text to show (Figure 5).
    """

    rated: RatedSet
    scores: Mapping[str, Scores]
    analyses: Analyses
    quality_drift: Mapping[str, Sequence[float]]
    model_drift: Mapping[str, Mapping[str, float]]
    number_of_evaluators: Mapping[int, tuple[float, float]]
    evaluators: Evaluations | None


def score_weightings(
    metric: CTRLEval, evaluations: Mapping[Aspect, Sequence[Evaluations]], rated: RatedSet
) -> dict[str, Scores]:
    """The metric, and with the mean, the highest and the lowest evaluator in the place of its weights (Table 5)."""
    dropped = [max(rows[i].dropped for rows in evaluations.values()) for i in range(len(rated.examples))]
    found: dict[str, Scores] = {}
    for weights in EVERY_WEIGHTS:
        changed = replace(metric, weights=weights)
        values = {aspect: changed.aggregated(rows) for aspect, rows in evaluations.items()}
        name = "ctrleval" if weights == "paper" else f"ctrleval_{weights}"
        found[name] = Scores(values, changed.signature, dropped_tokens=dropped)
    return found


def analyse(
    rated: RatedSet,
    scores: Mapping[str, Scores],
    evaluations: Mapping[Aspect, Sequence[Evaluations]],
    analyses: Analyses,
    seed: int,
) -> CtrlEvalFindings:
    """The analyses of Figures 2 to 5 as far as the set has what they need."""
    relevance = evaluations.get("attribute_relevance", ())
    by_quality, by_model = _drifts(rated, scores, analyses.aspect, seed)
    by_number = _by_number(rated, relevance, analyses.numbers, seed)
    shown = relevance[analyses.example] if by_number else None
    return CtrlEvalFindings(rated, scores, analyses, by_quality, by_model, by_number, shown)


def _drifts(
    rated: RatedSet, scores: Mapping[str, Scores], aspect: str, seed: int
) -> tuple[Mapping[str, Sequence[float]], Mapping[str, Mapping[str, float]]]:
    """Quality drift and model drift."""
    at = [i for i, example in enumerate(rated.examples) if aspect in example.ratings]
    if len(at) < FEWEST:
        return {}, {}
    ratings = np.array([rated.examples[i].ratings[aspect] for i in at])
    values = {
        metric: (found.values[aspect] if aspect in found.values else next(iter(found.values.values())))[at]
        for metric, found in scores.items()
        if metric in DRIFTING
    }
    by_quality = quality_drift(values, ratings, plain_pearson, seed)
    systems = [rated.examples[i].system or "" for i in at]
    several = len(set(systems)) > 1 and "" not in systems
    return by_quality, model_drift(values, ratings, systems, plain_pearson) if several else {}


def _by_number(
    rated: RatedSet, relevance: Sequence[Evaluations], numbers: Sequence[int], seed: int
) -> Mapping[int, tuple[float, float]]:
    """Agreement of attribute relevance by the number of evaluators, all of them last."""
    at = [i for i, example in enumerate(rated.examples) if "attribute_relevance" in example.ratings]
    if not at or not relevance:
        return {}
    scores, weights = (np.stack([getattr(relevance[i], name) for i in at]) for name in ("scores", "weights"))
    ratings = np.array([rated.examples[i].ratings["attribute_relevance"] for i in at])
    available = scores.shape[1]
    drawn = [number for number in numbers if number <= available]
    drawn += [] if available in drawn else [available]
    return number_of_evaluators(scores, weights, ratings, drawn, plain_pearson, seed)
