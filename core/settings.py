"""Settings: their types, and functions that check them with pydantic before anything is trained.

Pydantic takes long to import, so it is imported when a value is checked: the help of a command needs the types alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, dataclass_transform, get_args, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from core.errors import SettingError, blame_file, broken_rules, format_value

if TYPE_CHECKING:
    from pydantic import ConfigDict, ValidationError

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

CHECKED: ConfigDict = {"strict": True, "arbitrary_types_allowed": True}


@dataclass(frozen=True)
class TypeRule:
    """A rule of a type for pydantic."""

    # returns the value, or raises ValueError
    validate: Callable[[Any], Any]
    # whether it sees a value before the type does
    is_before: bool = False

    def __get_pydantic_core_schema__(self, kind: Any, read: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        before = core_schema.no_info_before_validator_function
        after = core_schema.no_info_after_validator_function
        return (before if self.is_before else after)(self.validate, read(kind))


class Finite:
    """The rule of a number that is neither infinite nor NaN, for pydantic."""

    def __get_pydantic_core_schema__(self, kind: Any, read: Callable[[Any], Any]) -> Mapping[str, Any]:
        return {**read(kind), "allow_inf_nan": False}


def refuse_blank(text: str) -> str:
    """Returns the text if it is not blank; a rule for pydantic."""
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def to_tuple(values: object) -> tuple[Any, ...]:
    """Turns a list into a tuple, so that a frozen setting can hold it; a rule for pydantic."""
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


Count = Annotated[int, Ge(1)]
Size = Annotated[int, Ge(0)]
Seed = Annotated[int, Ge(0), Lt(2**32)]
Number = Annotated[float, Finite(), Ge(-1e150), Le(1e150)]  # larger ones have no finite square
NonNegative = Annotated[Number, Ge(0)]
Positive = Annotated[Number, Gt(0)]
Share = Annotated[float, Ge(0), Lt(1)]  # may be 0
Fraction = Annotated[float, Gt(0), Lt(1)]
Text = Annotated[str, TypeRule(refuse_blank)]
Several = Annotated[Sequence[H], TypeRule(to_tuple, is_before=True), TypeRule(_refuse_duplicates)]
AscendingRatios = Annotated[Several[Share], TypeRule(_refuse_unordered)]  # the first is 0


def one_of(names: Collection[str]) -> Any:
    """Returns the type of a setting whose value must be one of the names."""
    return Literal[tuple(names)]


def check(kind: Any, /, **settings: object) -> None:
    """Raises SettingError for settings that do not have the type `kind`.

    >>> check(Count, k=8, gallery=0)
    Traceback (most recent call last):
    core.errors.SettingError: gallery must be greater than or equal to 1, but is 0
    """
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(kind, config=CHECKED)
    for name, value in settings.items():
        try:
            adapter.validate_python(value)
        except ValidationError as error:
            raise _setting_fault(error, name) from None


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def checked_dataclass(cls: type[T]) -> type[T]:
    """Makes a frozen dataclass whose constructor raises SettingError for a value of a wrong type.

    Types are strict: 1.5, True and "1" are not integers. A `__post_init__` that compares fields raises ValueError.

    >>> @checked_dataclass
    ... class Training:
    ...     epochs: Count
    ...     seeds: Several[Seed] = (0,)
    >>> Training(3, seeds=[1, 2])
    Training(epochs=3, seeds=(1, 2))
    >>> Training(0, seeds=[1, "2"])
    Traceback (most recent call last):
    core.errors.SettingError: epochs must be greater than or equal to 1, but is 0
    seeds[1] must be a valid integer, but is '2'
    """
    from pydantic import ValidationError, dataclasses

    made: Any = dataclasses.dataclass(frozen=True, config=CHECKED)(cls)
    build = made.__init__
    parameters = signature(made)

    @wraps(build)
    def check_and_build(self: T, *args: Any, **kwargs: Any) -> None:
        given = parameters.bind(*args, **kwargs).arguments  # by name, for the message
        try:
            build(self, **given)
        except ValidationError as error:
            raise _setting_fault(error) from None

    made.__init__ = check_and_build
    return made


def _setting_fault(error: ValidationError, *name: str) -> SettingError:
    """The fault with all errors that pydantic found, one sentence per line."""
    sentences: list[str] = []
    for place, rule, value in broken_rules(error):
        path = [*name, *place]
        if not path:  # from __post_init__, which gives a whole sentence
            sentences.append(rule)
            continue
        within = "".join(f"[{key!r}]" for key in path[1:])
        sentences.append(f"{path[0]}{within} {rule}, but is {value!r}")
    return SettingError("\n".join(sentences))


def check_arguments(call: partial[Any]) -> None:
    """Raises SettingError for a plain value (no object) of which the function of a partial takes no such type."""
    types = get_type_hints(call.func, include_extras=True)
    for name, value in call.keywords.items():
        kind = types.get(name, Any)
        is_plain = isinstance(value, str | int | float | list)
        if is_plain or (value is None and NoneType not in get_args(kind)):
            check(kind, **{name: value})


def read_settings(path: Path, kind: Callable[..., object]) -> dict[str, Any]:
    """Reads the JSON file of settings that a trained model was saved with.

    Raises InputError with all faults of the content, also for a file that cannot be read.
    """
    with blame_file(path):
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise SettingError(f"must contain an object, but contains {format_value(content)}")
        kind(**content)
    return content
