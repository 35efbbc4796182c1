"""Tables of results: rows of cells with a title and a caption, and how a cell reads.

A cell is a text, a number, or an estimate, which is shown with its interval. Other values (a list, a mapping) go into
results.json only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from core.faults import SettingFault, printable
from meta_eval.agreement import Agreement
from meta_eval.bootstrap import Estimate
from meta_eval.intervals import Resampling

AGREEMENT_CELLS = ("metric", "set", "aspect", "n", "pearson", "spearman", "kendall")
AGREEMENT_CELLS += ("beyond_cues", "unscored", "truncated", "synthetic")
MOST_NAMED = 4  # systems, or groups of them, that a sentence names
VERDICT = ("better", "agreement", "difference", "p_value")  # columns that a narrow terminal keeps
FURTHER_CAPTION = (
    "accuracy is pairwise accuracy with ties; calibrated_accuracy counts scores within epsilon as "
    "tied; epsilon was chosen on these same ratings. soft_accuracy is soft pairwise accuracy: how far a metric is as "
    "sure as people are about which of two systems is better."
)


@dataclass(frozen=True)
class Table:
    """A table other than agreement with ratings."""

    # its heading; in results.json each of its rows has it as `table`
    title: str
    # what the columns are, their units and direction
    caption: str
    # mappings from column to cell, all with the same columns. A cell is a text, a number or an `Estimate`, which is
    # shown with its 95 % interval. Any other value (a list, a mapping) goes into results.json only.
    rows: Sequence[Mapping[str, Any]]
    # what the table shows, in words; stands above it
    finding: str = ""
    # the column whose cells are paths of pages, relative to the run folder; "" for none
    pages: str = ""


def to_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The rows as a DataFrame of pandas, the interval of an estimate `NAME` as `NAME_low` and `NAME_high`.

    Raises SettingFault if pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise SettingFault("to_frame needs pandas: pip install pandas") from None
    return pandas.DataFrame([flat_cells(row, list(row)) for row in rows])


class Result:
    """What a verb returns: its `tables`, `notes` and `signature` are shown by a notebook and given to pandas."""

    def to_frame(self: Any, title: str | None = None) -> Any:
        """The table of this title, or the first one, as a DataFrame (see `to_frame`).

        Raises SettingFault without pandas, and for a title that no table has.
        """
        tables: dict[str, Table] = {table.title: table for table in self.tables}
        if title is not None and title not in tables:
            raise SettingFault(f"there is no table {title!r}; the tables are {', '.join(tables)}")
        return to_frame(tables[title or next(iter(tables))].rows)

    def _repr_html_(self: Any) -> str:
        return to_html(self.tables, [*self.notes, self.signature])


def tabulate(
    title: str,
    caption: str,
    found: Iterable[tuple[Mapping[str, Any], object]],
    columns: Sequence[str] = (),
    finding: str = "",
) -> Table:
    """A table with a row per result: what names it, the attributes of the result, and why an estimate is undefined.

    Args:
        title: of the table.
        caption: what the columns are.
        found: the results, each behind the first cells of its row.
        columns: the names of the attributes; a `reason` among them comes before those of the estimates.
        finding: what the table shows, in words.
    """
    rows = [{**names, **{column: getattr(each, column) for column in columns}} for names, each in found]
    full = [{**row, "reason": row.get("reason") or collect_reasons(row)} for row in rows]
    return Table(title, caption, full, finding=finding)


def agreement_cells(row: Agreement) -> dict[str, Any]:
    """The cells of a row of agreement by column, and why some are undefined; the grouping where it counts."""
    cells = {name: getattr(row, name) for name in AGREEMENT_CELLS}
    if row.further:
        cells |= {"grouping": row.grouping, "groups": row.groups, **row.further}
    return {**cells, "reason": collect_reasons(cells)}


def tabulate_agreement(rows: Sequence[Agreement], resampling: Resampling) -> Table:
    """The table of agreement of metrics with ratings."""
    caption = (
        "Correlation of scores with ratings, from -1 to 1; higher is better. kendall is tau-b. beyond_cues is the "
        "partial correlation with the ratings beyond additive effects of cheap cues (length, repetition, overlap, "
        "punctuation, case, counts of a dialogue); cues that act together, or others, may still explain it. The row "
        "cheap_cues is what counting alone tells: a prediction that is fitted (cross-fitted) to these ratings, as "
        "metrics are not. A metric that does not vary within a system or an input agrees by 0 there. "
        f"Intervals: {format_share(resampling.confidence)}, drawn over {resampling.over}; beyond_cues over inputs."
    )
    further = f" {FURTHER_CAPTION}" if any(row.further for row in rows) else ""
    return Table("Agreement with ratings", f"{caption}{further}", [agreement_cells(row) for row in rows])


def flat_cells(row: Mapping[str, Any], names: Sequence[str] | None = None) -> dict[str, Any]:
    """The cells of these columns (by default those to show), the interval of `NAME` as `NAME_low` and `NAME_high`."""
    found: dict[str, Any] = {}
    for name in shown_columns([row]) if names is None else names:
        if isinstance(cell := row[name], Estimate):
            found |= {name: cell.value, f"{name}_low": cell.low, f"{name}_high": cell.high}
        else:
            found[name] = cell
    return found


def shown_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns with texts, numbers or estimates."""
    return [name for name, cell in rows[0].items() if isinstance(cell, str | int | float | Estimate)] if rows else []


