"""Tables of CDM beside the scores: systems by mean momentum (E(p), Eq. 3), figures of the models, and warnings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, cast

import numpy as np

from cdm.cues import TOLERANCE, measure_cues
from cdm.discriminative import ClassifierPooler, MomentumPooling, Steps, pool
from cdm.infilling import Gaps, Pair, PartialOrder, TokenisedDialogues, get_turns
from cdm.momentum import distribution_quality
from cdm.negatives import PLAUSIBLE, Negatives
from core.scores import Scores
from data.corpus import Corpus
from experiments.cdm.plans import CdmPlan
from experiments.training import LanguageModelPlan
from meta_eval.agreement import measure_aspect
from meta_eval.design import lay_out
from meta_eval.estimates import estimate_mean, estimate_weighted
from meta_eval.scored_set import ScoredSet
from report.tables import Table

BASELINE = "baseline_amateur_alone"  # begins the rows of the paper's baseline: the negatives of the amateur alone
BETAS = (0.0, 0.5, 0.75, 1.0)
CONTRASTED_POOLINGS: tuple[MomentumPooling, ...] = ("average", "sum")
CONTRAST_CAPTION = (
    "log p_e - beta log p_a, pooled: with beta 0 the likelihood of the expert alone, with 1 the momentum of Eq. 1. "
    "Spearman's rho with the ratings, over all texts, within systems and beyond cheap cues, with 95 % intervals over "
    "inputs. "
    "Whoever chooses beta or a pooling by this table has chosen it on the set that is reported."
)
SYSTEMS_CAPTION = (
    "E(p) of Eq. 3: the mean momentum of a system's texts in nats per text, which follows length, and per token. "
    "Higher is better. The ratings are means over the same texts."
)
DAMAGE_CAPTION = (
    "How far each kind of damage lowers the scores, in their standard deviations. The other kinds, and which kinds a "
    "text could have, are held fixed (linear regression). 95 % intervals over inputs. A good metric falls "
    "under every kind."
)
CUES_CAPTION = (
    "How well one surface feature alone separates positives from negatives: AUC; 0.5 is chance, and above it positives "
    "have more of the feature. Unseen words are in no held-out dialogue."
)
IMPLAUSIBLE = f"share of drawn tokens beyond the likeliest {PLAUSIBLE:.0%} of the amateur's vocabulary"


def tabulate_momentum(scored: Sequence[ScoredSet], steps: Sequence[Sequence[Steps]]) -> list[Table]:
    """Makes two kinds of tables: systems ranked by E(p), and agreement with ratings by the weight of the amateur model.

    E(p) is the mean contrastive momentum (Eq. 3) of the texts of a system p; each rated set has such a table. One table
    shows how the agreement of CDM with ratings depends on the weight of the amateur. `steps` has, for each set, the
    log-probabilities of its texts.
    """
    tables: list[Table] = []
    contrasts: list[dict[str, Any]] = []
    for rated, of_set in zip(scored, steps, strict=True):
        tables += rank_dialogue_systems(rated, of_set)
        contrasts += list_contrasts(rated, of_set)
    if contrasts:
        tables.append(Table("Weight of the amateur", CONTRAST_CAPTION, contrasts))
    return tables


def rank_dialogue_systems(rated: ScoredSet, steps: Sequence[Steps]) -> list[Table]:
    """Makes a table of the systems of a rated set, the highest E(p) first; no table if fewer than two are named.

    E(p) is the mean contrastive momentum of the texts of a system p (Eq. 3).
    """
    indices_by_system: dict[str, list[int]] = {}
    for i, (example, of_text) in enumerate(zip(rated.examples, steps, strict=True)):
        if example.system is not None and len(of_text.turn):
            indices_by_system.setdefault(example.system, []).append(i)
    if len(indices_by_system) < 2:
        return []
    rows = [_describe_system(rated, steps, system, indices) for system, indices in indices_by_system.items()]
    rows.sort(key=lambda row: -row["E(p)"].value)
    return [Table(f"Systems of {rated.name} by E(p)", SYSTEMS_CAPTION, rows)]


def _describe_system(
    rated: ScoredSet,
    steps: Sequence[Steps],
    system: str,
    indices: Sequence[int],
) -> dict[str, Any]:
    """E(p) of a system's texts, per text and per token, and the means of their ratings."""
    texts = [rated.examples[i] for i in indices]
    layout = lay_out(len(texts), inputs=[text.group or text.id for text in texts])
    momentum = np.array([steps[i].momentum.sum() for i in indices])
    tokens = np.array([len(steps[i].turn) for i in indices])

    def measure(inputs: np.ndarray) -> np.ndarray:
        weights = inputs[:, layout.inputs]
        return np.stack([distribution_quality(momentum, weights), weights @ momentum / (weights @ tokens)], axis=1)

    row: dict[str, Any] = {"system": system, "n": len(texts)}
    row["E(p)"], row["per token"] = estimate_weighted(measure, layout).show()
    for aspect in sorted({aspect for text in texts for aspect in text.ratings}):
        ratings = np.array([text.ratings.get(aspect, np.nan) for text in texts])
        row[f"rated {aspect}"] = estimate_mean(ratings, layout).only
    return row


