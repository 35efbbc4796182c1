"""Plots in a column of a paper: as wide as the column, readable there, and without overlapping titles."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from core.example import Example
from core.scores import Scores
from experiments.report.plots import draw_svg, plot_intervals, save_figure, scores_against_ratings
from meta_eval.bootstrap import Estimate
from meta_eval.scored_set import ScoredSet

LONG = "cdm_discriminative_classifier_of_several_seeds"
INTERVALS = {LONG: Estimate(0.5, 0.2, 0.7), "b": Estimate(0.1, -0.1, 0.3), "none": Estimate(0.9, np.nan, np.nan)}


def scatter() -> Figure:
    examples = tuple(Example(str(i), "x", system=f"system-{i % 3}-{LONG}", ratings={LONG: i % 5}) for i in range(60))
    scores = {f"{LONG}_{i}": Scores({"q": np.arange(60.0)}, "m") for i in range(3)}
    return scores_against_ratings(ScoredSet("toys", examples, scores, synthetic=False))


FIGURES = {
    "intervals": lambda: plot_intervals({"a": (INTERVALS, f"agreement with {LONG}, 95 % over inputs")})["a"],
    "scatter": scatter,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_plot_is_readable_in_a_column_of_8_cm(tmp_path: Path, name: str) -> None:
    figure = FIGURES[name]()
    for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        save_figure(figure, tmp_path / f"a.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes().startswith(start)
    assert figure.get_figwidth() == pytest.approx(8 / 2.54)
    words = [each for each in figure.findobj(Text) if isinstance(each, Text) and each.get_text() and each.get_visible()]
    assert min(float(each.get_fontsize()) for each in words) >= 6
    figure.draw_without_rendering()
    titles = [axes.title.get_window_extent() for axes in figure.axes if axes.title.get_text()]
    assert all(each.x0 >= 0 and each.x1 <= figure.bbox.x1 for each in titles)
    assert not any(a.overlaps(b) for i, a in enumerate(titles) for b in titles[:i])


def test_the_ink_of_a_page_s_plot_is_that_of_its_text() -> None:
    drawn = draw_svg(FIGURES["intervals"]())
    assert drawn.startswith("<svg")
    assert "currentColor" in drawn
    assert "#000000" not in drawn


def test_fewer_than_two_intervals_are_no_plot() -> None:
    assert plot_intervals({"a": ({"b": INTERVALS["b"], "none": INTERVALS["none"]}, "")}) == {}
    assert plot_intervals({"a": (INTERVALS, "")})["a"].axes[0].get_yticks().tolist() == [0, 1]
