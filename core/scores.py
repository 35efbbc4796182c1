"""Scores and Metric: what every metric returns, and the contract of a metric."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from core.example import Example

Field = Literal["turns", "references", "context", "prefix", "label"]


def require(*names: Field) -> tuple[Field, ...]:
    """Returns the names for `Metric.requires`, after checking that each is a field of Example."""
    return names


NO_TOKENS = "the text has no tokens to score"
INVISIBLE = "the text has only invisible characters"
LOST = "; the answer is lost, and the next run asks again"  # the end of a reason that may pass


class _FieldsBySettings(property):
    def __init__(self, find: Callable[..., tuple[Field, ...]]) -> None:
        super().__init__(lambda metric: self.of(vars(metric)))
        self.find = find
        self.names = tuple(inspect.signature(find).parameters)

    def of(self, settings: Mapping[str, Any]) -> tuple[Field, ...]:
        given = {name: settings[name] for name in self.names if name in settings}
        return self.find(**given)


def fields_by_settings(find: Callable[..., tuple[Field, ...]]) -> Any:
    """Makes `Metric.requires` depend on the metric's settings: `find` receives them by name, with their defaults."""
    return _FieldsBySettings(find)


def required_fields(kind: Any, settings: Mapping[str, Any]) -> tuple[Field, ...]:
    """Returns the fields that a metric of the class `kind` requires with these settings; loads no model."""
    if isinstance(kind.requires, _FieldsBySettings):
        return kind.requires.of(settings)
    return kind.requires


@dataclass(frozen=True, eq=False)
class Repeated(Sequence[Any]):
    """A sequence that repeats one value and stores it once, such as the reason None of a million rows with scores."""

    value: Any
    times: int

    def __len__(self) -> int:
        return self.times

    def __iter__(self) -> Iterator[Any]:
        return repeat(self.value, self.times)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            chosen = range(self.times)[place]
            return Repeated(self.value, len(chosen))
        if -self.times <= place < self.times:
            return self.value
        raise IndexError(place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)


def compress(usual: Any, given: Sequence[Any], n: int) -> Sequence[Any]:
    """Returns the values as a tuple, or as a `Repeated` if no values are given or all are the usual value."""
    is_usual = all(value == usual for value in given)
    if is_usual:
        return Repeated(usual, len(given) or n)
    return tuple(given)


def join_sequences(parts: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Joins the parts; returns an empty tuple if all have only the usual value, which `Scores` then fills in."""
    if all(isinstance(part, Repeated) for part in parts):
        return ()
    return tuple(chain.from_iterable(parts))


@dataclass(frozen=True)
class Scores:
    """The scores of a list of examples, in the order of the examples.

    Raises ValueError if lengths differ, a NaN has no reason or a score is infinite.
    """

    # one float array of shape (n,) per aspect, higher is better; NaN if an example cannot be scored
    values: Mapping[str, NDArray[np.float64]]
    # one line that names the metric, its settings, models, data and versions
    signature: str
    # per example, the reason of a NaN (with the aspect if there are several), else None
    reasons: Sequence[str | None] = ()
    # per example, the number of tokens that were cut because they did not fit into the model
    dropped_tokens: Sequence[int] = ()
    # empty, or per example a mapping for JSON (scores per pattern, token or reference)
    explanations: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    # sentences about all scores that a reader must know, such as a model other than the usual one
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        columns = self.values.values()
        lengths = {len(column) for column in columns}
        if len(lengths) != 1:
            raise ValueError(f"all aspects must have one length, but got {sorted(lengths)}")
        n = lengths.pop()
        values = {aspect: np.asarray(column, dtype=np.float64) for aspect, column in self.values.items()}
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "reasons", compress(None, self.reasons, n))
        object.__setattr__(self, "dropped_tokens", compress(0, [int(count) for count in self.dropped_tokens], n))
        object.__setattr__(self, "explanations", tuple(self.explanations))
        for name in ("reasons", "dropped_tokens", "explanations"):
            count = len(getattr(self, name))
            may_be_empty = name == "explanations"
            if count != n and (count or not may_be_empty):
                raise ValueError(f"{name} must have one entry per example ({n}), but has {count}")
        for aspect, array in self.values.items():
            self._check_aspect(aspect, array)

    def _check_aspect(self, aspect: str, array: NDArray[np.float64]) -> None:
        """Raises ValueError for a wrong shape, an infinite score and a NaN without a reason."""
        if array.ndim != 1:
            raise ValueError(f"an aspect needs one score per example, but {aspect} has the shape {array.shape}")
        for number in np.flatnonzero(~np.isfinite(array)).tolist():
            place = f"{aspect} of example {number}"
            if np.isinf(array[number]):
                raise ValueError(f"a score must be finite, or NaN with a reason, but {place} is not")
            if self.reasons[number] is None:
                raise ValueError(f"a NaN needs a reason, but {place} has none")

    def __len__(self) -> int:
        return len(self.reasons)

    def take(self, at: Sequence[int] | NDArray[np.integer]) -> "Scores":
        """Returns the scores of the examples at the indices `at`."""
        places = [*map(int, at)]
        explanations = [self.explanations[place] for place in places] if self.explanations else ()
        return replace(
            self,
            values={aspect: values[places] for aspect, values in self.values.items()},
            reasons=[self.reasons[place] for place in places],
            dropped_tokens=[self.dropped_tokens[place] for place in places],
            explanations=explanations,
        )

    @classmethod
    def join(cls, parts: Sequence["Scores"], signature: str) -> "Scores":
        """Joins the scores of one metric for consecutive parts; a part without explanations gets empty ones."""
        values: dict[str, NDArray[np.float64]] = {}
        for aspect in parts[0].values:
            values[aspect] = np.concatenate([part.values[aspect] for part in parts])
        explanations: list[Mapping[str, Any]] = []
        if any(part.explanations for part in parts):
            for part in parts:
                explanations += part.explanations or repeat({}, len(part))
        notes = chain.from_iterable(part.notes for part in parts)
        return cls(
            values,
            signature,
            reasons=join_sequences([part.reasons for part in parts]),
            dropped_tokens=join_sequences([part.dropped_tokens for part in parts]),
            explanations=explanations if any(explanations) else (),
            notes=tuple(dict.fromkeys(notes)),
        )

    @property
    def unscored(self) -> int:
        """The number of examples with a NaN in some aspect."""
        columns = np.stack(list(self.values.values()))
        return int(np.isnan(columns).any(axis=0).sum())

    @property
    def truncated(self) -> int:
        """The number of examples that lost tokens."""
        return sum(dropped > 0 for dropped in self.dropped_tokens)


@runtime_checkable
class CorpusMetric(Protocol):
    """A metric whose scores depend on a corpus, for example through inverse document frequencies.

    Without a corpus it uses the examples of each call. When a file is scored in parts, the whole file is the corpus.
    """

    def with_corpus(self, examples: Iterable[Example]) -> "Metric":
        """Returns the metric with these examples as corpus; unchanged if it already has a corpus."""
        ...


@runtime_checkable
class Metric(Protocol):
    """Anything that scores examples."""

    @property
    def requires(self) -> tuple[Field, ...]:
        """The fields that the metric reads besides the text; an example without one of these fields gets NaN."""
        ...

    @property
    def signature(self) -> str:
        """One line with the metric, its settings, models, data and versions.

        Without a fixed corpus, only the signature of the returned Scores names the corpus used.
        """
        ...

    def score(self, examples: Sequence[Example]) -> Scores:
        """Scores the examples; the order, the batch size and the number of processes do not change a score.

        Raises ExampleError if no example has the required fields.
        """
        ...
