"""Error rates and coverage by simulation: every test at 5 %, every interval at 95 %. Slow; seeds are fixed."""

import math

import numpy as np
import pytest
from scipy import stats

from meta_eval.comparison import williams
from meta_eval.correlation import kendall, pearson, spearman
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling, grouped_estimate
from meta_eval.prediction_powered import powered_mean, powered_win_rate
from meta_eval.systems import compare_systems

pytestmark = pytest.mark.slow

SIZES = [100, 1000]
ROUNDS = {100: 6000, 1000: 2000}  # the standard error of a rate of 5 % is .3 and .5 points


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("ranked", [False, True])
def test_williams(n, ranked):
    """On ranks the test is an approximation that is a little too eager: about 5.9 %."""
    rng = np.random.default_rng(0)
    rejected = []
    for _ in range(5):  # 20,000 rounds, in blocks that fit into memory
        quality = rng.normal(size=(4000, n))
        a, b, y = (quality + rng.normal(size=(4000, n)) for _ in range(3))
        y = np.clip(np.round(y), -2, 2)
        if ranked:
            a, b, y = (stats.rankdata(v, axis=1) for v in (a, b, y))
        a, b, y = ((v - v.mean(axis=1, keepdims=True)) / v.std(axis=1, keepdims=True) for v in (a, b, y))
        r_a, r_b, r_ab = ((u * v).mean(axis=1) for u, v in ((a, y), (b, y), (a, b)))
        rejected.append(williams(r_a, r_b, r_ab, n)[1] < 0.05)
    rate = float(np.mean(rejected))
    print(f"Williams {'Spearman' if ranked else 'Pearson'} n={n}: {rate:.4f}")
    assert rate == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("n", SIZES)
def test_system_against_system(n):
    counts = dict.fromkeys(("randomisation", "difference", "effect", "win rate"), 0)
    rng = np.random.default_rng(0)
    for _ in range(ROUNDS[n]):
        gap = rng.standard_t(5, n) if n == 100 else rng.normal(size=n)
        seed = int(rng.integers(1 << 30))
        found = compare_systems(gap, np.zeros(n), permutations=199, resampling=Resampling(resamples=399, seed=seed))
        counts["randomisation"] += found.p_value <= 0.05
        counts["difference"] += found.difference.low <= 0 <= found.difference.high
        counts["effect"] += found.effect.low <= 0 <= found.effect.high
        counts["win rate"] += found.win_rate.low <= 0.5 <= found.win_rate.high
    print(f"systems n={n}: { ({name: count / ROUNDS[n] for name, count in counts.items()}) }")
    assert 0.04 <= counts["randomisation"] / ROUNDS[n] <= 0.06  # the standard error is .007
    for name in ("difference", "effect", "win rate"):
        assert 0.93 <= counts[name] / ROUNDS[n] <= 0.97


@pytest.mark.parametrize("n", SIZES)
def test_intervals_of_correlations(n):
    """Normal data with r = .6: rho = 6/pi asin(r/2), tau = 2/pi asin(r)."""
    r, rounds = 0.6, 1000 if n == 100 else 300
    truths = {pearson: r, spearman: 6 / math.pi * math.asin(r / 2), kendall: 2 / math.pi * math.asin(r)}
    if n == 1000:
        del truths[kendall]  # as at n = 100, and slow
    covered, rng = dict.fromkeys(truths, 0), np.random.default_rng(0)
    for _ in range(rounds):
        x, noise = rng.normal(size=(2, n))
        y, seed = r * x + math.sqrt(1 - r * r) * noise, int(rng.integers(1 << 30))
        for statistic, truth in truths.items():
            found = grouped_estimate(statistic, x, y, lay_out(n), resampling=Resampling(resamples=499, seed=seed))
            covered[statistic] += found.low <= truth <= found.high
    print(f"percentile n={n}: { ({s.__name__: count / rounds for s, count in covered.items()}) }")
    for count in covered.values():
        assert 0.925 <= count / rounds <= 0.975


@pytest.mark.parametrize("n", [20, *SIZES])
@pytest.mark.parametrize("noise", [0.3, 1.0, 5.0])
def test_prediction_powered_intervals(n, noise):
    """n rated of 10 n; skewed ratings, a metric on another scale."""
    rounds = 4000

    def covers(rng: np.random.Generator) -> tuple[bool, bool, float]:
        y = rng.gamma(4.0, size=10 * n)
        f = 0.01 * (y + noise * rng.normal(size=10 * n)) - 1
        y[n:] = math.nan
        found = powered_mean(y, f)
        wide, narrow = (e.high - e.low for e in (found.classical, found.estimate))
        return (
            found.estimate.low <= 4 <= found.estimate.high,
            found.classical.low <= 4 <= found.classical.high,
            narrow / wide,
        )

    rng = np.random.default_rng(0)
    powered, classical, width = np.mean([covers(rng) for _ in range(rounds)], axis=0)
    print(f"PPI++ n={n} noise={noise}: covers {powered:.4f}, classical {classical:.4f}, width {width:.3f}")
    assert 0.93 <= powered <= 0.97


@pytest.mark.parametrize("n", SIZES)
def test_prediction_powered_win_rates(n):
    rng, covered = np.random.default_rng(0), 0
    for _ in range(4000):
        gap = rng.normal(size=10 * n) + 0.3
        y = np.where(np.abs(gap) < 0.2, 0.5, gap > 0)
        truth = 0.5 * (gaussian(-0.1) - gaussian(-0.5)) + 1 - gaussian(-0.1)
        y[n:] = math.nan
        found = powered_win_rate(y, gap + rng.normal(size=10 * n)).estimate
        covered += found.low <= truth <= found.high
    print(f"PPI++ win rate n={n}: covers {covered / 4000:.4f}")
    assert 0.93 <= covered / 4000 <= 0.97


def gaussian(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2
