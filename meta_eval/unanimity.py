"""Where people agree and where they are split: the accuracy of a judge by how many people say the same of a text."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import Estimate, Floats
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import share_interval

MOST_KINDS = 6  # kinds of unity, such as 2 of 3; with more there are three: all, most, split


@dataclass(frozen=True)
class UnityAccuracy:
    """How often a judge gives the label of most people, on texts where they are united to this extent."""

    judge: str
    # such as "3 of 3"
    people: str
    n: int
    accuracy: Estimate


def count_unity(table: Floats) -> tuple[Floats, Floats]:
    """How many people give the most frequent label of each text, and how many label it, from labels of (people, n).

    >>> count_unity(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, np.nan]]))
    (array([2., 1.]), array([3., 2.]))
    """
    values = np.unique(table[~np.isnan(table)])
    counts = np.array([(table == value).sum(axis=0) for value in values]).reshape(len(values), table.shape[1])
    return counts.max(axis=0, initial=0).astype(np.float64), (~np.isnan(table)).sum(axis=0).astype(np.float64)


def name_unity(table: Floats) -> list[str]:
    """How united people are about each text, such as "2 of 3"; "" where fewer than two labelled it."""
    most, rated = count_unity(table)
    exact = [f"{int(a)} of {int(b)}" if b > 1 else "" for a, b in zip(most, rated, strict=True)]
    if len({*exact}) <= MOST_KINDS:
        return exact
    return [_name_share(a, b) if b > 1 else "" for a, b in zip(most, rated, strict=True)]


def _name_share(most: float, rated: float) -> str:
    if most == rated:
        return "all"
    return "most" if 2 * most > rated else "no majority"


def measure_by_unity(
    table: Floats, consensus: Floats, judges: Mapping[str, Floats], layout: Layout
) -> list[UnityAccuracy]:
    """The accuracy of each judge, of shape (n,), by how united people are, the most united texts first.

    `consensus` is the label that stands for people's, NaN where there is none: such texts do not count.
    """
    names = np.array(name_unity(table))
    most, rated = count_unity(table)
    shares = np.divide(most, rated, out=np.zeros(len(most)), where=rated > 0)
    kinds = [name for name in dict.fromkeys(names.tolist()) if name]
    kinds.sort(key=lambda name: (-shares[names == name].mean(), -rated[names == name].mean()))
    found: list[UnityAccuracy] = []
    for judge, labels in judges.items():
        for kind in kinds:
            kept = (names == kind) & ~np.isnan(consensus + labels)
            if not kept.any():
                continue
            right = (labels[kept] == consensus[kept]).astype(np.float64)
            found.append(UnityAccuracy(judge, kind, len(right), share_interval(right, restrict(layout, kept))))
    return found
