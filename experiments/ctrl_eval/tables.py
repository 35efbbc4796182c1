"""Tables of CTRLEval besides agreement with ratings: the numbers of Figures 2 to 4. Plots Figure 4."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from ctrl_eval import released
from ctrl_eval.analysis import biased_subsets, number_of_evaluators
from ctrl_eval.aspects import RELEVANCE, Evaluations
from experiments.presentation import list_agreement_of_parts
from meta_eval.correlation import plain_pearson
from meta_eval.scored_set import ScoredSet
from report.plots import make_figure, styled, wrap
from report.tables import Table

DRIFT_ASPECT = "coherence"  # of Figure 3
NEGATED_METRIC = "perplexity_backbone"  # the paper prints it with the opposite sign: lower is better
PRINTED_CAPTION = (
    "The values that the paper prints for six texts, and those of this run; ranks among the texts of the set, the best "
    "has 1. The paper's backbone is PEGASUS-large. Its PPL-PEGASUS may be a mean negative log-probability or the "
    "exponential of one (`perplexity`): compare both with the printed value."
)
EVALUATORS = (1, 2, 4, 8, 16, 24, 32, 48)  # how many are drawn at random (Figure 4)
LEAST_RATED = 16  # texts, four of each quartile: with fewer, no drift is shown
Evaluated: TypeAlias = dict[str, Mapping[str, Sequence[Evaluations]]]  # by pattern function and aspect
Row: TypeAlias = Mapping[str, Any]


def tabulate_analyses(scored: ScoredSet, evaluated: Evaluated, seed: int) -> dict[str, Table]:
    """Makes the tables of the analyses, by name; a table without rows is left out."""
    compared = scored.choose([metric for metric in scored.scores if not metric.startswith("ctrleval_")])
    pearson = "Pearson's r with its 95 % interval; n texts"
    subsets = draw_biased_subsets(compared, DRIFT_ASPECT, seed)
    tables = {
        "model_drift": Table(
            f"Model drift on {scored.name}", f"{pearson} of each system (Figure 2)", list_agreement_by_system(compared)
        ),
        "quality_drift": Table(
            f"Quality drift on {scored.name}",
            f"{pearson} of each biased subset, 0: mostly badly rated, 3: mostly well rated (Figure 3)",
            list_agreement_of_parts(subsets, DRIFT_ASPECT, "subset"),
        ),
        "number_of_evaluators": Table(
            f"Number of evaluators on {scored.name}",
            f"Pearson's r of attribute relevance, n = {len(scored)}: mean and deviation of 20 draws (Figure 4)",
            list_agreement_by_number(scored, evaluated, seed),
        ),
        "printed": Table(f"Figures 6 and 7 on {scored.name}", PRINTED_CAPTION, compare_printed(scored)),
    }
    return {name: table for name, table in tables.items() if table.rows}


def list_agreement_by_system(scored: ScoredSet) -> list[Row]:
    """Lists the agreement among the texts of each system, for every aspect (Figure 2).

    Empty unless every text names its system, there are several systems, and enough texts are rated.
    """
    systems = list(scored.by_system())
    aspects = [aspect for aspect in scored.aspects if len(scored.rated(aspect)) >= LEAST_RATED]
    rows: list[Row] = []
    for aspect in aspects:
        rows += list_agreement_of_parts(systems, aspect, "system")
    return rows


def draw_biased_subsets(scored: ScoredSet, aspect: str, seed: int) -> list[ScoredSet]:
    """Draws four subsets, from mostly bad to mostly good texts (Figure 3); empty for a set with few ratings."""
    rated = scored.rated(aspect)
    if len(rated) < LEAST_RATED:
        return []
    subsets = biased_subsets(rated.ratings(aspect), seed)
    return [rated.take(subset, str(j)) for j, subset in enumerate(subsets)]


def list_agreement_by_number(scored: ScoredSet, evaluated: Evaluated, seed: int) -> list[Row]:
    """Lists the agreement of attribute relevance by the number of evaluators (Figure 4); the last row uses all.

    An evaluator is a prompt with a verbalizer.
    """
    rated = np.flatnonzero(~np.isnan(scored.ratings(RELEVANCE))).tolist()
    rows: list[Row] = []
    for metric, by_aspect in evaluated.items():
        relevance = [by_aspect[RELEVANCE][i] for i in rated] if by_aspect.get(RELEVANCE) else []
        if not relevance:
            continue
        scores = np.stack([each.scores for each in relevance])
        available = scores.shape[1]
        curve = number_of_evaluators(
            scores,
            np.stack([each.weights for each in relevance]),
            scored.ratings(RELEVANCE)[rated],
            numbers=sorted({number for number in EVALUATORS if number < available} | {available}),
            correlation=plain_pearson,
            seed=seed,
        )
        for number, (mean, deviation) in curve.items():
            rows.append({"metric": metric, "evaluators": number, "pearson": mean, "deviation": deviation})
    return rows


def compare_printed(scored: ScoredSet) -> list[Row]:
    """Lists the values printed in Figures 6 and 7 beside those of this run; empty for a set without these texts."""
    indices = {example.id: i for i, example in enumerate(scored.examples)}
    rows: list[Row] = []
    for printed in released.FIGURES:
        if printed.text not in indices or printed.metric not in scored.scores:
            continue
        values = scored.values(printed.metric, printed.aspect)
        value = float(values[indices[printed.text]])
        is_negated = printed.metric == NEGATED_METRIC
        rows.append(
            {
                "text": printed.text,
                "metric": printed.metric,
                "of": printed.aspect,
                "published": printed.value,
                "here": -value if is_negated else value,
                **({"perplexity": float(np.exp(-value))} if is_negated else {}),
                "published rank": printed.rank,
                "rank": 1 + int(np.sum(values > value)),
            }
        )
    return rows


@styled
def plot_number_of_evaluators(rows: Sequence[Row]) -> Figure:
    """Plots Figure 4: mean and standard deviation of Pearson's r by the number of evaluators, a line per pattern."""
    figure = make_figure(6)
    axes = figure.subplots()
    for metric in dict.fromkeys(row["metric"] for row in rows):
        curve = [(row["evaluators"], row["pearson"], row["deviation"]) for row in rows if row["metric"] == metric]
        numbers, means, deviations = np.array(curve).T
        axes.plot(numbers, means, marker="o", label=wrap(metric))
        axes.fill_between(numbers, means - deviations, means + deviations, alpha=0.2)
    axes.set(xlabel="evaluators, drawn 20 times", ylabel="Pearson with attribute relevance")
    axes.legend()
    figure.set_label("Pearson by the number of evaluators: mean, one standard deviation.")
    return figure
