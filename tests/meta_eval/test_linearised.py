"""Statistics as sums of parts: values by hand and by scikit-learn, and parts beside the jackknife."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from meta_eval.grouping import lay_out
from meta_eval.linearised import (
    Linearised,
    find_long,
    linearise_kappa,
    linearise_length_effect,
    linearise_mean,
    spread_evenly,
)

YES = np.array([0.0, 1.0])


def draw(n: int, labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, labels, n).astype(float)
    return x, np.where(rng.random(n) < 2 / 3, x, rng.integers(0, labels, n))


def leave_one_out(statistic: Callable[[np.ndarray], float], n: int) -> np.ndarray:
    """The change of a statistic that each text makes, by leaving it out."""
    whole = statistic(np.ones(n, dtype=bool))
    return np.array([whole - statistic(np.arange(n) != i) for i in range(n)])


def test_kappa_by_hand() -> None:
    """20 yes and yes, 5 yes and no, 10 no and yes, 15 no and no: .7 observed, .5 by chance."""
    people = np.repeat([1.0, 1, 0, 0], [20, 5, 10, 15])
    judge = np.repeat([1.0, 0, 1, 0], [20, 5, 10, 15])
    found = linearise_kappa(people, judge, YES)
    assert found.value == pytest.approx(0.4)
    assert found.parts.sum() == pytest.approx(0)


@pytest.mark.parametrize(("labels", "weights"), [(2, None), (5, "quadratic")])
def test_kappa_and_its_parts(labels: int, weights: str | None) -> None:
    x, y = draw(400, labels)
    values = np.arange(labels, dtype=float)
    found = linearise_kappa(x, y, values, is_weighted=weights is not None)
    assert found.value == pytest.approx(cohen_kappa_score(x, y, weights=weights))
    slow = leave_one_out(lambda kept: cohen_kappa_score(x[kept], y[kept], weights=weights), 400)
    np.testing.assert_allclose(found.parts, slow, atol=1e-4)


def test_means_and_length_effects_by_hand() -> None:
    mean = linearise_mean(np.array([1.0, 0, 0, 0]))
    assert mean.value == pytest.approx(1 / 4)
    np.testing.assert_allclose(mean.parts, np.array([3, -1, -1, -1]) / 16)
    lengths = np.arange(10.0)
    assert find_long(lengths).tolist() == [False] * 5 + [True] * 5
    differences = np.array([0.0, 0, 0, 0, -1, 1, 1, 0, 0, 0])
    effect = linearise_length_effect(differences, find_long(lengths))
    assert effect.value == pytest.approx(0.4 - -0.2)
    slow = leave_one_out(
        lambda kept: differences[kept & (lengths > 4)].mean() - differences[kept & (lengths < 5)].mean(), 10
    )
    np.testing.assert_allclose(effect.parts, slow * 4 / 5, atol=1e-12)
    few = linearise_length_effect(differences, np.arange(10) > 8)
    assert math.isnan(few.value)
    assert "fewer than 5 texts" in (few.reason or "")


def test_texts_of_one_input_count_together() -> None:
    x, y = draw(60, 2)
    alone = linearise_kappa(x, y, YES).estimate(lay_out(60))
    copies = lay_out(180, inputs=[i % 60 for i in range(180)])
    found = linearise_kappa(np.tile(x, 3), np.tile(y, 3), YES).estimate(copies)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    few = linearise_kappa(x[:20], y[:20], YES).estimate(lay_out(20))
    assert "at least 30" in (few.reason or "")


def test_spread_evenly_sums_to_the_values() -> None:
    several = [Linearised(0.3, np.array([0.1, -0.1, 0.2, -0.2])), Linearised(-1.0, np.zeros(4))]
    spread = spread_evenly(several, lay_out(4, inputs=["a", "a", "b", "b"]))
    np.testing.assert_allclose(spread, [[0.15, -0.5], [0.15, -0.5]])


def test_one_label_has_no_kappa() -> None:
    found = linearise_kappa(np.ones(40), np.ones(40), YES)
    assert math.isnan(found.value)
    assert found.estimate(lay_out(40)).reason == "all labels are the same: kappa is not defined"
