"""Which columns of a table are shown if there is no room for all: on a terminal, and across a page of a paper.

Columns are given as texts by name, in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from rich.cells import cell_len

from core.errors import printable

Cells: TypeAlias = Mapping[str, Sequence[str]]
# what the tables decide: first on pages, and kept by a narrow terminal
VERDICT = (
    "better",
    "agreement",
    "difference",
    "p_value",
    "spearman",
    "within_systems",
    "between_systems",
    "beyond_cues",
    "mean",
    "kappa",
    "win_rate",
    "ur",  # of OUMG
)
LONGEST_CELL = 60  # characters of a text on the terminal
SQUEEZED_CELL = 20  # characters of a text where other columns need the room
PAPER = 100  # characters of a LaTeX table across both columns of a paper
GAP = 3  # characters between columns


def list_constant(cells: Cells) -> list[str]:
    """Lists the columns that have one value in all rows and are no part of the verdict."""
    return [name for name, column in cells.items() if name not in VERDICT and len({*column}) == 1]


def choose_for_paper(cells: Cells, texts: Collection[str]) -> list[str]:
    """Chooses the first columns that fit across a page of a paper, without columns that hold sentences.

    `texts` are the columns whose cells are all texts.
    """
    fitting: list[str] = []
    used = 0
    for name, column in cells.items():
        width = max(map(len, [name, *column]))
        holds_sentences = name in texts and width > LONGEST_CELL
        if not holds_sentences and used + width <= PAPER:
            fitting.append(name)
            used += width + GAP
    return fitting


def choose_for_terminal(
    cells: Cells,
    texts: Collection[str],
    constant: Collection[str],
    width: int,
) -> list[str]:
    """Chooses the columns that fit into `width` characters.

    Columns of texts can be made narrower, columns of numbers cannot. The texts among the first three columns and the
    p-value always stay. Then come the rest of the verdict, short texts, other columns in their order, and constant
    columns last. Columns outside the verdict are dropped if that leaves room for whole names of rows.
    """
    widths = {name: max(map(cell_len, column)) for name, column in cells.items()}
    varying = [name for name in cells if name not in constant]
    always = _list_always(varying, texts)
    verdict = [name for name in VERDICT if name in varying]
    short = [name for name in varying if name in texts and widths[name] <= SQUEEZED_CELL]
    used = 1
    chosen: list[str] = []
    for name in dict.fromkeys([*always, *verdict, *short, *varying, *constant]):
        needed = _measure_squeezed(name, widths[name], is_text=name in texts)
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


def _list_always(varying: Sequence[str], texts: Collection[str]) -> list[str]:
    """The columns that stay at any width: the leading texts and the p-value."""
    leading = [name for name in varying[1:3] if name in texts]
    always = [*varying[:1], *leading]
    if "p_value" in varying:
        always.append("p_value")
    return always


def _measure_squeezed(name: str, width: int, *, is_text: bool) -> int:
    """The characters that a column needs at least."""
    squeezed = min(width, SQUEEZED_CELL) if is_text else width
    return max(cell_len(printable(name)), squeezed) + GAP


def drop_columns(widths: Mapping[str, int], excess: int) -> list[str]:
    """Finds the last columns that together free at least `excess` characters; empty if all of them free less.

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
