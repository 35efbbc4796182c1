"""Conditions of a gate: what they say and when they fail."""

import numpy as np
import pytest

from core.errors import SettingError
from judge.gates import Condition, decide, read_conditions
from meta_eval.design import lay_out
from meta_eval.estimates import estimate_mean


def test_conditions() -> None:
    found = read_conditions(["kappa < 0.6", "harshness>.1,accuracy drop > 0.05"])
    assert found == [Condition("kappa", 0.6), Condition("harshness", 0.1), Condition("accuracy drop", 0.05)]
    assert [each.is_drop for each in found] == [False, False, True]


@pytest.mark.parametrize("text", ["kapa < 0.6", "kappa < x", ""])
def test_other_conditions_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="fail_if must be conditions such as"):
        read_conditions(text)


def test_the_side_of_a_condition() -> None:
    with pytest.raises(SettingError, match="kappa fails where it is lower than its limit"):
        read_conditions("kappa > 0.6")


def hold(quantity: str, limit: float, differences: np.ndarray, confidence: float = 0.9) -> tuple[bool, str]:
    found = estimate_mean(differences, lay_out(len(differences)), scale="plain")
    return decide(Condition(quantity, limit), found, "q by j", confidence)


@pytest.mark.parametrize(
    ("quantity", "limit", "middle", "has_failed"),
    [
        ("kappa", 0.6, 0.5, True),
        ("kappa", 0.6, 0.59, False),
        ("harshness", 0.1, 0.2, True),
        ("harshness", 0.1, -0.2, True),
        ("harshness", 0.1, -0.11, False),
        ("kappa drop", 0.05, 0.06, False),
    ],
)
def test_the_whole_interval_must_lie_beyond(quantity: str, limit: float, middle: float, has_failed: bool) -> None:
    result, said = hold(quantity, limit, middle + np.tile([-0.2, 0.2], 50))  # the interval is .033 on either side
    assert result is has_failed
    assert ("is shown to lie" in said) is has_failed


def test_without_an_interval_nothing_fails() -> None:
    has_failed, said = hold("kappa", 0.6, np.full(9, 0.1))
    assert not has_failed
    assert said.startswith("q by j: kappa cannot be compared with 0.6: an interval needs")
