"""Poems side by side, to be read."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from core.example import Example
from experiments.oumg.poems import tune_of
from oumg.form import split_lines


def format_gallery(origins: Mapping[str, Sequence[Example]], number: int) -> str:
    """The first human poem of each of `number` tunes beside the poems that the systems generated from its form."""
    first: dict[str, int] = {}
    for i, poem in enumerate(origins["human"]):
        first.setdefault(tune_of(poem), i)
    return "\n".join(
        f"{tune}\n\n{side_by_side({origin: poems[i].text for origin, poems in origins.items()})}\n"
        for tune, i in list(first.items())[:number]
    )


def side_by_side(poems: Mapping[str, str]) -> str:
    """Poems in columns under their names, line by line; a Chinese character is as wide as two letters.

    >>> print(side_by_side({"G1": "月。明月。", "G2": "春花。"}))
    G1      G2
    月。　  春花。
    明月。
    """
    broken = {name: split_lines(text) for name, text in poems.items()}
    widths = {name: max(-(-len(name) // 2), *map(len, found)) for name, found in broken.items()}
    rows = zip_longest(*([line.ljust(widths[name], "　") for line in found] for name, found in broken.items()))
    blank = ["　" * width for width in widths.values()]
    table = [
        [name.ljust(2 * width) for name, width in widths.items()],
        *([cell or empty for cell, empty in zip(row, blank, strict=True)] for row in rows),
    ]
    return "\n".join("  ".join(cells).rstrip() for cells in table)
