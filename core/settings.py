"""Settings: the types that they have, and what checks them by pydantic before anything is trained."""

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import field
from functools import wraps
from inspect import signature
from typing import Annotated, Any, Literal, TypeGuard, TypeVar, dataclass_transform, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from core.faults import SettingFault, broken_rules

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

CHECKED = ConfigDict(strict=True, arbitrary_types_allowed=True)


def _refuse_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _to_tuple(values: object) -> tuple[Any, ...]:
    if not isinstance(values, list | tuple):
        raise ValueError("must be a list")
    return tuple(values)


def _refuse_unordered(ratios: Sequence[float]) -> Sequence[float]:
    if ratios[0] != 0 or list(ratios) != sorted(ratios):
        raise ValueError("must ascend from 0")
    return ratios


def _refuse_duplicates(values: Sequence[H]) -> Sequence[H]:
    if not values or len(set(values)) < len(values):
        raise ValueError("must be non-empty and without duplicates")
    return values


Count = Annotated[int, Field(ge=1)]
Size = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Number = Annotated[float, Field(allow_inf_nan=False)]
NonNegative = Annotated[Number, Field(ge=0)]
Positive = Annotated[Number, Field(gt=0)]
Share = Annotated[float, Field(ge=0, lt=1)]  # may be 0
Fraction = Annotated[float, Field(gt=0, lt=1)]
Text = Annotated[str, AfterValidator(_refuse_blank)]
Several = Annotated[Sequence[H], BeforeValidator(_to_tuple), AfterValidator(_refuse_duplicates)]
AscendingRatios = Annotated[Several[Share], AfterValidator(_refuse_unordered)]  # from 0 on


def one_of(names: Collection[str]) -> Any:
    """The type of a setting that is one of the names."""
    return Literal[tuple(names)]


def check(kind: Any, **settings: object) -> None:
    """Raises SettingFault for settings that are not of a type.

    >>> check(Count, k=8, gallery=0)
    Traceback (most recent call last):
    core.faults.SettingFault: gallery must be greater than or equal to 1, but is 0
    """
    adapter = TypeAdapter(kind, config=CHECKED)
    for name, value in settings.items():
        try:
            adapter.validate_python(value)
        except ValidationError as error:
            raise _setting_fault(error, name) from None


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def checked_dataclass(cls: type[T]) -> type[T]:
    """A frozen dataclass that raises SettingFault when it is built with a value which is not of its field's type.

    Types are strict: 1.5, True and "1" are no integers. A `__post_init__` that compares fields raises ValueError.

    >>> @checked_dataclass
    ... class Training:
    ...     epochs: Count
    ...     seeds: Several[Seed] = (0,)
    >>> Training(3, seeds=[1, 2])
    Training(epochs=3, seeds=(1, 2))
    >>> Training(0, seeds=[1, "2"])
    Traceback (most recent call last):
    core.faults.SettingFault: epochs must be greater than or equal to 1, but is 0
    seeds[1] must be a valid integer, but is '2'
    """
    made: Any = dataclass(frozen=True, config=CHECKED)(cls)
    build, parameters = made.__init__, signature(made)

    @wraps(build)
    def check_and_build(self: T, *args: Any, **kwargs: Any) -> None:
        given = parameters.bind(*args, **kwargs).arguments  # by name, as the message needs them
        try:
            build(self, **given)
        except ValidationError as error:
            raise _setting_fault(error) from None

    made.__init__ = check_and_build
    return made


def _setting_fault(error: ValidationError, *name: str) -> SettingFault:
    """All that pydantic found, one sentence per line."""
    sentences: list[str] = []
    for place, rule, found in broken_rules(error):
        match [*name, *place]:
            case []:  # from __post_init__: a sentence of its own
                sentences.append(rule)
            case [setting, *inside]:
                within = "".join(f"[{key!r}]" for key in inside)
                sentences.append(f"{setting}{within} {rule}, but is {found!r}")
    return SettingFault("\n".join(sentences))


LARGEST_SEED = 2**32 - 1


def listed(name: str, values: object, rule: str, holds: Callable[[Any], bool]) -> list[Any]:
    """The values of the setting `name`.

    Raises SettingFault where they are no list, none, or some of them equal or not as the rule says.

    >>> listed("sizes", [1, 1], "numbers", is_number)
    Traceback (most recent call last):
    core.faults.SettingFault: sizes must be a list of numbers, at least one and all different, but is [1, 1]
    """
    found = list(values) if isinstance(values, list | tuple) else []
    if not found or not all(map(holds, found)) or len(set(found)) < len(found):
        but = found if isinstance(values, list | tuple) else values
        raise SettingFault(f"{name} must be a list of {rule}, at least one and all different, but is {but!r}")
    return found


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number.

    >>> is_number(0), is_number(True), is_number(float("inf"))
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_text(value: object) -> bool:
    """Whether it is a text that says something."""
    return isinstance(value, str) and bool(value.strip())


def is_count(value: object, least: int = 1) -> bool:
    """Whether it is a whole number that is large enough.

    >>> is_count(1), is_count(0), is_count(0, least=0), is_count(1.5)
    (True, False, True, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def check_choice(name: str, value: object, literal: Any) -> None:
    """Raises SettingFault for a setting that is none of the values of a `Literal` type.

    >>> from typing import Literal
    >>> check_choice("keep", "best", Literal["loss", "auc"])
    Traceback (most recent call last):
    core.faults.SettingFault: keep must be one of loss, auc, but is 'best'
    """
    if value not in get_args(literal):
        raise SettingFault(f"{name} must be one of {', '.join(get_args(literal))}, but is {value!r}")


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raises SettingFault for a setting that is no whole number, or too small.

    >>> check_count("k", 0)
    Traceback (most recent call last):
    core.faults.SettingFault: k must be a whole number from 1 on, but is 0
    """
    if not is_count(value, least):
        raise SettingFault(f"{name} must be a whole number from {least} on, but is {value!r}")


def seeds(values: object, name: str = "seeds") -> list[int]:
    """Seeds. Raises SettingFault as `listed` does."""
    rule = "whole numbers from 0 to 2**32 - 1"
    return listed(name, values, rule, lambda value: is_count(value, least=0) and value <= LARGEST_SEED)


def counts(values: object, name: str) -> list[int]:
    """Numbers of things, 1 or more. Raises SettingFault as `listed` does."""
    return listed(name, values, "whole numbers from 1 on", is_count)


def some_of(values: object, known: Collection[str], name: str) -> list[str]:
    """Some of the known names. Raises SettingFault as `listed` does."""
    return listed(name, values, f"some of {', '.join(known)}", lambda value: isinstance(value, str) and value in known)


def check_sizes(**sizes: object) -> None:
    """Raises SettingFault for a number of texts that is not whole or below 0."""
    for name, size in sizes.items():
        if not is_count(size, least=0):
            raise SettingFault(f"{name} must be a whole number of texts from 0 on, but is {size!r}")
