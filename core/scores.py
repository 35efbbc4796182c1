"""Scores and Metric: what every metric returns, and what makes a metric."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from core.example import Example

Field = Literal["turns", "references", "context", "prefix", "label"]


def fields(*names: Field) -> tuple[Field, ...]:
    """Names of fields of an Example, for `Metric.requires`."""
    return names


@dataclass(frozen=True)
class Scores:
    """The scores of a list of examples, in the order of the examples.

    Attributes:
        values: one float array of shape (n,) per aspect, higher is better; NaN where an example cannot be scored.
        signature: one line that names the metric, its settings, models, data and versions.
        reasons: per example, why it has a NaN (naming the aspect where several are scored), else None.
        dropped_tokens: per example, how many tokens were cut because the model could not read them.
        explanations: empty, or per example a JSON-able mapping (scores per pattern, token or reference).

    Raises ValueError when lengths differ, a NaN has no reason or a score is infinite.
    """

    values: Mapping[str, NDArray[np.float64]]
    signature: str
    reasons: Sequence[str | None] = ()
    dropped_tokens: Sequence[int] = ()
    explanations: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        lengths = {len(v) for v in self.values.values()}
        if len(lengths) != 1:
            raise ValueError(f"all aspects must have one length, but got {sorted(lengths)}")
        n = lengths.pop()
        object.__setattr__(self, "values", {a: np.asarray(v, dtype=np.float64) for a, v in self.values.items()})
        object.__setattr__(self, "reasons", tuple(self.reasons) or (None,) * n)
        object.__setattr__(self, "dropped_tokens", tuple(int(d) for d in self.dropped_tokens) or (0,) * n)
        object.__setattr__(self, "explanations", tuple(self.explanations))
        for name, got in (("reasons", self.reasons), ("dropped_tokens", self.dropped_tokens)):
            if len(got) != n:
                raise ValueError(f"{name} must have one entry per example ({n}), but has {len(got)}")
        if self.explanations and len(self.explanations) != n:
            raise ValueError(f"explanations must have one entry per example ({n}), but has {len(self.explanations)}")
        for aspect, array in self.values.items():
            if array.ndim != 1:
                raise ValueError(f"an aspect needs one score per example, but {aspect} has the shape {array.shape}")
            if np.isinf(array).any():
                where = int(np.flatnonzero(np.isinf(array))[0])
                raise ValueError(
                    f"a score must be finite, or NaN with a reason, but {aspect} of example {where} is not"
                )
            unexplained = [int(i) for i in np.flatnonzero(np.isnan(array)) if self.reasons[int(i)] is None]
            if unexplained:
                raise ValueError(f"a NaN needs a reason, but {aspect} of example {unexplained[0]} has none")

    def __len__(self) -> int:
        return len(self.reasons)

    @property
    def unscored(self) -> int:
        """How many examples have a NaN in some aspect."""
        return int(np.isnan(np.stack(list(self.values.values()))).any(axis=0).sum())

    @property
    def truncated(self) -> int:
        """How many examples lost tokens."""
        return sum(d > 0 for d in self.dropped_tokens)


@runtime_checkable
class CorpusMetric(Protocol):
    """A metric whose scores depend on a corpus, such as an inverse document frequency.

    Without a corpus of its own it takes the examples of each call. A file that is scored in parts is its corpus.
    """

    def with_corpus(self, examples: Iterable[Example]) -> "Metric":
        """The metric with the corpus of these examples, unless it has one of its own."""
        ...


class Metric(Protocol):
    """Anything that scores examples.

    `requires` holds the fields that the metric reads beside the text. An example without one of them is NaN with a
    reason. Where settings decide, `requires` is a property that reads these settings alone, so that a file can be
    checked before models are loaded.
    """

    @property
    def requires(self) -> tuple[Field, ...]: ...

    def score(self, examples: Sequence[Example]) -> Scores:
        """Scores in the order of the examples, the same for any order, batch size and number of processes.

        Raises ExampleFaults where no example has the required fields.
        """
        ...
