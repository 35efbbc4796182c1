"""Prints and draws the agreement of kept scores of pretrained models: python docs/results/pretrained.py FOLDER

The pictures are docs/images/pretrained.svg and, with its rows of `OVERVIEW`, overview.svg; diamonds are the papers'
figures. FOLDER holds the public sets, as in
docs/pretrained.md. A file of scores here, SET.jsonl, has a line for each text: its `id`, and `scores` by metric and
aspect. A text without a line was not scored in time and counts nowhere.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure

from core.scores import Scores
from data.sets.ctrleval import load_ctrleval
from data.sets.dialogues import load_convai2, load_dstc9, load_fed
from data.sets.public import RATED
from judge.agreement_tables import tabulate_agreement
from meta_eval.agreement import CHEAP_CUES, Agreement, add_cheap_cues, list_agreement
from meta_eval.estimates import Estimate
from meta_eval.grouping import difference
from meta_eval.scored_set import ScoredSet

HERE = Path(__file__).parent
SETS: Mapping[str, Callable[[str], ScoredSet]] = {  # by the name of their file of scores
    "ctrleval_sentiment": lambda root: load_ctrleval(root, "sentiment"),
    "fed": load_fed,
    "fed_in_the_middle": load_fed,
    "dstc9": load_dstc9,
    "dstc9_in_the_middle": load_dstc9,
    "convai2": load_convai2,
    "mans_roc": lambda root: RATED["mans_roc"](root, False),
    "semeval_mhpg": lambda root: RATED["semeval_mhpg"](root, False),
}
PAIRS = [  # a metric and the one that it is compared with, where a set has both
    ("fill_in_the_middle", "fill_in_the_middle_unweighted"),
    ("fill_in_the_middle", "fill_in_the_middle_own_weights"),
    ("fill_in_the_middle", "left_to_right"),
    ("fill_in_the_middle", "perplexity"),
    ("fill_in_the_middle_1.5b", "fill_in_the_middle"),
    ("fill_in_the_middle_1.5b", "fill_in_the_middle_unweighted_1.5b"),
    ("fill_in_the_middle_1.5b", "perplexity_1.5b"),
    ("fill_in_the_middle_1.5b", "bartscore_1.5b"),
    ("contrast_average", "expert_likelihood"),
    ("contrast_sum", "expert_likelihood"),
    ("contrast_average", "contrast_average_left_to_right"),
    ("expert_likelihood", "expert_likelihood_left_to_right"),
    ("amateur_likelihood", "amateur_likelihood_left_to_right"),
    ("expert_likelihood", "gemma_likelihood"),
    ("generative_contrast", "generative_amateur"),
    ("generative_contrast", "deam_like"),
    ("generative_contrast", "mesgar"),
    ("generative_contrast", "vakulenko"),
    ("generative_contrast", "expert_likelihood"),
    ("generative_contrast_mpnet", "generative_amateur_mpnet"),
    ("generative_contrast_mpnet", "deam_like_mpnet"),
    ("generative_contrast_mpnet", "mesgar_mpnet"),
    ("generative_contrast_mpnet", "vakulenko_mpnet"),
    ("generative_contrast_mpnet", "turn_cosine_mpnet"),
    ("generative_contrast_mpnet", "expert_likelihood"),
    ("generative_contrast_mpnet", "generative_contrast"),
    ("mars", "mars_to_0"),
    ("mars", "mars_without_planning"),
    ("mars", "bertscore"),
]
DRAWN = {  # metric: its name in the picture, and its colour
    "fill_in_the_middle": ("CTRLEval, Qwen2.5-Coder 0.5B", "C0"),
    "fill_in_the_middle_1.5b": ("CTRLEval, Qwen2.5-Coder 1.5B", "C0"),
    "perplexity": ("perplexity, the same model", "C2"),
    "perplexity_1.5b": ("perplexity, 1.5B", "C2"),
    "contrast_average": ("Discriminative CDM, average", "C0"),
    "generative_contrast": ("Generative CDM, contrast, read by MiniLM", "C0"),
    "generative_amateur": ("Generative CDM, amateur alone, read by MiniLM", "C4"),
    "generative_contrast_mpnet": ("Generative CDM, contrast, read by mpnet", "C0"),
    "generative_amateur_mpnet": ("Generative CDM, amateur alone, read by mpnet", "C4"),
    "deam_like_mpnet": ("negatives like DEAM's, read by mpnet", "C1"),
    "mesgar_mpnet": ("negatives of Mesgar et al., read by mpnet", "C1"),
    "vakulenko_mpnet": ("negatives of Vakulenko et al., read by mpnet", "C1"),
    "turn_cosine_mpnet": ("cosine of turns by mpnet, untrained", "C3"),
    "deam_like": ("negatives like DEAM's, read by MiniLM", "C1"),
    "mesgar": ("negatives of Mesgar et al., read by MiniLM", "C1"),
    "vakulenko": ("negatives of Vakulenko et al., read by MiniLM", "C1"),
    "expert_likelihood": ("likelihood, 1.5B alone", "C2"),
    "gemma_likelihood": ("likelihood, Gemma 270M", "C2"),
    CHEAP_CUES: ("cheap cues alone", "C7"),
}
PUBLISHED = {  # CTRLEval's Table 3 (PEGASUS-large), and of CDM's Table 3 (T5) average pooling and Mixed-Single
    ("ctrleval_sentiment", "coherence", "fill_in_the_middle"): 0.42,
    ("ctrleval_sentiment", "consistency", "fill_in_the_middle"): 0.31,
    ("ctrleval_sentiment", "attribute_relevance", "fill_in_the_middle"): 0.30,
    ("fed", "coherence", "contrast_average"): 0.31,
    ("fed", "overall", "contrast_average"): 0.32,
    ("dstc9", "coherence", "contrast_average"): 0.12,
    ("dstc9", "overall", "contrast_average"): 0.13,
    ("fed", "coherence", "generative_contrast"): 0.32,
    ("fed", "overall", "generative_contrast"): 0.35,
    ("dstc9", "coherence", "generative_contrast"): 0.14,
    ("dstc9", "overall", "generative_contrast"): 0.12,
}
OVERVIEW = (
    "fill_in_the_middle",
    "perplexity",
    "contrast_average",
    "generative_contrast",
    "generative_contrast_mpnet",
    "generative_amateur_mpnet",
    "deam_like_mpnet",
    "expert_likelihood",
    CHEAP_CUES,
)
OVERVIEW_SETS = ("ctrleval_sentiment", "fed", "dstc9")
OVERVIEW_ASPECTS = ("coherence", "attribute_relevance")  # the one of all sets, and the one that only CTRLEval judges
ASPECTS = ("coherence", "consistency", "attribute_relevance", "overall", "correctness")  # in the order of the picture
PANELS = {"spearman": "agreement (Spearman)", "beyond_cues": "agreement beyond cheap cues"}


def read_scores(name: str, rated: ScoredSet) -> ScoredSet:
    """Returns the set with its kept scores; texts without scores are left out."""
    lines = (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()
    kept = {line["id"]: line["scores"] for line in map(json.loads, lines)}
    examples = tuple(example for example in rated.examples if example.id in kept)
    rows = [kept[example.id] for example in examples]
    scores: dict[str, Scores] = {}
    for metric, aspects in rows[0].items():
        columns = {}
        for aspect in aspects:
            values = [row[metric][aspect] for row in rows]
            columns[aspect] = np.array(values, dtype=np.float64)
        scores[metric] = Scores(columns, metric)
    return ScoredSet(name, examples, scores)


def compare(scored: ScoredSet, metric: str, other: str, aspect: str) -> Estimate:
    """Estimates Spearman's rho of one metric minus that of another metric, on the same inputs."""
    rated = scored.rated(aspect)
    return difference(
        rated.values(metric, aspect),
        rated.values(other, aspect),
        rated.ratings(aspect),
        groups=rated.groups,
    )


