"""MARS on rated texts: the metric, its ablations, baselines and adversaries against ratings (Liu et al. 2021).

Of the paper's baselines MoverScore is missing: no kept library has it. A set with several rated aspects is shown in
figures and further tables by the first of them; for Newsroom that is their mean, as in the paper.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from core.faults import SettingFault
from core.scores import Metric, Scores
from core.signature import MODEL_LIBRARIES, signature
from data.adversaries import reordered, retrieved
from data.rated import RatedSet
from data.references import ReferenceData
from experiments.report import plots
from experiments.report.evaluation import evaluate
from experiments.runner.contracts import Outcome, Row, Run, ScoredSet, Table
from experiments.training.language_models import LanguageModelPlan, Pretrained, trained_language_model
from experiments.training.trained import Trained, folders_of
from language_models.embedders import Remembered, load_embedder
from mars.metric import MARS, Compared
from mars.self_planning import SelfPlanningAugmenter
from meta_eval.correlation import pearson

SYSTEM_CAPTION = "Table 3 of MARS: Pearson's correlation with the rating ({aspect}) among the texts of each system."
RATIO_CAPTION = (
    "Table 5 of MARS: agreement with the rating by the largest masking ratio, and the standard deviation of an "
    "example's cosines over its ratios, on average."
)
ADVERSARY_CAPTION = (
    "Table 4 of MARS: Pearson's correlation with the ratings of the originals for these and for adversaries in their "
    "place, and the fall. below: the share of adversaries that are scored below their originals."
)


def mars(
    run: Run,
    data: ReferenceData,
    language_model: LanguageModelPlan | Pretrained,
    masked: LanguageModelPlan | Pretrained | None,
    metric: partial[MARS],
    baselines: Mapping[str, Callable[[], Metric]],
    perplexity: Callable[[str], Metric],
    largest_ratios: Sequence[float] = (0.0, 0.2, 0.4, 0.6, 0.8),
    adversaries: bool = True,
    static_encoder: str | None = "offline",
) -> Outcome:
    """Rows of Table 3 (ablations, Naive, baselines), Table 4 (adversaries, word vectors) and Table 5 (masking ratios).

    Args:
        run: from the runner.
        data: texts to train on, and rated ones with references and context.
        language_model: fills the blanks: pretrained, or trained here.
        masked: the model of Naive; None leaves its row out.
        metric: makes the metric of a model's name or folder.
        baselines: by the name of their row; built when they are needed.
        perplexity: makes this baseline of a model's name or folder.
        largest_ratios: masking ratios of Table 5 from 0 on, a row `mars_to_20` and so on for each as the largest one.
        adversaries: whether Reorder and Retrieve are scored, as sets of their own with the ratings of the originals.
        static_encoder: whose input embeddings take the encoder's place in `mars_static`; None leaves the row out.

    Raises ValueError for settings of the metric that mean nothing and InputFaults for a tagger or a baseline that is
    not installed, before a model is trained.
    """
    metric(None, augmenter="none")  # what is wrong with its settings is found before a model is trained
    others = {name: make() for name, make in baselines.items()}
    texts = [e.full_text for e in data.train], [e.full_text for e in data.held_out]
    fluent = trained_language_model(run, "language_model", language_model, *texts)
    filler = None if masked is None else trained_language_model(run, "masked", masked, *texts)
    judges = _judges(metric, fluent, filler, run.stages.root / "augmented_references")
    others["perplexity"] = perplexity(fluent.source)

    scored: list[ScoredSet] = []
    rows: list[Row] = []
    figures: dict[str, Figure] = {}
    numbers: dict[str, float] = {}
    notes: list[str] = []
    by_system: list[Table] = []
    by_ratio: list[dict[str, Any]] = []
    by_adversary: list[dict[str, Any]] = []
    for rated in data.rated:
        originals: list[Compared] = []
        sets = {"": rated, **(_adversaries(rated, run.seed, notes) if adversaries else {})}
        found: dict[str, dict[str, Scores]] = {}
        for kind, those in sets.items():
            with run.timed(f"augmentation and similarity {rated.name}"):
                found[kind], compared = _judged(judges, those, largest_ratios, static_encoder)
            if not kind:
                originals = compared
                numbers |= _guidance(compared, rated.name)
            with run.timed(f"baselines {rated.name}"):
                found[kind] |= {name: other.score(those.examples) for name, other in others.items()}
            scored.append(ScoredSet(those, found[kind]))
            rows += evaluate(found[kind], those)
        by_system += within_systems(rated, found[""])
        by_ratio += _ratio_rows(rated, rows, originals, largest_ratios)
        if len(sets) > 1:
            by_adversary += _adversary_rows(rated, sets, found, rows)
        figures |= _drawn(rated, found, rows, sets)
    models = {model.name: model for model in (fluent, filler) if model is not None and model.is_trained_here}
    if models:
        figures["training_curves"] = plots.training_curves({name: model.curve for name, model in models.items()})
    numbers |= {f"{name} held-out NLL (nats per token)": model.held_out_nll for name, model in models.items()}
    return Outcome(
        signature=signature(run.name, libraries=MODEL_LIBRARIES, data=data.name, language_model=fluent.identity),
        rows=rows,
        tables=[
            *by_system,
            Table("Masking ratios", RATIO_CAPTION, by_ratio),
            *([Table("Adversaries", ADVERSARY_CAPTION, by_adversary)] if by_adversary else []),
        ],
        scored=scored,
        plots=figures,
        models=folders_of(models),
        notes=notes,
        figures=numbers,
        synthetic=data.synthetic,
    )


def _judges(metric: partial[MARS], fluent: Trained, filler: Trained | None, kept: Path) -> dict[str, MARS]:
    """MARS, its ablations and Naive: one language model, one encoder that reads every text once."""
    usual = metric(fluent.source, kept=kept)
    usual = replace(usual, embedder=Remembered(usual.embedder))
    augmenter = usual.augmenter
    if not isinstance(augmenter, SelfPlanningAugmenter):
        raise SettingFault("the rows of this experiment are ablations of augmenter=self_planning: leave it as it is")
    found = {
        "mars": usual,
        "mars_without_planning": replace(usual, augmenter=augmenter.but(planning_steps=0)),
        "mars_without_context": replace(usual, augmenter=augmenter.but(use_context=False)),
        "mars_without_both": replace(usual, augmenter=augmenter.but(planning_steps=0, use_context=False)),
    }
    if filler is not None:
        found["mars_naive"] = replace(metric(filler.source, kept=kept, augmenter="naive"), embedder=usual.embedder)
    return found


def _judged(
    judges: Mapping[str, MARS], rated: RatedSet, largest_ratios: Sequence[float], static_encoder: str | None
) -> tuple[dict[str, Scores], list[Compared]]:
    """The scores of all variants, and the cosines of `mars` at all ratios of Table 5."""
    found: dict[str, Scores] = {}
    usual = judges["mars"]
    compared = replace(usual, ratios=tuple(sorted({*usual.ratios, *largest_ratios}))).compared(rated.examples)
    for name, judge in judges.items():  # not from the wider ones, at which some references may be too long
        found[name] = judge.score(rated.examples)
    if static_encoder is not None:
        found["mars_static"] = replace(usual, embedder=load_embedder(static_encoder, static=True)).score(rated.examples)
    for largest in largest_ratios:
        up_to = replace(usual, ratios=tuple(ratio for ratio in largest_ratios if ratio <= largest))
        found[_up_to(largest)] = up_to.scored(compared)
    return found, compared


def _up_to(ratio: float) -> str:
    """The row of Table 5 with this as the largest ratio."""
    return f"mars_to_{round(100 * ratio)}"


def _adversaries(rated: RatedSet, seed: int, notes: list[str]) -> dict[str, RatedSet]:
    """Reorder and, where every text has a context, Retrieve; the ratings are those of the texts they replace."""
    found = {"reorder": replace(rated, name=f"{rated.name}_reorder", examples=reordered(rated.examples, seed))}
    if all((example.context or "").strip() for example in rated.examples):
        found["retrieve"] = replace(rated, name=f"{rated.name}_retrieve", examples=retrieved(rated.examples, seed))
    else:
        notes.append(f"no Retrieve for {rated.name}: not every text has a context")
    return found


def within_systems(rated: RatedSet, scores: Mapping[str, Scores]) -> list[Table]:
    """Table 3: agreement among the texts of each system, where every text names its system and there are several."""
    systems = np.array([example.system or "" for example in rated.examples])
    if len(names := list(dict.fromkeys(systems))) < 2 or "" in names:
        return []
    aspect = next(iter(rated.examples[0].ratings))
    ratings = np.array([example.ratings.get(aspect, np.nan) for example in rated.examples])
    rows: list[dict[str, Any]] = []
    for metric, scored in scores.items():
        values = next(iter(scored.values.values()))
        both = ~(np.isnan(values) | np.isnan(ratings))
        of_system = {str(name): both & (systems == name) for name in names}
        rows.append({"metric": metric} | {name: _pearson(values[at], ratings[at]) for name, at in of_system.items()})
    return [Table(f"Within systems: {rated.name}", SYSTEM_CAPTION.format(aspect=aspect), rows)]


def _pearson(scores: NDArray[np.float64], ratings: NDArray[np.float64]) -> float:
    return float(pearson(scores, ratings, np.ones((1, len(scores))))[0]) if len(scores) > 1 else math.nan


def _ratio_rows(
    rated: RatedSet, rows: Sequence[Row], compared: Sequence[Compared], largest_ratios: Sequence[float]
) -> list[dict[str, Any]]:
    """Table 5: agreement by the largest ratio, and how far the cosines of an example differ over its ratios."""
    of_metric = {row.metric: row for row in _main_rows(rows, rated)}
    found: list[dict[str, Any]] = []
    for largest in largest_ratios:
        columns = [ratio for ratio in largest_ratios if ratio <= largest]
        spreads = [np.std([row[one.ratios.index(r)] for r in columns]) for one in compared for row in one.cosines]
        known = [spread for spread in spreads if not np.isnan(spread)]
        row = of_metric[_up_to(largest)]
        found.append(
            {
                "set": rated.name,
                "aspect": row.aspect,
                "largest ratio": largest,
                "pearson": row.pearson,
                "pearson_interval": row.pearson_interval,
                "spearman": row.spearman,
                "spearman_interval": row.spearman_interval,
                "mean deviation": float(np.mean(known)) if known else math.nan,
            }
        )
    return found


def _adversary_rows(
    rated: RatedSet, sets: Mapping[str, RatedSet], found: Mapping[str, Mapping[str, Scores]], rows: Sequence[Row]
) -> list[dict[str, Any]]:
    """Table 4: agreement with the ratings of the originals, and how often an adversary is scored below its original."""
    agreed = {kind: {row.metric: row.pearson for row in _main_rows(rows, those)} for kind, those in sets.items()}
    aspect = next(iter(rated.examples[0].ratings))
    table: list[dict[str, Any]] = []
    for metric, original in agreed[""].items():
        values = next(iter(found[""][metric].values.values()))
        line: dict[str, Any] = {"set": rated.name, "aspect": aspect, "metric": metric, "original": original}
        for kind in [kind for kind in sets if kind]:
            adversaries = next(iter(found[kind][metric].values.values()))
            both = ~(np.isnan(values) | np.isnan(adversaries))
            line[kind] = agreed[kind][metric]
            line[f"{kind} fall"] = original - agreed[kind][metric]
            line[f"{kind} below"] = float((adversaries < values)[both].mean()) if both.any() else math.nan
        table.append(line)
    return table


def _guidance(compared: Sequence[Compared], name: str) -> dict[str, float]:
    """How far self-planning moves the model: its mean KL divergence from the plain one."""
    references = {id(one): one for c in compared for row in c.references for one in row}
    moved = [one.augmented.kl for one in references.values() if one.augmented.fills]
    return {f"mean KL of guided from plain (nats, {name})": float(np.mean(moved))} if moved else {}


def _drawn(
    rated: RatedSet, found: Mapping[str, Mapping[str, Scores]], rows: Sequence[Row], sets: Mapping[str, RatedSet]
) -> dict[str, Figure]:
    """Figure 3, and Table 4 as a figure."""
    shown = {name: found[""][name] for name in ("mars", "bertscore") if name in found[""]}
    figures = {f"scores_{rated.name}": plots.scores_against_ratings(ScoredSet(rated, shown))}
    if len(sets) > 1:
        by_name = {
            kind or "original": {
                row.metric: row.pearson for row in _main_rows(rows, those) if not row.metric.startswith("mars_to_")
            }
            for kind, those in sets.items()
        }
        figures[f"adversaries_{rated.name}"] = plots.adversaries(by_name, rated.name)
    return figures


def _main_rows(rows: Sequence[Row], rated: RatedSet) -> list[Row]:
    """The rows of a set for the first rated aspect, which figures and tables show."""
    aspect = next(iter(rated.examples[0].ratings))
    return [row for row in rows if row.set == rated.name and row.aspect == aspect]
