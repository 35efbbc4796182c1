"""Presentation: makes the outcome of an experiment from its scored sets, models, tables and notes."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from core.scores import Metric, Scores
from core.signature import MODEL_LIBRARIES, Setting, signature
from data.corpus import Corpus
from experiments.contracts import Run, SavedModel, Study, Table
from experiments.training import Trained
from meta_eval.agreement import CHEAP_CUES, NOT_METRICS, Agreement, agree, list_agreement, note_cues
from meta_eval.cues import FOLDS
from meta_eval.scored_set import ScoredSet
from report.agreement_sentences import describe_systems
from report.agreement_tables import tabulate_agreement
from report.plots import plot_curves, scores_against_ratings
from report.wording import format_cell


def present(
    run: Run,
    sets: Sequence[ScoredSet] = (),
    models: Mapping[str, Trained] | None = None,
    tables: Sequence[Table] = (),
    notes: Sequence[str] = (),
    *,
    answer: str = "",
    settings: Mapping[str, Setting] | None = None,
    plots: Mapping[str, Figure] | None = None,
    figures: Mapping[str, float] | None = None,
    folders: Mapping[str, Path] | None = None,
    plotted_sets: Sequence[ScoredSet] | None = None,
    metrics_of: Mapping[str, Sequence[str]] | None = None,
    data: Corpus | None = None,
) -> Study:
    """Makes the outcome: what every experiment shows of its sets and models, and what this one adds.

    Every outcome has the agreement with ratings, beside that of cheap cues unless `cues=none`; a plot `scores_SET` of
    each rated set; the learning curve of each model that was trained here, its folder and, for a language model, its
    held-out loss; and a signature with settings, models, seed and libraries.

    Args:
        answer: what the experiment shows without ratings; with ratings the answer is which metric agrees best.
        models, folders: by name; models may be trained here or not.
        settings: for the signature, which also names `data`.
        figures: by name; a figure replaces the one of a model with its name.
        plotted_sets: the sets to plot, if not all sets with all their metrics.
        metrics_of: for each model, the metrics that score with it, for its card.
        data: the corpus that the models learned.
    """
    models = models or {}
    rows = agree_with_ratings(run, sets)
    trained = {name: model for name, model in models.items() if model.is_trained_here}
    kept = {name: model.folder for name, model in trained.items() if model.folder} | {**(folders or {})}
    named = {} if data is None else {"data": data.name}
    learned = ("", "") if data is None else (data.name, data.licence)
    curves = {model.name: model.curve for model in trained.values()}
    set_notes = [note for scored in sets for note in scored.notes]
    return Study(
        signature=sign(
            run,
            models,
            {**named, **(settings or {})},
            has_cues=run.cues and bool(rows),
        ),
        answer=name_best(rows) or answer,
        tables=[*([tabulate_agreement(rows)] if rows else []), *tables],
        scored=sets,
        draw=partial(
            draw_plots,
            sets if plotted_sets is None else plotted_sets,
            plots or {},
            curves,
        ),
        models={name: SavedModel(folder, (metrics_of or {}).get(name, ()), *learned) for name, folder in kept.items()},
        curves=curves,
        notes=list(dict.fromkeys([*notes, *set_notes, *note_cues(rows)])),
        figures={**list_losses(models), **(figures or {})},
        synthetic=data is not None and data.synthetic,
    )


def score_sets(
    run: Run, sets: Sequence[ScoredSet], metrics: Mapping[str, Callable[[], Metric]]
) -> list[dict[str, Scores]]:
    """Scores the texts of every set by every metric, which is made just before it scores; returns the scores by set.

    So one model at a time is loaded.
    """
    scores: list[dict[str, Scores]] = [{} for _ in sets]
    for name, make in metrics.items():
        with run.timed(f"scoring by {name}"):
            metric = make()
            for of_set, rated in zip(scores, sets, strict=True):
                of_set[name] = metric.score(rated.examples)
            del metric
    return scores


def agree_with_ratings(run: Run, sets: Sequence[ScoredSet]) -> list[Agreement]:
    """Computes the agreement of every metric, and of cheap cues unless `cues=none`, with every rating."""
    return [row for scored in sets for row in list_agreement(scored, run.seed, has_cues=run.cues)]


def sign(
    run: Run,
    models: Mapping[str, Trained],
    settings: Mapping[str, Setting],
    has_cues: bool,
) -> str:
    """Makes the signature that identifies a run: models, settings, seed, versions of libraries.

    With `has_cues` it also names the regression on cheap cues (surface features such as length).
    """
    return signature(
        run.name,
        libraries=MODEL_LIBRARIES,
        **{name: model.identity for name, model in models.items()},
        **settings,
        **({"cues": f"ridge-{FOLDS}"} if has_cues else {}),
        seed=run.seed,
    )


def draw_plots(
    sets: Sequence[ScoredSet], more: Mapping[str, Figure], curves: Mapping[str, Sequence[Mapping[str, float]]]
) -> dict[str, Figure]:
    """Draws the scores of each rated set, and the learning curves of all models that were trained here."""
    plots = {f"scores_{scored.name}": scores_against_ratings(scored) for scored in sets if scored.aspects}
    plots |= more
    if curves:
        plots["learning_curves"] = plot_curves(curves)
    return plots


def list_losses(models: Mapping[str, Trained]) -> dict[str, float]:
    """Returns the held-out loss of each language model (nats per token), by the name of the figure."""
    return {
        f"{name} held-out NLL (nats per token)": model.held_out_nll
        for name, model in models.items()
        if model.is_language_model
    }


def name_best(rows: Sequence[Agreement]) -> str:
    """Writes the headline: which metric agrees best with each aspect over all texts, and how it does within systems.

    If cheap cues predict the ratings better than the metrics do, the cues come first, as in the table.
    """
    places = dict.fromkeys((row.aspect, row.set) for row in rows)
    findings = (describe_best([row for row in rows if (row.aspect, row.set) == place]) for place in places)
    return "; ".join(filter(None, findings))


def describe_best(rows: Sequence[Agreement]) -> str:
    """Says which metric agrees best with one aspect of one set, and within its systems; "" without a metric."""
    known = [row for row in rows if not math.isnan(row.spearman.value)]
    metrics = [row for row in known if row.metric not in NOT_METRICS]
    if not metrics:
        return ""
    best = max(metrics, key=lambda row: row.spearman.value)
    return "; ".join([_describe_over_all(known, best), *describe_systems(rows, best.metric)])


def _describe_over_all(rows: Sequence[Agreement], best: Agreement) -> str:
    """Says how well the best metric agrees over all texts, beside cheap cues."""
    rated = f"{best.aspect} of {best.set}"
    shown = f"over all texts, spearman {format_cell(best.spearman)}"
    ahead = [row for row in rows if row.metric == CHEAP_CUES and row.spearman.value > best.spearman.value]
    if best.spearman.reason:
        return f"{best.metric} agrees most with {rated} ({shown}), but without an interval: {best.spearman.reason}"
    if best.spearman.low <= 0:
        return f"No agreement with {rated} is shown (highest: {best.metric}, {shown})"
    if ahead:
        cues = f"Cheap cues alone predict {rated} better (spearman {format_cell(ahead[0].spearman)}) than any metric"
        return f"{cues}; of these {best.metric} agrees best ({shown})"
    return f"{best.metric} agrees best with {rated} ({shown})"


def list_agreement_of_parts(parts: Sequence[ScoredSet], aspect: str, column: str) -> list[dict[str, Any]]:
    """Lists a row for each metric and each part of a set, such as the texts of one system.

    The column named `column` has the name of the part.
    """
    rows: list[dict[str, Any]] = []
    for metric, part in product(parts[0].scores if parts else (), parts):
        agreement = agree(part, metric, aspect)
        rows.append(
            {
                "metric": agreement.metric,
                "aspect": aspect,
                column: part.name,
                "n": agreement.n,
                "pearson": agreement.pearson,
                "spearman": agreement.spearman,
            }
        )
    return rows
