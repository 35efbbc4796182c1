"""Prints the agreement of kept scores of pretrained models, with intervals: python docs/results/pretrained.py FOLDER

FOLDER holds the public sets, as in docs/pretrained.md. A file of scores here, SET.jsonl, has a line for each text: its
`id`, and `scores` by metric and aspect. A text without a line was not scored in time: it counts nowhere.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from core.scores import Scores
from data.sets.ctrleval import load_ctrleval
from data.sets.dialogues import load_dstc9, load_fed
from judge.agreement_tables import tabulate_agreement
from meta_eval.agreement import add_cheap_cues, list_agreement
from meta_eval.bootstrap import Estimate
from meta_eval.intervals import difference
from meta_eval.scored_set import ScoredSet

HERE = Path(__file__).parent
SETS: Mapping[str, Callable[[str], ScoredSet]] = {
    "ctrleval_sentiment": lambda root: load_ctrleval(root, "sentiment"),
    "fed": load_fed,
    "dstc9": load_dstc9,
}
PAIRS = {  # (metric, metric that it is compared with) by set
    "ctrleval_sentiment": [
        ("fill_in_the_middle", "fill_in_the_middle_unweighted"),
        ("fill_in_the_middle", "left_to_right"),
        ("fill_in_the_middle", "perplexity"),
    ],
    "fed": [("contrast_average", "expert_likelihood"), ("contrast_sum", "expert_likelihood")],
    "dstc9": [("contrast_average", "expert_likelihood"), ("contrast_sum", "expert_likelihood")],
}


def read_scores(name: str, rated: ScoredSet) -> ScoredSet:
    """The set with its kept scores; texts that have none are left out."""
    lines = (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()
    kept = {line["id"]: line["scores"] for line in map(json.loads, lines)}
    examples = tuple(example for example in rated.examples if example.id in kept)
    first = kept[examples[0].id]
    scores = dict[str, Scores]()
    for metric, aspects in first.items():
        columns = {
            aspect: np.array([kept[example.id][metric][aspect] for example in examples], float) for aspect in aspects
        }
        scores[metric] = Scores(columns, metric)
    return ScoredSet(rated.name, examples, scores)


def compare(scored: ScoredSet, metric: str, other: str, aspect: str) -> Estimate:
    """Spearman of one metric minus that of the other, on the same resamples of inputs."""
    rated = scored.rated(aspect)
    return difference(
        rated.values(metric, aspect),
        rated.values(other, aspect),
        rated.ratings(aspect),
        groups=rated.groups,
    )


def show(estimate: Estimate) -> str:
    """A value with its interval, two digits each."""
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def list_differences(scored: ScoredSet) -> list[str]:
    """A line for each pair of metrics and each aspect that both of them score."""
    lines: list[str] = []
    for metric, other in PAIRS[scored.name]:
        if metric not in scored.scores or other not in scored.scores:
            continue
        for aspect in scored.aspects:
            if scores_aspect(scored.scores[metric], aspect) and scores_aspect(scored.scores[other], aspect):
                estimate = show(compare(scored, metric, other, aspect))
                lines.append(f"{scored.name}, {aspect}: {metric} minus {other} {estimate}")
    return lines


def scores_aspect(scores: Scores, aspect: str) -> bool:
    """Whether a metric scores an aspect; a metric with a single aspect is compared with all."""
    return aspect in scores.values or len(scores.values) == 1


def main(root: str) -> None:
    """Prints a row for each metric and aspect of every set, then the differences."""
    for name, load in SETS.items():
        if not (HERE / f"{name}.jsonl").is_file():
            continue
        scored = read_scores(name, load(root))
        for row in tabulate_agreement(list_agreement(add_cheap_cues(scored))).rows:
            cells = [str(row[key]) for key in ("set", "aspect", "metric", "n")]
            print(*cells, show(row["spearman"]), show(row["beyond_cues"]), sep=" | ")
        print(*list_differences(scored), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