def show(estimate: Estimate) -> str:
    """Writes a value with its interval, two digits each."""
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def list_differences(scored: ScoredSet) -> list[str]:
    """Lists a line for each pair of metrics and each aspect that both metrics score."""
    lines: list[str] = []
    for metric, other in PAIRS:
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


def is_measured(row: Agreement, scored: ScoredSet) -> bool:
    """Whether the metric of a row scored its aspect; other rows hold its scores of another aspect."""
    return row.metric == CHEAP_CUES or scores_aspect(scored.scores[row.metric], row.aspect)


def draw(rows: list[Agreement], path: Path) -> None:
    """Draws each row of `DRAWN` with its interval; a second panel has what cheap cues leave."""
    figure = Figure(figsize=(9, 0.8 + 0.25 * len(rows)), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for panel, (column, title) in zip(panels, PANELS.items(), strict=True):
        for place, row in enumerate(rows):
            estimate = getattr(row, column)
            _, colour = DRAWN[row.metric]
            panel.plot([estimate.low, estimate.high], [place, place], color=colour, linewidth=2.5)
            panel.plot(estimate.value, place, marker="o", color=colour)
        panel.axvline(0, color="black", linewidth=0.6)
        panel.grid(axis="x", linewidth=0.3)
        panel.set_title(title, fontsize=10)
    for place, row in enumerate(rows):
        published = PUBLISHED.get((row.set, row.aspect, row.metric))
        if published is not None:
            panels[0].plot(published, place, "D", markerfacecolor="white", color="black", markersize=5)
    names = [f"{row.set}, {row.aspect}: {DRAWN[row.metric][0]}" for row in rows]
    panels[0].set_yticks(range(len(rows)), names, fontsize=8)
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")


def main(root: str) -> None:
    """Prints a row for each metric and aspect of every set, then the differences; draws the pictures."""
    drawn: list[Agreement] = []
    for name, load in SETS.items():
        if not (HERE / f"{name}.jsonl").is_file():
            continue
        scored = read_scores(name, load(root))
        agreements = [row for row in list_agreement(add_cheap_cues(scored)) if is_measured(row, scored)]
        for row in tabulate_agreement(agreements).rows:
            cells = [str(row[key]) for key in ("set", "aspect", "metric", "n")]
            print(*cells, show(row["spearman"]), show(row["beyond_cues"]), sep=" | ")
        print(*list_differences(scored), sep="\n")
        shown = [row for row in agreements if row.metric in DRAWN]
        drawn += sorted(shown, key=lambda row: (ASPECTS.index(row.aspect), list(DRAWN).index(row.metric)))
    images = HERE.parent / "images"
    draw(drawn, images / "pretrained.svg")
    whole = [row for row in drawn if row.set in OVERVIEW_SETS]
    few = [row for row in whole if row.aspect in OVERVIEW_ASPECTS and row.metric in OVERVIEW]
    draw(few, images / "overview.svg")


if __name__ == "__main__":
    rcParams["svg.hashsalt"] = "pretrained"  # the same bytes every time
    rcParams["svg.fonttype"] = "none"
    main(sys.argv[1])
