"""Budgets of labels: exact values, a search of all budgets, and simulated studies of the planned size."""

import math

import numpy as np
import pytest

from meta_eval.budgets import (
    Variation,
    has_power,
    is_within,
    plan_budget,
    vary_kappa,
    vary_mean,
)
from meta_eval.design import lay_out
from meta_eval.estimates import t_quantile
from meta_eval.helped import help_mean
from meta_eval.labels import estimate_kappa
from meta_eval.planning import paired_power

LABELS = np.array([0.0, 1.0])


def test_variation_by_hand():
    """Labels 1 1 0 0 and verdicts 1 0 0 0: deviations .5 .5 -.5 -.5 and .75 -.25 -.25 -.25, lambda .5/.75 = 2/3."""
    found = vary_mean(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0]), lay_out(4))
    assert (found.value, found.untied, found.variance) == (0.5, 1.0, pytest.approx(1 / 3))
    assert found.residual == pytest.approx((1 - 0.5**2 / 0.75) / 2)
    assert found.explained == pytest.approx(found.variance - found.residual)
    alone = vary_mean(np.array([1.0, 3, 0, 2]), np.zeros(4), lay_out(4, systems=[*"aabb"]))
    assert (alone.variance, alone.explained, alone.untied) == (pytest.approx(4 / 2), 0, None)
    pairs = vary_mean(np.array([1.0, 1, 0, 0.5]), np.full(4, 0.5), lay_out(4), 0.5)
    assert (pairs.variance, pairs.untied) == (pytest.approx(0.75 / 4), 0.75)
    twice = vary_mean(np.array([0.0, 0, 4, 4]), np.zeros(4), lay_out(4, inputs=[*"aabb"]))
    assert twice.variance == pytest.approx(2 * 16 / 3)


def test_widths_by_hand():
    rate = Variation(0.3, 0.21, 0.21 * 0.36, 0.21 * 0.64, 1.0)
    for worth, verdicts in ((100, 0), (0.21 / (0.21 * 0.36 / 98 + 0.21 * 0.64 / 900), 900)):
        share = (0.3 * worth + 2) / (worth + 4)
        expected = 1.959964 * math.sqrt(share * (1 - share) / (worth + 4))
        assert rate.half_width(100, verdicts) == pytest.approx(expected)
    mean = Variation(3.0, 4.0, 1.0, 3.0)
    assert mean.half_width(52) == pytest.approx(t_quantile(50) * math.sqrt(4 / 52))
    assert mean.half_width(52, 300) == pytest.approx(t_quantile(50) * math.sqrt(1 / 50 + 3 / 300))


def test_labels_alone_are_those_of_the_interval_and_of_the_test():
    mean = Variation(3.0, 4.0)
    budget, alone = plan_budget(mean, is_within(mean, 0.25), 2.0, 0.01)
    assert budget == alone
    assert mean.half_width(int(alone.labels)) <= 0.25 < mean.half_width(int(alone.labels) - 1)
    assert (alone.verdicts, alone.cost) == (0, 2 * alone.labels)
    _, paired = plan_budget(mean, has_power(mean, 0.4, 0.8, 0.05), 1.0, 0.01)
    n = int(paired.labels)
    assert paired_power(0.4, 2.0, n) >= 0.8 > paired_power(0.4, 2.0, n - 1)


@pytest.mark.parametrize(("r", "price"), [(0.3, 0.001), (0.6, 0.03), (0.9, 0.001), (0.9, 0.5)])
def test_no_other_budget_is_cheaper(r, price):
    """A search of coarse grids of labels and verdicts."""
    rate = Variation(0.4, 0.24, 0.24 * (1 - r**2), 0.24 * r**2, 1.0)
    best, alone = plan_budget(rate, is_within(rate, 0.08), 1.0, price)
    assert rate.half_width(int(best.labels), int(best.verdicts)) <= 0.08
    for n in np.unique(np.geomspace(30, alone.labels - 1, 25).astype(int)):
        for verdicts in np.unique(np.geomspace(n + 1, 50_000, 60).astype(int)):
            if rate.half_width(int(n), int(verdicts)) <= 0.08:
                assert best.cost <= 1.01 * (n + price * verdicts)
                break


def test_texts_limit_what_is_judged():
    rate = Variation(0.5, 0.25, 0.05, 0.2, 1.0)
    free, alone = plan_budget(rate, is_within(rate, 0.05), 1.0, 0.0, texts=1000)
    assert (free.verdicts <= 1000, free.labels < alone.labels) == (True, True)
    assert rate.half_width(int(free.labels), 1000) <= 0.05 < rate.half_width(int(free.labels) - 1, 1000)
    few, none = plan_budget(rate, is_within(rate, 0.05), 1.0, 0.01, texts=300)
    assert few == none
    assert (math.isnan(none.labels), none.reason) == (True, "more than 300 labels are needed")
    poor = Variation(0.5, 0.25, 0.25 - 1e-9, 1e-9, 1.0)  # of a judge that tells next to nothing
    every = plan_budget(poor, is_within(poor, 0.05), 1.0, 0.0, texts=int(alone.labels))
    assert every == (alone, alone)


