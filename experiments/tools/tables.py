"""Tables that several tools show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.contracts import Table
from experiments.report.tables import collect_reasons
from meta_eval.auditing import COUNTS_WORDS_FROM, LengthAudit


def tabulate(
    title: str, caption: str, found: Iterable[tuple[Mapping[str, Any], object]], columns: Sequence[str]
) -> Table:
    """A table with a row per result: what names it, the attributes of the result, and why an estimate is undefined.

    Args:
        title: of the table.
        caption: what the columns are.
        found: the results, each behind the first cells of its row.
        columns: the names of the attributes; a `reason` among them comes before those of the estimates.
    """
    rows = [{**names, **{column: getattr(each, column) for column in columns}} for names, each in found]
    return Table(title, caption, [{**row, "reason": row.get("reason") or collect_reasons(row)} for row in rows])


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