def list_contrasts(rated: ScoredSet, steps: Sequence[Steps]) -> list[dict[str, Any]]:
    """Lists the agreement with ratings for each weight of the amateur (`beta`) and each pooling.

    A dialogue without tokens is left out.
    """
    indices = [i for i, of_text in enumerate(steps) if len(of_text.turn)]
    known = rated.take(indices)
    cells_by_name: dict[str, dict[str, Any]] = {}
    scores: dict[str, Scores] = {}
    for pooling in CONTRASTED_POOLINGS:
        for beta in BETAS:
            name = f"{pooling} {beta:g}"
            pooled = np.array([pool(steps[i], pooling, beta=beta) for i in indices])
            cells_by_name[name] = {"pooling": pooling, "beta": beta}
            scores[name] = Scores({"quality": pooled}, "")
    contrasted = replace(known, scores=scores)
    rows: list[dict[str, Any]] = []
    for aspect in known.aspects:
        for agreement in measure_aspect(contrasted, aspect):
            rows.append(
                {
                    "set": rated.name,
                    "aspect": aspect,
                    **cells_by_name[agreement.metric],
                    "n": agreement.n,
                    "spearman": agreement.spearman,
                    "within_systems": agreement.within_systems,
                    "beyond_cues": agreement.beyond_cues,
                }
            )
    return rows


def tabulate_damage(scored: Sequence[ScoredSet]) -> list[Table]:
    """Makes a table for each built-in set: how far each kind of damage lowers the scores of each metric.

    The label of a damaged text names its kinds of damage, joined by "+".
    """
    tables: list[Table] = []
    for rated in scored:
        if rated.synthetic and rated.aspects:
            rows = [{"metric": metric, **measure_falls(rated, metric)} for metric in rated.scores]
            tables.append(Table(f"Kinds of damage of {rated.name}", DAMAGE_CAPTION, rows, key=f"damage_{rated.name}"))
    return tables


def measure_falls(rated: ScoredSet, metric: str) -> dict[str, Any]:
    """Estimates the fall of a metric's scores under each kind of damage; {} if the scores are all the same.

    Texts that could have a kind of damage (named in `extra`) may differ from others: this is held fixed, too.
    """
    aspect, *_ = rated.aspects
    known = rated.take(np.flatnonzero(rated.scored(metric, aspect=aspect)))
    y = known.values(metric, aspect)
    if len({*y.tolist()}) < 2:
        return {}
    damages = [list_kinds(example.label) if example.ratings[aspect] < 1 else [] for example in known.examples]
    possible = [list_kinds(example.extra.get("possible_damage")) for example in known.examples]
    kinds = sorted({*chain(*damages)})
    columns = [np.ones(len(known))]
    for of_texts in (damages, possible):
        for kind in kinds:
            columns.append(np.array([kind in names for names in of_texts]))
    x = np.column_stack(columns)

    layout = lay_out(len(known), inputs=known.groups)

    def fit(inputs: np.ndarray) -> np.ndarray:
        weighted = inputs[:, None, layout.inputs] * x.T  # (rows, columns, n)
        slopes = (np.linalg.pinv(weighted @ x) @ (weighted @ y)[..., None])[..., 0] / y.std()
        return -slopes[:, 1 : 1 + len(kinds)]

    return {"n": len(known), **dict(zip(kinds, estimate_weighted(fit, layout).show(), strict=True))}


