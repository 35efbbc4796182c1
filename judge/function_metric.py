"""A plain function as a metric."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from core.errors import SettingError, printable
from core.example import Example
from core.scores import Scores, require
from core.selection import score_complete
from core.signature import signature
from core.stages import fingerprint

MetricFunction = Callable[[Sequence[Example]], ArrayLike]


@dataclass(frozen=True)
class FunctionMetric:
    """Wraps a plain function as a metric.

    The signature has the function's name and a hash of its source: that of the module, or of the function itself if
    there is no file (in a notebook). Imported modules are not part of the hash. Raises SettingError for a function
    without source, and for a wrong result.
    """

    requires = require()
    # takes a list of Examples; returns a number for each, higher is better. NaN and infinity are missing
    function: MetricFunction

    def __post_init__(self) -> None:
        _ = self.signature

    @property
    def name(self) -> str:
        """The module and the name of the function, with a dot between them."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    @property
    def signature(self) -> str:
        """The name and the hash of the source."""
        module: Any = inspect.getmodule(self.function)
        try:
            source = inspect.getsource(module if getattr(module, "__file__", None) else self.function)
        except (OSError, TypeError):
            what = f"the source of {self.name} is part of its signature, but cannot be read: write it in a file"
            raise SettingError(what) from None
        return signature(self.name, source=fingerprint(source))

    def score(self, examples: Sequence[Example]) -> Scores:
        """Scores by the function; empty answers get no score, and the function is not called for them."""
        return score_complete(examples, (), self.name, self._call)

    def _call(self, examples: Sequence[Example]) -> Scores:
        found = self.function(list(examples))
        rule = f"{self.name} must return one number per example"
        try:
            values = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            raise SettingError(f"{rule}, but returned {printable(repr(found))[:60]}") from None
        if values.shape != (len(examples),):
            raise SettingError(f"{rule}, an array of shape ({len(examples)},), but returned the shape {values.shape}")
        reasons = [None if np.isfinite(value) else f"{self.name} returned {value}" for value in values]
        return Scores({"score": np.where(np.isfinite(values), values, np.nan)}, self.signature, reasons)
