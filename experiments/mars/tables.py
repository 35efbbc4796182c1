"""Tables of MARS beside the agreement with ratings: gains, within systems, by masking ratio, under adversaries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from data.words import split_words
from experiments.presentation import list_agreement_of_parts
from judge.tables import Table
from mars.masking import Blank, Kept
from mars.metric import Compared
from mars.references import AugmentedReference
from meta_eval.agreement import agree
from meta_eval.bootstrap import Estimate, estimate_ratio, number_groups
from meta_eval.correlation import pearson
from meta_eval.intervals import difference
from meta_eval.scored_set import ScoredSet

ALTERED = " altered: the share of the augmented references of mars with a blank; the others equal the human reference."
LENGTH_CAPTION = (
    "Table 2 of MARS: how many words and marks contexts and references have on average. omega: context over reference; "
    "a low one means an open-ended task." + ALTERED
)
GAIN_CAPTION = (
    "How much better mars agrees with the ratings than each other row, on the texts that both score: differences of "
    "correlations with paired bootstrap intervals. An interval above 0 is a gain beyond chance." + ALTERED
)
SYSTEM_CAPTION = "Table 3 of MARS: correlation with the rating among the texts of each system." + ALTERED
RATIO_CAPTION = (
    "Table 5 of MARS: agreement with the rating by the largest masking ratio, and the sample standard deviation of an "
    "example's cosines with its references (n - 1 in its denominator; the paper does not say), on average; the human "
    "reference is one of them. altered: the share of references with a blank at this ratio; the others equal the human "
    "reference. masked: the share of a reference's words and marks in its blanks, on average; rounding up to a whole "
    "word makes it more than the ratio for short references."
)
ADVERSARY_CAPTION = (
    "Table 4 of MARS: Pearson's correlation with the ratings of the originals for adversaries in their place, and how "
    "much lower it is (fall). below: the share of adversaries that score below their originals."
)
Row = dict[str, Any]


@dataclass(frozen=True)
class MarsScores:
    """The scores of one rated set."""

    originals: ScoredSet  # the rated texts
    # by kind (reorder, retrieve); they keep the ratings of the texts that they replace
    adversaries: Mapping[str, ScoredSet]
    compared: Sequence[Compared]  # the cosines of `mars` with the references of the originals
    ratios: Sequence[float]  # the masking ratios of `mars`
    largest_ratios: Sequence[float] = ()  # those of Table 5

    @cached_property
    def references(self) -> list[AugmentedReference]:
        """Each augmented reference once, however many texts are compared with it."""
        found = {(r.context, r.reference, r.ratio): r for one in self.compared for row in one.references for r in row}
        return list(found.values())

    @cached_property
    def altered(self) -> dict[float, float]:
        """By masking ratio, the share of references with a blank; the others equal the human reference."""
        found: dict[float, list[bool]] = {ratio: [] for ratio in sorted({*self.ratios, *self.largest_ratios})}
        for reference in self.references:
            found[reference.ratio].append(any(isinstance(part, Blank) for part in reference.template))
        return {ratio: float(np.mean(has_blank)) if has_blank else np.nan for ratio, has_blank in found.items()}

    def measure_masked(self, ratio: float) -> float:
        """The mean share of a reference's words and marks that stand in its blanks at a masking ratio."""
        templates = [reference.template for reference in self.references if reference.ratio == ratio]
        masked = [sum(part.count for part in template if isinstance(part, Blank)) for template in templates]
        kept = [sum(len(split_words(part.text)) for part in t if isinstance(part, Kept)) for t in templates]
        shares = [m / (m + k) for m, k in zip(masked, kept, strict=True) if m + k]
        return float(np.mean(shares)) if shares else np.nan

    @property
    def share_altered(self) -> float:
        """The mean of `altered` over the ratios of `mars` above 0; NaN without such a ratio."""
        shares = [self.altered[ratio] for ratio in self.ratios if ratio > 0]
        return float(np.mean(shares)) if shares else np.nan


def make_tables(found: Sequence[MarsScores]) -> list[Table]:
    """Tables 2 to 5. Table 3 is the gains of mars and, for sets with systems, the agreement within them."""
    made: dict[str, tuple[str, Callable[[MarsScores], Iterable[Row]]]] = {
        "Lengths": (LENGTH_CAPTION, lambda one: [measure_lengths(one.originals)]),
        "Gains of mars": (GAIN_CAPTION, lambda one: list_gains(one.originals)),
        "Within systems": (SYSTEM_CAPTION, lambda one: list_agreement_within_systems(one.originals)),
        "Masking ratios": (RATIO_CAPTION, list_ratios),
        "Adversaries": (ADVERSARY_CAPTION, list_falls),
    }
    tables = []
    for title, (caption, list_rows) in made.items():
        rows = [(one.share_altered, row) for one in found for row in list_rows(one)]
        tables.append(Table(title, caption, [{**row, "altered": row.get("altered", share)} for share, row in rows]))
    return [table for table in tables if table.rows]


