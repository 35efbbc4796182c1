"""Tables of MARS besides agreement with ratings: lengths, gains, masking ratios, adversaries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from data.words import split_words
from mars.masking import Blank
from mars.metric import Compared
from mars.references import AugmentedReference
from meta_eval.correlation import pearson
from meta_eval.design import lay_out
from meta_eval.estimates import Estimate, estimate_share
from meta_eval.grouping import difference, estimate_correlation
from meta_eval.scored_set import ScoredSet
from report.tables import Table

LENGTH_CAPTION = (
    "Table 2 of MARS: the mean number of words and punctuation marks of contexts and references. omega: context over "
    "reference; a low one means an open-ended task."
)
GAIN_CAPTION = (
    "How much better mars agrees with the ratings than each other row, on the texts that both score: differences of "
    "correlations with paired intervals. An interval above 0 is a gain beyond chance."
)
RATIO_CAPTION = (
    "Table 5 of MARS, beside the agreement of these rows: the sample standard deviation of an "
    "example's cosines with its references (n - 1 in its denominator; the paper does not say), on average; the human "
    "reference is one of them. altered: the share of references with a blank at this ratio; the others equal the human "
    "reference."
)
ADVERSARY_CAPTION = (
    "Table 4 of MARS: Pearson's correlation with the ratings of the originals for adversaries in their place, and how "
    "much lower it is (fall). below: the share of adversaries that score below their originals."
)
Row = dict[str, Any]


@dataclass(frozen=True)
class MarsScores:
    """The scores of one rated set and of its adversaries, and the cosines behind the scores."""

    originals: ScoredSet  # the rated texts
    # by kind (reorder, retrieve); they keep the ratings of the texts that they replace
    adversaries: Mapping[str, ScoredSet]
    compared: Sequence[Compared]  # the cosines of `mars` with the references of the originals
    ratios: Sequence[float]  # the masking ratios of `mars`
    largest_ratios: Sequence[float] = ()  # those of Table 5

    @cached_property
    def references(self) -> list[AugmentedReference]:
        """The augmented references, each once, however many texts are compared with it."""
        distinct: dict[tuple[str, str, float], AugmentedReference] = {}
        for compared in self.compared:
            for reference in chain.from_iterable(compared.references):
                distinct[reference.context, reference.reference, reference.ratio] = reference
        return list(distinct.values())

    @cached_property
    def altered(self) -> dict[float, float]:
        """For each masking ratio, the share of references with a blank.

        References without a blank equal the human reference.
        """
        has_blank: dict[float, list[bool]] = {ratio: [] for ratio in sorted({*self.ratios, *self.largest_ratios})}
        for reference in self.references:
            has_blank[reference.ratio].append(any(isinstance(part, Blank) for part in reference.template))
        return {ratio: mean_or_nan(flags) for ratio, flags in has_blank.items()}


def mean_or_nan(values: Sequence[float]) -> float:
    """Computes the mean of the values; NaN if there are none."""
    if not values:
        return np.nan
    return float(np.mean(values))


def make_tables(scored: Sequence[MarsScores]) -> list[Table]:
    """Makes Tables 2 to 5. Table 3 is the table of agreement, and here the gains of `mars`."""
    kinds = {
        "Lengths": (LENGTH_CAPTION, list_lengths),
        "Gains of mars": (GAIN_CAPTION, list_gains),
        "Masking ratios": (RATIO_CAPTION, list_ratios),
        "Adversaries": (ADVERSARY_CAPTION, list_falls),
    }
    tables = [
        Table(title, caption, list(chain.from_iterable(map(list_rows, scored))))
        for title, (caption, list_rows) in kinds.items()
    ]
    return [table for table in tables if table.rows]


def list_lengths(scored: MarsScores) -> Iterable[Row]:
    """Yields the lengths of Table 2, in words and punctuation marks; NaN for contexts if no text has a context.

    Texts of one group answer one input, which counts once.
    """
    texts = scored.originals
    inputs = {example.group or example.id: example for example in texts.examples}.values()
    contexts = [len(split_words(example.context)) for example in inputs if example.context]
    references = [len(split_words(reference)) for example in inputs for reference in example.references]
    context = mean_or_nan(contexts)
    reference = mean_or_nan(references)
    yield {
        "set": texts.name,
        "texts": len(texts),
        "inputs": len(inputs),
        "context words": context,
        "reference words": reference,
        "omega": context / reference,
    }


def list_gains(scored: MarsScores) -> Iterable[Row]:
    """Yields the gain of `mars` over every other metric, except the metrics of Table 5, with paired intervals.

    `n` counts the texts that both score.
    """
    aspect = scored.originals.aspects[0]
    texts = scored.originals.rated(aspect)
    mars = texts.values("mars", aspect)
    of_table_5 = {name_ratio_row(largest) for largest in scored.largest_ratios if largest}
    for other in texts.scores:
        if other == "mars" or other in of_table_5:
            continue
        pair = mars, texts.values(other, aspect), texts.ratings(aspect)
        yield {
            "set": texts.name,
            "aspect": aspect,
            "mars against": other,
            "n": int(texts.scored("mars", other, aspect=aspect).sum()),
            "pearson gain": difference(*pair, layout=texts.layout, statistic=pearson),
            "spearman gain": difference(*pair, layout=texts.layout),
        }


def name_ratio_row(ratio: float) -> str:
    """Names the row of Table 5 with this largest masking ratio."""
    return f"mars_to_{round(100 * ratio)}"


def list_ratios(scored: MarsScores) -> Iterable[Row]:
    """Yields a row for each largest masking ratio (Table 5)."""
    for largest in scored.largest_ratios:
        ratios = [ratio for ratio in scored.largest_ratios if ratio <= largest]
        deviation = measure_deviation(scored.compared, ratios)
        yield {
            "set": scored.originals.name,
            "metric": name_ratio_row(largest),
            "largest ratio": largest,
            "mean deviation": deviation,
            "altered": scored.altered[largest],
        }


def measure_deviation(compared: Sequence[Compared], ratios: Sequence[float]) -> float:
    """Computes the mean over examples of the standard deviation of their cosines at these masking ratios (Table 5).

    The cosine with the human reference counts, as in the paper, which has a value at 20 % and none at 0 %. NaN for a
    single masking ratio.
    """
    if len(ratios) < 2:
        return np.nan
    deviations: list[float] = []
    for of_example in compared:
        columns = [of_example.ratios.index(ratio) for ratio in ratios]
        for cosines in of_example.cosines[:, columns]:
            if not np.isnan(cosines).any():
                deviations.append(float(np.std(cosines, ddof=1)))
    return mean_or_nan(deviations)


def list_falls(scored: MarsScores) -> Iterable[Row]:
    """Yields the effect of adversaries of each kind on each metric (Table 4), on the `n` texts with both scores.

    `pearson` is the correlation of the adversaries' scores with the ratings of the unaltered texts. `fall` is the
    correlation of the unaltered texts' scores minus `pearson` (on the same inputs). `below` is the share of adversaries
    that score below their unaltered text. Intervals are over inputs.
    """
    aspect = scored.originals.aspects[0]
    originals = scored.originals.rated(aspect)
    ratings = originals.ratings(aspect)
    for kind, adversaries in scored.adversaries.items():
        altered = adversaries.rated(aspect)
        for metric in originals.scores:
            before = originals.values(metric, aspect)
            after = altered.values(metric, aspect)
            in_both = ~np.isnan(before + after)
            below = Estimate.undefined("no text is scored in both forms")
            if in_both.any():
                layout = lay_out(len(in_both), inputs=originals.groups)
                below = estimate_share(np.where(in_both, after < before, np.nan), layout).only
            yield {
                "set": originals.name,
                "aspect": aspect,
                "adversary": kind,
                "metric": metric,
                "n": int(in_both.sum()),
                "pearson": estimate_correlation(pearson, after, ratings, altered.layout),
                "fall": difference(before, after, ratings, layout=originals.layout, statistic=pearson),
                "below": below,
            }
