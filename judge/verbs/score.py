"""Scores texts by one metric or several, and shows the scores (`judge score`)."""

from __future__ import annotations

import gc
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError, SettingError, fault
from core.example import Example
from core.progress import step
from core.scores import Field, Scores
from core.selection import describe_missing_fields, hint_field
from core.stages import Stages, check_place, check_writable
from data.input_file import InputFile
from data.rating_words import GivenLevels
from data.scored import join_name, list_rows, score_records
from data.scoring import score_set
from data.text_files import STANDARD, open_atomically
from judge.engines import Engine, Ray, load_all, make_engine
from judge.inputs import Columns, References, Source, read
from judge.metrics import MetricPlan, Metrics, Planned, plan_metrics
from judge.streaming import ScorableFile, check_output, check_scorable, keep_scores, write_scores
from meta_eval.scored_set import ScoredSet
from report.study import Study
from report.tables import Row, Table
from report.terminal import print_file
from report.wording import format_number

QUANTILES = {"min": 0.0, "lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75, "max": 1.0}
FIRST = 5  # examples to show


@dataclass(frozen=True, eq=False)
class ScoredTexts:
    """Examples and their scores."""

    # in the order of the source; of a file that was written, the first ones
    examples: tuple[Example, ...]
    # of all examples, by metric; explanations may be those of the first ones alone
    scores: Mapping[str, Scores]

    def __len__(self) -> int:
        return len(next(iter(self.scores.values())))

    @property
    def values(self) -> Mapping[str, NDArray[np.float64]]:
        """One array of shape (n,) per aspect, higher is better; NaN without a score.

        With several metrics the keys are `metric`, or `metric/aspect` if a metric has several aspects.
        """
        if len(self.scores) == 1:
            return next(iter(self.scores.values())).values
        by_name: dict[str, NDArray[np.float64]] = {}
        for metric, scores in self.scores.items():
            for aspect, values in scores.values.items():
                by_name[join_name(metric, aspect, scores.values)] = values
        return by_name

    @property
    def unscored(self) -> int:
        """The number of texts without a score. Missing ratings by single judges of a panel do not count."""
        single = single_ratings(self.values)
        means = [values for name, values in self.values.items() if name not in single]
        return int(np.isnan(means).any(axis=0).sum())

    @property
    def truncated(self) -> int:
        """The number of texts that lost tokens."""
        dropped = np.array([scores.dropped_tokens for scores in self.scores.values()])
        return int((dropped > 0).any(axis=0).sum())

    @property
    def reasons(self) -> list[str | None]:
        """The reason why each example has no score; None for an example with a score."""
        return [record.get("reason") for record in self.records()]

    @property
    def signature(self) -> str:
        """One line: the metric, or all of them, with settings, models, data and versions."""
        return join_signatures({metric: scores.signature for metric, scores in self.scores.items()})

    @property
    def first(self) -> Mapping[str, Scores]:
        """The scores of `examples`, by metric."""
        return {name: scores.take(range(len(self.examples))) for name, scores in self.scores.items()}

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yields the lines that `judge score` writes, as mappings."""
        rows = {name: list_rows(scores) for name, scores in self.first.items()}
        return score_records(self.examples, rows)

    def present(self, name: str, said: Sequence[str] = (), written: Sequence[Path] = ()) -> Study:
        """Makes the study of a set of this name: its scores, their distribution and how a panel's judges agree."""
        n = len(self)
        values = self.values
        quantiles = list_quantiles(values)
        where = ", ".join(map(str, written)) or "`found.reasons`"
        single = [values[name] for name in single_ratings(values)]
        counts = (
            (
                int(np.isnan(single).sum()),
                f"of {n * len(single)} ratings of single judges are missing; a mean is over the other judges",
            ),
            (self.unscored, f"of {n} examples lack a score; {where} says why"),
            (self.truncated, f"of {n} examples lost tokens that the model could not read"),
        )
        losses = [f"{number} {what}" for number, what in counts if number]
        means = [f"{row['aspect']} {format_number(row['mean'])}" for row in quantiles]
        first = Table(
            "First rows",
            "The first examples and their scores.",
            [*self.list_rows()],
            ("id", "text", *values),
            head=FIRST,
        )
        return Study(
            f"The mean of {n - self.unscored} scored texts: {', '.join(means)}.",
            [
                first,
                Table("Distribution", "Of the known scores of each aspect.", quantiles),
                *panel_tables(self.examples, values),
            ],
            [*said, *collect_notes(self.scores), *losses],
            self.signature,
            found=self,
            figures={"examples": n, "unscored": self.unscored, "truncated": self.truncated}
            | {f"mean {row['aspect']}": row["mean"] for row in quantiles},
            shown=[ScoredSet(name, self.examples, self.first)],
            files=written,
        )

    def list_rows(self) -> Iterator[Row]:
        """Yields a row per example, with a column per score: `quality`, or `scores.quality` if the input has that."""
        for record in self.records():
            row = {name: cell for name, cell in record.items() if name not in ("scores", "reason")}
            scores = {f"scores.{name}" if name in row else name: score for name, score in record["scores"].items()}
            yield {**row, **scores, "reason": record.get("reason") or ""}


def list_quantiles(values: Mapping[str, NDArray[np.float64]]) -> list[Row]:
    """Lists number, mean and quantiles of the known scores, a row for each aspect."""
    rows: list[Row] = []
    for aspect, of_aspect in values.items():
        known = of_aspect[~np.isnan(of_aspect)]
        figures = known if known.size else np.array([math.nan])
        quantiles = np.quantile(figures, [*QUANTILES.values()]).tolist()
        row: Row = {"aspect": aspect, "n": known.size, "mean": float(figures.mean())}
        rows.append(row | dict(zip(QUANTILES, quantiles, strict=True)))
    return rows


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
    ray: Ray | None = None,
    **settings: Any,
) -> Study:
    """The work of `judge.score`, which says what it takes and raises."""
    kept = open_stages(stages)
    metrics = plan_metrics(metric, settings, stages=kept and kept.root)
    if not metrics:
        raise SettingError("at least one metric is needed, found none")
    if output is None:
        if ray is not None:
            raise SettingError("ray scores a file: give the output too")
        texts = read(source, references=references, columns=columns, refuse_scores=True, levels=levels)
        scored = add_scores(texts, metrics, kept)
        return ScoredTexts(scored.examples, scored.scores).present(scored.name, scored.notes)
    if not isinstance(source, Path | str | InputFile) or references is not None:
        raise SettingError("output needs a file of texts with their references")
    given = InputFile.of(source, columns=columns, levels=levels)
    path = check_output(str(output), given, standard=True)
    file = check_scorable(given, metrics, chunk)
    with TemporaryDirectory() as folder:
        is_printed = path == STANDARD
        rows = Path(folder) / "scores.jsonl" if is_printed else path
        with redirect_stdout(sys.stderr) if is_printed else nullcontext():  # libraries print
            engine = make_engine(metrics, ray)
            found = score_file(file, engine, rows, kept or Stages(Path(folder)))
        if is_printed:
            print_file(rows)
    if not is_printed:
        write_meta(found, path)
    return found.present(file.source.path.name, file.source.notes, () if is_printed else (path,))


