"""Audits: damage of known size, edits, and what cheap cues explain."""

import math

import numpy as np
import pytest
from scipy import stats

from meta_eval.auditing import audit_cues, audit_damage, audit_edit
from meta_eval.cues import Cues, combine_cues
from meta_eval.design import lay_out

NAN = math.nan


def test_damage_by_hand():
    """Scores 1 to 5 (deviation sqrt(2.5)) fall by 1 and then by 2 more."""
    before = np.arange(1.0, 6)
    found = audit_damage(before, [before - 1, before - 3])
    unit = 1 / math.sqrt(2.5)
    assert [fall.value for fall in found.falls] == pytest.approx([unit, 3 * unit])
    assert found.falls[0].reason == "an interval needs at least 10 inputs, but there are 5"
    assert not found.is_monotone  # five texts cannot show it


@pytest.mark.parametrize("seed", range(2))
def test_damage_that_is_not_seen_or_not_monotone(seed):
    rng = np.random.default_rng(seed)
    before = rng.normal(size=100)
    unseen = audit_damage(before, before + 0.1 * rng.normal(size=(3, 100)))
    assert not unseen.is_monotone or unseen.falls[-1].value < 0.1
    risen = audit_damage(before, [before - 1, before - 0.5 + 0.1 * rng.normal(size=100)])
    assert risen.falls[-1].low > 0
    assert not risen.is_monotone
    seen = audit_damage(before, [before - k + 0.3 * rng.normal(size=100) for k in (0.5, 1.0, 1.5)])
    assert seen.is_monotone


def test_edits_that_should_change_nothing():
    before = np.arange(10.0)
    same = audit_edit(before, before)
    assert (same.shift.value, same.size.value, same.changed) == (0.0, 0.0, 0.0)
    after = before.copy()
    after[:2] += before.std(ddof=1)
    moved = audit_edit(before, after)
    assert (moved.shift.value, moved.size.value, moved.changed) == pytest.approx((0.2, 0.2, 0.2))


def test_audits_without_spread_have_a_reason():
    found = audit_damage(np.ones(6), np.zeros((2, 6)))
    assert found.falls[0].reason == "all 6 scores are 1: there is no spread to measure a change by"
    assert not found.is_monotone
    with np.errstate(all="raise"):
        audit_damage(np.arange(5.0), [np.arange(5.0) - 1], layout=lay_out(5, inputs=list("aaaab")))
    few = audit_edit([1, 2, NAN, 4, 5], [1, 2, 3, 4, 5])
    assert few.shift.reason == "an audit needs at least 5 texts with a score, but there are 4"
    assert math.isnan(few.changed)


def planted_cues(share: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, Cues]:
    """Normal scores of which two of eight normal cues explain a share of the variance."""
    values = rng.normal(size=(n, 8))
    scores = math.sqrt(share) * (values[:, 0] + 0.5 * values[:, 4]) / math.sqrt(1.25)
    return scores + math.sqrt(1 - share) * rng.normal(size=n), Cues(tuple("abcdefgh"), values)


def test_what_cues_explain_is_the_squared_correlation_with_their_prediction():
    scores, cues = planted_cues(0.6, 121, np.random.default_rng(0))
    groups = np.arange(121) // 2
    missing = np.append(scores[:-1], NAN)
    found = audit_cues(missing, cues, layout=lay_out(121, inputs=groups.tolist()))
    predicted = combine_cues(Cues(cues.names, cues.values[:-1]), scores[:-1], groups[:-1].tolist())
    assert found.n == 120
    ranks = stats.rankdata(predicted), stats.rankdata(scores[:-1])
    assert found.explained.value == pytest.approx(np.corrcoef(*ranks)[0, 1] ** 2)
    assert found.explained.low < found.explained.value < found.explained.high
    assert found.main_cues == ("a", "e")
    few = audit_cues(scores[:63], Cues(cues.names, cues.values[:63]))
    assert few.explained.reason == "8 cues need at least 64 texts, but there are 63"


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 0.1, 0.4, 0.8])
def test_the_share_that_cues_explain_is_hardly_ever_too_high(share):
    """Fits on few texts predict less than the cues could, so the interval may lie below the true share."""
    rng, true = np.random.default_rng(0), (6 / math.pi * math.asin(math.sqrt(share) / 2)) ** 2
    found = [audit_cues(*planted_cues(share, 100, rng)) for _ in range(200)]
    assert np.mean([each.explained.low > true + 1e-12 for each in found]) <= 0.07
    assert true - 0.13 < np.mean([each.explained.value for each in found]) < true + 0.02


@pytest.mark.parametrize("kind", ["skewed", "rare"])
def test_a_metric_that_sees_nothing_seldom_falls(kind):
    """The same scores drawn anew: one-sided at .025, where standardised falls had .10 to .14."""
    rng = np.random.default_rng(0)
    falls = 0
    for _ in range(200):
        before, after = rng.lognormal(size=(2, 30)) if kind == "skewed" else (rng.random((2, 30)) < 0.05) * 1.0
        found = audit_damage(before, after[None])
        falls += found.is_monotone
    assert falls <= 12


def test_a_skewed_metric_that_sees_damage_falls():
    rng = np.random.default_rng(0)
    before = rng.lognormal(size=60)
    assert audit_damage(before, [before * 0.9, before * 0.6]).is_monotone
