"""Slices of texts: figures of single slices, fast statistics beside the plain ones, and the level of the tests."""

import math

import numpy as np
import pytest

from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling
from meta_eval.labels import agree_on_labels
from meta_eval.linearised import Linearised, linearise_kappa, linearise_mean
from meta_eval.slices import measure_slices, standardise_gaps

YES = np.array([0.0, 1.0])
FEW = Resampling(resamples=50)


def draw_slices(n: int, rates: list[float], kappa: float, seed: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Labels of people and of a judge with this kappa and no harshness in every slice, whatever its rate of labels."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, len(rates), n)
    rate = np.array(rates)[numbers]
    people = (rng.random(n) < rate).astype(float)
    wrong = (1 - kappa) * rate * (1 - rate)
    luck = rng.random(n)
    judge = np.where(people == 1, (luck >= wrong / rate).astype(float), (luck < wrong / (1 - rate)).astype(float))
    return [f"s{number}" for number in numbers], people, judge


@pytest.mark.parametrize("labels", [2, 4])
def test_fast_statistics_are_those_of_both_sides(labels: int) -> None:
    rng = np.random.default_rng(0)
    values = np.arange(labels, dtype=float)
    x = rng.integers(0, labels, 120).astype(float)
    y = np.where(rng.random(120) < 0.6, x, rng.integers(0, labels, 120))
    layout = lay_out(120, inputs=[i // 3 for i in range(120)])
    inside = rng.random((5, 120)) < 0.4
    cells = (x * labels + y).astype(int)
    found = standardise_gaps(inside, cells, values, layout)
    for row, mask in zip(found, inside, strict=True):
        for value, is_kappa in zip(row, (True, False), strict=True):
            gap = Linearised(0.0, np.zeros(120))
            for side, sign in ((mask, 1.0), (~mask, -1.0)):
                part = linearise_mean((y - x)[side])
                if is_kappa:
                    part = linearise_kappa(x[side], y[side], values, is_weighted=labels > 2)
                whole = np.zeros(120)
                whole[side] = sign * part.parts
                gap = Linearised(gap.value + sign * part.value, gap.parts + whole)
            assert value == pytest.approx(gap.value / math.sqrt(gap.variance(layout)))


def test_slices_are_studies_of_their_own_and_small_ones_say_so() -> None:
    names, x, y = draw_slices(150, [0.5, 0.6], 0.7, 0)
    names[:10] = ["rare"] * 10
    found = {each.slice: each for each in measure_slices(names, x, y, YES, lay_out(150), resampling=FEW)}
    assert found.keys() == {"rare", "s0", "s1"}
    for name, each in found.items():
        inside = np.array(names) == name
        alone = agree_on_labels(x[inside], y[inside], YES, lay_out(int(inside.sum())), FEW)
        assert (each.n, each.kappa.value) == (alone.n, pytest.approx(alone.kappa.value))
        assert each.harshness.value == pytest.approx(alone.harshness.value)
    assert "at least 30" in (found["rare"].reason or "")
    assert math.isnan(found["rare"].p_kappa)
    assert found["s0"].reason is None


def test_a_slice_in_which_the_judge_guesses_is_found() -> None:
    names, x, y = draw_slices(240, [0.5, 0.5, 0.5], 0.9, 0)
    guesses = np.random.default_rng(1).integers(0, 2, 240)
    y = np.where(np.array(names) == "s1", guesses, y)
    found = {each.slice: each for each in measure_slices(names, x, y, YES, lay_out(240), resampling=FEW)}
    assert found["s1"].p_kappa < 0.01
    assert min(each.p_harshness for each in found.values()) > 0.05


def test_slices_within_inputs_change_places_there() -> None:
    """Each input has a text in both slices; the judge is milder in one of them."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 120).astype(float)
    names = ["a", "b"] * 60
    y = np.where((np.array(names) == "b") & (rng.random(120) < 0.4), 1.0, x)
    layout = lay_out(120, inputs=[i // 2 for i in range(120)])
    for each in measure_slices(names, x, y, YES, layout, resampling=FEW):
        assert each.p_harshness < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "rates"),
    [
        (200, [0.5] * 4),
        (200, [0.9] * 4),
        (200, [0.5, 0.5, 0.5, 0.85]),
        (150, [0.5, 0.85]),
        (400, [0.3, 0.5, 0.7, 0.85]),
    ],
)
def test_equal_slices_keep_the_level(n: int, rates: list[float]) -> None:
    """Any false difference of kappa or harshness, also where slices differ in the shares of labels."""
    called = 0
    for seed in range(600):
        names, x, y = draw_slices(n, rates, 0.7, seed)
        found = measure_slices(names, x, y, YES, lay_out(n), resampling=Resampling(resamples=10, seed=seed))
        p_values = [p for each in found for p in (each.p_kappa, each.p_harshness) if not math.isnan(p)]
        called += min(p_values, default=1.0) < 0.05
    print(f"{n} texts, rates {rates}: different {called / 600:.3f}")
    assert 0.03 <= called / 600 <= 0.07
