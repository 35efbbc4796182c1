"""Plots that several experiments share, as matplotlib figures for one column of a paper (8 cm)."""

import io
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from core.errors import printable
from meta_eval.correlation import average_ranks, plain_pearson
from meta_eval.design import Floats
from meta_eval.scored_set import ScoredSet
from report.wording import format_number

LARGEST = 1e300  # matplotlib cannot draw a range that overflows
MOST_POINTS = 2000  # of a panel that are vectors; more of them are pixels
WIDTH = 8 / 2.54  # inches
# of a learning curve: name, colour, marker, and whose loss it is
LOSSES = (
    ("train/loss", "C0", ".", "training"),
    ("val/loss", "C1", "o", "held-out"),
)
PANEL, NAME, TITLE = 20, 29, 46  # characters of a line: over a panel, of a name, below axes
styled = rc_context(fname=Path(__file__).with_name("column.mplstyle"))


def make_figure(height: float) -> Figure:
    """Makes an empty figure of 8 cm by `height` cm."""
    return Figure(figsize=(WIDTH, height / 2.54), layout="constrained")


class NameWrapper(textwrap.TextWrapper):
    """Wraps text between words, and long names after an underscore, a slash or a hyphen."""

    wordsep_re = re.compile(r"(\s+)|(?<=[_/-])(?=\w)")


def wrap(text: str, width: int = NAME) -> str:
    """Wraps text into lines of at most `width` characters; only a longer word without an underscore is cut.

    >>> wrap("cdm_discriminative_classifier", 20)
    'cdm_discriminative_\\nclassifier'
    """
    return NameWrapper(width).fill(text)


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure on white paper, in the form of the path's ending: .png, .svg or .pdf."""
    _write(
        figure,
        path,
        format=path.suffix[1:],
        facecolor="white",
    )


def draw_svg(figure: Figure) -> str:
    """Draws the figure as an SVG element without background, in the colour of the text around it."""
    buffer = io.StringIO()
    _write(
        figure,
        buffer,
        format="svg",
        facecolor="none",
    )
    drawn = buffer.getvalue()
    return drawn[drawn.index("<svg") :].replace("#000000", "currentColor")


@styled
def _write(figure: Figure, target: Path | io.StringIO, **form: Any) -> None:
    """Writes a figure. Its words may come from data: `$x^$` is drawn as it stands, not read as a formula."""
    for words in figure.findobj(Text):
        assert isinstance(words, Text)
        words.set_parse_math(False)
        words.set_text("\n".join(map(printable, words.get_text().split("\n"))))
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # equal runs write equal files
    figure.savefig(
        target,
        dpi=300,
        metadata=dates.get(form["format"]),
        **form,
    )


@styled
def scores_against_ratings(scored: ScoredSet, aspect: str | None = None) -> Figure:
    """Plots scores by rating with jittered points, one panel per metric.

    Without `aspect` the first rated aspect is shown. A metric that scores this aspect by name is shown with these
    scores, any other metric with its first aspect.
    """
    if aspect is None:
        aspect = scored.aspects[0]
    ratings = np.clip(scored.ratings(aspect), -LARGEST, LARGEST)
    figure, panels = make_panels([*scored.scores])
    spread = (np.nanmax(ratings) - np.nanmin(ratings)) * 0.02
    jitter = np.random.default_rng(0).uniform(-spread, spread, len(ratings))
    style = {
        "s": np.clip(800 / len(ratings), 3, 10),  # few points stand out
        "alpha": np.clip(150 / len(ratings), 0.4, 0.8),
        "linewidths": 0,
        "rasterized": len(ratings) > MOST_POINTS,
    }
    for panel, metric in zip(panels, scored.scores, strict=True):
        values = np.clip(scored.values(metric, aspect), -LARGEST, LARGEST)
        panel.scatter(
            ratings + jitter,
            values,
            color="C0",
            **style,
        )
        panel.set_title(f"{wrap(metric, PANEL)}\n{describe_correlation(values, ratings)}")
    kind = "known quality (synthetic)" if scored.synthetic else f"human rating of {aspect}"
    figure.supxlabel(wrap(kind, TITLE))
    figure.supylabel("score")
    points = f"a point for each text of {scored.name}; correlations are over all texts."
    figure.set_label(f"Scores of each metric by {kind}, {points}")
    return figure


def describe_correlation(values: Floats, ratings: Floats) -> str:
    """Writes Spearman's correlation of scores and ratings over all texts."""
    known = ~np.isnan(values + ratings)
    if known.sum() < 2:
        return "no correlation"
    found = plain_pearson(average_ranks(values[known]), average_ranks(ratings[known]))
    return f"Spearman {format_number(found)}"


def make_panels(names: Sequence[str], height: float = 3.3) -> tuple[Figure, list[Axes]]:
    """Makes a figure with a panel of this height (cm) for each name, two per row."""
    columns = min(2, len(names))
    rows = -(-len(names) // columns)
    figure = make_figure(1.5 + height * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for panel, name in zip(panels, names, strict=False):
        panel.set_title(wrap(name, PANEL))
    for panel in panels[len(names) :]:
        panel.remove()
    return figure, panels[: len(names)]


@styled
def plot_curves(curves: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure:
    """Plots a panel for each training: its loss by the number of batches seen, and its held-out loss."""
    figure, panels = make_panels([*curves], height=2.8)
    for panel, points in zip(panels, curves.values(), strict=True):
        for name, color, marker, texts in LOSSES:
            steps = [point["step"] for point in points if name in point]
            losses = [point[name] for point in points if name in point]
            panel.plot(
                steps,
                losses,
                color=color,
                marker=marker,
                label=texts,
            )
        panel.set_xlim(left=0)
        panel.locator_params(axis="x", nbins=4, integer=True)
        panel.locator_params(axis="y", nbins=5)
    figure.supxlabel("batches")
    figure.supylabel("loss (nats)")
    panels[0].legend()
    figure.set_label(
        "Learning curves: the loss of the training texts (blue) and of the held-out texts (orange) in the task that is "
        "trained. It differs from the held-out NLL of the figures, which is that of each token of whole texts."
    )
    return figure
