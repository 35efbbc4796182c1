"""Texts with their scores, and the study that shows them (`judge score`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from core.example import Example
from core.progress import step
from core.scores import Scores
from core.stages import Stages
from data.input_file import InputFile
from data.scored import join_name, list_rows, score_records
from data.text_files import STANDARD, open_atomically
from judge.chunks import (
    Scorer,
    check_output,
    read_chunks,
    score_file,
    write_scores,
)
from judge.metrics import Planned
from judge.scoring import collect_notes, join_signatures
from meta_eval.design import Floats
from meta_eval.scored_set import ScoredSet
from report.study import Study
from report.tables import Row, Table
from report.terminal import print_file
from report.wording import format_number

QUANTILES = {
    "min": 0.0,
    "lower_quartile": 0.25,
    "median": 0.5,
    "upper_quartile": 0.75,
    "max": 1.0,
}
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
    def values(self) -> Mapping[str, Floats]:
        """One array of shape (n,) per aspect, higher is better; NaN without a score.

        With several metrics the keys are `metric`, or `metric/aspect` if a metric has several aspects.
        """
        if len(self.scores) == 1:
            return next(iter(self.scores.values())).values
        by_name: dict[str, Floats] = {}
        for metric, scores in self.scores.items():
            for aspect, values in scores.values.items():
                by_name[join_name(metric, aspect, scores.values)] = values
        return by_name

    @property
    def unscored(self) -> int:
        """The number of texts without a score."""
        return int(np.isnan([*self.values.values()]).any(axis=0).sum())

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
        return score_records(self.examples, {name: list_rows(scores) for name, scores in self.first.items()})

    def present(self, name: str, said: Sequence[str] = (), written: Sequence[Path] = ()) -> Study:
        """Makes the study of a set of this name: its scores and their distribution."""
        n = len(self)
        shown = len(self.examples)
        quantiles = [list_quantiles(aspect, values) for aspect, values in self.values.items()]
        where = ", ".join(map(str, written)) or "`found.reasons`"
        losses = {
            f"{self.unscored} of {n} examples lack a score; {where} says why": self.unscored,
            f"{self.truncated} of {n} examples lost tokens that the model could not read": self.truncated,
            f"tables and pages have the first {shown} of {n} texts, the output all": shown < n,
        }
        means = [f"{row['aspect']} {format_number(row['mean'])} (n {row['n']})" for row in quantiles]
        caption = "The first examples and their scores."
        return Study(
            answer=f"The mean score: {', '.join(means)}.",
            tables=[
                Table(
                    "First rows",
                    caption,
                    [*self.list_rows()],
                    ("id", "text", *self.columns.values()),
                    head=FIRST,
                ),
                Table("Distribution", "Of the known scores of each aspect.", quantiles),
            ],
            notes=[*said, *collect_notes(self.scores), *filter(losses.get, losses)],
            signature=self.signature,
            found=self,
            shown=[ScoredSet(name, self.examples, self.first)],
            files=written,
        )

    @cached_property
    def columns(self) -> dict[str, str]:
        """The column of each aspect in tables: `quality`, or `scores.quality` if the input has that."""
        taken = set(chain.from_iterable(self.records()))
        return {name: f"scores.{name}" if name in taken else name for name in self.values}

    def list_rows(self) -> Iterator[Row]:
        """Yields a row per example, with its scores in `columns`."""
        for record in self.records():
            row = {name: cell for name, cell in record.items() if name not in ("scores", "reason")}
            scores = {self.columns[name]: score for name, score in record["scores"].items()}
            yield {**row, **scores, "reason": record.get("reason") or ""}


def list_quantiles(aspect: str, values: Floats) -> dict[str, Any]:
    """Lists number, mean and quantiles of the known scores of an aspect."""
    known = values[~np.isnan(values)]
    figures = known if known.size else np.array([np.nan])
    quantiles = np.quantile(figures, [*QUANTILES.values()]).tolist()
    row = {"aspect": aspect, "n": known.size, "mean": float(figures.mean())}
    return row | dict(zip(QUANTILES, quantiles, strict=True))


def score_into(
    output: str,
    given: InputFile,
    metrics: Mapping[str, Planned],
    stages: Stages | None,
    *,
    chunk: int,
    ray: Any,
) -> Study:
    """Scores a file in chunks, and writes another (`judge.score`)."""
    path = check_output(output, given)
    file = read_chunks(given, metrics, chunk)
    is_printed = path == STANDARD
    with TemporaryDirectory() as folder:
        rows = Path(folder) / "scores.jsonl" if is_printed else path
        with redirect_stdout(sys.stderr) if is_printed else nullcontext():  # libraries print
            scorer = Scorer(metrics, file, given.path)
            if ray is not None:
                from judge.ray_actors import Ray, RayScorer

                scorer = RayScorer(metrics, file, ray if isinstance(ray, Ray) else Ray(**ray))
            with step("loading"):
                signed = scorer.sign()
            kept = score_file(file, signed, scorer.score, stages or Stages(Path(folder)))
            parts = write_scores(file, kept, rows)
        if is_printed:
            print_file(rows)
    scores = {name: Scores.join(parts.pop(name), signature) for name, (signature, _) in signed.items()}
    found = ScoredTexts(file.first, scores)
    if not is_printed:
        write_meta(found, path)
    return found.present(given.path.name, given.notes, () if is_printed else (path,))


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
        json.dump(
            meta,
            file,
            indent=2,
            ensure_ascii=False,
            allow_nan=False,
        )
        file.write("\n")
