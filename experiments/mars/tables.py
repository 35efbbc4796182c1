"""Tables of MARS beside the agreement with ratings: within systems, by masking ratio, under adversaries."""

from collections.abc import Sequence
from typing import Any

from experiments.mars.findings import MarsFindings, row_up_to, share_below
from experiments.runner.contracts import Table

SYSTEM_CAPTION = "Table 3 of MARS: Pearson's correlation with the rating ({aspect}) among the texts of each system."
RATIO_CAPTION = (
    "Table 5 of MARS: agreement with the rating by the largest masking ratio, and the standard deviation of an "
    "example's cosines over its ratios, on average."
)
ADVERSARY_CAPTION = (
    "Table 4 of MARS: Pearson's correlation with the ratings of the originals for these and for adversaries in their "
    "place, and the fall. below: the share of adversaries that are scored below their originals."
)


def mars_tables(findings: Sequence[MarsFindings]) -> list[Table]:
    """Table 3 for each set that has systems, Table 5 for all sets, and Table 4 where there are adversaries."""
    adversaries = [row for found in findings for row in _adversary_rows(found)]
    return [
        *(system_table(found) for found in findings if found.within_systems),
        Table("Masking ratios", RATIO_CAPTION, [row for found in findings for row in _ratio_rows(found)]),
        *([Table("Adversaries", ADVERSARY_CAPTION, adversaries)] if adversaries else []),
    ]


def system_table(found: MarsFindings) -> Table:
    """Table 3: a column for each system."""
    return Table(
        f"Within systems: {found.originals.rated.name}",
        SYSTEM_CAPTION.format(aspect=found.originals.aspect),
        [{"metric": metric, **by_system} for metric, by_system in found.within_systems.items()],
    )


def _ratio_rows(found: MarsFindings) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for largest, deviation in found.deviations.items():
        row = found.originals.by_metric[row_up_to(largest)]
        rows.append(
            {
                "set": row.set,
                "aspect": row.aspect,
                "largest ratio": largest,
                "pearson": row.pearson,
                "spearman": row.spearman,
                "mean deviation": deviation,
            }
        )
    return rows


def _adversary_rows(found: MarsFindings) -> list[dict[str, Any]]:
    """A row for each metric; none without adversaries."""
    rows: list[dict[str, Any]] = []
    for metric, row in found.originals.by_metric.items() if found.adversaries else ():
        cells: dict[str, Any] = {"set": row.set, "aspect": row.aspect, "metric": metric, "original": row.pearson.value}
        for kind, texts in found.adversaries.items():
            pearson = texts.by_metric[metric].pearson.value
            cells[kind] = pearson
            cells[f"{kind} fall"] = row.pearson.value - pearson
            cells[f"{kind} below"] = share_below(texts.scores[metric], found.originals.scores[metric])
        rows.append(cells)
    return rows
