"""The HTML of the page: tables, and texts coloured by contributions to a score. Everything is escaped."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Literal

from core.errors import InputError, SettingError
from judge.browser.judging import Judgement
from judge.steering import STEPS_CAPTION, SteeredText, list_steps
from report.explanations import Line, Piece
from report.tables import Table

SHOWN_CANDIDATES = 10  # candidates before and after guidance
BLUE = "rgb(120, 190, 240)"  # what speaks for a text; colour-blind people tell it from orange
ORANGE = "rgb(250, 170, 100)"  # what speaks against it
NO_MODELS = (
    "There are no models for this in `{folder}`. `make models` trains a tiny one of each kind in minutes; "
    "`--models RUN/models` takes those of a run."
)
SCORES_CAPTION = "Higher is better. Below, blue speaks for the text and orange against it, compared with the rest."


def answer(show: Callable[[], str]) -> str:
    """Calls `show`; returns its HTML, or the error in the user's input as HTML."""
    try:
        return show()
    except (InputError, SettingError) as fault:
        return show_fault(fault)


def show_fault(fault: Exception) -> str:
    """Writes an error in the user's input as HTML, which replaces an older result."""
    return f'<p class="fault" role="alert">{escape(str(fault))}</p>'


def show_candidates(text: SteeredText, side: Literal["guided", "unguided"], step: int) -> str:
    """Shows the candidates of a token of the guided or unguided text; nothing for the prompt, which is step 0.

    The heading shows the text before the token, so that all columns fit on a telephone.
    """
    tokens = text.guided if side == "guided" else text.unguided
    rows = [row for row in list_steps(text.prompt, tokens, SHOWN_CANDIDATES) if row["step"] == step]
    if not rows:
        return ""
    preceding = rows[0]["text"]
    for row in rows:
        del row["step"]
        del row["text"]
    return Table(f"Step {step}: {preceding}", STEPS_CAPTION, rows)._repr_html_()


def show_judgements(judgements: Sequence[Judgement]) -> str:
    """Shows the scores of a text, their notes, and their explanations."""
    rows = [
        {"metric": judgement.metric, "score": show_score(judgement), "scale": judgement.scale}
        for judgement in judgements
    ]
    notes = [f"Note: {note}." for judgement in judgements for note in judgement.notes]
    explained = [judgement for judgement in judgements if judgement.lines]
    details = [show_details(judgement, is_open=judgement is explained[0]) for judgement in explained]
    said = [f"<p>{escape(note)}</p>" for note in dict.fromkeys(notes)]
    return "".join([Table("Scores", SCORES_CAPTION, rows)._repr_html_(), *said, *details])


def show_score(judgement: Judgement) -> float | str:
    """Returns the score, or the reason why there is no score."""
    return judgement.reason or "" if judgement.score is None else judgement.score


def show_details(judgement: Judgement, is_open: bool) -> str:
    """Shows the explanation of a score, which opens with a click."""
    lines = "".join(map(show_line, judgement.lines))
    summary = f"<summary>{escape(judgement.metric)}: what stands behind it</summary>"
    return f"<details{' open' if is_open else ''}>{summary}<ul>{lines}</ul></details>"


def show_line(line: Line) -> str:
    """Shows a line of an explanation as an item of a list."""
    return f"<li><b>{escape(line.label)}</b> {''.join(map(show_piece, line.pieces))}</li>"


def show_piece(piece: Piece) -> str:
    """Shows a piece of a text, blue if it raises the score and orange if it lowers it; hovering shows the number.

    >>> show_piece(Piece("<", None, -0.5))
    '<span style="background: color-mix(in srgb, rgb(250, 170, 100) 50%, white); color: #111">&lt;</span>'
    """
    title = "" if piece.value is None else f' title="{piece.value:.3f}"'
    style = ""
    if piece.shade is not None:
        colour = BLUE if piece.shade > 0 else ORANGE
        mixed = f"color-mix(in srgb, {colour} {abs(piece.shade):.0%}, white)"
        style = f' style="background: {mixed}; color: #111"'
    return f"<span{title}{style}>{escape(piece.text)}</span>"
