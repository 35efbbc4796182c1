"""Jobs of a sweep, read from their run folders: settings, agreement (`results.json`) and scores (`scores.jsonl`)."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from meta_eval.correlation import CORRELATIONS
from meta_eval.design import Floats
from meta_eval.estimates import Estimate
from report.agreement_tables import AGREEMENT

Place: TypeAlias = tuple[tuple[str, str], ...]  # (("set", NAME), ("aspect", NAME)); () for jobs without ratings


@dataclass(frozen=True)
class ScoredTexts:
    """The texts of one set in one job: lines of `scores.jsonl`."""

    lines: Sequence[Mapping[str, Any]]

    def rated(self, aspect: str) -> ScoredTexts:
        """Returns the texts that have a rating for an aspect."""
        return ScoredTexts([line for line in self.lines if aspect in line["ratings"]])

    def identify(self, aspect: str) -> list[tuple[Any, ...]]:
        """Lists what must be equal in two jobs to compare their scores: texts, inputs and ratings, in order."""
        identities: list[tuple[Any, ...]] = []
        for line in self.lines:
            identity = (
                line["id"],
                line["text_hash"],
                line["group"],
                line["ratings"][aspect],
            )
            identities.append(identity)
        return identities

    @property
    def inputs(self) -> list[str]:
        """The name of each text's input. A text that names no input gets a name of its own."""
        names: list[str] = []
        for number, line in enumerate(self.lines):
            group = line["group"]
            names.append(f"\0{number}" if group is None else group)
        return names

    def get_ratings(self, aspect: str) -> Floats:
        """Returns the ratings of an aspect, of shape (texts,)."""
        ratings = [line["ratings"][aspect] for line in self.lines]
        return np.array(ratings, dtype=np.float64)

    def has_scores(self, metric: str) -> bool:
        """Whether the metric scored these texts; agreement with cheap cues has no scores of its own."""
        return all(metric in line["scores"] for line in self.lines)

    def get_scores(self, metric: str, aspect: str) -> Floats:
        """Returns a metric's scores for an aspect, of shape (texts,), NaN for a missing score.

        If the metric does not score this aspect, the scores of its first aspect are returned.
        """
        values: list[float] = []
        for line in self.lines:
            by_aspect = line["scores"][metric]
            first = next(iter(by_aspect.values()))
            value = by_aspect.get(aspect, first)
            values.append(math.nan if value is None else value)
        return np.array(values, dtype=np.float64)


@dataclass(frozen=True)
class Job:
    """A successful job of a sweep, read from its run folder."""

    # those of its command line, as they were typed
    settings: Mapping[str, str]
    # the content of results.json
    results: Mapping[str, Any]
    # the content of scores.jsonl, by set
    sets: Mapping[str, ScoredTexts]

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, str]) -> Job:
        """Reads the run folder of a job. Scores are read only if they are compared with ratings."""
        content = (folder / "results.json").read_text("utf-8")
        results = json.loads(content)
        sets: dict[str, ScoredTexts] = {}
        if any(row["table"] == AGREEMENT for row in results["table"]):
            sets = read_sets(folder / "scores.jsonl")
        return cls(settings, results, sets)

    def get_rated(self, name: str, aspect: str) -> ScoredTexts:
        """Returns the texts of a set that are rated for an aspect; an empty ScoredTexts if the job has no such set."""
        if name not in self.sets:
            return ScoredTexts(())
        return self.sets[name].rated(aspect)

    @property
    def statistic(self) -> str:
        """The correlation that the table shows: the job's setting `statistic`, or Spearman's."""
        named = self.settings.get("statistic", "")
        if named in CORRELATIONS:
            return named
        return "spearman"

    def list_estimates(self) -> Iterator[tuple[Place, str, Estimate]]:
        """Yields each agreement over all texts, with its set, aspect and metric.

        A job without ratings yields the estimates of the first row of its tables that has estimates, or else its
        figures.
        """
        table = self.results.get("table", ())
        agreements = [row for row in table if row["table"] == AGREEMENT]
        if agreements:
            yield from self._list_agreements(agreements)
            return
        for row in table:
            measured = list_measured(row)
            for name in measured:
                yield (), name, read_estimate(row, name)
            if measured:
                return
        figures = self.results.get("figures", {})
        for name in figures:
            yield (), name, read_estimate(figures, name)

    def _list_agreements(
        self,
        rows: Sequence[Mapping[str, Any]],
    ) -> Iterator[tuple[Place, str, Estimate]]:
        for row in rows:
            place = (("set", row["set"]), ("aspect", row["aspect"]))
            statistic = self.statistic
            if statistic not in row:
                statistic = "spearman"
            yield place, row["metric"], read_estimate(row, statistic)


def read_sets(file: Path) -> dict[str, ScoredTexts]:
    """Reads the lines of `scores.jsonl` by set, without their explanations, which are most of the file."""
    lines: dict[str, list[Mapping[str, Any]]] = {}
    content = file.read_text("utf-8")
    for text in content.split("\n"):  # a text may hold other line breaks
        if text:
            line = json.loads(text)
            del line["explanations"]
            of_set = lines.setdefault(line["set"], [])
            of_set.append(line)
    return {name: ScoredTexts(of_set) for name, of_set in lines.items()}


def list_measured(row: Mapping[str, Any]) -> list[str]:
    """Lists the columns of a row of results.json that have intervals."""
    return [name for name in row if f"{name}_interval" in row]


def read_estimate(row: Mapping[str, Any], name: str) -> Estimate:
    """Reads an estimate of results.json, where NaN is written as null."""
    low, high = row.get(f"{name}_interval", (None, None))
    return Estimate(
        read_number(row[name]),
        low=read_number(low),
        high=read_number(high),
    )


def read_number(cell: float | None) -> float:
    """Reads a number of results.json, where NaN is written as null."""
    return math.nan if cell is None else cell


def varied_settings(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """Lists the settings that differ between jobs.

    >>> varied_settings([{"gamma": "0", "seed": "1"}, {"gamma": "1", "seed": "1"}])
    ['gamma']
    """
    names = dict.fromkeys(name for of_job in settings for name in of_job)
    varied: list[str] = []
    for name in names:
        values = {of_job.get(name) for of_job in settings}
        if len(values) > 1:
            varied.append(name)
    return varied


def shorten_names(names: Sequence[str]) -> dict[str, str]:
    """Finds the shortest unique ending of each dotted name.

    >>> shorten_names(["model.negatives.sampling.gamma", "data.seed", "seed"])
    {'model.negatives.sampling.gamma': 'gamma', 'data.seed': 'data.seed', 'seed': 'seed'}
    """
    shortened: dict[str, str] = {}
    for name in names:
        others = {*names} - {name}
        shortened[name] = _shorten(name, others)
    return shortened


def _shorten(name: str, others: Collection[str]) -> str:
    taken = [f".{other}" for other in (*others, "set", "aspect")]
    parts = name.split(".")
    for start in range(len(parts) - 1, 0, -1):
        ending = ".".join(parts[start:])
        if not any(other.endswith(f".{ending}") for other in taken):
            return ending
    return name


def name_settings(settings: Mapping[str, str], varied: Sequence[str]) -> str:
    """Writes the values of the settings of a job that vary.

    >>> name_settings({"model.gamma": "0.5", "seed": "1"}, ["model.gamma", "seed"])
    'gamma=0.5, seed=1'
    """
    short = shorten_names(varied)
    return ", ".join(f"{short[name]}={settings[name]}" for name in varied if name in settings)
