"""Scores of texts by one metric or several, and how they are shown (`judge.score`)."""

from __future__ import annotations

import gc
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError, SettingError, fault
from core.example import Example
from core.scores import Metric, Scores
from core.stages import Stages, check_writable
from data.files import InputFile
from data.rating_words import GivenLevels
from data.scored import ScoredFile, join_name, list_rows, score_records
from data.text_files import open_atomically
from judge.agreement_tables import among_table
from judge.engines import Engine, LocalEngine, score_all
from judge.inputs import Columns, References, Source, read
from judge.metrics import MetricFunction, load_metric
from judge.streaming import Progress, ScorableFile, check_output, check_scorable, keep_scores, write_scores
from judge.tables import Result, Row, Table, shorten
from meta_eval.grouping import lay_out
from meta_eval.scored_set import ScoredSet

AnyMetric = str | Metric | MetricFunction
Metrics = AnyMetric | Sequence[AnyMetric] | Mapping[str, AnyMetric]
T = TypeVar("T")
QUANTILES = {"min": 0.0, "lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75, "max": 1.0}
FIRST, WIDTH = 5, 60  # number of examples to show, and of characters of each


@dataclass(frozen=True, eq=False)
class ScoredTexts(Result):
    """Examples and their scores."""

    examples: tuple[Example, ...]  # in the order of the source; of a file that was written, the first ones
    scores: Mapping[str, Scores]  # of all examples, by metric; explanations may be those of the first ones alone
    where: str = "`reasons`"  # what says why a score is missing

    def __len__(self) -> int:
        return len(next(iter(self.scores.values())))

    @property
    def values(self) -> Mapping[str, NDArray[np.float64]]:
        """One array of shape (n,) per aspect, higher is better; NaN without a score.

        With several metrics the keys are `metric`, or `metric/aspect` where a metric has several aspects.
        """
        if len(self.scores) == 1:
            return next(iter(self.scores.values())).values
        return {
            join_name(metric, aspect, found.values): values
            for metric, found in self.scores.items()
            for aspect, values in found.values.items()
        }

    @property
    def unscored(self) -> int:
        """The number of texts that lack a score; ratings of single judges are not counted."""
        single = single_ratings(self.values)
        return int(np.isnan([each for name, each in self.values.items() if name not in single]).any(axis=0).sum())

    @property
    def truncated(self) -> int:
        """The number of texts that lost tokens."""
        return int(np.any([found.dropped_tokens for found in self.scores.values()], axis=0).sum())

    @property
    def first(self) -> Mapping[str, Scores]:
        """The scores of `examples`, by metric."""
        return {name: found.take(range(len(self.examples))) for name, found in self.scores.items()}

    @property
    def reasons(self) -> list[str | None]:
        """Per example, why a score is missing."""
        return [record.get("reason") for record in self.records()]

    @property
    def signature(self) -> str:
        """One line: the metric, or all of them, with settings, models, data and versions."""
        return join_signatures({metric: found.signature for metric, found in self.scores.items()})

    def records(self) -> Iterator[Mapping[str, Any]]:
        """The lines that `judge score` writes, as mappings."""
        return score_records(self.examples, {name: list_rows(found) for name, found in self.first.items()})

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
        return Table("", "", rows).to_frame()

    @property
    def tables(self) -> list[Table]:
        """The first examples with their scores, the distribution of all scores, and how far a panel's judges agree."""
        values, rows, summary = self.values, list[Row](), list[Row]()
        for i, example in enumerate(self.examples[:FIRST]):
            scores = {aspect: float(each[i]) for aspect, each in values.items()}
            rows.append({"id": example.id, "text": shorten(" ".join(example.full_text.split()), WIDTH), **scores})
        for aspect, each in values.items():
            known = each[~np.isnan(each)]
            figures = known if known.size else np.array([math.nan])
            quantiles = {name: float(np.quantile(figures, share)) for name, share in QUANTILES.items()}
            summary.append({"aspect": aspect, "n": known.size, "mean": float(figures.mean()), **quantiles})
        return [
            Table("First rows", "The first examples and their scores.", rows),
            Table("Distribution", "Of the known scores of each aspect.", summary),
            *panel_tables(self.examples, values),
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What metrics say about their scores, and how many examples have no score or lost tokens."""
        n, unscored, truncated = len(self), self.unscored, self.truncated
        single = [self.values[name] for name in single_ratings(self.values)]
        unread = int(np.isnan(single).sum())
        found = (
            (unread, f"of {n * len(single)} ratings of single judges are missing; a mean is of the others"),
            (unscored, f"of {n} examples lack a score; {self.where} says why"),
            (truncated, f"of {n} examples lost tokens that the model could not read"),
        )
        return (*collect_notes(self.scores), *(f"{number} {what}" for number, what in found if number))


def score(
    source: Source,
    metric: Metrics,
    references: References | None = None,
    *,
    columns: Columns | None = None,
    levels: GivenLevels | None = None,
    output: Path | str | None = None,
    stages: Path | str | None = None,
    chunk: int = 500,
    **settings: Any,
) -> ScoredTexts:
    """Scores texts with a metric, or with several.

    Args:
        source: what `judge.read` takes with `references`, `columns` and `levels`.
        metric: what `judge.load_metric` takes with `settings`; or several, in a list or by name, without settings.
        output: for a file of any length, the file to write, as `judge score` does; the result has the first examples.
        stages: a folder for finished chunks of `chunk` examples: after a kill, the same call continues after them.

    Raises SettingError and InputError as `read` and `load_metric` do, and where no example has what the metric needs.

    >>> found = score(["the cat sat", "a dog"], "rouge_1", references=["the cat sat down", "a cow"])
    >>> {aspect: values.round(2).tolist() for aspect, values in found.values.items()}
    {'quality': [0.86, 0.5]}
    """
    if stages is not None:
        check_writable("stages", Path(stages))
    if not (metrics := load_several(metric, settings)):
        raise SettingError("at least one metric is needed, found none")
    if output is not None:
        if not isinstance(source, Path | str) or references is not None:
            raise SettingError("output needs a file of texts with their references")
        given = InputFile.of(source, columns=columns, levels=levels)
        path, engine = check_output(str(output), given), LocalEngine(metrics)
        file = check_scorable(given, metrics, chunk)
        with TemporaryDirectory() as folder:
            kept = Stages(Path(folder if stages is None else stages))
            found = score_file(file, engine, engine.prepare(file), path, kept, lambda *_: nullcontext(lambda _: None))
        write_meta(found, path)
        return found
    examples = read(source, references=references, columns=columns, refuse_scores=True, levels=levels)
    scores = {name: score_all(examples, each) for name, each in metrics.items()}
    return ScoredTexts(examples.examples, scores)


def score_file(
    file: ScorableFile, engine: Engine, signatures: Mapping[str, str], output: Path, stages: Stages, progress: Progress
) -> ScoredTexts:
    """Scores a file as `keep_scores` and writes `output`. Raises InputError, by file and line."""
    gc.freeze()  # a long file makes many objects; what was there before need not be searched for garbage each time
    try:
        parts = write_scores(file, keep_scores(file, engine, signatures, stages, progress), output)
    finally:
        gc.unfreeze()
    scores = {name: Scores.join(parts[name], line) for name, line in signatures.items()}
    return ScoredTexts(file.first, scores, str(output))


def write_meta(found: ScoredTexts, output: Path) -> None:
    """Writes the signatures of a file of scores beside it."""
    signatures = {name: each.signature for name, each in found.scores.items()}
    meta = {"signature": found.signature, "signatures": signatures, "aspects": list(found.values), "n": len(found)}
    meta |= {"unscored": found.unscored, "truncated": found.truncated, "notes": list(collect_notes(found.scores))}
    with open_atomically(output.with_name(f"{output.name}.meta.json")) as file:
        json.dump(meta, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def load_several(metric: Metrics, settings: Mapping[str, Any]) -> dict[str, Metric]:
    """The metrics by name: the given one, that of a configuration or a function, or the first word of a signature.

    Raises SettingError for settings of several metrics and for a name given twice.
    """
    several = [metric] if isinstance(metric, str) or not isinstance(metric, Sequence | Mapping) else list(metric)
    if len(several) > 1 and settings:
        raise SettingError(f"{', '.join(settings)}: of several metrics, pass load_metric(NAME, SETTING=VALUE)")
    if isinstance(metric, Mapping):
        return {name: load_metric(each, **settings) for name, each in metric.items()}
    found: dict[str, Metric] = {}
    for each in several:
        loaded = load_metric(each, **settings)
        name = each if isinstance(each, str) else getattr(each, "__name__", loaded.signature.partition("|")[0])
        if name in found:
            raise SettingError(f"each metric needs a name of its own, but two are called {name}")
        found[name] = loaded
    return found


def add_scores(examples: ScoredSet, metrics: Metrics) -> ScoredSet:
    """The set with its scores, then those of the metrics."""
    found = {name: score_all(examples, each) for name, each in load_several(metrics, {}).items()}
    return replace(examples, scores={**examples.scores, **found})


def name_metrics(metrics: Mapping[str, T], metric: T | None, name: str | None) -> dict[str, T]:
    """The metrics to run, or their configurations, by name: `metric=NAME` and `metrics=[...]`.

    Raises SettingError for a name given twice.
    """
    single = {} if metric is None else {name or "metric": metric}
    if twice := [name for name in single if name in metrics]:
        raise SettingError(f"metrics must name each metric once, but metric={twice[0]} is in metrics too")
    return {**single, **metrics}


def check_scored(
    file: ScoredFile,
    check: Callable[[ScoredFile], None],
    metric: str | None,
    metrics: Iterable[str],
    or_ratings: bool = False,
) -> ScoredFile:
    """Checks the file, and the names of the metrics to run, `metric` and `metrics`, before one is loaded.

    Raises SettingError for a corpus, and InputError as `check` does, for a file without scores (nor ratings, with
    `or_ratings`) if no metric runs, and for a metric that is in the file already.
    """
    if not isinstance(file, ScoredFile):
        raise SettingError("data must be a file of texts: data.path=FILE; sets of other forms are for the experiments")
    check(file)
    names = [*([] if metric is None else [metric]), *metrics]
    if not (file.scores or names or (or_ratings and file.aspects)):
        rule = 'scores are needed: "scores" in the lines, +scores.NAME=FILE or metrics=NAME'
        raise InputError([fault(file.source.path, 0, f"{rule}, found none")])
    for name in names:
        if any(given == name or given.startswith(f"{name}/") for given in file.scores):
            rule = f"a metric must have one score, but {name} is also in the file"
            raise InputError([fault(file.source.path, 0, rule)])
    return file


def join_signatures(signatures: Mapping[str, str]) -> str:
    """The signature of one metric as it is; those of several in one line, each behind its name."""
    if len(signatures) == 1:
        return next(iter(signatures.values()))
    return "|".join(f"{name}: {signature}" for name, signature in signatures.items())


def collect_notes(scores: Mapping[str, Scores]) -> tuple[str, ...]:
    """What metrics say about their scores, each sentence once."""
    return tuple(dict.fromkeys(note for found in scores.values() for note in found.notes))


def note_empty(scored: ScoredSet) -> list[str]:
    """How many answers are empty, and of which systems, in a sentence."""
    empty = [example for example in scored.examples if example.is_empty]
    if not empty:
        return []
    counts = Counter(example.system for example in empty if example.system is not None)
    of = ", ".join(f"{number} of {name}" for name, number in counts.items())
    are = "is" if len(empty) == 1 else "are"
    return [f"{len(empty)} of {len(scored)} answers {are} empty{f' ({of})' if of else ''}"]


def single_ratings(values: Mapping[str, Any]) -> dict[str, str]:
    """The names of the ratings of single judges, `ASPECT by JUDGE`, with the aspect that is their mean."""
    aspects = {name: name.partition(" by ")[0] for name in values}
    return {name: aspect for name, aspect in aspects.items() if aspect != name and aspect in values}


def panel_tables(examples: Sequence[Example], values: Mapping[str, NDArray[np.float64]]) -> list[Table]:
    """How far the judges of a panel agree about these first examples."""
    panels: dict[str, list[NDArray[np.float64]]] = {}
    for name, aspect in single_ratings(values).items():
        panels.setdefault(aspect, []).append(values[name][: len(examples)])
    several = {aspect: np.stack(each) for aspect, each in panels.items() if len(each) > 1}
    layout = lay_out(len(examples), inputs=[each.group or str(i) for i, each in enumerate(examples)])
    return [among_table(f"Agreement among judges, {len(examples)} texts", several, layout)] if several else []
