"""Gates: conditions such as `kappa < 0.6` that fail a study where the interval of a figure lies beyond the limit.

The level is divided by the number of conditions (Bonferroni): for a judge within all limits, the chance of any failure
is at most the level.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import SettingError
from meta_eval.estimates import Estimates

QUANTITIES = ("kappa", "accuracy", "harshness", "kappa drop", "accuracy drop")
LONGEST_FIRST = "|".join(sorted(QUANTITIES, key=len, reverse=True))
CONDITION = re.compile(rf"\s*({LONGEST_FIRST})\s*([<>])\s*(\d*\.?\d+|\d+\.)\s*")
DIRECTIONS = {"kappa": "<", "accuracy": "<", "harshness": ">", "kappa drop": ">", "accuracy drop": ">"}
SIDES_IN_WORDS = {"<": "lower than its limit", ">": "higher than its limit"}
CONDITION_RULE = "fail_if must be conditions such as 'kappa < 0.6', 'harshness > 0.1' or 'accuracy drop > 0.05'"


@dataclass(frozen=True)
class Condition:
    """A condition under which a gate fails: a quantity beyond a limit."""

    quantity: str
    limit: float

    @property
    def sign(self) -> str:
        """`<` for a quantity that must not be too low, `>` for a quantity that must not be too high."""
        return DIRECTIONS[self.quantity]

    @property
    def is_drop(self) -> bool:
        """Whether the condition limits the difference from another judge (a drop)."""
        return self.quantity.endswith(" drop")


def read_conditions(given: str | Sequence[str]) -> list[Condition]:
    """Reads the conditions of the setting `fail_if`: one text or several, with commas between conditions.

    Raises SettingError for a text that is not a condition, and for `<` or `>` that does not fit its quantity.

    >>> read_conditions("kappa<.6, accuracy drop > 0.05")
    [Condition(quantity='kappa', limit=0.6), Condition(quantity='accuracy drop', limit=0.05)]
    """
    texts = [given] if isinstance(given, str) else given
    conditions: list[Condition] = []
    for text in ",".join(texts).split(",") if texts else ():
        matched = CONDITION.fullmatch(text)
        if matched is None:
            raise SettingError(f"{CONDITION_RULE}, but got {text.strip()!r}")
        quantity, sign, number = matched.groups()
        if sign != DIRECTIONS[quantity]:
            raise SettingError(f"{quantity} fails where it is {SIDES_IN_WORDS[DIRECTIONS[quantity]]}: {CONDITION_RULE}")
        conditions.append(Condition(quantity, float(number)))
    return conditions


def find_confidence(level: float, conditions: int, *, is_two_sided: bool = False) -> float:
    """Finds the confidence of intervals whose ends are one-sided tests at `level` over the number of conditions.

    If a quantity has limits on two sides, each side uses half of the level.
    """
    sides = 2 if is_two_sided else 1
    return 1 - 2 * level / conditions / sides


def decide(condition: Condition, quantity: Estimates, subject: str, confidence: float) -> tuple[bool, str]:
    """Decides whether a condition fails, by the interval of its quantity at this confidence; says so in a sentence."""
    estimate = quantity.show(confidence)[0]
    low, high, limit = estimate.low, estimate.high, condition.limit
    said = f"{subject}: {condition.quantity}"
    if math.isnan(low):
        return False, f"{said} cannot be compared with {limit:g}: {estimate.reason}"
    is_mirrored = condition.quantity == "harshness" and high < -limit
    has_failed = high < limit if condition.sign == "<" else low > limit or is_mirrored
    outcome = "is shown to lie" if has_failed else "is not shown to lie"
    where = {"<": "below", ">": "above"}[condition.sign]
    return has_failed, f"{said} {outcome} {where} {limit:g} ({estimate.value:.3f}, interval {low:.3f} to {high:.3f})"
