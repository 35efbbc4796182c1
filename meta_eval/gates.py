"""A gate: whether a figure of a judge lies beyond a limit by more than noise, and what change the data could show.

A condition such as `kappa < 0.6` fails where a one-sided test shows it, at the level divided by the number of
conditions (Bonferroni): on a judge that keeps all limits the chance of any failure is at most the level. The tests
are t tests by the linearised variance over inputs (`meta_eval.linearised`).
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import SettingError
from meta_eval.bootstrap import Estimate, t_quantile

QUANTITIES = ("kappa", "accuracy", "harshness", "kappa drop", "accuracy drop")
CONDITION = re.compile(rf"\s*({'|'.join(sorted(QUANTITIES, key=len, reverse=True))})\s*([<>])\s*([\d.]+)\s*")
DIRECTIONS = {"kappa": "<", "accuracy": "<", "harshness": ">", "kappa drop": ">", "accuracy drop": ">"}
POWER = 0.8  # of the smallest change that the data could have shown
RULE = "fail_if must be conditions such as 'kappa < 0.6', 'harshness > 0.1' or 'accuracy drop > 0.05'"


@dataclass(frozen=True)
class Condition:
    """What ends a gate: a quantity beyond a limit."""

    quantity: str
    limit: float

    @property
    def sign(self) -> str:
        """`<` for a quantity that must not be lower, `>` for one that must not be higher."""
        return DIRECTIONS[self.quantity]

    @property
    def is_drop(self) -> bool:
        """Whether it is a change from another judge."""
        return self.quantity.endswith(" drop")

    def __str__(self) -> str:
        return f"{self.quantity} {self.sign} {self.limit:g}"


@dataclass(frozen=True)
class GateResult:
    """A condition, held against one judge."""

    aspect: str
    judge: str
    condition: Condition
    # the quantity with the interval that decides: it fails where the whole interval lies beyond the limit
    found: Estimate
    has_failed: bool
    # the value nearest to the limit that these data would have shown beyond it with a chance of `POWER`; NaN unknown
    could_show: float

    def describe(self) -> str:
        """The outcome in a sentence."""
        subject = f"{self.aspect}: {self.condition.quantity} of {self.judge}"
        if math.isnan(self.found.low):
            return f"{subject} cannot be held against {self.condition.limit:g}: {self.found.reason}"
        outcome = "is shown to lie" if self.has_failed else "is not shown to lie"
        where = "below" if self.condition.sign == "<" else "above"
        shown = f"{self.found.value:.3f}, interval of the test {self.found.low:.3f} to {self.found.high:.3f}"
        could = f"the data could have shown {self.could_show:.3f}"
        return f"{subject} {outcome} {where} {self.condition.limit:g} ({shown}; {could} with a chance of {POWER:g})"


def read_conditions(given: str | Sequence[str]) -> list[Condition]:
    """The conditions of the setting `fail_if`, each text or one text with commas; raises SettingError for others.

    >>> [str(each) for each in read_conditions("kappa<.6, accuracy drop > 0.05")]
    ['kappa < 0.6', 'accuracy drop > 0.05']
    """
    texts = [part for text in ([given] if isinstance(given, str) else given) for part in text.split(",")]
    found: list[Condition] = []
    for text in texts:
        matched = CONDITION.fullmatch(text)
        if matched is None:
            raise SettingError(f"{RULE}, but got {text.strip()!r}")
        quantity, sign, number = matched.groups()
        if sign != DIRECTIONS[quantity]:
            raise SettingError(f"{quantity} fails where it is {_name_side(DIRECTIONS[quantity])}: {RULE}")
        try:
            found.append(Condition(quantity, float(number)))
        except ValueError:
            raise SettingError(f"{RULE}, but got the limit {number!r}") from None
    return found


def _name_side(sign: str) -> str:
    return "lower than its limit" if sign == "<" else "higher than its limit"


def find_confidence(level: float, conditions: int, *, is_two_sided: bool = False) -> float:
    """The confidence of the intervals whose ends are one-sided tests at `level` over the number of conditions.

    A quantity that may be beyond the limit on two sides takes half of the level on each.
    """
    share = level / conditions / (2 if is_two_sided else 1)
    return 1 - 2 * share


def decide(
    condition: Condition, found: Estimate, *, aspect: str, judge: str, confidence: float, inputs: int
) -> GateResult:
    """The outcome of a condition by the interval of a quantity at this confidence."""
    if math.isnan(found.low) or found.reason is not None:
        unknown = Estimate.undefined(found.reason or "it has no interval", found.value)
        return GateResult(aspect, judge, condition, unknown, has_failed=False, could_show=math.nan)
    half = (found.high - found.low) / 2
    quantile = t_quantile(inputs - 1, confidence)
    reach = half + half / quantile * t_quantile(inputs - 1, 2 * POWER - 1)
    if condition.sign == "<":
        return GateResult(
            aspect, judge, condition, found, has_failed=found.high < condition.limit, could_show=condition.limit - reach
        )
    is_mirrored = condition.quantity == "harshness" and found.value < 0
    sided = found.negate() if is_mirrored else found
    return GateResult(
        aspect, judge, condition, found, has_failed=sided.low > condition.limit, could_show=condition.limit + reach
    )
