"""A plain function as a metric."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError, SettingError, printable
from core.example import Example
from core.scores import Scores, require
from core.selection import score_complete
from core.signature import signature
from core.stages import fingerprint

MetricFunction = Callable[..., "ArrayLike | Mapping[str, ArrayLike]"]


@dataclass(frozen=True)
class FunctionMetric:
    """Wraps a plain function as a metric.

    The signature has the function's name, a hash of its source, and its settings. The hash is that of the module, or of
    the function itself if there is no file (in a notebook). Imported modules are not part of the hash. Raises
    SettingError for a function without source, for settings that the function does not take, and for a wrong result.
    """

    requires = require()
    # takes a list of Examples and the settings; returns an array of shape (n,), higher is better, or a mapping from
    # aspect to such arrays. NaN and infinity stand for examples without a score
    function: MetricFunction
    # keyword arguments
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _ = self.signature
        try:
            inspect.signature(self.function).bind([], **self.settings)
        except TypeError as error:
            raise SettingError(f"{self.name} is called as f(examples, **settings), but {error}") from None

    @property
    def name(self) -> str:
        """The module and the name of the function, with a dot between them."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    @property
    def signature(self) -> str:
        """The name, the hash of the source and the settings."""
        module = inspect.getmodule(self.function)
        try:
            source = inspect.getsource(module if getattr(module, "__file__", None) and module else self.function)
        except (OSError, TypeError):
            what = f"the source of {self.name} is part of its signature, but cannot be read: write it in a file"
            raise SettingError(what) from None
        shown: dict[str, Any] = {f"settings.{key}": _as_setting(value) for key, value in self.settings.items()}
        try:
            return signature(self.name, source=fingerprint(source), **shown)
        except ValueError as error:
            raise SettingError(str(error)) from None

    def score(self, examples: Sequence[Example]) -> Scores:
        """Scores by the function; NaN and infinity become NaN with a reason.

        Raises RuntimeError if the function fails. Empty answers get no score, and the function is not called for them.
        """
        return score_complete(examples, (), self.name, self._call)

    def _call(self, examples: Sequence[Example]) -> Scores:
        try:
            found = self.function(list(examples), **self.settings)
        except (InputError, SettingError):
            raise
        except Exception as error:
            raise RuntimeError(f"{self.name} failed: {type(error).__name__}: {error}") from error
        aspects = found if isinstance(found, Mapping) else {"score": found}
        if not aspects:
            raise SettingError(f"{self.name} must return scores, but returned an empty mapping")
        values = {str(aspect): self._check(column, len(examples)) for aspect, column in aspects.items()}
        reasons: list[str | None] = [None] * len(examples)
        for aspect, column in values.items():
            for i in np.flatnonzero(~np.isfinite(column)):
                said = f"{self.name} returned {column[i]}" + (f" for {aspect}" if len(values) > 1 else "")
                reasons[i] = said if reasons[i] is None else f"{reasons[i]}; {said}"
        known = {aspect: np.where(np.isfinite(column), column, np.nan) for aspect, column in values.items()}
        return Scores(known, self.signature, reasons)

    def _check(self, column: ArrayLike, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        try:
            values = np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            raise SettingError(
                f"{self.name} must return numbers, but returned {printable(repr(column))[:60]}"
            ) from None
        if values.shape != (n,):
            rule = f"{self.name} must return one number per example, an array of shape ({n},)"
            raise SettingError(f"{rule}, but returned the shape {values.shape}")
        return values


def _as_setting(value: Any) -> str | int | float | bool | None:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