def draw_labels(rng, n, rate, sensitivity, specificity):
    labels = rng.random(n) < rate
    verdicts = np.where(labels, rng.random(n) < sensitivity, rng.random(n) > specificity)
    return labels.astype(float), verdicts.astype(float)


def test_kappa_varies_as_the_jackknife_says():
    rng = np.random.default_rng(0)
    x, y = draw_labels(rng, 4000, 0.3, 0.79, 0.91)  # both sides say yes to .3 of the texts
    found = estimate_kappa([(x, y)], LABELS, lay_out(4000))
    assert 4000 * found.variances[0] == pytest.approx(vary_kappa(0.7, 0.3).variance, rel=0.1)


def mask(values, n, rng):
    known = np.full(len(values), np.nan)
    known[rng.permutation(len(values))[:n]] = 1
    return values * known


def draw_study(kind, rng, n):
    if kind == "rate":
        return draw_labels(rng, n, 0.3, 0.85, 0.9)
    quality = rng.normal(size=(2, n))
    if kind == "ratings":
        return np.clip(np.round(3 + quality[0]), 1, 5), quality[0] + 0.75 * quality[1]
    wins = (np.sign(np.where(np.abs(quality[0]) < 0.4, 0, quality[0])) + 1) / 2
    return wins, (np.sign(quality[0] + 0.75 * quality[1]) + 1) / 2


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "within"), [("rate", 0.05), ("rate", 0.09), ("ratings", 0.1), ("pairs", 0.06)])
def test_planned_studies_reach_the_width(kind, within):
    """1,000 studies of the planned size: the mean half-width is the planned one, and the intervals cover."""
    rng = np.random.default_rng(0)
    labels, verdicts = draw_study(kind, rng, 1_000_000)
    truth = float(labels.mean())
    variation = vary_mean(labels, verdicts, lay_out(len(labels)))
    widths = []
    for budget in plan_budget(variation, is_within(variation, within), 1.0, 0.02):
        n, total = int(budget.labels), max(int(budget.verdicts), int(budget.labels))
        rounds = []
        for _ in range(1000):
            y, f = draw_study(kind, rng, total)
            y = mask(y, n, rng)
            found = help_mean(y, f, lay_out(total), is_rate=kind != "ratings")
            estimate = found.estimate
            rounds.append(((estimate.high - estimate.low) / 2, estimate.low <= truth <= estimate.high))
        width, covers = np.mean(rounds, axis=0)
        print(f"{kind} within {within}: {n} labels, {total} verdicts: {width:.4f}, covers {covers:.3f}")
        widths.append(width / within)
        assert 0.93 <= covers <= 0.97
    assert widths == pytest.approx([1, 1], abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("kappa", "rate"), [(0.7, 0.3), (0.4, 0.5)])
def test_planned_kappas_reach_the_width(kappa, rate):
    rng = np.random.default_rng(0)
    sensitivity, specificity = rate + kappa * (1 - rate), 1 - rate + kappa * rate
    variation, widths = vary_kappa(kappa, rate), []
    n = int(plan_budget(variation, is_within(variation, 0.08), 1.0, 0.01)[0].labels)
    for _ in range(400):
        x, y = draw_labels(rng, n, rate, sensitivity, specificity)
        found = estimate_kappa([(x, y)], LABELS, lay_out(n)).only
        widths.append((found.high - found.low) / 2)
    print(f"kappa {kappa} at {rate}: {n} labels, {np.mean(widths):.4f}")
    assert np.mean(widths) == pytest.approx(0.08, rel=0.03)


@pytest.mark.slow
def test_planned_studies_reach_the_power():
    """Differences of two systems' ratings on one input, with a metric that tells .6 of their variance."""
    rng, r = np.random.default_rng(0), math.sqrt(0.6)
    variation = Variation(0.2, 1.0, 1 - r**2, r**2)
    for budget in plan_budget(variation, has_power(variation, 0.2, 0.8, 0.05), 1.0, 0.02):
        n, total = int(budget.labels), max(int(budget.verdicts), int(budget.labels))
        shown = 0
        for _ in range(2000):
            y = rng.normal(size=total)
            f = r * y + math.sqrt(1 - r**2) * rng.normal(size=total)
            shown += help_mean(mask(y + 0.2, n, rng), f).estimate.low > 0
        print(f"power with {n} labels and {total} verdicts: {shown / 2000:.3f}")
        assert shown / 2000 == pytest.approx(0.8, abs=0.03)
