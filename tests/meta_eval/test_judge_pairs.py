"""Two judges of the same texts: counts by hand, the sign of differences, coverage of intervals and level of tests."""

import math

import numpy as np
import pytest

from meta_eval.grouping import Layout, lay_out
from meta_eval.intervals import Resampling
from meta_eval.judge_pairs import STATISTICS, compare_judges, find_constant, name_difference
from meta_eval.labels import agree_on_labels

YES = np.array([0.0, 1.0])
FEW = Resampling(resamples=50)
FIVE = np.arange(1.0, 6)


def judge(people: np.ndarray, accuracy: float, bias: float, luck: np.ndarray) -> np.ndarray:
    """Labels that are right where luck is above 1 - accuracy; bias turns labels into 1 more often than into 0."""
    wrong = np.where(people == 1, 1 - accuracy - bias, 1 - accuracy + bias)
    return np.where(luck < wrong, 1 - people, people)


def draw_study(
    n: int, rate: float, accuracies: tuple[float, float], biases: tuple[float, float], per_input: int, seed: int
) -> tuple[np.ndarray, dict[str, np.ndarray], Layout]:
    """Labels of people and of two judges who find the same texts hard."""
    rng = np.random.default_rng(seed)
    size = n * per_input
    people = (rng.random(size) < rate).astype(float)
    hard = np.repeat(rng.random(n), per_input)
    judges = {}
    for name, accuracy, bias in zip("ab", accuracies, biases, strict=True):
        luck = np.where(rng.random(size) < 0.3, hard, rng.random(size))
        judges[name] = judge(people, accuracy, bias, luck)
    return people, judges, lay_out(size, inputs=[i // per_input for i in range(size)])


def find_truth(rate: float, accuracy: float, bias: float) -> dict[str, float]:
    right = rate * (accuracy + bias) + (1 - rate) * (accuracy - bias)
    said = rate * (accuracy + bias) + (1 - rate) * (1 - accuracy + bias)
    chance = rate * said + (1 - rate) * (1 - said)
    return {"kappa": (right - chance) / (1 - chance), "accuracy": right, "harshness": said - rate, "length_effect": 0}


def test_counts_by_hand() -> None:
    people = np.repeat([1.0, 1, 0, 0, np.nan], 12)
    a = np.tile([1.0, 1, 1, 0], 15)
    b = np.tile([1.0, 0, 1, 1], 15)
    (found,) = compare_judges(people, {"a": a, "b": b}, YES, lay_out(60), lengths=np.arange(60.0))
    assert found.n == 48
    # of four texts a says 1 1 1 0 and b 1 0 1 1: where people say 1 a is right alone once and b once, and so for 0
    assert (found.only_a_right, found.only_b_right, found.b_milder, found.b_harsher) == (12, 12, 12, 12)
    assert [found.differences[name].value for name in STATISTICS] == pytest.approx([0, 0, 0, 0], abs=1e-12)
    assert all(p > 0.9 for p in found.p_values.values())
    turned = found.turn()
    assert (turned.judge_a, turned.only_a_right) == ("b", found.only_b_right)


def test_differences_are_those_of_single_judges() -> None:
    people, judges, layout = draw_study(100, 0.6, (0.9, 0.7), (0.0, 0.1), 1, 0)
    (found,) = compare_judges(people, judges, YES, layout)
    of_a, of_b = (agree_on_labels(people, each, YES, layout, FEW) for each in judges.values())
    for name in ("kappa", "accuracy", "harshness"):
        difference = getattr(of_b, name).value - getattr(of_a, name).value
        assert found.differences[name].value == pytest.approx(difference)
    assert name_difference(found)[0] in ("kappa", "accuracy", "harshness")
    assert not found.is_as_good


def test_equal_judges_are_as_good_and_few_inputs_tell_nothing() -> None:
    people, judges, layout = draw_study(400, 0.5, (0.9, 0.9), (0, 0), 1, 0)
    same = {"a": judges["a"], "b": judges["a"].copy()}
    (found,) = compare_judges(people, same, YES, layout)
    assert found.is_as_good
    assert set(found.p_values.values()) == {1.0}
    (few,) = compare_judges(people[:20], {name: each[:20] for name, each in judges.items()}, YES, lay_out(20))
    assert not few.is_as_good
    assert all(map(math.isnan, few.p_values.values()))
    assert "at least 30" in (few.differences["kappa"].reason or "")


def test_constant() -> None:
    assert find_constant(np.array([2.0, 1, 2, np.nan])) == 2
    assert math.isnan(find_constant(np.array([np.nan])))


@pytest.mark.parametrize("n", [60])
def test_a_few_studies_hold_the_true_differences(n: int) -> None:
    check_coverage(n, 0.5, (0.85, 0.85), (0.0, 0.0), 1, studies=60, slack=0.06)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "rate", "accuracies", "biases", "per_input"),
    [
        (60, 0.5, (0.85, 0.85), (0.0, 0.0), 1),
        (100, 0.5, (0.9, 0.8), (0.0, 0.0), 1),
        (100, 0.8, (0.9, 0.8), (0.05, -0.05), 1),
        (300, 0.2, (0.9, 0.9), (0.0, 0.0), 1),
        (60, 0.5, (0.85, 0.85), (0.0, 0.0), 3),
    ],
)
def test_intervals_hold_the_true_differences(
    n: int, rate: float, accuracies: tuple[float, float], biases: tuple[float, float], per_input: int
) -> None:
    check_coverage(n, rate, accuracies, biases, per_input, studies=1000, slack=0.0)