def arrange(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """The columns to show, and the sentences below them: why values and intervals are undefined, each reason once.

    A column that is undefined in every row is a sentence. Where this leaves no estimate, there are no columns.

    >>> row = {"metric": "bleu", "tau": Estimate.undefined("too few")}
    >>> arrange([{**row, "r": 0.5}, {**row, "r": 0.1}]), arrange([row])
    ((['metric', 'r'], ['tau is undefined: too few']), ([], ['tau is undefined: too few']))
    """
    shown = [name for name in shown_columns(rows) if name != "reason"]
    columns = [name for name in shown if not all(_is_undefined(row[name]) for row in rows)]
    undefined: dict[str, list[str]] = {}
    for name in [name for name in shown if name not in columns]:
        reasons = dict.fromkeys(_get_reason(row, name) for row in rows)
        undefined.setdefault("; ".join(filter(None, reasons)) or "no row has a value", []).append(name)
    if undefined and not any(isinstance(row[name], float | Estimate) for row in rows for name in columns):
        columns = []
    below = [f"{join_names(each)} {'are' if each[1:] else 'is'} undefined: {why}" for why, each in undefined.items()]
    for row in rows:
        cells = [cell for name in columns if isinstance(cell := row[name], Estimate) and cell.reason]
        below += [f"{'–' if _is_undefined(cell) else 'no interval'}: {cell.reason}" for cell in cells]
        own = row.get("reason")
        if columns and own and own not in (*undefined, collect_reasons(row)):
            below.append(f"–: {own}")
    return columns, list(dict.fromkeys(below))


def _is_undefined(cell: Any) -> bool:
    return isinstance(cell, float | Estimate) and math.isnan(cell if isinstance(cell, float) else cell.value)


def _get_reason(row: Mapping[str, Any], name: str) -> str | None:
    return row[name].reason if isinstance(row[name], Estimate) else row.get("reason")


def format_number(value: float) -> str:
    """Three decimals, four for a number that would look like 0 (a p-value), or a dash for NaN.

    >>> format_number(0.12345), format_number(0.0001), format_number(float("nan"))
    ('0.123', '0.0001', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:.4f}" if 0.00005 <= abs(value) < 0.0005 else f"{value:.3f}"


def format_share(share: float) -> str:
    """A share, such as the level of an interval, in percent.

    >>> format_share(0.95), format_share(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * share:g} %"


def format_interval(estimate: Estimate) -> str:
    """An interval in brackets, or nothing if it is undefined.

    >>> format_interval(Estimate(0.1, -0.1, 0.25))
    '[-0.10, 0.25]'
    """
    undefined = math.isnan(estimate.low) or math.isnan(estimate.high)
    return "" if undefined else f"[{estimate.low:.2f}, {estimate.high:.2f}]"


def format_cell(cell: Any) -> str:
    """A cell as text without control characters.

    >>> format_cell(Estimate(0.1, -0.1, 0.25)), format_cell(3), format_cell("bleu")
    ('0.100 [-0.10, 0.25]', '3', 'bleu')
    """
    if isinstance(cell, Estimate):
        return f"{format_number(cell.value)} {format_interval(cell)}".strip()
    return format_number(cell) if isinstance(cell, float) else printable(str(cell))


def shorten(text: str, longest: int) -> str:
    """The beginning of a text of more than `longest` characters.

    >>> shorten("a long story", 6)
    'a long…'
    """
    return text if len(text) <= longest else f"{text[:longest]}…"


def collect_reasons(row: Mapping[str, Any]) -> str:
    """Why estimates of a row, or their intervals, are undefined; each reason once.

    >>> collect_reasons({"n": 3, "r": Estimate.undefined("too few"), "tau": Estimate.undefined("too few")})
    'too few'
    """
    reasons = (cell.reason for cell in row.values() if isinstance(cell, Estimate))
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


def join_names(names: Sequence[str]) -> str:
    """Names in a sentence, of many the first ones.

    >>> join_names(["a"]), join_names(["a", "b", "c"]), join_names("abcdefg")
    ('a', 'a, b and c', 'a, b, c and 4 others')
    """
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} others"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def to_html(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """The tables for a notebook, with their captions, then the notes."""
    parts = []
    for table in tables:
        names, below = arrange(table.rows)
        lines = [f"<th>{escape(name)}</th>" for name in names]
        body = ["".join(f"<td>{escape(format_cell(row[name]))}</td>" for name in names) for row in table.rows]
        rows = "".join(f"<tr>{line}</tr>" for line in ["".join(lines), *body])
        finding = f"<p>{escape(printable(table.finding))}</p>" if table.finding else ""
        shown = f"<table>{rows}</table>" if names else ""
        said = "".join(f"<p>{escape(printable(each))}</p>" for each in [*below, table.caption])
        parts.append(f"<h4>{escape(table.title)}</h4>{finding}{shown}{said}")
    return "".join([*parts, *(f"<p>{escape(note)}</p>" for note in notes)])
