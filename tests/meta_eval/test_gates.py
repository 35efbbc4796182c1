"""Conditions of a gate: what they say, when they fail, and how often noise fails them."""

import math

import numpy as np
import pytest

from core.errors import SettingError
from meta_eval.bootstrap import Estimate
from meta_eval.gates import Condition, decide, find_confidence, read_conditions
from meta_eval.grouping import lay_out
from meta_eval.linearised import linearise_kappa, linearise_mean

YES = np.array([0.0, 1.0])


def test_conditions() -> None:
    found = read_conditions(["kappa < 0.6", "harshness>.1,accuracy drop > 0.05"])
    assert found == [Condition("kappa", 0.6), Condition("harshness", 0.1), Condition("accuracy drop", 0.05)]
    assert [each.is_drop for each in found] == [False, False, True]


@pytest.mark.parametrize("text", ["kappa", "kapa < 0.6", "kappa < x", "kappa < 1.2.3", ""])
def test_other_conditions_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="fail_if must be conditions such as"):
        read_conditions(text)


def test_the_side_of_a_condition() -> None:
    with pytest.raises(SettingError, match="kappa fails where it is lower than its limit"):
        read_conditions("kappa > 0.6")


@pytest.mark.parametrize(
    ("quantity", "limit", "found", "has_failed"),
    [
        ("kappa", 0.6, Estimate(0.5, 0.4, 0.59), True),
        ("kappa", 0.6, Estimate(0.5, 0.4, 0.61), False),
        ("harshness", 0.1, Estimate(0.2, 0.11, 0.3), True),
        ("harshness", 0.1, Estimate(-0.2, -0.3, -0.11), True),
        ("harshness", 0.1, Estimate(-0.2, -0.3, -0.09), False),
        ("kappa drop", 0.05, Estimate(0.2, 0.04, 0.3), False),
    ],
)
def test_the_whole_interval_must_lie_beyond(quantity: str, limit: float, found: Estimate, has_failed: bool) -> None:
    result = decide(Condition(quantity, limit), found, aspect="q", judge="j", confidence=0.9, inputs=100)
    assert result.has_failed is has_failed
    assert ("is shown to lie" in result.describe()) is has_failed


def test_without_an_interval_nothing_fails() -> None:
    result = decide(
        Condition("kappa", 0.6), Estimate.undefined("few", 0.1), aspect="q", judge="j", confidence=0.9, inputs=9
    )
    assert not result.has_failed
    assert result.describe() == "q: kappa of j cannot be compared with 0.6: few"


def test_level_over_conditions() -> None:
    assert find_confidence(0.05, 1) == pytest.approx(0.9)
    assert find_confidence(0.05, 5) == pytest.approx(0.98)
    assert find_confidence(0.05, 1, is_two_sided=True) == pytest.approx(0.95)


def draw_study(n: int, rate: float, accuracy: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    people = (rng.random(n) < rate).astype(float)
    return people, np.where(rng.random(n) < accuracy, people, 1 - people)


def find_kappa(rate: float, accuracy: float) -> float:
    said = rate * accuracy + (1 - rate) * (1 - accuracy)
    chance = rate * said + (1 - rate) * (1 - said)
    return (accuracy - chance) / (1 - chance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "rate", "accuracy"), [(50, 0.5, 0.85), (100, 0.8, 0.9), (100, 0.5, 0.8), (300, 0.2, 0.9)]
)
def test_noise_fails_a_judge_on_the_limit_at_most_at_the_level(n: int, rate: float, accuracy: float) -> None:
    limits = {"kappa": find_kappa(rate, accuracy), "accuracy": accuracy}
    harshness = rate * accuracy + (1 - rate) * (1 - accuracy) - rate
    limits["harshness"] = abs(harshness)
    failed = dict.fromkeys(limits, 0)
    for seed in range(1000):
        people, judge = draw_study(n, rate, accuracy, seed)
        found = {
            "kappa": linearise_kappa(people, judge, YES),
            "accuracy": linearise_mean((people == judge).astype(float)),
            "harshness": linearise_mean(judge - people),
        }
        for name, limit in limits.items():
            confidence = find_confidence(0.05, 1, is_two_sided=name == "harshness")
            estimate = found[name].estimate(lay_out(n), confidence)
            condition = Condition(name, limit)
            result = decide(condition, estimate, aspect="q", judge="j", confidence=confidence, inputs=n)
            failed[name] += result.has_failed
    shares = {name: times / 1000 for name, times in failed.items()}
    print(f"{n} texts, rate {rate}, accuracy {accuracy}: failed {shares}")
    for name, times in failed.items():
        assert times / 1000 <= 0.065, name  # 0.05 and two standard errors


@pytest.mark.slow
def test_what_the_data_could_show_is_shown_with_a_chance_of_eight_tenths() -> None:
    """A judge at the kappa that studies of 200 texts could show beyond a limit of .7 fails about .8 of them."""
    reach = [
        decide(
            Condition("kappa", 0.7),
            linearise_kappa(*draw_study(200, 0.5, 0.8, seed), YES).estimate(lay_out(200), 0.9),
            aspect="q",
            judge="j",
            confidence=0.9,
            inputs=200,
        ).could_show
        for seed in range(50)
    ]
    accuracy = (1 + float(np.mean(reach))) / 2  # of two labels at a rate of 1/2
    failed = 0
    for seed in range(600):
        people, judge = draw_study(200, 0.5, accuracy, seed)
        failed += linearise_kappa(people, judge, YES).estimate(lay_out(200), 0.9).high < 0.7
    print(f"what 200 texts could have shown: failed {failed / 600:.3f}")
    assert 0.75 <= failed / 600 <= 0.85


def test_could_show_is_on_the_right_side() -> None:
    for quantity, sign in (("kappa", -1), ("harshness", 1)):
        result = decide(
            Condition(quantity, 0.5), Estimate(0.5, 0.4, 0.6), aspect="q", judge="j", confidence=0.9, inputs=1000
        )
        # half of the interval is 1.645 standard errors, and power .8 needs .84 more
        assert (result.could_show - 0.5) * sign == pytest.approx(0.1 + 0.1 / 1.645 * 0.8416, abs=1e-3)
    assert math.isnan(
        decide(
            Condition("kappa", 0.5), Estimate.undefined("x"), aspect="q", judge="j", confidence=0.9, inputs=2
        ).could_show
    )
