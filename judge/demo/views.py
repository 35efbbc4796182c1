"""What the page shows: tables, and pieces of text coloured by what they add. Everything is escaped."""

from collections.abc import Sequence
from html import escape

from judge.demo.judging import Judgement
from judge.report.explanations import Line, Piece
from judge.tables import Table, to_html
from judge.verbs.steer import STEPS_CAPTION, SteeredText, list_steps

SHOWN = 10  # candidates before and after guidance
BLUE, ORANGE = "rgb(120, 190, 240)", "rgb(250, 170, 100)"  # colour-blind people tell them apart


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
    """A piece of a text with its number on hovering, on blue where it speaks for the text, on orange where against it.

    >>> show_piece(Piece("<", None, -0.5))
    '<span style="background: color-mix(in srgb, rgb(250, 170, 100) 50%, white); color: #111">&lt;</span>'
    """
    title = "" if piece.value is None else f' title="{piece.value:.3f}"'
    style = ""
    if piece.shade is not None:
        mixed = f"color-mix(in srgb, {BLUE if piece.shade > 0 else ORANGE} {abs(piece.shade):.0%}, white)"
        style = f' style="background: {mixed}; color: #111"'
    return f"<span{title}{style}>{escape(piece.text)}</span>"
