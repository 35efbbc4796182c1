"""Prints the agreement of the tuned pair beside that of the untrained one: python docs/results/tuned_agreement.py DATA

Spearman over all dialogues and within systems (the mean over systems of at least 10 dialogues, by size), and tuned
minus untuned. Intervals of 95 % are the jackknife's over dialogues.
"""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from data.sets.dialogues import load_dstc9, load_fed
from meta_eval.scored_set import ScoredSet

HERE = Path(__file__).parent
FEWEST = 10  # dialogues of a system
METRICS = (
    "contrast_average",
    "expert_likelihood",
    "amateur_likelihood",
    "contrast_sum",
    "contrast_max",
    "contrast_min",
)

Floats = NDArray[np.float64]
Names = NDArray[np.str_]
Measure = Callable[[Floats, Floats, Names], float]  # of scores, ratings and systems


def correlate(scores: Floats, ratings: Floats, systems: Names) -> float:
    """Computes Spearman's rho over all dialogues."""
    del systems
    return float(spearmanr(scores, ratings).statistic)


def correlate_within(scores: Floats, ratings: Floats, systems: Names) -> float:
    """Computes Spearman's rho in each system of at least `FEWEST` dialogues; returns the mean by size."""
    total = 0.0
    count = 0
    for system in np.unique(systems):
        of_system = systems == system
        size = int(of_system.sum())
        if size >= FEWEST:
            total += size * float(spearmanr(scores[of_system], ratings[of_system]).statistic)
            count += size
    return total / count


def leave_one_out(
    measure: Measure,
    scores: Floats,
    ratings: Floats,
    systems: Names,
) -> Floats:
    """Measures all dialogues, then all but each of them."""
    values = [measure(scores, ratings, systems)]
    for i in range(len(scores)):
        kept = np.arange(len(scores)) != i
        values.append(measure(scores[kept], ratings[kept], systems[kept]))
    return np.array(values)


def show(values: Floats) -> str:
    """Writes the first value with its interval, from those without each dialogue."""
    value, without = values[0], values[1:]
    error = math.sqrt((len(without) - 1) * without.var())
    return f"{value:.2f} [{value - 1.96 * error:.2f}, {value + 1.96 * error:.2f}]"


def read_scores(file: str) -> dict[str, dict[str, dict[str, float]]]:
    """Reads the scores of a file by id and metric."""
    lines = (HERE / file).read_text("utf-8").splitlines()
    return {line["id"]: line["scores"] for line in map(json.loads, lines)}


def compare(rated: ScoredSet, aspect: str) -> None:
    """Prints a line for each metric of a set and aspect."""
    tuned = read_scores(f"tuned_{rated.name}.jsonl")
    untuned = read_scores(f"{rated.name}.jsonl")
    examples = [example for example in rated.examples if example.id in tuned]
    ratings = np.array([example.ratings[aspect] for example in examples])
    systems = np.array([example.system for example in examples])
    for metric in METRICS:
        after = np.array([tuned[example.id][f"{metric}_tuned"]["quality"] for example in examples])
        before = np.array([untuned[example.id][metric]["quality"] for example in examples])
        for name, measure in (("over all", correlate), ("within systems", correlate_within)):
            of_tuned = leave_one_out(measure, after, ratings, systems)
            of_untuned = leave_one_out(measure, before, ratings, systems)
            print(rated.name, aspect, f"{metric}, n {len(examples)}, {name}:", end=" ")
            print("tuned", show(of_tuned), "untuned", show(of_untuned), "difference", show(of_tuned - of_untuned))


if __name__ == "__main__":
    for load in (load_fed, load_dstc9):
        for aspect in ("coherence", "overall"):
            compare(load(sys.argv[1]), aspect)
