"""Findings of MARS on one rated set: agreement with ratings, within systems, by masking ratio, under adversaries."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from core.example import Example
from core.scores import Scores
from data.corpus import RatedSet
from data.words import split_words
from experiments.report.disagreements import Disagreement, find_disagreements
from mars.masking import Blank
from mars.metric import Compared
from mars.references import AugmentedReference
from meta_eval.agreement import Agreement, agree
from meta_eval.bootstrap import Estimate, Floats, bootstrap, number_groups
from meta_eval.comparison import difference
from meta_eval.correlation import pearson
from meta_eval.scored_set import ScoredSet


@dataclass(frozen=True)
class Gain:
    """How much better `mars` agrees with the ratings than another row, on the `n` texts that both score."""

    n: int
    pearson: Estimate
    spearman: Estimate


@dataclass(frozen=True)
class Fall:
    """What adversaries do to a metric, on the `n` texts that it scores in both forms (Table 4).

    Attributes:
        adversaries: Pearson's correlation of the scores of adversaries with the ratings of the originals.
        fall: how much lower that is than the correlation of the originals.
        below: the share of adversaries that score below their originals.
    """

    n: int
    adversaries: Estimate
    fall: Estimate
    below: Estimate


@dataclass(frozen=True)
class LengthStatistics:
    """Words and marks of a rated set, on average (Table 2); NaN where no text has a context.

    Attributes:
        texts, inputs: how many there are; texts of one group answer one input.
        omega: the ratio of the two lengths; a low one means an open-ended task.
    """

    texts: int
    inputs: int
    context: float
    reference: float
    omega: float


@dataclass(frozen=True)
class TextError:
    """A text that MARS ranks far from its rating (Table 6).

    Attributes:
        is_copied: whether the text stands in the context (the paper's confusion errors).
        has_unknown: whether the text has an unknown token, `UNK` (the paper's out-of-vocabulary errors).
    """

    disagreement: Disagreement
    is_copied: bool
    has_unknown: bool


@dataclass(frozen=True)
class MarsFindings:
    """What MARS finds on one rated set.

    Attributes:
        lengths: of contexts and references.
        errors: the texts with the largest differences.
        originals: the rated texts.
        adversaries: by kind (reorder, retrieve); they keep the ratings of the texts that they replace.
        within_systems: the agreement with the ratings by metric and system (Table 3); empty where the texts do not
            come from several systems.
        gains: of `mars` over every other row but those of Table 5.
        falls: by kind of adversary and metric.
        deviations: by largest masking ratio (Table 5), see `mean_deviations`.
        ratios: the masking ratios of `mars`.
        altered: the share of references with at least one blank by masking ratio, see `measure_altered`.
        kl: the mean KL divergence of planned from plain next-token distributions over all planned tokens, in nats;
            None where no token was planned.
    """

    lengths: LengthStatistics
    errors: Sequence[TextError]
    originals: ScoredSet
    adversaries: Mapping[str, ScoredSet]
    within_systems: Mapping[str, Mapping[str, Agreement]]
    gains: Mapping[str, Gain]
    falls: Mapping[str, Mapping[str, Fall]]
    deviations: Mapping[float, float]
    ratios: Sequence[float]
    altered: Mapping[float, float]
    kl: float | None

    @property
    def share_altered(self) -> float:
        """The share of the augmented references of `mars` that have at least one blank, over its ratios above 0."""
        return mean_altered(self.altered, self.ratios)

    @property
    def sets(self) -> tuple[ScoredSet, ...]:
        """The originals, then the adversaries."""
        return self.originals, *self.adversaries.values()


def name_ratio_row(ratio: float) -> str:
    """The row of Table 5 with this as the largest masking ratio."""
    return f"mars_to_{round(100 * ratio)}"


def measure_within_systems(texts: ScoredSet) -> dict[str, dict[str, Agreement]]:
    """The agreement with the ratings among the texts of each system, by metric and system (Table 3).

    The paper calls this system-level. Empty where the texts do not come from several systems.
    """
    aspect = texts.aspects[0]
    systems = list(texts.rated(aspect).by_system())
    return {
        metric: {system.name: agree(system, metric, aspect) for system in systems}
        for metric in (texts.scores if systems else ())
    }


def measure_gain(texts: ScoredSet, other: str) -> Gain:
    """How much better `mars` agrees with the ratings than another row, with paired bootstrap intervals."""
    aspect = texts.aspects[0]
    texts = texts.rated(aspect)
    a, b, ratings = texts.values("mars", aspect), texts.values(other, aspect), texts.ratings(aspect)
    return Gain(
        int(texts.scored("mars", other, aspect=aspect).sum()),
        difference(a, b, ratings, groups=texts.groups, statistic=pearson),
        difference(a, b, ratings, groups=texts.groups),
    )


def measure_fall(originals: ScoredSet, adversaries: ScoredSet, metric: str) -> Fall:
    """What adversaries do to a metric, with paired bootstrap intervals."""
    aspect = originals.aspects[0]
    agreement = adversaries.by_metric(aspect)[metric]
    originals, adversaries = originals.rated(aspect), adversaries.rated(aspect)
    a, b = originals.values(metric, aspect), adversaries.values(metric, aspect)
    both = ~np.isnan(a) & ~np.isnan(b)
    return Fall(
        int(both.sum()),
        agreement.pearson,
        difference(a, b, originals.ratings(aspect), groups=originals.groups, statistic=pearson),
        _estimate_share(b < a, both, originals.groups),
    )


def _estimate_share(
    holds: Bool[NDArray[np.bool_], " n"], among: Bool[NDArray[np.bool_], " n"], groups: Sequence[str] | None
) -> Estimate:
    if not among.any():
        return Estimate.undefined("no text is scored in both forms")
    counted, hits = among.astype(float), (holds & among).astype(float)

    def share(weights: Floats) -> dict[str, Floats]:
        return {"share": (weights @ hits) / (weights @ counted)}

    return bootstrap(share, number_groups(len(holds), groups))["share"]


def measure_lengths(rated: RatedSet | ScoredSet) -> LengthStatistics:
    """The statistics of Table 2 that need no single ratings."""
    inputs = {example.group or example.id: example for example in rated.examples}
    contexts = [len(split_words(e.context)) for e in inputs.values() if e.context]
    references = [len(split_words(reference)) for e in inputs.values() for reference in e.references]
    context = float(np.mean(contexts)) if contexts else float("nan")
    reference = float(np.mean(references))
    return LengthStatistics(len(rated.examples), len(inputs), context, reference, context / reference)


def find_errors(texts: ScoredSet, count: int = 6) -> list[TextError]:
    """The texts whose rank by `mars` differs most from their rank by rating, the largest difference first."""
    return [
        TextError(
            worst,
            is_copied=worst.example.full_text.strip() in (worst.example.context or ""),
            has_unknown=re.search(r"\b[Uu][Nn][Kk]\b", worst.example.full_text) is not None,
        )
        for worst in find_disagreements(texts, "mars", texts.aspects[0], count)
    ]


def mean_deviations(compared: Sequence[Compared], largest_ratios: Sequence[float]) -> dict[float, float]:
    """By largest masking ratio, the sample standard deviation of an example's cosines, on average (Table 5).

    The cosine with the human reference counts, as in the paper, which has a value at 20 % and none at 0 %. NaN for a
    single masking ratio.
    """
    found: dict[float, float] = {}
    for largest in largest_ratios:
        columns = [ratio for ratio in largest_ratios if 0 <= ratio <= largest]
        cosines = [[row[one.ratios.index(r)] for r in columns] for one in compared for row in one.cosines]
        spreads = [np.std(row, ddof=1) for row in cosines if len(row) > 1 and not np.isnan(row).any()]
        found[largest] = float(np.mean(spreads)) if spreads else float("nan")
    return found


def measure_altered(compared: Sequence[Compared], ratios: Sequence[float]) -> dict[float, float]:
    """By masking ratio, the share of references with at least one blank; the others equal the human reference.

    Each reference counts once, however many texts are compared with it. NaN without references.
    """
    references = list_references(compared)
    found: dict[float, float] = {}
    for ratio in ratios:
        blank = [any(isinstance(part, Blank) for part in one.template) for one in references if one.ratio == ratio]
        found[ratio] = float(np.mean(blank)) if blank else float("nan")
    return found


def mean_altered(altered: Mapping[float, float], ratios: Sequence[float]) -> float:
    """The mean share of references with a blank over the ratios above 0; NaN without such a ratio."""
    shares = [altered[ratio] for ratio in ratios if ratio > 0]
    return float(np.mean(shares)) if shares else float("nan")


def list_references(compared: Sequence[Compared]) -> list[AugmentedReference]:
    """Each augmented reference once, however many texts are compared with it."""
    found = {(one.context, one.reference, one.ratio): one for c in compared for row in c.references for one in row}
    return list(found.values())


def to_raw_perplexity(scores: Scores) -> Scores:
    """Perplexity itself from scores that are -log(perplexity); lower is better, as in the paper's tables."""
    values = {aspect: np.exp(-found) for aspect, found in scores.values.items()}
    return Scores(values, f"{scores.signature}|scale=perplexity", scores.reasons, scores.dropped_tokens)


def count_shared_texts(examples: Sequence[Example]) -> tuple[int, int]:
    """For how many inputs with several texts all texts are equal, and how many such inputs there are."""
    by_group: dict[str, list[str]] = {}
    for example in examples:
        if example.group is not None:
            by_group.setdefault(example.group, []).append(example.text)
    several = [group for group in by_group.values() if len(group) > 1]
    return sum(len(set(group)) == 1 for group in several), len(several)
