"""Tables of MARS beside the agreement with ratings: gains, within systems, by masking ratio, under adversaries."""

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.mars.findings import MarsFindings, name_ratio_row
from experiments.runner.contracts import Table

GAIN_CAPTION = (
    "How much better mars agrees with the ratings than each other row, on the texts that both score: differences of "
    "correlations with paired bootstrap intervals. An interval above 0 is a gain beyond chance."
)
SYSTEM_CAPTION = "Table 3 of MARS: correlation with the rating ({aspect}) among the texts of each system."
RATIO_CAPTION = (
    "Table 5 of MARS: agreement with the rating by the largest masking ratio, and the sample standard deviation of an "
    "example's cosines with its augmented references, on average."
)
ADVERSARY_CAPTION = (
    "Table 4 of MARS: Pearson's correlation with the ratings of the originals for adversaries in their place, and how "
    "much lower it is (fall). below: the share of adversaries that score below their originals."
)


def mars_tables(findings: Sequence[MarsFindings]) -> list[Table]:
    """The gains of mars, Table 3 for each set that has systems, Table 5, and Table 4 where there are adversaries."""
    falls = [row for found in findings for row in _fall_rows(found)]
    return [
        Table("Gains of mars", GAIN_CAPTION, [row for found in findings for row in _gain_rows(found)]),
        *(make_system_table(found) for found in findings if found.within_systems),
        Table("Masking ratios", RATIO_CAPTION, [row for found in findings for row in _ratio_rows(found)]),
        *([Table("Adversaries", ADVERSARY_CAPTION, falls)] if falls else []),
    ]


def make_system_table(found: MarsFindings) -> Table:
    """Table 3: a row for each metric and system."""
    rows = [
        {"metric": metric, "system": system, "n": one.n, "pearson": one.pearson, "spearman within": one.spearman}
        for metric, by_system in found.within_systems.items()
        for system, one in by_system.items()
    ]
    caption = SYSTEM_CAPTION.format(aspect=found.originals.aspect)
    return Table(f"Within systems: {found.originals.rated.name}", caption, rows)


def _gain_rows(found: MarsFindings) -> Iterator[dict[str, Any]]:
    cells = {"set": found.originals.rated.name, "aspect": found.originals.aspect}
    for other, gain in found.gains.items():
        gains = {"pearson gain": gain.pearson, "spearman gain": gain.spearman}
        yield {**cells, "mars against": other, "n": gain.n, **gains}


def _ratio_rows(found: MarsFindings) -> Iterator[dict[str, Any]]:
    for largest, deviation in found.deviations.items():
        row = found.originals.by_metric[name_ratio_row(largest)]
        yield {
            "set": row.set,
            "aspect": row.aspect,
            "metric": row.metric,
            "largest ratio": largest,
            "n": row.n,
            "pearson": row.pearson,
            "spearman": row.spearman,
            "mean deviation": deviation,
        }


def _fall_rows(found: MarsFindings) -> Iterator[dict[str, Any]]:
    for kind, by_metric in found.falls.items():
        for metric, fall in by_metric.items():
            yield {
                "set": found.originals.rated.name,
                "aspect": found.originals.aspect,
                "adversary": kind,
                "metric": metric,
                "n": fall.n,
                "pearson": fall.adversaries,
                "fall": fall.fall,
                "below": fall.below,
            }
