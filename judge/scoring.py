"""Scores of texts by one metric or several, and how they are shown (`judge.score`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from core.faults import ExampleFaults, InputFaults, SettingFault, fault
from core.scores import Metric, Scores
from data.scored import join_name, join_records, score_records
from judge.inputs import Columns, References, Source, read
from judge.metrics import MetricFunction, load_metric
from judge.tables import Result, Table, shorten, to_frame
from meta_eval.scored_set import ScoredSet

AnyMetric = str | Metric | MetricFunction
FIRST, WIDTH = 5, 60  # number of examples to show, and of characters of each
BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, eq=False)
class ScoredTexts(Result):
    """Examples and their scores.

    Attributes:
        examples: in the order of the source.
        scores: by metric.
    """

    examples: tuple[Example, ...]
    scores: Mapping[str, Scores]

    @property
    def values(self) -> dict[str, NDArray[np.float64]]:
        """One array of shape (n,) per aspect, higher is better; NaN without a score.

        With several metrics the keys are `metric`, or `metric/aspect` where a metric has several aspects.
        """
        if len(self.scores) == 1:
            return dict(next(iter(self.scores.values())).values)
        return {
            join_name(metric, aspect, found.values): values
            for metric, found in self.scores.items()
            for aspect, values in found.values.items()
        }

    @property
    def reasons(self) -> list[str | None]:
        """Per example, why a score is missing."""
        return [record.get("reason") for record in self.records()]

    @property
    def signature(self) -> str:
        """One line: the metric, or all of them, with settings, models, data and versions."""
        return join_signatures({metric: found.signature for metric, found in self.scores.items()})

    def records(self) -> Iterator[Mapping[str, Any]]:
        """The lines that `+exp=score` writes, as mappings."""
        rows = {metric: score_records(self.examples, found) for metric, found in self.scores.items()}
        for row in zip(*rows.values(), strict=True):
            yield join_records(dict(zip(rows, row, strict=True)))

    def to_frame(self, title: str | None = None) -> Any:
        """The rows of `records` as a DataFrame, a column per score; with a title as `Result.to_frame`.

        The score `quality` is in the column `scores.quality` where the input has a column of its name.
        """
        if title is not None:
            return super().to_frame(title)
        rows = []
        for record in self.records():
            row = {name: cell for name, cell in record.items() if name != "scores"}
            named = {f"scores.{name}" if name in row else name: score for name, score in record["scores"].items()}
            rows.append({**row, **named, "reason": record.get("reason")})
        return to_frame(rows)

    @property
    def tables(self) -> list[Table]:
        """The first examples with their scores, and the distribution of all scores."""
        return score_tables(self.examples[:FIRST], self.values)

    @property
    def notes(self) -> tuple[str, ...]:
        """What metrics say about their scores, and how many examples have no score or lost tokens."""
        records = list(self.records())
        unscored = sum("reason" in record for record in records)
        truncated = sum(record["dropped_tokens"] > 0 for record in records)
        return collect_notes(self.scores) + tuple(describe_losses(len(records), unscored, truncated, "`reasons`"))


def score(
    source: Source,
    metric: AnyMetric | Sequence[AnyMetric],
    references: References | None = None,
    *,
    columns: Columns | None = None,
    **settings: Any,
) -> ScoredTexts:
    """Scores texts with a metric, or with several.

    Args:
        source: a file, texts, rows, Examples, a DataFrame, or {system: {input: text}} (`judge.read`).
        metric: a name, a function, a metric, or a list of these (`judge.load_metric`).
        references: of each text one or a list of them, or a mapping from the input.
        columns: by field the column that gives it.
        settings: of a single metric; build several with `load_metric` if they need settings.

    Raises SettingFault and InputFaults as `read` and `load_metric` do, and where no example has what the metric needs.

    >>> found = score(["the cat sat", "a dog"], "rouge_1", references=["the cat sat down", "a cow"])
    >>> {aspect: values.round(2).tolist() for aspect, values in found.values.items()}
    {'quality': [0.86, 0.5]}
    """
    examples = read(source, references=references, columns=columns)
    if not (metrics := load_several(metric, settings)):
        raise SettingFault("at least one metric is needed, found none")
    return ScoredTexts(examples.examples, {name: score_all(examples, each) for name, each in metrics.items()})


def load_several(metric: AnyMetric | Sequence[AnyMetric], settings: Mapping[str, Any]) -> dict[str, Metric]:
    """The metrics by name: that of a configuration or a function, or the first word of a signature.

    Raises SettingFault for settings of several metrics and for a name given twice.
    """
    several = [metric] if isinstance(metric, str) or not isinstance(metric, Sequence) else list(metric)
    if len(several) > 1 and settings:
        raise SettingFault(f"{', '.join(settings)}: of several metrics, pass load_metric(NAME, SETTING=VALUE)")
    found: dict[str, Metric] = {}
    for each in several:
        loaded = load_metric(each, **settings)
        name = each if isinstance(each, str) else getattr(each, "__name__", loaded.signature.partition("|")[0])
        if name in found:
            raise SettingFault(f"each metric needs a name of its own, but two are called {name}")
        found[name] = loaded
    return found


def score_all(examples: ScoredSet, metric: Metric) -> Scores:
    """The scores of all examples. Raises InputFaults, by file and line, for examples that the metric refuses."""
    try:
        return metric.score(examples.examples)
    except ExampleFaults as faults:
        raise InputFaults(fault(*examples.locate(i), what) for i, what in faults.at) from None


def add_scores(examples: ScoredSet, metrics: AnyMetric | Sequence[AnyMetric]) -> ScoredSet:
    """The set with its scores, then those of the metrics."""
    found = {name: score_all(examples, each) for name, each in load_several(metrics, {}).items()}
    return replace(examples, scores={**examples.scores, **found})


def join_signatures(signatures: Mapping[str, str]) -> str:
    """The signature of one metric as it is; those of several in one line, each behind its name."""
    if len(signatures) == 1:
        return next(iter(signatures.values()))
    return "|".join(f"{name}: {signature}" for name, signature in signatures.items())


def collect_notes(scores: Mapping[str, Scores]) -> tuple[str, ...]:
    """What metrics say about their scores, each sentence once."""
    return tuple(dict.fromkeys(note for found in scores.values() for note in found.notes))


def describe_losses(n: int, unscored: int, truncated: int, where: str) -> list[str]:
    """Sentences about examples without a score and with lost tokens; `where` says why."""
    return [
        *([f"{unscored} of {n} examples could not be scored; {where} says why"] if unscored else []),
        *([f"{truncated} of {n} examples lost tokens that the model could not read"] if truncated else []),
    ]


def score_tables(first: Sequence[Example], values: Mapping[str, NDArray[np.float64]]) -> list[Table]:
    """The table of the first examples with their scores, and the distribution of the known scores of each aspect."""
    rows = []
    for i, example in enumerate(first):
        text = " ".join(example.full_text.split())
        scores = {aspect: float(each[i]) for aspect, each in values.items()}
        rows.append({"id": example.id, "text": shorten(text, WIDTH), **scores})
    ends: dict[str, Callable[..., Any]] = {"min": np.min, "median": np.median, "mean": np.mean, "max": np.max}
    known = {aspect: each[~np.isnan(each)] for aspect, each in values.items()}
    summary = [
        {"aspect": aspect, "n": len(each)}
        | {name: float(take(each)) if each.size else math.nan for name, take in ends.items()}
        | {"histogram": draw_histogram(each), "counts": count_bins(each, 20).tolist() if each.size else []}
        for aspect, each in known.items()
    ]
    return [
        Table("First rows", "The first examples and their scores.", rows),
        Table("Distribution", "The histogram runs from min to max; a taller bar holds more scores.", summary),
    ]


def count_bins(values: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    """How many values lie in each of as many bins from the least to the largest value; equal values are in the middle.

    Values are counted as shares of their range, because bins of neighbouring floats have no width of their own.
    """
    low, high = values.min() / 2, values.max() / 2  # half, as the range of finite values may be infinite
    shares = (values / 2 - low) / (high - low) if high > low else np.full(len(values), 0.5)
    return np.histogram(shares, bins, (0.0, 1.0))[0]


def draw_histogram(values: NDArray[np.float64]) -> str:
    """Draws a histogram with ten bars as characters.

    >>> draw_histogram(np.array([0.0, 0.0, 0.0, 0.5, 1.0]))
    '█    ▃   ▃'
    """
    if not values.size:
        return ""
    counts = count_bins(values, 10)
    heights = np.ceil(counts / counts.max() * (len(BARS) - 1)).astype(int)
    return "".join(BARS[height] for height in heights)
