"""Findings of MARS on one rated set: agreement with ratings, within systems, by masking ratio, under adversaries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from core.scores import Scores
from data.rated import RatedSet
from experiments.report.evaluation import evaluate, plain_pearson
from experiments.runner.contracts import AgreementRow
from mars.metric import Compared


@dataclass(frozen=True)
class ScoredTexts:
    """Rated texts, or adversaries in their place, under every metric.

    Attributes:
        rated: the texts.
        scores: by metric.
        rows: the agreement with the ratings.
    """

    rated: RatedSet
    scores: Mapping[str, Scores]
    rows: tuple[AgreementRow, ...]

    @classmethod
    def of(cls, rated: RatedSet, scores: Mapping[str, Scores]) -> "ScoredTexts":
        """The scores with their agreement."""
        return cls(rated, scores, tuple(evaluate(scores, rated)))

    @property
    def aspect(self) -> str:
        """The first rated aspect, which tables and figures show."""
        return first_aspect(self.rated)

    @property
    def by_metric(self) -> dict[str, AgreementRow]:
        """The rows of that aspect."""
        return {row.metric: row for row in self.rows if row.aspect == self.aspect}


@dataclass(frozen=True)
class MarsFindings:
    """What MARS finds on one rated set.

    Attributes:
        originals: the rated texts.
        adversaries: by kind (reorder, retrieve); their ratings are those of the texts that they replace.
        within_systems: by metric and system, Pearson's correlation with the ratings (Table 3); empty where the texts
            are not of several systems.
        deviations: by largest masking ratio, the standard deviation of an example's cosines over its ratios, on
            average (Table 5).
        kl: the mean KL divergence of guided from plain next-token distributions, in nats; None without a blank.
    """

    originals: ScoredTexts
    adversaries: Mapping[str, ScoredTexts]
    within_systems: Mapping[str, Mapping[str, float]]
    deviations: Mapping[float, float]
    kl: float | None

    @property
    def sets(self) -> tuple[ScoredTexts, ...]:
        """The originals, then the adversaries."""
        return self.originals, *self.adversaries.values()


def row_up_to(ratio: float) -> str:
    """The row of Table 5 with this as the largest masking ratio."""
    return f"mars_to_{round(100 * ratio)}"


def first_aspect(rated: RatedSet) -> str:
    """The first rated aspect of a set."""
    return next(iter(rated.examples[0].ratings))


def agreement_within_systems(rated: RatedSet, scores: Mapping[str, Scores]) -> dict[str, dict[str, float]]:
    """Pearson's correlation with the first aspect among the texts of each system, by metric and system.

    Empty unless every text names its system and there are several.
    """
    systems = np.array([example.system or "" for example in rated.examples])
    if len(names := list(dict.fromkeys(systems.tolist()))) < 2 or "" in names:
        return {}
    ratings = np.array([example.ratings.get(first_aspect(rated), np.nan) for example in rated.examples])
    found: dict[str, dict[str, float]] = {}
    for metric, scored in scores.items():
        values = only_values(scored)
        known = ~(np.isnan(values) | np.isnan(ratings))
        at = {name: known & (systems == name) for name in names}
        found[metric] = {name: plain_pearson(values[at[name]], ratings[at[name]]) for name in names}
    return found


def mean_deviations(compared: Sequence[Compared], largest_ratios: Sequence[float]) -> dict[float, float]:
    """By largest masking ratio, how far the cosines of an example differ over its ratios, on average."""
    found: dict[float, float] = {}
    for largest in largest_ratios:
        columns = [ratio for ratio in largest_ratios if ratio <= largest]
        spreads = [np.std([row[one.ratios.index(r)] for r in columns]) for one in compared for row in one.cosines]
        known = [spread for spread in spreads if not np.isnan(spread)]
        found[largest] = float(np.mean(known)) if known else float("nan")
    return found


def mean_kl(compared: Sequence[Compared]) -> float | None:
    """How far self-planning moves the model: its mean KL divergence from the plain one, in nats."""
    references = {id(one): one for c in compared for row in c.references for one in row}
    moved = [one.augmented.kl for one in references.values() if one.augmented.fills]
    return float(np.mean(moved)) if moved else None


def share_below(adversaries: Scores, originals: Scores) -> float:
    """The share of adversaries that are scored below their originals; NaN where none is scored with its original."""
    values, others = only_values(originals), only_values(adversaries)
    known = ~(np.isnan(values) | np.isnan(others))
    return float((others < values)[known].mean()) if known.any() else float("nan")


def only_values(scores: Scores) -> Float[NDArray[np.float64], " n"]:
    """The values of a metric that scores one aspect."""
    return next(iter(scores.values.values()))
