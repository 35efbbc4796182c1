"""Results in words: numbers, intervals, names and answers as text for terminals, pages, LaTeX, Markdown and CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from rich import markup

from core.errors import printable
from meta_eval.estimates import Estimate, smallest_p

MOST_NAMED = 4  # systems, or groups of them, that a sentence names
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
}
LATEX |= {
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
}
LATEX |= {mark: rf"\{mark}" for mark in "&%$#_{}"}
MINUS = re.compile(r"(?<![^\[\s])-(?=\d)")
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")  # a field that starts so is a formula for spreadsheets
MARKDOWN = re.compile(r"[\\`*|\[\]~]|(?<!\w)_|_(?!\w)")  # an underscore inside a word is text


def format_number(value: float) -> str:
    """Writes a number with three decimals, or four if it would look like 0 (a p-value), or as a dash for NaN.

    >>> format_number(0.12345), format_number(0.0001), format_number(float("nan"))
    ('0.123', '0.0001', '–')
    """
    if math.isnan(value):
        return "–"
    if 0.00005 <= abs(value) < 0.0005:
        return f"{value:.4f}"
    rounded = round(value, 3) + 0  # -0 is 0
    return f"{rounded:.3f}"


def format_interval(estimate: Estimate) -> str:
    """Formats an interval in brackets; nothing if there is none."""
    has_interval = not estimate.reason and not math.isnan(estimate.low)
    return f"[{estimate.low:.2f}, {estimate.high:.2f}]" if has_interval else ""


def format_cell(cell: Any) -> str:
    """Formats a cell as text without control characters.

    >>> format_cell(Estimate(0.1, -0.1, 0.25)), format_cell(3), format_cell("bleu")
    ('0.100 [-0.10, 0.25]', '3', 'bleu')
    """
    if isinstance(cell, Estimate):
        return f"{format_number(cell.value)} {format_interval(cell)}".strip()
    if isinstance(cell, float):
        return format_number(cell)
    return printable(str(cell))


def shorten(text: str, longest: int) -> str:
    """Cuts a text of more than `longest` characters, and marks the cut."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def join_names(names: Sequence[str]) -> str:
    """Joins names for a sentence. Of many names only the first are shown, and the others are counted.

    >>> join_names(["a"]), join_names(["a", "b", "c"]), join_names("abcdefg")
    ('a', 'a, b and c', 'a, b, c and 4 others')
    """
    if len(names) == 1:
        return names[0]
    if len(names) <= MOST_NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    first = names[: MOST_NAMED - 1]
    return f"{', '.join(first)} and {len(names) - len(first)} others"


def note_resolution(inputs: int, level: float) -> list[str]:
    """Notes if the swaps of inputs are too few to separate systems.

    >>> note_resolution(5, 0.05)
    ['5 inputs cannot separate systems at 0.05: no p is below 0.0625']
    """
    least = smallest_p(inputs)
    if least < level:
        return []
    noun = "input" if inputs == 1 else "inputs"
    return [f"{inputs} {noun} cannot separate systems at {level:g}: no p is below {least:.3g}"]


def literal(text: str) -> str:
    """Escapes a text for a console, so that rich's markup and control characters have no effect."""
    return markup.escape(printable(text))


def markdown_text(cell: Any) -> str:
    """Escapes a cell for Markdown: no HTML, links or pictures."""
    text = join_lines(cell)
    if not isinstance(cell, str):
        return text
    return MARKDOWN.sub(r"\\\g<0>", escape(text, quote=False))


def latex_text(text: str) -> str:
    r"""Escapes text for LaTeX; a hyphen before a number becomes a minus.

    >>> latex_text("0.1 [-0.2, 0.4]"), latex_text("[gpt-4] & co")
    ('0.1 [$-$0.2, 0.4]', '{}[gpt-4] \\& co')
    """
    parts = MINUS.split(text)
    escaped = "$-$".join(_escape_latex(part) for part in parts)
    is_command = escaped[:1] in ("[", "*")  # after the \\\\ that ends a row
    return f"{{}}{escaped}" if is_command else escaped


def _escape_latex(text: str) -> str:
    return "".join(LATEX.get(mark, mark) for mark in text)


def csv_field(cell: str | float) -> str | float:
    """Prepares a cell for CSV: a text that looks like a formula gets an apostrophe."""
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if FORMULA.match(cell) else text


def join_lines(cell: Any) -> str:
    """Writes a cell as text on one line."""
    return " ".join(format_cell(cell).split())
