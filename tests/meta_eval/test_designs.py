"""Drawn samples: who is drawn, estimates by hand, and coverage for random and stratified designs."""

import math

import numpy as np
import pytest

from meta_eval.designs import are_unequal, bound_by_design, draw_texts, estimate_drawn, share_out
from meta_eval.grouping import lay_out
from meta_eval.linearised import linearise_kappa, linearise_mean


def test_a_random_draw() -> None:
    drawn = draw_texts(20, 100, None, 0)
    assert len({*drawn.places.tolist()}) == 20
    assert drawn.probabilities.tolist() == [0.2] * 20
    again = draw_texts(20, 100, None, 0)
    assert again.places.tolist() == drawn.places.tolist()
    assert sorted(draw_texts(200, 100, None, 0).places.tolist()) == [*range(100)]


def test_a_stratified_draw_gives_rare_verdicts_too() -> None:
    strata = ["1"] * 90 + ["0"] * 10
    drawn = draw_texts(20, 100, strata, 0)
    is_rare = drawn.places >= 90
    assert (int(is_rare.sum()), int((~is_rare).sum())) == (10, 10)
    assert set(drawn.probabilities[is_rare].tolist()) == {1.0}
    assert set(drawn.probabilities[~is_rare].tolist()) == {10 / 90}
    assert is_rare.tolist() != sorted(is_rare.tolist())  # in random order, so that the sheet is blind


def test_every_text_has_the_chance_that_is_kept() -> None:
    strata = ["1"] * 40 + ["0"] * 10
    times = np.zeros(50)
    for seed in range(2000):
        times[draw_texts(10, 50, strata, seed).places] += 1
    np.testing.assert_allclose(times / 2000, [5 / 40] * 40 + [5 / 10] * 10, atol=0.04)


def test_shares() -> None:
    assert share_out(100, np.array([500, 20, 500])).tolist() == [40, 20, 40]
    assert share_out(7, np.array([3, 3])).tolist() == [3, 3]


def test_estimates_by_hand() -> None:
    """Labels of 4 of 8 texts; the judge says 1 to the first half. Two were drawn with chance 1/2, two with 1/4."""
    labels = np.array([1.0, 1, np.nan, np.nan, 0, 1, np.nan, np.nan] * 4)
    verdicts = np.array([1.0, 1, 1, 1, 0, 0, 0, 0] * 4)
    probabilities = np.where(np.isnan(labels), np.nan, np.array([0.5, 0.5, 1, 1, 0.25, 0.25, 1, 1] * 4))
    found = estimate_drawn(labels, verdicts, probabilities, lay_out(32), is_rate=True)
    weights = np.array([2.0, 2, 4, 4])
    assert found.classical.value == pytest.approx(weights @ [1, 1, 0, 1] / 12)
    # labels where the judge says 1 have the mean 1, else 1/2: half of the texts are of each kind
    assert found.estimate.value == pytest.approx(0.75)
    assert (found.rated, found.unrated) == (16, 16)
    assert "at least 30 of them" in (found.estimate.reason or "")
    few = estimate_drawn(labels[:4], verdicts[:4], probabilities[:4], lay_out(4), is_rate=True)
    assert math.isnan(few.estimate.value)


def test_unequal_chances() -> None:
    assert are_unequal({"a": 0.1, "b": 0.2})
    assert not are_unequal({"a": 0.1, "b": 0.1 + 1e-12})


def cover(
    texts: int, n: int, rate: float, accuracy: float, *, is_stratified: bool, studies: int
) -> tuple[float, float]:
    held = held_by_labels = 0
    layout = lay_out(texts)
    for seed in range(studies):
        rng = np.random.default_rng(seed)
        truth = (rng.random(texts) < rate).astype(float)
        verdicts = np.where(rng.random(texts) < accuracy, truth, 1 - truth)
        drawn = draw_texts(n, texts, [str(each) for each in verdicts] if is_stratified else None, seed)
        labels = np.full(texts, np.nan)
        labels[drawn.places] = truth[drawn.places]
        probabilities = np.full(texts, np.nan)
        probabilities[drawn.places] = drawn.probabilities
        found = estimate_drawn(labels, verdicts, probabilities, layout, is_rate=True)
        held += found.estimate.low <= rate <= found.estimate.high
        held_by_labels += found.classical.low <= rate <= found.classical.high
    return held / studies, held_by_labels / studies


def test_a_few_studies_hold_the_true_rate() -> None:
    held, _ = cover(600, 60, 0.3, 0.85, is_stratified=True, studies=60)
    assert held >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize(
    ("texts", "n", "rate", "accuracy"),
    [(1000, 60, 0.6, 0.85), (1000, 100, 0.3, 0.7), (2000, 100, 0.9, 0.9), (1000, 60, 0.1, 0.9), (500, 30, 0.5, 0.9)],
)
def test_intervals_hold_the_true_rate(texts: int, n: int, rate: float, accuracy: float) -> None:
    shares = cover(texts, n, rate, accuracy, is_stratified=True, studies=1000)
    print(f"{n} of {texts} texts, rate {rate}, accuracy {accuracy}: corrected {shares[0]}, by labels {shares[1]}")
    for held in shares:
        assert 0.93 <= held <= 0.975


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rate", "accuracy"), [(60, 0.5, 0.85), (100, 0.8, 0.9), (200, 0.3, 0.8)])
def test_weighted_agreement_holds_that_of_all_texts(n: int, rate: float, accuracy: float) -> None:
    """Kappa, accuracy and harshness of a stratified sheet, each text counted by the inverse of its chance."""
    said = rate * accuracy + (1 - rate) * (1 - accuracy)
    chance = rate * said + (1 - rate) * (1 - said)
    truths = {"kappa": (accuracy - chance) / (1 - chance), "accuracy": accuracy, "harshness": said - rate}
    held = dict.fromkeys(truths, 0)
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        truth = (rng.random(1000) < rate).astype(float)
        verdicts = np.where(rng.random(1000) < accuracy, truth, 1 - truth)
        drawn = draw_texts(n, 1000, [str(each) for each in verdicts], seed)
        people, judge, weights = truth[drawn.places], verdicts[drawn.places], 1 / drawn.probabilities
        layout = lay_out(n)
        statistics = {
            "kappa": linearise_kappa(people, judge, np.array([0.0, 1.0]), weights=weights),
            "accuracy": linearise_mean((people == judge).astype(float), weights),
            "harshness": linearise_mean(judge - people, weights),
        }
        found = {
            name: bound_by_design(each, drawn.probabilities, layout, is_rate=name == "accuracy")
            for name, each in statistics.items()
        }
        for name, each in found.items():
            held[name] += each.low <= truths[name] <= each.high
    shares = {name: times / 1000 for name, times in held.items()}
    print(f"{n} of 1000 texts, rate {rate}, accuracy {accuracy}: {shares}")
    for name, times in held.items():
        assert 0.925 <= times / 1000 <= 0.975, (name, times / 1000)