def open_stages(folder: Path | str | None) -> Stages | None:
    """Opens the stages in a folder; None without a folder. Raises SettingError if it is not writable."""
    if folder is None:
        return None
    check_place("stages", Path(folder))
    check_writable("stages", Path(folder))
    return Stages(Path(folder))


def score_file(file: ScorableFile, engine: Engine, output: Path, stages: Stages) -> ScoredTexts:
    """Scores a file as `keep_scores` does and writes `output`. Raises InputError, by file and line."""
    with step("loading"):
        signatures = engine.prepare(file)
    gc.freeze()  # a long file makes many objects; what was there before need not be searched for garbage each time
    try:
        parts = write_scores(file, keep_scores(file, engine, signatures, stages), output)
    finally:
        gc.unfreeze()
    return ScoredTexts(
        file.first,
        {name: Scores.join(parts.pop(name), line) for name, line in signatures.items()},
    )


def write_meta(found: ScoredTexts, output: Path) -> None:
    """Writes the signatures of a file of scores into a file beside it."""
    meta = {
        "signature": found.signature,
        "signatures": {name: scores.signature for name, scores in found.scores.items()},
        "aspects": list(found.values),
        "n": len(found),
        "unscored": found.unscored,
        "truncated": found.truncated,
        "notes": list(collect_notes(found.scores)),
    }
    with open_atomically(output.with_name(f"{output.name}.meta.json")) as file:
        json.dump(meta, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def add_scores(scored: ScoredSet, metrics: Mapping[str, Planned], stages: Stages | None = None) -> ScoredSet:
    """Adds the scores of metrics to a set (`score_set`).

    Raises InputError for a metric whose scores the set already has, and, before models are loaded, if no example has
    the required fields.
    """
    for name, metric in metrics.items():
        is_scored = any(given == name or given.startswith(f"{name}/") for given in scored.scores)
        if is_scored:
            rule = f"a metric must have one score, but {name} is also in the file"
            raise InputError([fault(scored.locate(0)[0], 0, rule)])
        if isinstance(metric, MetricPlan):
            check_fields(scored, name, metric.requires)
    with step("loading"):
        loaded = load_all(metrics)
    return score_set(scored, loaded, stages)


def check_fields(scored: ScoredSet, name: str, requires: Sequence[Field]) -> None:
    """Raises InputError, by file and line, if no example has the fields that a metric requires."""
    examples = scored.examples
    reasons = [describe_missing_fields(example, requires, name, scores_empty=True) for example in examples]
    if reasons and all(reasons):
        said = [f"{reason}{hint_field(example, requires)}" for reason, example in zip(reasons, examples, strict=True)]
        raise InputError(fault(*scored.locate(place), what) for place, what in enumerate(said))


def join_signatures(signatures: Mapping[str, str]) -> str:
    """Joins the signatures of several metrics into one line, each after its metric's name.

    A single signature stays unchanged.
    """
    if len(signatures) == 1:
        return next(iter(signatures.values()))
    return "|".join(f"{name}: {signature}" for name, signature in signatures.items())


def collect_notes(scores: Mapping[str, Scores]) -> tuple[str, ...]:
    """Collects the metrics' notes on their scores, each sentence once."""
    notes = chain.from_iterable(of_metric.notes for of_metric in scores.values())
    return tuple(dict.fromkeys(notes))


def note_empty(scored: ScoredSet) -> list[str]:
    """Notes how many answers are empty, and of which systems."""
    empty = [example for example in scored.examples if example.is_empty]
    if not empty:
        return []
    counts = Counter(example.system for example in empty if example.system is not None)
    by_system = ", ".join(f"{number} of {name}" for name, number in counts.items())
    are = "is" if len(empty) == 1 else "are"
    said = f"{len(empty)} of {len(scored)} answers {are} empty"
    return [f"{said} ({by_system})" if by_system else said]


def single_ratings(values: Mapping[str, Any]) -> dict[str, str]:
    """Maps the ratings of single judges, `ASPECT by JUDGE`, to the aspect that is their mean."""
    aspects = {name: name.partition(" by ")[0] for name in values}
    return {name: aspect for name, aspect in aspects.items() if aspect != name and aspect in values}


def panel_tables(examples: Sequence[Example], values: Mapping[str, NDArray[np.float64]]) -> list[Table]:
    """Tabulates how well the judges of a panel agree on `examples`, the first of those that `values` score."""
    panels: dict[str, list[NDArray[np.float64]]] = {}
    for name, aspect in single_ratings(values).items():
        panels.setdefault(aspect, []).append(values[name][: len(examples)])
    several = {aspect: np.stack(ratings) for aspect, ratings in panels.items() if len(ratings) > 1}
    if not several:
        return []
    from meta_eval.design import lay_out
    from report.agreement_tables import among_table  # with scipy, which takes longer than most runs

    inputs = [example.group or str(place) for place, example in enumerate(examples)]
    layout = lay_out(len(examples), inputs=inputs)
    return [among_table(f"Agreement among judges, {len(examples)} texts", several, layout)]