def list_kinds(names: str | None) -> list[str]:
    """Lists kinds of damage that are joined by "+"."""
    return names.split("+") if names else []


def list_figures(
    pair: Pair,
    order: PartialOrder,
    negatives: Negatives,
    data: Corpus,
    plan: CdmPlan,
    seed: int,
) -> dict[str, float]:
    """Returns figures by name: held-out losses, numbers of texts, shares of tokens read, AUCs of surface features."""
    text = pair.tokenise(get_turns(data.train))
    windowed = [task.dropped > 0 for task in text.tasks(seed)]
    figures = {
        "amateur held-out NLL (nats per token)": order.amateur_nll,
        "expert held-out NLL (nats per token)": order.expert_nll,
        "amateur parameters": pair.amateur.parameters,
        "expert parameters": pair.expert.parameters,
        "negatives": len(negatives.negatives),
        "redrawn segments that are cut": negatives.unclosed,
        "source tokens left out while sampling negatives": negatives.dropped,
        "share of training gaps read in a window of their dialogue": float(np.mean(windowed)),
    }
    for name, model in (("amateur", plan.amateur), ("expert", plan.expert)):
        if isinstance(model, LanguageModelPlan):
            figures[f"passes of the {name} over the training text"] = count_passes(model, text, seed)
    if negatives.implausible is not None:
        figures[IMPLAUSIBLE] = negatives.implausible
    return figures


def list_baselines(plan: CdmPlan) -> list[str]:
    """Notes which rows of the results are a baseline of the paper instead of its method."""
    notes: list[str] = []
    writer = plan.negatives.writer
    if plan.baseline is not None:
        notes.append(f"{BASELINE}_*: a baseline of the paper (Table 5), not CDM: the amateur draws alone (gamma 0).")
    if writer != "contrast":
        gamma = f"model.negatives.sampling.gamma is {plan.negatives.sampling.gamma:g}"
        notes.append(f"{gamma}: cdm_generative_* is a baseline of the paper (Table 5) here: negatives of the {writer}.")
    return notes


def tabulate_cues(learned: Mapping[str, Negatives], reference: Sequence[Sequence[str]]) -> Table:
    """Makes a table of how well surface features give negatives away (`measure_cues`): a row per kind of negatives."""
    rows: list[dict[str, Any]] = []
    for kind, negatives in learned.items():
        rows.append({"negatives": kind, "n": len(negatives.indices), **measure_cues(negatives, reference)})
    return Table("Surface features of negatives", CUES_CAPTION, rows)


def list_warnings(
    order: PartialOrder,
    negatives: Negatives,
    cues: Table,
    pooler: ClassifierPooler,
) -> list[str]:
    """Lists the warnings that a reader of the tables needs to interpret them."""
    notes: list[str] = []
    if not order.holds:
        notes.append(str(order))
    if negatives.failures:
        notes.append(f"{negatives.failures} dialogues could not be manipulated and have no negative.")
    if negatives.uncovered:
        notes.append(
            f"{negatives.uncovered} dialogues have no segment of the kind that the strategy asks for; "
            "their segments are random ones."
        )
    if negatives.unclosed:
        notes.append(f"{negatives.unclosed} redrawn segments did not end by themselves and are cut.")
    if telling := list_telling_cues(cues):
        notes.append(
            f"Surface features alone separate negatives from positives (AUC; 0.5 is chance): {', '.join(telling)}."
        )
    if pooler.refusal:
        notes.append(f"{pooler.refusal}: the tables have no row for this pooling.")
    return notes


def list_telling_cues(cues: Table) -> list[str]:
    """Lists the surface features whose AUC differs from chance by more than `TOLERANCE`."""
    telling: list[str] = []
    for row in cues.rows:
        for cue, value in row.items():
            if isinstance(value, float) and abs(value - 0.5) > TOLERANCE:
                telling.append(f"{row['negatives']} by {cue} ({value:.2f})")
    return telling


def count_passes(plan: LanguageModelPlan, text: TokenisedDialogues, seed: int) -> float:
    """Computes how often a model reads the training text: epochs times the share of its tokens that an epoch reads."""
    most = cast(Gaps, plan.objective).most  # a pair learns nothing but gaps
    tasks = text.tasks(seed)
    learned = len(tasks)
    if most is not None:
        learned = min(most, learned)
    return plan.schedule.epochs * text.share_read(tasks) * learned / len(tasks)
