"""Tables of MARS beside the agreement with ratings: gains, within systems, by masking ratio, under adversaries."""

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.contracts import Table
from experiments.mars.findings import MarsFindings, name_ratio_row

ALTERED = " altered: the share of the augmented references of mars with a blank; the others equal the human reference."
LENGTH_CAPTION = (
    "Table 2 of MARS: how many words and marks contexts and references have on average. omega: context over reference; "
    "a low one means an open-ended task." + ALTERED
)
DISAGREEMENT_CAPTION = (
    "Table 6 of MARS: the texts that mars ranks furthest from their rating. difference: rank of the score minus rank "
    "of the rating, as shares; below 0 mars is too strict. copied: the text stands in the context (confusion). "
    "unknown: it has an unknown token (OOV)." + ALTERED
)
GAIN_CAPTION = (
    "How much better mars agrees with the ratings than each other row, on the texts that both score: differences of "
    "correlations with paired bootstrap intervals. An interval above 0 is a gain beyond chance." + ALTERED
)
SYSTEM_CAPTION = "Table 3 of MARS: correlation with the rating ({aspect}) among the texts of each system." + ALTERED
RATIO_CAPTION = (
    "Table 5 of MARS: agreement with the rating by the largest masking ratio, and the sample standard deviation of an "
    "example's cosines with its references, on average; the human reference is one of them. altered: the share of "
    "references with a blank at this ratio; the others equal the human reference."
)
ADVERSARY_CAPTION = (
    "Table 4 of MARS: Pearson's correlation with the ratings of the originals for adversaries in their place, and how "
    "much lower it is (fall). below: the share of adversaries that score below their originals."
)


SHOWN = 160  # characters of a text in a table


def mars_tables(findings: Sequence[MarsFindings]) -> list[Table]:
    """Tables 2 to 6. Table 3 is the gains of mars and, for sets with systems, the agreement within them."""
    falls = [row for found in findings for row in _fall_rows(found)]
    return [
        Table("Lengths", LENGTH_CAPTION, [_length_row(found) for found in findings]),
        Table("Gains of mars", GAIN_CAPTION, [row for found in findings for row in _gain_rows(found)]),
        *(make_system_table(found) for found in findings if found.within_systems),
        Table("Masking ratios", RATIO_CAPTION, [row for found in findings for row in _ratio_rows(found)]),
        *([Table("Adversaries", ADVERSARY_CAPTION, falls)] if falls else []),
        Table("Disagreements", DISAGREEMENT_CAPTION, [row for found in findings for row in _disagreement_rows(found)]),
    ]


def make_system_table(found: MarsFindings) -> Table:
    """Table 3: a row for each metric and system."""
    rows = [
        {"metric": metric, "system": system, "n": one.n, "pearson": one.pearson, "spearman within": one.spearman}
        | {"altered": found.share_altered}
        for metric, by_system in found.within_systems.items()
        for system, one in by_system.items()
    ]
    caption = SYSTEM_CAPTION.format(aspect=found.originals.aspects[0])
    return Table(f"Within systems: {found.originals.name}", caption, rows)


def _length_row(found: MarsFindings) -> dict[str, Any]:
    lengths = found.lengths
    return {
        "set": found.originals.name,
        "texts": lengths.texts,
        "inputs": lengths.inputs,
        "context words": lengths.context,
        "reference words": lengths.reference,
        "omega": lengths.omega,
        "altered": found.share_altered,
    }


def _disagreement_rows(found: MarsFindings) -> Iterator[dict[str, Any]]:
    for error in found.errors:
        one = error.disagreement
        yield {
            "set": found.originals.name,
            "id": one.example.id,
            "context": _shorten(one.example.context or ""),
            "reference": _shorten(" / ".join(one.example.references)),
            "text": _shorten(one.example.full_text),
            "rating": one.rating,
            "mars": one.score,
            "difference": one.score_rank - one.rating_rank,
            "copied": "yes" if error.is_copied else "no",
            "unknown": "yes" if error.has_unknown else "no",
            "altered": found.share_altered,
        }


def _shorten(text: str) -> str:
    """The end of a long text, which is nearest to what follows it."""
    return text if len(text) <= SHOWN else f"…{text[-SHOWN:]}"


def _gain_rows(found: MarsFindings) -> Iterator[dict[str, Any]]:
    cells = {"set": found.originals.name, "aspect": found.originals.aspects[0]}
    for other, gain in found.gains.items():
        gains = {"pearson gain": gain.pearson, "spearman gain": gain.spearman}
        yield {**cells, "mars against": other, "n": gain.n, **gains, "altered": found.share_altered}


def _ratio_rows(found: MarsFindings) -> Iterator[dict[str, Any]]:
    for largest, deviation in found.deviations.items():
        row = found.originals.by_metric(found.originals.aspects[0])[name_ratio_row(largest)]
        yield {
            "set": row.set,
            "aspect": row.aspect,
            "metric": row.metric,
            "largest ratio": largest,
            "n": row.n,
            "pearson": row.pearson,
            "spearman": row.spearman,
            "mean deviation": deviation,
            "altered": found.altered[largest],
        }


def _fall_rows(found: MarsFindings) -> Iterator[dict[str, Any]]:
    for kind, by_metric in found.falls.items():
        for metric, fall in by_metric.items():
            yield {
                "set": found.originals.name,
                "aspect": found.originals.aspects[0],
                "adversary": kind,
                "metric": metric,
                "n": fall.n,
                "pearson": fall.adversaries,
                "fall": fall.fall,
                "below": fall.below,
                "altered": found.share_altered,
            }
