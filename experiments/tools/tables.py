"""Tables that several tools show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from judge.tables import Table, tabulate
from meta_eval.auditing import COUNTS_WORDS_FROM, LengthAudit


def length_table(found: Mapping[tuple[str, str], LengthAudit], scored: str) -> Table:
    """The table of correlations between scores and length.

    Args:
        found: by metric, or aspect of a metric, and rated aspect ("" if there are no ratings).
        scored: the name of the first column, "metric" or "aspect".
    """
    caption = (
        "Spearman's rho of scores with ratings and with word counts, and each with the other held fixed (partial "
        "correlation). counts_words: whether the interval of the correlation with length, ratings held fixed, lies "
        f"beyond {COUNTS_WORDS_FROM:g} on either side of 0."
    )
    columns = ("n", "with_ratings", "with_length", "ratings_given_length", "length_given_ratings", "counts_words")
    named = [({scored: name, "rated": rated or "–"}, each) for (name, rated), each in found.items()]
    table = tabulate("Length", caption, named, columns)
    rows = [
        {**row, "counts_words": "yes" if each.counts_words else "no"}
        | ({} if rated else {"reason": each.with_length.reason or "the texts have no ratings"})
        for row, ((_, rated), each) in zip(table.rows, found.items(), strict=True)
    ]
    return replace(table, rows=rows)
