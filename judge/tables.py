"""Tables of results: rows of cells with a title and a caption, for terminals, notebooks, pages, files and pandas.

A cell is a text, a number, or an estimate, which is shown with its interval. Other values (a list, a mapping) go into
results.json only.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from rich import box, markup
from rich.cells import cell_len
from rich.console import Group
from rich.constrain import Constrain
from rich.table import Table as TerminalTable

from core.errors import FindingError, SettingError, printable
from core.extras import named_extras
from meta_eval.bootstrap import Estimate
from meta_eval.step_down import MOST_ENUMERATED, smallest_p

if TYPE_CHECKING:  # keeps matplotlib out of the start
    from matplotlib.figure import Figure

    from judge.report.outcome import Outcome

HEADLINE = 300  # characters of the answer that stands on top of a page
MOST_NAMED = 4  # systems, or groups of them, that a sentence names
# what the tables decide: first on pages, and kept by a narrow terminal
VERDICT = ("better", "agreement", "difference", "p_value", "spearman", "beyond_cues", "mean", "kappa", "win_rate")
VERDICT += ("ur",)  # of OUMG
NAME_CELL = 30  # characters of a name, which stands before the verdict on a page
LONGEST_CELL = 60  # characters of a text on the terminal
PAPER, GAP = 100, 3  # characters of a LaTeX table across both columns of a paper, and between its columns
SQUEEZED_CELL = 20  # characters of a text where other columns need the room
WIDE = 6  # columns; with more, those of one value become a sentence on pages
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--"}
LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"}
LATEX |= {mark: rf"\{mark}" for mark in "&%$#_{}"}
MINUS = re.compile(r"(?<![^\[\s])-(?=\d)")
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")  # a field that starts so is a formula for spreadsheets
MARKDOWN = re.compile(r"[\\`*|\[\]~]|(?<!\w)_|_(?!\w)")  # an underscore inside a word is text
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows of cells, and what they mean."""

    title: str
    # what the columns are, their units and direction
    caption: str
    rows: Sequence[Row]
    # what the table shows, in words; stands above it
    finding: str = ""
    # the name of its files, and of its rows in results.json; "" for the title
    key: str = ""

    @property
    def name(self) -> str:
        """The key, or the title."""
        return self.key or self.title

    @property
    def columns(self) -> list[str]:
        """The columns with texts, numbers or estimates, of any row."""
        kinds = str | int | float | Estimate
        return list(dict.fromkeys(name for row in self.rows for name, cell in row.items() if isinstance(cell, kinds)))

    @property
    def texts(self) -> list[str]:
        """The columns whose cells are all texts."""
        return [name for name in self.columns if all(isinstance(row.get(name), str) for row in self.rows)]

    def arrange(self) -> tuple[list[str], list[str]]:
        """The columns to show, and the sentences below them: why values and intervals are undefined, each reason once.

        A column that is undefined in every row is a sentence. Where this leaves no estimate, there are no columns.

        >>> row = {"metric": "bleu", "tau": Estimate.undefined("too few")}
        >>> Table("", "", [{**row, "r": 0.5}, {**row, "r": 0.1}]).arrange()
        (['metric', 'r'], ['tau is undefined: too few'])
        >>> Table("", "", [row]).arrange()
        ([], ['tau is undefined: too few'])
        """
        shown = [name for name in self.columns if name != "reason"]
        columns = [name for name in shown if not all(_is_undefined(row.get(name)) for row in self.rows)]
        undefined: dict[str, list[str]] = {}
        for name in [name for name in shown if name not in columns]:
            reasons = dict.fromkeys(getattr(row[name], "reason", row.get("reason")) for row in self.rows)
            undefined.setdefault("; ".join(filter(None, reasons)) or "no row has a value", []).append(name)
        cells = [row.get(name) for row in self.rows for name in columns]
        if undefined and not any(isinstance(cell, float | Estimate) for cell in cells):
            columns = []
        below = [
            f"{join_names(each)} {'are' if each[1:] else 'is'} undefined: {why}" for why, each in undefined.items()
        ]
        if columns:
            below += self._explain_gaps(columns)
            below += self._list_reasons(columns[0], [*undefined])
        return columns, list(dict.fromkeys(below))

    def _explain_gaps(self, columns: Sequence[str]) -> list[str]:
        """Why cells are dashes or lack an interval: each reason once, with the columns and the rows that have it."""
        places: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
        for row in self.rows:
            named = format_cell(row.get(columns[0], ""))
            for column in columns:
                cell = row.get(column)
                if isinstance(cell, Estimate) and cell.reason:
                    lacking = "no" if _is_undefined(cell) else "no interval of"
                    lacking_columns, lacking_rows = places.setdefault((lacking, cell.reason), ([], []))
                    lacking_columns.append(column)
                    lacking_rows.append(named)
        all_rows = {format_cell(row.get(columns[0], "")) for row in self.rows}
        lines: list[str] = []
        for (lacking, reason), (lacking_columns, lacking_rows) in places.items():
            measures = join_names([*dict.fromkeys(lacking_columns)])
            rows = [*dict.fromkeys(lacking_rows)]
            where = "in any row" if len(rows) == len(all_rows) > 1 else f"for {join_names(rows)}"
            lines.append(f"{lacking} {measures} {where}: {reason}")
        return lines

    def _list_reasons(self, first: str, known: Sequence[str]) -> list[str]:
        """The reasons that rows give for themselves, other than those of their estimates."""
        lines: list[str] = []
        for row in self.rows:
            reason = row.get("reason")
            if reason and reason not in (*known, collect_reasons(row)):
                lines.append(f"{format_cell(row.get(first, ''))}: {reason}")
        return lines

    def lay_out(self) -> tuple[list[str], list[str]]:
        """`arrange` for pages; in a wide table names come first, then the verdict; columns of one value are a sentence.

        >>> rows = [{"m": r, **dict.fromkeys("uvwxyz", 1), "better": r, "r": r} for r in ("a", "b")]
        >>> Table("", "", rows).lay_out()
        (['m', 'r', 'better'], ['in every row: u 1, v 1, w 1, x 1, y 1, z 1'])
        """
        names, below = self.arrange()
        if len(names) <= WIDE:
            return names, below
        cells = {name: {format_cell(row.get(name, "")) for row in self.rows} for name in names}
        if same := [name for name in names if name not in VERDICT and len(cells[name]) == 1 < len(self.rows)]:
            below.append(f"in every row: {', '.join(f'{name} {cells[name].pop()}' for name in same)}")
        texts = [name for name in names if name in self.texts and name not in (*same, *VERDICT)]
        texts = [name for name in texts if name == names[0] or max(map(len, cells[name])) <= NAME_CELL]
        verdict = [name for name in VERDICT if name in names]
        first = [*texts, *verdict] if verdict else []
        chosen = [name for name in dict.fromkeys([*first, *names]) if name not in same]
        return chosen, below

    def flatten(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Rows of these columns (by default `columns`), the interval of `NAME` as `NAME_low` and `NAME_high`."""
        wanted = self.columns if names is None else names
        rows = ({name: cell for name, cell in row.items() if name in wanted} for row in self.rows)
        return [_split_estimates(row, lambda low, high: {"low": low, "high": high}) for row in rows]

    def to_json(self) -> list[dict[str, Any]]:
        """The rows for results.json, the interval of an estimate `NAME` as `NAME_interval`."""
        rows = (_split_estimates(row, lambda low, high: {"interval": [low, high]}) for row in self.rows)
        return [{**row, "table": self.name} for row in rows]

    def to_frame(self) -> Any:
        """The rows as a DataFrame of pandas, the interval of an estimate `NAME` as `NAME_low` and `NAME_high`.

        Raises SettingError if pandas is not installed.
        """
        with named_extras():
            import pandas
        return pandas.DataFrame(self.flatten(list(dict.fromkeys(name for row in self.rows for name in row))))

    def to_html(self) -> str:
        """The table for a notebook, with its caption."""
        names, below = self.lay_out()
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = ["".join(f"<td>{escape(format_cell(row.get(name, '')))}</td>" for name in names) for row in self.rows]
        rows = "".join(f"<tr>{line}</tr>" for line in [head, *body])
        finding, *said = (f"<p>{escape(printable(each))}</p>" for each in [self.finding, *below, self.caption])
        shown = f"<h4>{escape(self.title)}</h4>{finding if self.finding else ''}"
        return "".join([shown, f"<table>{rows}</table>" if names else "", *said])

    def to_markdown(self, linked: str | None = None) -> str:
        """The columns as a Markdown table, estimates with their intervals; a cell that a row lacks is empty.

        A cell of the column `linked` becomes a link to the page of this name, `CELL.md`.

        >>> Table("", "", [{"metric": "ours", "n": 3}]).to_markdown().splitlines()
        ['| metric | n |', '| --- | --- |', '| ours | 3 |']
        """
        names = self.columns
        lines = [[markdown_text(name) for name in names], ["---"] * len(names)]
        for row in self.rows:
            texts = {name: markdown_text(row.get(name, "")) for name in names}
            lines.append([f"[{text}]({text}.md)" if name == linked else text for name, text in texts.items()])
        return "".join("| " + " | ".join(line) + " |\n" for line in lines)

    def to_latex(self) -> str:
        r"""A LaTeX tabular (package booktabs), estimates with their intervals; what it leaves out is a comment.

        It has no column that is undefined or holds sentences, and as many as fit across both columns of a paper.

        >>> Table("", "", [{"metric": "a_b", "r": -0.25}]).to_latex().splitlines()[3:5]
        ['\\midrule', 'a\\_b & $-$0.250 \\\\']
        """
        names, below = self.lay_out()
        cells = {name: [_one_line(row.get(name, "")) for row in self.rows] for name in names}
        widths = {name: max(map(len, [name, *cells[name]])) for name in names}
        fitting, used = list[str](), 0
        for name, width in widths.items():
            if (name not in self.texts or width <= LONGEST_CELL) and used + width <= PAPER:
                fitting.append(name)
                used += width + GAP
        if left := [name for name in names if name not in fitting]:
            below.append(f"in the other files: {', '.join(left)}")
        names = fitting
        comments = [f"% {_one_line(line)}" for line in below]
        if not names:
            return "\n".join([*comments, ""])
        aligned = "".join("l" if name in self.texts else "r" for name in names)
        texts = [[cells[name][i] for name in names] for i in range(len(self.rows))]
        head, *body = [" & ".join(map(_latex_text, line)) + r" \\" for line in [names, *texts]]
        begin, end = rf"\begin{{tabular}}{{{aligned}}}", r"\end{tabular}"
        return "\n".join([*comments, begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end, ""])

    def write_csv(self, file: IO[str]) -> None:
        """Writes the columns; a spreadsheet takes a text after an apostrophe for a text, also if it is a formula."""
        rows = self.flatten()
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(file, names, lineterminator="\n")
        for row in [{name: name for name in names}, *rows]:
            writer.writerow({name: csv_field(cell) for name, cell in row.items()})

    def to_terminal(self, width: int) -> Group:
        """The table for a terminal, with the columns that fit into `width`; long texts are cut.

        Below it are the reasons, and the other columns: with their value if all rows have the same one, else by name.
        """
        names, below = self.arrange()
        cells = {name: [format_cell(row.get(name, "")) for row in self.rows] for name in names}
        constant = [name for name in names if name not in VERDICT and len(set(cells[name])) == 1]
        fitting = self._choose_fitting(cells, constant, width)
        if same := [f"{name} {cells[name][0]}" for name in constant if name not in fitting]:
            below.append(f"in every row: {', '.join(same)}")
        if more := [name for name in names if name not in (*fitting, *constant)]:
            below.append(f"on the page: {', '.join(more)}")
        title = "\n".join(map(literal, filter(None, [self.title, self.finding])))
        shown = TerminalTable(box=box.SIMPLE_HEAD)
        for name in fitting:
            shown.add_column(literal(name), overflow="fold")
        for line in zip(*(cells[name] for name in fitting), strict=True):
            shown.add_row(*(literal(shorten(cell, LONGEST_CELL)) for cell in line))
        # a title of the table itself would be broken at the table's width
        head = [f"[bold]{title}[/]", *([Constrain(shown, width)] if fitting else [])]
        return Group(*head, *(f"[dim italic]{literal(line)}[/]" for line in below), *([""] if below else []))

    def _choose_fitting(self, cells: Mapping[str, Sequence[str]], constant: Sequence[str], width: int) -> list[str]:
        """The columns that fit into `width` characters; texts can be squeezed, numbers not.

        The leading texts (of three columns) and the p-value always stay; then come the rest of the verdict, short
        texts, the others in their order, and constant ones last. Columns outside the verdict go where that leaves room
        for whole names of rows.
        """
        texts, used, chosen = self.texts, 1, []
        widths = {name: max(map(cell_len, each)) for name, each in cells.items()}
        varying = [name for name in cells if name not in constant]
        always = [name for i, name in enumerate(varying) if i == 0 or (i < 3 and name in texts) or name == "p_value"]
        verdict = [name for name in VERDICT if name in varying]
        short = [name for name in varying if name in texts and widths[name] <= SQUEEZED_CELL]
        for name in dict.fromkeys([*always, *verdict, *short, *varying, *constant]):
            cell = min(widths[name], SQUEEZED_CELL) if name in texts else widths[name]
            needed = max(cell_len(printable(name)), cell) + 3
            if used + needed <= width or name in always:
                used += needed
                chosen.append(name)
        first = varying[0] if varying else ""
        cut = min(widths.get(first, 0), LONGEST_CELL) - SQUEEZED_CELL
        if first in texts and used + cut > width:
            optional = {name: widths[name] for name in chosen if name not in (*always, *verdict)}
            dropped = drop_columns(optional, used + cut - width)
            chosen = [name for name in chosen if name not in dropped]
        return [name for name in cells if name in chosen]


def drop_columns(widths: Mapping[str, int], excess: int) -> list[str]:
    """The last columns that free at least `excess` characters together; none where all of them are too few.

    >>> drop_columns({"n": 3, "kendall": 18, "pearson": 18}, 20)
    ['pearson']
    """
    dropped: list[str] = []
    freed = 0
    for name in reversed(list(widths)):
        if freed >= excess:
            break
        dropped.append(name)
        freed += max(cell_len(printable(name)), widths[name]) + GAP
    return dropped if freed >= excess else []


class Result:
    """What a verb returns: its `tables`, `notes` and `signature` are shown by a notebook and given to pandas."""

    def present(self: Any) -> Outcome:
        """What the terminal and the page show, without plots."""
        from judge.report.outcome import Outcome

        return Outcome(self.signature, tables=self.tables, notes=self.notes)

    def draw(self) -> Mapping[str, Figure]:
        """The plots of the page, by name."""
        return {}

    @property
    def findings(self) -> Sequence[str]:
        """What the user asked to be stopped by, in sentences; the command then ends with exit code 3."""
        return ()

    def raise_findings(self) -> None:
        """Raises FindingError where there are findings, for a test of one's own."""
        if self.findings:
            raise FindingError(self.findings)

    def to_frame(self: Any, title: str | None = None) -> Any:
        """The table of this title, or the first one, as a DataFrame (see `Table.to_frame`).

        Raises SettingError without pandas, and for a title that no table has.
        """
        tables: dict[str, Table] = {table.title: table for table in self.tables}
        if title is not None and title not in tables:
            raise SettingError(f"there is no table {title!r}; the tables are {', '.join(tables)}")
        return tables[title or next(iter(tables))].to_frame()

    def _repr_html_(self: Any) -> str:
        *notes, answer = self.notes or ("",)  # the last note answers the question: it comes first, as on pages
        return (f"<p>{escape(answer)}</p>" if answer else "") + to_html(self.tables, [*notes, self.signature])


def to_html(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """The tables for a notebook, then the notes."""
    return "".join([*(table.to_html() for table in tables), *(f"<p>{escape(note)}</p>" for note in notes)])


def tabulate(title: str, caption: str, rows: Iterable[Row]) -> Table:
    """A table whose rows say why an estimate is undefined; a reason that a row has stays."""
    return Table(title, caption, [{**row, "reason": row.get("reason") or collect_reasons(row)} for row in rows])


def pick(found: object, columns: Iterable[str], **names: Any) -> dict[str, Any]:
    """The cells of a row: those that name it, then attributes of what was found."""
    return {**names, **{column: getattr(found, column) for column in columns}}


def _split_estimates(row: Row, ends: Callable[[float, float], Row]) -> dict[str, Any]:
    """The row with the value of each estimate, and its ends in cells of their own, `NAME_END`."""
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        cells[name] = cell.value if isinstance(cell, Estimate) else cell
        if isinstance(cell, Estimate):
            low, high = (math.nan, math.nan) if cell.reason else (cell.low, cell.high)
            cells |= {f"{name}_{end}": value for end, value in ends(low, high).items()}
    return cells


def _is_undefined(cell: Any) -> bool:
    return isinstance(cell, float | Estimate) and math.isnan(cell if isinstance(cell, float) else cell.value)


def format_number(value: float) -> str:
    """Three decimals, four for a number that would look like 0 (a p-value), or a dash for NaN.

    >>> format_number(0.12345), format_number(0.0001), format_number(float("nan"))
    ('0.123', '0.0001', '–')
    """
    if math.isnan(value):
        return "–"
    if 0.00005 <= abs(value) < 0.0005:
        return f"{value:.4f}"
    return f"{round(value, 3) + 0:.3f}"  # -0 is 0


def format_interval(estimate: Estimate) -> str:
    """An interval in brackets, or nothing if there is none."""
    return "" if estimate.reason or math.isnan(estimate.low) else f"[{estimate.low:.2f}, {estimate.high:.2f}]"


def format_cell(cell: Any) -> str:
    """A cell as text without control characters.

    >>> format_cell(Estimate(0.1, -0.1, 0.25)), format_cell(3), format_cell("bleu")
    ('0.100 [-0.10, 0.25]', '3', 'bleu')
    """
    if isinstance(cell, Estimate):
        return f"{format_number(cell.value)} {format_interval(cell)}".strip()
    return format_number(cell) if isinstance(cell, float) else printable(str(cell))


def shorten(text: str, longest: int) -> str:
    """The beginning of a text of more than `longest` characters."""
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


def bound_answer(answer: str) -> list[str]:
    """The answer as a headline of at most `HEADLINE` characters; if it is longer, the whole of it stands before.

    The headline keeps the first clauses and, where it is short, the last one, which is a verdict.

    >>> bound_answer("a is better")
    ['a is better']
    >>> whole, headline = bound_answer("; ".join(["x" * 99] * 9 + ["no judge is good enough"]))
    >>> len(whole), headline.partition("; and")[2]
    (932, ' 7 more; no judge is good enough')
    """
    if len(answer) <= HEADLINE:
        return [answer]
    room = HEADLINE - len("; and 9999 more")
    mark = "; " if len(answer.split("; ")[0]) <= room else ", "
    clauses = answer.split(mark)
    last = clauses[-1:] if len(clauses[-1]) <= HEADLINE // 2 else []
    middle = clauses[: len(clauses) - len(last)]
    room -= sum(len(mark) + len(clause) for clause in last)
    kept = 1
    while kept < len(middle) and len(mark.join(middle[: kept + 1])) <= room:
        kept += 1
    first = shorten(mark.join(middle[:kept]), room - 1)
    left = [f"and {len(middle) - kept} more"] if kept < len(middle) else []
    return [answer, mark.join([first, *left, *last])]


def note_resolution(inputs: int, drawn: int, setting: str, level: float) -> list[str]:
    """A note where swaps of these inputs, of which the setting draws so many, cannot separate systems.

    >>> note_resolution(5, 1000, "permutations", 0.05)
    ['5 inputs cannot separate systems at 0.05: no p is below 0.0625']
    """
    if (least := smallest_p(inputs, drawn)) < level:
        return []
    swaps = "" if inputs <= MOST_ENUMERATED else f" with {setting}={drawn}"
    named = f"{inputs} input{'' if inputs == 1 else 's'}{swaps}"
    return [f"{named} cannot separate systems at {level:g}: no p is below {least:.3g}"]


def literal(text: str) -> str:
    """The text for a console, which shows rich's marks and control characters and does not obey them."""
    return markup.escape(printable(text))


def markdown_text(cell: Any) -> str:
    """The cell as text that renders as it stands: without HTML, links and pictures."""
    text = _one_line(cell)
    return MARKDOWN.sub(r"\\\g<0>", escape(text, quote=False)) if isinstance(cell, str) else text


def _latex_text(text: str) -> str:
    r"""The text for LaTeX; a hyphen before a number is a minus.

    >>> _latex_text("0.1 [-0.2, 0.4]"), _latex_text("[gpt-4] & co")
    ('0.1 [$-$0.2, 0.4]', '{}[gpt-4] \\& co')
    """
    escaped = "$-$".join("".join(LATEX.get(mark, mark) for mark in part) for part in MINUS.split(text))
    return f"{{}}{escaped}" if escaped[:1] in ("[", "*") else escaped  # \\[ and \\* are commands


def csv_field(cell: str | float) -> str | float:
    """The cell, with an apostrophe before a text that looks like a formula."""
    if not isinstance(cell, str):
        return cell
    return f"'{printable(cell)}" if FORMULA.match(cell) else printable(cell)


def _one_line(cell: Any) -> str:
    return " ".join(format_cell(cell).split())
