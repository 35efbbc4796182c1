"""Rates and strengths from few labels and many verdicts of a judge, held against all labels of PandaLM."""

import numpy as np
import pytest

from data.sets.judged_pairs import load_pandalm
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling
from meta_eval.prediction_powered import powered_mean, powered_rate, powered_strengths
from meta_eval.preferences import Preferences
from meta_eval.strengths import rank_by_preferences

NAN = np.nan


def test_the_rate_of_single_examples_is_the_prediction_powered_mean():
    rng = np.random.default_rng(0)
    y = rng.choice([0.0, 0.5, 1.0], 200)
    verdicts = np.where(rng.random(200) < 0.6, y, 0.5)
    y[40:] = NAN
    found, mean = powered_rate(y, verdicts, lay_out(200)), powered_mean(y, verdicts)
    assert found.estimate.value == pytest.approx(mean.estimate.value, abs=0.01)
    assert found.effective_n == pytest.approx(mean.effective_n, rel=0.1)


def test_the_rate_by_hand():
    """Labels 1 0 1 0 1 with verdicts 1 0 1 1 1: lambda = (.6 * 1 - .6 * .8 ... cov .12) / var .16 = .75."""
    y, f = np.array([1.0, 0, 1, 0, 1, NAN, NAN, NAN]), np.array([1.0, 0, 1, 1, 1, 0, 0, NAN])
    found = powered_rate(y, f, lay_out(8))
    everywhere = np.mean([1, 0, 1, 1, 1, 0, 0, 4 / 7])  # no verdict is the mean one
    assert found.estimate.value == pytest.approx(0.6 + 0.75 * (everywhere - 0.8))
    assert (found.rated, found.unrated) == (5, 3)


def test_strengths_need_wins_and_losses_of_each_system():
    """People always prefer x where a judge is unsure: where it is sure, x is expected to win more than once."""
    outcomes, verdicts = np.array([1.0] * 5 + [NAN] * 25), np.array([0.6] * 5 + [1.0] * 25)
    given = Preferences("p", tuple(map(str, range(30))), ("x",) * 30, ("y",) * 30, outcomes, (None,) * 30)
    found = powered_strengths(given, verdicts)
    assert {name: each.reason for name, each in found.items()} == dict.fromkeys(
        "xy", "too few labels: a system has no wins or no losses"
    )


def test_inputs_that_repeat_are_no_further_evidence():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300).astype(float)
    f = np.where(rng.random(300) < 0.8, y, 1 - y)
    y[60:] = NAN
    one, four = (
        powered_rate(y, f, lay_out(300)),
        powered_rate(np.tile(y, 4), np.tile(f, 4), lay_out(1200, inputs=[*range(300)] * 4)),
    )
    assert four.estimate.value == pytest.approx(one.estimate.value)
    assert (four.estimate.low, four.estimate.high) == pytest.approx((one.estimate.low, one.estimate.high), abs=0.01)


def draw(
    given: Preferences, judge: str, rng: np.random.Generator, n: int, labels: int
) -> tuple[Preferences, np.ndarray]:
    """Pairs drawn with replacement, each an input of its own, with `labels` labels; and the judge's verdicts."""
    at = rng.integers(0, n, n)
    outcomes = given.outcomes[at].copy()
    outcomes[labels:] = NAN
    a, b = (tuple(of[i] for i in at) for of in (given.systems_a, given.systems_b))
    return Preferences("draw", tuple(map(str, range(n))), a, b, outcomes, (None,) * n), given.judges[judge][at]


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["gpt-3.5-turbo", "pandalm-7b"])
@pytest.mark.parametrize("labels", [40, 100, 200])
def test_corrected_figures_of_pandalm_cover(shared_data, judge, labels):
    """All pairs are the truth; pairs are drawn with replacement, and so many of those of a system have labels."""
    given, rng, covered, widths = load_pandalm(shared_data)[0].by_majority(), np.random.default_rng(0), {}, {}
    for system in given.systems:
        own = given.take(~np.isnan(given.of(system)))
        y, f = own.of(system), own.judges[judge]
        f = np.where([a == system for a in own.systems_a], f, 1 - f)
        inside, ratios = 0, []
        for _ in range(1000):
            at = rng.integers(0, len(y), len(y))
            few = np.where(np.arange(len(y)) < labels, y[at], NAN)
            found = powered_rate(few, f[at], lay_out(len(y)))
            inside += found.estimate.low <= y.mean() <= found.estimate.high
            ratios.append((found.estimate.high - found.estimate.low) / (found.classical.high - found.classical.low))
        covered[system], widths[system] = inside / 1000, float(np.mean(ratios))
    print(judge, labels, covered, {name: round(width, 3) for name, width in widths.items()})
    assert all(0.93 <= share <= 0.97 for share in covered.values())
    assert all(width < 1 for width in widths.values())


@pytest.mark.slow
def test_corrected_strengths_of_pandalm_cover(shared_data):
    given, rng = load_pandalm(shared_data)[0].by_majority(), np.random.default_rng(0)
    truth = {each.system: each.strength.value for each in rank_by_preferences(given, Resampling(resamples=1)).systems}
    inside = dict.fromkeys(given.systems, 0)
    for _ in range(1000):
        for name, each in powered_strengths(*draw(given, "gpt-3.5-turbo", rng, 712, 200)).items():
            inside[name] += each.low <= truth[name] <= each.high
    print(inside)
    assert all(930 <= count <= 970 for count in inside.values())


def test_strengths_with_all_labels_are_those_of_people(shared_data):
    given = load_pandalm(shared_data)[0].by_majority()
    ranked = {each.system: each.strength for each in rank_by_preferences(given, Resampling(resamples=400)).systems}
    for name, each in powered_strengths(given, given.judges["pandalm-7b"]).items():
        assert each.value == pytest.approx(ranked[name].value)
        assert (each.low, each.high) == pytest.approx((ranked[name].low, ranked[name].high), abs=0.03)
