"""Help by a judge: the estimate of ppi-python, what a judge adds, and what needs no help."""

import math

import numpy as np
import pytest
from scipy import stats

from meta_eval.design import lay_out
from meta_eval.estimates import estimate_mean, estimate_share
from meta_eval.helped import NOBODY, help_difference, help_mean

NAN = math.nan
RATINGS = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3])
RATED = np.array([2.5, 1.5, 3.5, 2, 4, 8, 1, 7, 4.5, 2])
UNRATED = np.array([1, 2, 3, 4, 5, 6, 7, 8, 2.5, 3.5, 4.5, 6.5])


def both(ratings=RATINGS, rated=RATED, unrated=UNRATED) -> tuple[np.ndarray, np.ndarray]:
    return np.append(ratings, np.full(len(unrated), NAN)), np.append(rated, unrated)


def test_nearly_equal_to_ppi_python() -> None:
    """ppi-python 0.2.3, ppi_mean_pointestimate; its lambda takes the variance from another formula."""
    found = help_mean(*both())
    assert found.estimate.value == pytest.approx(4.34183559, abs=0.05)
    assert found.rated == 10
    assert found.effective_n > 15


def test_a_judge_that_says_nothing_changes_nothing() -> None:
    found = help_mean(*both(rated=np.ones(10), unrated=np.ones(12)))
    assert (found.cells["worth"], found.estimate.value) == (10, pytest.approx(RATINGS.mean()))
    constant = help_mean(*both(rated=np.full(10, 3.4), unrated=np.full(500, 3.4)))  # its mean is not exactly 3.4
    assert (constant.cells["worth"], constant.estimate.value) == (10, pytest.approx(RATINGS.mean()))
    rate = help_mean(*both((RATINGS > 2).astype(float), np.full(10, 0.7), np.full(500, 0.7)), is_rate=True)
    assert (rate.cells["worth"], rate.estimate.value) == (10, pytest.approx((RATINGS > 2).mean()))
    every = help_mean(RATINGS, RATED)
    assert every.estimate.value == every.by_labels.value
    assert every.cells["worth"] == 10


def test_a_text_without_a_verdict_counts_with_its_label() -> None:
    scores = RATED.copy()
    scores[3] = NAN
    assert help_mean(*both(rated=scores)).rated == 10


def test_labels_alone_are_estimated_as_anywhere_else() -> None:
    labels, verdicts = both()
    known = lay_out(len(RATINGS))
    assert help_mean(labels, verdicts).by_labels == estimate_mean(RATINGS, known).only
    wins = (RATINGS > 2).astype(float)
    rate = help_mean(np.append(wins, np.full(len(UNRATED), NAN)), verdicts, is_rate=True)
    assert rate.by_labels == estimate_share(wins, known).only
    others = np.append(RATINGS[::-1], np.full(len(UNRATED), NAN))
    alone = estimate_mean(RATINGS - RATINGS[::-1], known).only
    found = help_difference(labels, others, verdicts, verdicts).by_labels
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), rel=0.02)


def test_rates_stay_within_0_and_1() -> None:
    labels = np.where(np.arange(400) < 40, 1.0, NAN)
    labels[0] = 0.0
    found = help_mean(labels, np.where(np.arange(400) == 0, 0.0, 1.0), lay_out(400), is_rate=True)
    assert 0.9 < found.estimate.value <= found.estimate.high <= 1
    assert found.estimate.low < 0.96


def test_inputs_that_repeat_are_no_further_evidence() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 150).astype(float)
    f = np.where(rng.random(150) < 0.8, y, 1 - y)
    y[60:] = NAN
    one = help_mean(y, f, lay_out(150), is_rate=True).estimate
    four = help_mean(np.tile(y, 4), np.tile(f, 4), lay_out(600, inputs=[*range(150)] * 4), is_rate=True).estimate
    assert (four.value, four.low, four.high) == pytest.approx((one.value, one.low, one.high), abs=0.02)


def test_a_difference_without_unrated_outputs_is_the_paired_t_test() -> None:
    other = RATINGS[::-1] - 1
    low, high = stats.ttest_rel(RATINGS, other).confidence_interval(0.95)
    found = help_difference(RATINGS, other, RATED, RATED).by_labels
    assert (found.value, found.low, found.high) == pytest.approx((1.0, low, high), abs=0.3)  # Hall's correction


def test_a_difference_is_helped_by_the_scores_of_both_systems() -> None:
    """People rate a on all seven inputs and b on five, both 1 on average; b's other scores are higher by 4 - 1."""
    a, b = [0.0, 2, 0, 2, 1, 1, 1], [1.0, 0, 0, 1, 3, NAN, NAN]
    found = help_difference(a, b, range(7), [1, 0, 0, 1, 3, 0, 8])
    assert found.by_labels.value == pytest.approx(0)
    assert found.estimate.value == pytest.approx(-0.0874, abs=0.015)  # the factor by the plain sums
    assert found.rated == 12


def test_without_labels_there_is_a_reason() -> None:
    assert help_mean(np.full(5, NAN), np.ones(5)).estimate.reason == NOBODY
    constant = help_mean([2.0] * 20 + [NAN] * 5, range(25))
    assert (constant.estimate.value, "no spread" in (constant.estimate.reason or "")) == (2, True)
