"""What the page shows: tables, and pieces of text coloured by what they add. Everything is escaped."""

from collections.abc import Sequence
from html import escape

from experiments.demo.judging import Judgement
from experiments.report.explanations import Line, Piece
from judge.steering import STEPS_CAPTION, SteeredText, list_steps
from judge.tables import Table, to_html

SHOWN = 10  # candidates before and after guidance
ABOVE, BELOW = (120, 190, 240), (250, 170, 100)  # blue and orange, which colour-blind people tell apart


def show_candidates(found: SteeredText, side: str, step: int) -> str:
    """The candidates of a token of the `guided` or `unguided` text; nothing for the prompt, which is step 0."""
    rows = [row for row in list_steps(found.prompt, getattr(found, side), SHOWN) if row["step"] == step]
    return to_html([Table(f"Step {step}", STEPS_CAPTION, rows)] if rows else [])


def show_judgements(found: Sequence[Judgement]) -> str:
    """The scores of a text, their notes, and what explains each of them."""
    rows = [
        {"metric": each.metric, "score": each.reason or "" if each.score is None else each.score, "scale": each.scale}
        for each in found
    ]
    notes = dict.fromkeys(f"Note: {note}." for each in found for note in each.notes)
    explained = [each for each in found if each.lines]
    details = (
        f"<details{'' if i else ' open'}><summary>{escape(each.metric)}: what stands behind it</summary>"
        f"<ul>{''.join(map(show_line, each.lines))}</ul></details>"
        for i, each in enumerate(explained)
    )
    caption = "Higher is better. Below, blue speaks for the text and orange against it, compared with the rest."
    return "".join([to_html([Table("Scores", caption, rows)], list(notes)), *details])


def show_line(line: Line) -> str:
    """A line of an explanation as an item of a list."""
    return f"<li><b>{escape(line.label)}</b> {''.join(map(show_piece, line.pieces))}</li>"


def show_piece(piece: Piece) -> str:
    """A piece of a text in its colour, with its number on hovering.

    >>> show_piece(Piece("a < b", 0.25, -0.5))
    '<span title="0.250" style="background: rgb(252, 212, 178); color: #111">a &lt; b</span>'
    """
    title = "" if piece.value is None else f' title="{piece.value:.3f}"'
    style = "" if piece.shade is None else f' style="background: {mix(piece.shade)}; color: #111"'
    return f"<span{title}{style}>{escape(piece.text)}</span>"


def mix(share: float) -> str:
    """White at 0, blue at 1 and orange at -1, as CSS.

    >>> mix(0.0), mix(1.0), mix(-0.5)
    ('rgb(255, 255, 255)', 'rgb(120, 190, 240)', 'rgb(252, 212, 178)')
    """
    end = ABOVE if share > 0 else BELOW
    return f"rgb({', '.join(str(round(255 + (colour - 255) * abs(share))) for colour in end)})"
