"""Audits metrics: what scores depend on, which damage lowers them, and which harmless edits change them."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.errors import ExampleError, SettingError, setting
from core.example import Example
from core.progress import step
from core.scores import Field, Metric
from core.selection import has_field
from core.signature import join_settings
from core.stages import Stages, fingerprint
from data.damage import DAMAGES, EDITS, damage_example, edit_example
from data.rating_words import GivenLevels
from data.scoring import list_code, score_all
from judge.audits import AspectAudit, AuditSettings, MetricAudit, present_audits
from judge.inputs import Columns, Source, read
from judge.metrics import Metrics, plan_metrics
from judge.scoring import check_fields, load_all, open_stages
from meta_eval.auditing import DamageAudit, EditAudit, audit_cues, audit_damage, audit_edit
from meta_eval.correlation import spearman
from meta_eval.cues import Cues, count_cues
from meta_eval.design import Floats, Layout, restrict
from meta_eval.estimates import Estimate
from meta_eval.grouping import estimate_correlation
from meta_eval.scored_set import ScoredSet
from report.study import Study

Levels = Sequence[Sequence[Example]]  # the examples at each strength
Perturbed = Mapping[str, tuple[Levels, Floats]]
LevelScores = dict[str, list[float]]  # by aspect


def audit(
    source: Source | Sequence[ScoredSet],
    metrics: Metrics,
    *,
    columns: Columns | None = None,
    texts: int = 200,
    strengths: Sequence[float] = (0.25, 0.5, 1),
    seed: int = 0,
    cues: bool = True,
    levels: GivenLevels | None = None,
    stages: Path | str | None = None,
    **settings: Any,
) -> Study:
    """The work of `judge.audit`, which says what it takes and raises."""
    how = AuditSettings(texts=texts, strengths=strengths, seed=seed)
    kept = open_stages(stages)
    planned = plan_metrics(metrics, settings, stages=kept and kept.root)
    if not planned:
        raise SettingError(f"metrics must name the metrics to audit, as {setting('metrics', 'bleu')}")
    sets: list[ScoredSet] = []
    if isinstance(source, list | tuple):
        sets = [scored for scored in source if isinstance(scored, ScoredSet)]
    if not sets:
        sets = [read(cast(Source, source), columns=columns, levels=levels)]
    if len(sets) == 1:
        for name, metric in planned.items():
            check_fields(sets[0], name, metric.requires)
    loaded = load_all(planned)
    chosen = {name: choose_set(sets, name, metric) for name, metric in loaded.items()}
    by_metric: dict[str, MetricAudit] = {}
    for name, rated in chosen.items():
        audited = audit_metric(
            rated,
            loaded[name],
            settings=how,
            has_cues=cues,
            stages=kept,
        )
        by_metric[name] = replace(audited, name=name)
    return present_audits(by_metric)


def choose_set(
    sets: Sequence[ScoredSet],
    name: str,
    metric: Metric,
) -> ScoredSet:
    """Chooses the first set whose examples all have the fields that a metric needs; a single set is always chosen.

    Raises SettingError if none of several sets has them.
    """
    if len(sets) == 1:
        return sets[0]
    for rated in sets:
        if all(_is_complete(example, metric.requires) for example in rated.examples):
            return rated
    raise SettingError(f"{name} needs {', '.join(metric.requires)}, which no set has")


def _is_complete(example: Example, requires: Sequence[Field]) -> bool:
    return all(has_field(example, field) for field in requires)


def audit_metric(
    rated: ScoredSet,
    metric: Metric,
    settings: AuditSettings,
    has_cues: bool = True,
    stages: Stages | None = None,
) -> MetricAudit:
    """Audits every aspect of a metric on texts of a set, whose ratings may be empty.

    `stages` keeps the scores of perturbed texts: after a kill, the same audit continues. Raises InputError, by file
    and line, if no example can be scored, and for examples that the metric refuses.
    """
    seed = settings.seed
    places = draw(rated.examples, metric.requires, settings.texts, seed)
    drawn = rated.take(places)
    examples = drawn.examples
    scored = score_all(drawn, metric)
    strengths = sorted(settings.strengths)
    perturbed = {name: damage_all(examples, name, strengths, seed) for name in DAMAGES}
    perturbed |= {name: edit_all(examples, name) for name in EDITS}
    after = score_perturbed(metric, perturbed, scored.signature, stages)
    cues = count_cues(examples) if has_cues else None
    aspects: dict[str, AspectAudit] = {}
    for aspect, values in scored.values.items():
        of_aspect: dict[str, tuple[Levels, Floats]] = {}
        for name, texts in perturbed.items():
            scores = np.array([by_aspect[aspect] for by_aspect in after[name]])
            of_aspect[name] = (texts, scores)
        aspects[aspect] = audit_aspect(
            examples,
            scores=values,
            perturbed=of_aspect,
            cues=cues,
            seed=seed,
        )
    line = join_settings(
        "audit",
        settings,
        set=rated.name,
        n=len(examples),
        cues=has_cues,
    )
    return MetricAudit(
        aspects=aspects,
        metric=metric,
        rated=rated,
        signature=f"{line}|{scored.signature}",
        name=scored.signature.split("|")[0],
        settings=settings,
        n=len(examples),
        said=(*rated.notes, *scored.notes),
    )


def score_perturbed(
    metric: Metric,
    perturbed: Mapping[str, Levels],
    signature: str,
    stages: Stages | None,
) -> dict[str, list[LevelScores]]:
    """Scores the texts that each kind of damage or edit makes at each strength; returns the scores by the kind's name.

    If `stages` (`core.stages`) is given, it keeps the scores on disk.
    """
    score_level = partial(score_accepted, metric)
    if stages is None:
        return {name: [*map(score_level, levels)] for name, levels in perturbed.items()}
    texts = [_list_read(level) for levels in perturbed.values() for level in levels]
    depends = {"signature": signature, "texts": fingerprint(texts)}
    cache = stages.open_cache("audit", depends, code=[score_accepted, *list_code(metric)])
    scored: dict[str, list[LevelScores]] = {}
    with step("scoring damaged texts", len(texts)) as advance:
        for name, levels in perturbed.items():
            scored[name] = []
            for i, level in enumerate(levels):
                scores = cache.get(f"{name} {i}", partial(score_level, level))
                scored[name].append(scores)
                advance(1)
    return scored


def _list_read(examples: Sequence[Example]) -> list[tuple[Any, ...]]:
    """What a metric reads of examples."""
    return [(e.text, e.turns, e.context, e.prefix, e.label, e.references) for e in examples]


def score_accepted(metric: Metric, examples: Sequence[Example]) -> LevelScores:
    """Scores examples by aspect; NaN for examples that, when damaged, break a rule of the metric.

    A rule is, for example, that a text must begin with its prefix.
    """
    accepted = np.full(len(examples), True)
    try:
        values = metric.score(examples).values
    except ExampleError as faults:
        for place, _ in faults.at:
            accepted[place] = False
        others = [examples[place] for place in np.flatnonzero(accepted).tolist()]
        values = metric.score(others).values
    by_aspect: LevelScores = {}
    for aspect, scores in values.items():
        of_all = np.full(len(examples), math.nan)
        of_all[accepted] = scores
        by_aspect[aspect] = of_all.tolist()
    return by_aspect


def draw(
    examples: Sequence[Example],
    requires: Sequence[Field],
    count: int,
    seed: int,
) -> list[int]:
    """Draws at most `count` examples with the required fields (of all if none has them); returns sorted indices.

    Empty answers are left out, because there is nothing to damage.
    """
    texts = [i for i, example in enumerate(examples) if not example.is_empty]
    complete = [i for i in texts if _is_complete(examples[i], requires)]
    among = complete or texts
    drawn = random.Random(seed).sample(among, min(count, len(among)))
    return sorted(drawn)


def damage_all(
    examples: Sequence[Example],
    name: str,
    strengths: Sequence[float],
    seed: int,
) -> list[list[Example]]:
    """Damages the examples by the damage `name`; returns a list of them for each strength.

    Foreign sentences or turns come from the next example of another input.
    """
    donors = [_find_donor(examples, place) for place in range(len(examples))]
    damaged: list[list[Example]] = []
    for strength in strengths:
        level: list[Example] = []
        for example, donor in zip(examples, donors, strict=True):
            level.append(damage_example(example, donor, name, strength, seed))
        damaged.append(level)
    return damaged


def _find_donor(examples: Sequence[Example], place: int) -> Example:
    """The next example of another input, from the first again behind the last; without one the example itself."""
    example = examples[place]
    for other in (*examples[place + 1 :], *examples[:place]):
        if example.group is None or other.group != example.group:
            return other
    return example


def edit_all(examples: Sequence[Example], name: str) -> list[list[Example]]:
    """Applies a harmless edit to the examples; returns them as the only level."""
    return [[edit_example(example, name) for example in examples]]


def audit_aspect(
    examples: Sequence[Example],
    scores: Floats,
    perturbed: Perturbed,
    cues: Cues | None,
    seed: int = 0,
) -> AspectAudit:
    """Audits one aspect. A text that a damage or an edit leaves unchanged does not count for it.

    `scores` have the shape (n,); `perturbed` holds for each damage or edit the texts and their scores by strength, of
    shape (strengths, n).
    """
    layout = ScoredSet("texts", tuple(examples), {}).layout
    properties: dict[str, Estimate] = {}
    explained = None
    if cues is not None:
        properties = correlate_cues(scores, cues, layout)
        explained = audit_cues(scores, cues, layout=layout, seed=seed)
    damages: dict[str, DamageAudit] = {}
    edits: dict[str, EditAudit] = {}
    for name, (levels, values) in perturbed.items():
        differs = find_changed(examples, levels)
        if not differs.any():
            continue
        units = restrict(layout, differs)
        before = scores[differs]
        after = values[:, differs]
        if name in DAMAGES:
            damages[name] = audit_damage(before, after, layout=units, seed=seed)
        else:
            edits[name] = audit_edit(before, after[0], layout=units)
    is_known = ~np.isnan(scores)
    return AspectAudit(
        n=int(is_known.sum()),
        properties=properties,
        cues=explained,
        damages=damages,
        edits=edits,
    )


def correlate_cues(
    scores: Floats,
    cues: Cues,
    layout: Layout,
) -> dict[str, Estimate]:
    """Computes Spearman's correlation of the scores with each cue that differs between texts, by name."""
    correlations: dict[str, Estimate] = {}
    for name, values in zip(cues.names, cues.values.T, strict=True):
        if np.ptp(values):
            correlations[name] = estimate_correlation(spearman, scores, values, layout)
    return correlations


def find_changed(examples: Sequence[Example], levels: Levels) -> NDArray[np.bool_]:
    """Finds the examples that were changed at every level; returns a mask of shape (n,)."""
    is_changed = np.full(len(examples), True)
    for level in levels:
        is_changed &= [before != after for before, after in zip(examples, level, strict=True)]
    return is_changed
