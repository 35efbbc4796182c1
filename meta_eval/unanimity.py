"""The accuracy of a judge where people agree and where they are split, by how many people give the same label."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import Estimate, Floats
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import share_interval

MOST_KINDS = 6  # kinds of unity, such as 2 of 3; with more there are three: all, most, split


@dataclass(frozen=True)
class UnityAccuracy:
    """How often a judge gives the label of most people, on the texts about which a certain number of people agree."""

    judge: str
    # such as "3 of 3"
    people: str
    n: int
    accuracy: Estimate


def count_unity(table: Floats) -> tuple[Floats, Floats]:
    """Counts, for each text, the people who give its most frequent label, and all people who label it.

    Labels have the shape (people, n), each result the shape (n,).

    >>> count_unity(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, np.nan]]))
    (array([2., 1.]), array([3., 2.]))
    """
    values = np.unique(table[~np.isnan(table)])
    most = np.zeros(table.shape[1])
    for value in values:
        most = np.maximum(most, (table == value).sum(axis=0))
    rated = (~np.isnan(table)).sum(axis=0)
    return most, rated.astype(np.float64)


def name_unity(table: Floats) -> list[str]:
    """Says how many people agree about each text, such as "2 of 3"; "" if fewer than two labelled it."""
    most, rated = count_unity(table)
    exact = list(map(_name_counts, most, rated))
    if len({*exact}) <= MOST_KINDS:
        return exact
    return list(map(_name_share, most, rated))


def _name_counts(most: float, rated: float) -> str:
    if rated < 2:
        return ""
    return f"{int(most)} of {int(rated)}"


def _name_share(most: float, rated: float) -> str:
    if rated < 2:
        return ""
    if most == rated:
        return "all"
    return "most" if 2 * most > rated else "no majority"


def measure_by_unity(
    table: Floats,
    consensus: Floats,
    judges: Mapping[str, Floats],
    layout: Layout,
) -> list[UnityAccuracy]:
    """Measures the accuracy of each judge by how many people agree about a text, unanimous texts first.

    Labels of judges have the shape (n,), labels of people (people, n). `consensus` is the label of people for each
    text; texts without a consensus (NaN) do not count.
    """
    names = np.array(name_unity(table))
    most, rated = count_unity(table)
    unrated = np.zeros(len(most))
    shares = np.divide(
        most,
        rated,
        out=unrated,
        where=rated > 0,
    )

    def place(kind: str) -> tuple[float, float]:
        """Returns a key to sort by: most united texts first, and of equally united texts those with most labels."""
        members = names == kind
        return -shares[members].mean(), -rated[members].mean()

    kinds = [name for name in dict.fromkeys(names.tolist()) if name]
    kinds.sort(key=place)
    rows: list[UnityAccuracy] = []
    for judge, labels in judges.items():
        for kind in kinds:
            kept = (names == kind) & ~np.isnan(consensus + labels)
            if not kept.any():
                continue
            is_right = (labels[kept] == consensus[kept]).astype(np.float64)
            rows.append(
                UnityAccuracy(
                    judge=judge,
                    people=kind,
                    n=len(is_right),
                    accuracy=share_interval(is_right, restrict(layout, kept)),
                )
            )
    return rows