def check_coverage(
    n: int,
    rate: float,
    accuracies: tuple[float, float],
    biases: tuple[float, float],
    per_input: int,
    *,
    studies: int,
    slack: float,
) -> None:
    one, other = (find_truth(rate, *each) for each in zip(accuracies, biases, strict=True))
    held = dict.fromkeys(STATISTICS, 0)
    called = 0
    for seed in range(studies):
        people, judges, layout = draw_study(n, rate, accuracies, biases, per_input, seed)
        lengths = np.random.default_rng(seed + 10_000).random(len(people))
        (found,) = compare_judges(people, judges, YES, layout, lengths=lengths, seed=seed)
        for name in STATISTICS:
            held[name] += found.differences[name].low <= other[name] - one[name] <= found.differences[name].high
        called += min(found.p_values.values()) < 0.05
    shares = {name: times / studies for name, times in held.items()}
    print(f"{n} inputs of {per_input}, rate {rate}, {accuracies}, {biases}: {shares}, different {called / studies}")
    for name in STATISTICS:
        assert 0.925 - slack <= held[name] / studies <= 0.975 + slack, (name, held[name] / studies)
    if accuracies[0] == accuracies[1] and biases[0] == biases[1]:
        assert 0.03 - slack <= called / studies <= 0.07 + slack, called / studies


@pytest.mark.slow
def test_five_labels_and_four_judges_keep_the_level() -> None:
    """Judges who err alike: any false difference of six pairs and three statistics, and coverage of weighted kappa."""
    called = held = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        people = rng.integers(1, 6, 100).astype(float)
        judges = {name: np.clip(people + rng.choice([-1, 0, 0, 0, 1], 100), 1, 5) for name in "abcd"}
        found = compare_judges(people, judges, FIVE, lay_out(100), seed=seed)
        called += min(p for each in found for p in each.p_values.values()) < 0.05
        held += found[0].differences["kappa"].low <= 0 <= found[0].differences["kappa"].high
    print(f"four judges, five labels: weighted kappa {held / 600:.3f}, different {called / 600:.3f}")
    assert 0.03 <= called / 600 <= 0.07
    assert 0.93 <= held / 600 <= 0.97


@pytest.mark.slow
def test_judges_at_the_margin_are_called_as_good_in_the_share_of_the_level() -> None:
    truth = find_truth(0.5, 0.9, 0)["kappa"] - find_truth(0.5, 0.85, 0)["kappa"]
    called = 0
    for seed in range(1000):
        people, judges, layout = draw_study(300, 0.5, (0.9, 0.85), (0, 0), 1, seed)
        (found,) = compare_judges(people, judges, YES, layout, margin=truth)
        called += found.is_as_good
    print(f"at the margin: as good {called / 1000}")
    assert 0.03 <= called / 1000 <= 0.07
