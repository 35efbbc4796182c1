"""Comparison of two metrics: exact values, oracles, the error rate under equality."""

import math

import numpy as np
import pytest
from scipy import stats

from meta_eval.bootstrap import expand
from meta_eval.comparison import difference, williams, williams_test
from meta_eval.correlation import kendall

NAN = math.nan


def metrics(n: int, seed: int, noise_a: float, noise_b: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two metrics that see the same quality through noise of unlike size, and ratings."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    a, b, ratings = (quality + noise * rng.normal(size=n) for noise in (noise_a, noise_b, 0.5))
    return a, b, np.round(ratings)


def rho(u: np.ndarray, v: np.ndarray) -> float:
    return float(np.asarray(stats.spearmanr(u, v))[0])


def test_williams_by_hand():
    """r_a = .5, r_b = 0, r_ab = 0, n = 4: K = 3/4, t = .5 sqrt(3 / (2 * 3/4 * 3 + 1/16)); one degree of freedom."""
    t, p = williams(0.5, 0.0, 0.0, n=4)
    assert t == pytest.approx(0.5 * math.sqrt(3 / 4.5625), abs=1e-15)
    assert p == pytest.approx(1 - 2 / math.pi * math.atan(t), abs=1e-12)  # Student's t with one degree is Cauchy's


@pytest.mark.parametrize(("r_ab", "n"), [(0.5, 3), (1.0, 10), (-1.0, 10), (NAN, 10)])
def test_williams_rejects_what_it_cannot_test(r_ab, n):
    with pytest.raises(ValueError, match=r"needs n >= 4 and \|r_ab\| < 1"):
        williams(0.5, 0.4, r_ab, n)


def test_williams_test_uses_spearman():
    a, b, ratings = metrics(60, 0, 0.5, 1.0)
    found = williams_test(a, b, ratings)
    r_a, r_b, r_ab = rho(a, ratings), rho(b, ratings), rho(a, b)
    assert (found.r_a, found.r_b, found.r_ab) == pytest.approx((r_a, r_b, r_ab), abs=1e-12)
    assert (found.t, found.p_value) == pytest.approx(tuple(map(float, williams(r_a, r_b, r_ab, 60))), abs=1e-9)
    assert (found.n, found.reason) == (60, None)


@pytest.mark.parametrize(
    ("a", "b", "ratings", "reason"),
    [
        ([1, 2, 3], [2, 1, 3], [1, 2, 3], "at least 4 examples that both metrics scored, but there are 3"),
        ([1, 2, 3, 4], [2, 1, 3, 4], [1, 1, 1, 1], "all 4 ratings are 1"),
        ([1, 2, 3, 4], [10, 20, 30, 99], [1, 3, 2, 4], "rank all examples alike"),
        ([1, 2, 3, 4], [4, 3, 2, 1], [1, 3, 2, 4], "rank all examples in reverse"),
    ],
)
def test_undefined_is_nan_with_a_reason(a, b, ratings, reason):
    found = williams_test(a, b, ratings)
    assert math.isnan(found.t)
    assert math.isnan(found.p_value)
    assert found.reason is not None
    assert reason in found.reason


def test_williams_test_is_undefined_for_kendall():
    """Its variance is that of Pearson's r: on tau it rejected .005 of equal metrics instead of .05."""
    found = williams_test(*metrics(60, 0, 0.5, 1.0), kendall)
    assert (math.isnan(found.t), math.isnan(found.p_value)) == (True, True)
    assert found.reason == "Williams' test holds for Pearson's and Spearman's correlations only"


def test_williams_test_is_undefined_where_examples_share_a_group():
    a, b, ratings = metrics(60, 0, 0.5, 1.0)
    found = williams_test(a, b, ratings, groups=[i // 2 for i in range(60)])
    assert (math.isnan(found.t), math.isnan(found.p_value)) == (True, True)
    assert found.reason == "Williams' test needs independent examples, but 60 examples form 30 groups"
    assert williams_test(a, b, ratings, groups=range(60)) == williams_test(a, b, ratings)
    a[::2] = NAN  # one example of each group is left
    assert williams_test(a, b, ratings, groups=[i // 2 for i in range(60)]).reason is None


def test_difference_equals_the_paired_bootstrap_of_scipy():
    a, b, ratings = metrics(50, 1, 0.5, 1.0)

    def gap(a, b, y):
        return rho(a, y) - rho(b, y)

    expected = stats.bootstrap(
        (a, b, ratings), gap, paired=True, vectorized=False, n_resamples=200, method="percentile",
        confidence_level=expand(0.95, 50), rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    found = difference(a, b, ratings, resamples=200)
    assert (found.value, found.low, found.high) == pytest.approx(
        (gap(a, b, ratings), expected.low, expected.high), abs=1e-12
    )


def test_only_examples_that_both_scored_count():
    a, b, ratings = metrics(40, 5, 0.5, 1.0)
    with_gaps_a, with_gaps_b = a.copy(), b.copy()
    with_gaps_a[[0, 1]] = NAN
    with_gaps_b[[1, 2]] = NAN
    assert williams_test(with_gaps_a, with_gaps_b, ratings) == williams_test(a[3:], b[3:], ratings[3:])
    assert difference(with_gaps_a, with_gaps_b, ratings) == difference(a[3:], b[3:], ratings[3:])


def test_faults_name_the_metric():
    with pytest.raises(ValueError, match=r"scores_b must be finite, .* scores_b\[2\] is inf"):
        difference([1, 2, 3], [1, 2, math.inf], [1, 2, 3])
    with pytest.raises(ValueError, match=r"scores_a and ratings must be two arrays of one shape"):
        williams_test([1, 2], [1, 2, 3], [1, 2, 3])