def measure_lengths(texts: ScoredSet) -> dict[str, Any]:
    """The statistics of Table 2 that need no single ratings; NaN where no text has a context.

    Words and marks count. Texts of one group answer one input.
    """
    inputs = {example.group or example.id: example for example in texts.examples}.values()
    contexts = [len(split_words(e.context)) for e in inputs if e.context]
    context = float(np.mean(contexts)) if contexts else np.nan
    reference = float(np.mean([len(split_words(reference)) for e in inputs for reference in e.references]))
    return {
        "set": texts.name,
        "texts": len(texts),
        "inputs": len(inputs),
        "context words": context,
        "reference words": reference,
        "omega": context / reference,
    }


def list_gains(texts: ScoredSet) -> Iterable[Row]:
    """The gain of `mars` over every other row but those of Table 5."""
    for other in texts.scores:
        if other != "mars" and (other == name_ratio_row(0) or not other.startswith("mars_to_")):
            cells = {"set": texts.name, "aspect": texts.aspects[0], "mars against": other}
            yield {**cells, **measure_gain(texts, other)}


def measure_gain(texts: ScoredSet, other: str) -> dict[str, Any]:
    """How much better `mars` agrees with the ratings than another row, with paired bootstrap intervals.

    `n` counts the texts that both score.
    """
    aspect = texts.aspects[0]
    texts = texts.rated(aspect)
    pair = texts.values("mars", aspect), texts.values(other, aspect), texts.ratings(aspect)
    return {
        "n": int(texts.scored("mars", other, aspect=aspect).sum()),
        "pearson gain": difference(*pair, groups=texts.groups, statistic=pearson),
        "spearman gain": difference(*pair, groups=texts.groups),
    }


def list_agreement_within_systems(texts: ScoredSet) -> Iterable[Row]:
    """The agreement with the first aspect among the texts of each system (Table 3: what the paper calls system-level).

    Nothing where the texts do not come from several systems.
    """
    rows = list_agreement_of_parts([*texts.by_system()], texts.aspects[0], "system")
    return [{"set": texts.name, **row} for row in rows]


def name_ratio_row(ratio: float) -> str:
    """The row of Table 5 with this as the largest masking ratio."""
    return f"mars_to_{round(100 * ratio)}"


def list_ratios(found: MarsScores) -> Iterable[Row]:
    """A row for each largest masking ratio (Table 5)."""
    for largest in found.largest_ratios:
        row = agree(found.originals, name_ratio_row(largest), found.originals.aspects[0])
        yield {
            **{name: getattr(row, name) for name in ("set", "aspect", "metric")},
            "largest ratio": largest,
            **{name: getattr(row, name) for name in ("n", "pearson", "spearman")},
            "mean deviation": measure_deviation(found.compared, [r for r in found.largest_ratios if r <= largest]),
            "altered": found.altered[largest],
            "masked": found.measure_masked(largest),
        }


def measure_deviation(compared: Sequence[Compared], ratios: Sequence[float]) -> float:
    """The sample standard deviation of an example's cosines at these masking ratios, on average (Table 5).

    The cosine with the human reference counts, as in the paper, which has a value at 20 % and none at 0 %. NaN for a
    single masking ratio.
    """
    cosines = [[row[one.ratios.index(r)] for r in ratios] for one in compared for row in one.cosines]
    spreads = [np.std(row, ddof=1) for row in cosines if len(row) > 1 and not np.isnan(row).any()]
    return float(np.mean(spreads)) if spreads else np.nan


def list_falls(found: MarsScores) -> Iterable[Row]:
    """What adversaries of each kind do to each metric (Table 4)."""
    cells = {"set": found.originals.name, "aspect": found.originals.aspects[0]}
    for kind, texts in found.adversaries.items():
        for metric in found.originals.scores:
            yield {**cells, "adversary": kind, "metric": metric, **measure_fall(found.originals, texts, metric)}


def measure_fall(originals: ScoredSet, adversaries: ScoredSet, metric: str) -> dict[str, Any]:
    """What adversaries do to a metric, with paired bootstrap intervals, on the `n` texts that it scores in both forms.

    Pearson's correlation of the adversaries with the ratings of the originals, how much lower that is than the
    correlation of the originals, and the share of adversaries that score below their originals.
    """
    aspect = originals.aspects[0]
    agreement = agree(adversaries, metric, aspect)
    originals, adversaries = originals.rated(aspect), adversaries.rated(aspect)
    a, b = originals.values(metric, aspect), adversaries.values(metric, aspect)
    both, units = ~np.isnan(a + b), number_groups(len(a), originals.groups)
    below = Estimate.undefined("no text is scored in both forms")
    if both.any():
        below = estimate_ratio((b < a).astype(float), both.astype(float), units, resamples=1000)
    return {
        "n": int(both.sum()),
        "pearson": agreement.pearson,
        "fall": difference(a, b, originals.ratings(aspect), groups=originals.groups, statistic=pearson),
        "below": below,
    }
