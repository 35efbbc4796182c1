"""Gates: tests whether a quantity of a judge (its kappa, say) is beyond a limit by more than noise.

A gate fails at a condition such as `kappa < 0.6` if a one-sided test shows that the condition is true. The level is
divided by the number of conditions (Bonferroni): for a judge within all limits, the chance of any failure is at most
the level. The tests are read from the intervals of `meta_eval.estimates`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import SettingError
from meta_eval.estimates import Estimate, Estimates, t_quantile

QUANTITIES = ("kappa", "accuracy", "harshness", "kappa drop", "accuracy drop")
LONGEST_FIRST = "|".join(sorted(QUANTITIES, key=len, reverse=True))
CONDITION = re.compile(rf"\s*({LONGEST_FIRST})\s*([<>])\s*([\d.]+)\s*")
DIRECTIONS = {"kappa": "<", "accuracy": "<", "harshness": ">", "kappa drop": ">", "accuracy drop": ">"}
SIDES_IN_WORDS = {"<": "lower than its limit", ">": "higher than its limit"}
POWER = 0.8  # of the smallest change that the data could have shown
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

    def __str__(self) -> str:
        return f"{self.quantity} {self.sign} {self.limit:g}"


@dataclass(frozen=True)
class GateResult:
    """The outcome of a condition for one judge."""

    aspect: str
    judge: str
    condition: Condition
    # the quantity with the interval that decides: it fails where the whole interval lies beyond the limit
    estimate: Estimate
    has_failed: bool
    # the value nearest to the limit that these data would have shown beyond it with a chance of `POWER`; NaN unknown
    could_show: float

    def describe(self) -> str:
        """Describes the outcome in a sentence."""
        subject = f"{self.aspect}: {self.condition.quantity} of {self.judge}"
        estimate = self.estimate
        limit = f"{self.condition.limit:g}"
        if math.isnan(estimate.low):
            return f"{subject} cannot be compared with {limit}: {estimate.reason}"
        outcome = "is shown to lie" if self.has_failed else "is not shown to lie"
        where = {"<": "below", ">": "above"}[self.condition.sign]
        shown = f"{estimate.value:.3f}, interval of the test {estimate.low:.3f} to {estimate.high:.3f}"
        could = f"the data could have shown {self.could_show:.3f}"
        return f"{subject} {outcome} {where} {limit} ({shown}; {could} with a chance of {POWER:g})"


def read_conditions(given: str | Sequence[str]) -> list[Condition]:
    """Reads the conditions of the setting `fail_if`: one text or several, with commas between conditions.

    Raises SettingError for a text that is not a condition.

    >>> list(map(str, read_conditions("kappa<.6, accuracy drop > 0.05")))
    ['kappa < 0.6', 'accuracy drop > 0.05']
    """
    texts = [given] if isinstance(given, str) else given
    return [read_condition(part) for text in texts for part in text.split(",")]


def read_condition(text: str) -> Condition:
    """Reads one condition.

    Raises SettingError for a text that is not a condition, and for `<` or `>` that does not fit its quantity.
    """
    matched = CONDITION.fullmatch(text)
    if matched is None:
        raise SettingError(f"{CONDITION_RULE}, but got {text.strip()!r}")
    quantity, sign, number = matched.groups()
    if sign != DIRECTIONS[quantity]:
        raise SettingError(f"{quantity} fails where it is {SIDES_IN_WORDS[DIRECTIONS[quantity]]}: {CONDITION_RULE}")
    try:
        limit = float(number)
    except ValueError:
        raise SettingError(f"{CONDITION_RULE}, but got the limit {number!r}") from None
    return Condition(quantity, limit)


def find_confidence(
    level: float,
    conditions: int,
    *,
    is_two_sided: bool = False,
) -> float:
    """Finds the confidence of intervals whose ends are one-sided tests at `level` over the number of conditions.

    If a quantity has limits on two sides, each side uses half of the level.
    """
    sides = 2 if is_two_sided else 1
    level_of_test = level / conditions / sides
    return 1 - 2 * level_of_test


def decide(
    condition: Condition,
    quantity: Estimates,
    *,
    aspect: str,
    judge: str,
    confidence: float,
) -> GateResult:
    """Decides whether the gate fails at a condition, by the interval of its quantity at this confidence."""
    estimate = quantity.show(confidence)[0]
    limit = condition.limit
    has_failed = False
    could_show = math.nan
    if not math.isnan(estimate.low):
        half_width = (estimate.high - estimate.low) / 2
        reach = half_width + float(quantity.errors[0]) * float(t_quantile(quantity.freedom, 2 * POWER - 1)[0])
        if condition.sign == "<":
            has_failed = estimate.high < limit
            could_show = limit - reach
        else:
            is_mirrored = condition.quantity == "harshness" and estimate.value < 0
            sided = estimate.negate() if is_mirrored else estimate
            has_failed = sided.low > limit
            could_show = limit + reach
    return GateResult(
        aspect=aspect,
        judge=judge,
        condition=condition,
        estimate=estimate,
        has_failed=has_failed,
        could_show=could_show,
    )
