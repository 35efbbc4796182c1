"""The audit of metrics: what scores depend on, which damage lowers them, and which harmless edits change them."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.errors import ExampleError, SettingError
from core.example import Example
from core.progress import step
from core.scores import Field, Metric
from core.selection import has_field
from core.signature import join_settings
from core.stages import Stages, fingerprint
from data.damage import DAMAGES, EDITS, damage_example, edit_example
from data.rating_words import GivenLevels
from judge.audits import AspectAudit, Audits, AuditSettings, MetricAudit
from judge.engines import list_code, load_all, score_all
from judge.inputs import Columns, Source, read
from judge.metrics import Metrics, plan_metrics
from judge.verbs.score import check_fields, open_stages
from meta_eval.auditing import DamageAudit, EditAudit, audit_cues, audit_damage, audit_edit
from meta_eval.bootstrap import Estimate
from meta_eval.correlation import Floats, spearman
from meta_eval.cues import Cues, count_cues
from meta_eval.grouping import restrict
from meta_eval.intervals import Resampling, grouped_estimate
from meta_eval.scored_set import ScoredSet

Perturbed = Mapping[str, tuple[Sequence[Sequence[Example]], Floats]]


def audit(
    source: Source | Sequence[ScoredSet],
    metrics: Metrics,
    *,
    columns: Columns | None = None,
    texts: int = 200,
    strengths: Sequence[float] = (0.25, 0.5, 1),
    resamples: int = 1000,
    seed: int = 0,
    cues: bool = True,
    levels: GivenLevels | None = None,
    stages: Path | str | None = None,
    cards: Path | str | None = None,
    **settings: Any,
) -> Audits:
    """Audits metrics on your texts: what their scores depend on, and what fools them.

    Args:
        source: texts, as `judge.read` takes them with `columns` and `levels`; scores among them are ignored. Of several
            sets each metric takes the first that has the fields it needs.
        metrics: to audit, with `settings` as in `judge.load_metric`.
        columns: by field its column of the file.
        texts: the most to draw; each is scored 29 times.
        strengths: shares of a text to damage.
        resamples: of the intervals.
        seed: of the texts, the damage and the resamples.
        cues: whether the scores are compared with cheap cues.
        levels: the scale of ratings in words, from the worst to the best, or by aspect; usual ones are known.
        stages: a folder that keeps the scores of damaged texts: after a kill, the same audit continues.
        cards: an existing folder to write: NAME.md for the card of each metric, README.md for the table of all.

    Raises SettingError for wrong settings, InputError as `audit_metric` does.
    """
    how = AuditSettings(texts=texts, strengths=strengths, resamples=resamples, seed=seed)
    kept = open_stages(stages)
    planned = plan_metrics(metrics, settings, stages=kept and kept.root)
    if not planned:
        raise SettingError("metrics must name the metrics to audit: metrics=bleu,rouge_l")
    if cards is not None and not Path(cards).is_dir():
        raise SettingError(f"cards must be an existing folder, but there is no {cards}")
    sets = [scored for scored in source if isinstance(scored, ScoredSet)] if isinstance(source, list | tuple) else []
    sets = sets or [read(cast(Source, source), columns=columns, levels=levels)]
    if len(sets) == 1:
        for name, metric in planned.items():
            check_fields(sets[0], name, metric.requires)
    with step("loading"):
        loaded = load_all(planned)
    chosen = {name: choose_set(sets, name, metric) for name, metric in loaded.items()}
    audits: dict[str, MetricAudit] = {}
    for name, rated in chosen.items():
        audits[name] = replace(audit_metric(rated, loaded[name], how, cues, kept), name=name)
    found = Audits(audits)
    if cards is None:
        return found
    from judge.cards import write_cards

    write_cards(Path(cards), found)
    return replace(found, written=(Path(cards) / "README.md",))


def choose_set(sets: Sequence[ScoredSet], name: str, metric: Metric) -> ScoredSet:
    """The first set whose examples all have the fields that a metric needs; the only set in any case.

    Raises SettingError if none of several has them.
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
    rated: ScoredSet, metric: Metric, settings: AuditSettings, has_cues: bool = True, stages: Stages | None = None
) -> MetricAudit:
    """Audits every aspect of a metric on texts of a set, whose ratings may be empty.

    `stages` keeps the scores of perturbed texts: after a kill, the same audit continues. Raises InputError, by file
    and line, if no example can be scored, and for examples that the metric refuses.
    """
    seed = settings.seed
    drawn = rated.take(draw(rated.examples, metric.requires, settings.texts, seed))
    examples = drawn.examples
    began = time.perf_counter()
    scored = score_all(drawn, metric)
    cost = (time.perf_counter() - began) / len(examples)
    perturbed = {name: damage_all(examples, name, sorted(settings.strengths), seed) for name in DAMAGES}
    perturbed |= {name: edit_all(examples, name) for name in EDITS}
    after = score_perturbed(metric, perturbed, scored.signature, stages)
    cues = count_cues(examples) if has_cues else None
    resampling = Resampling(resamples=settings.resamples, seed=seed)
    aspects: dict[str, AspectAudit] = {}
    for aspect, values in scored.values.items():
        of_aspect: dict[str, tuple[Sequence[Sequence[Example]], Floats]] = {}
        for name, texts in perturbed.items():
            of_aspect[name] = (texts, np.array([scores[aspect] for scores in after[name]]))
        aspects[aspect] = audit_aspect(examples, values, of_aspect, cues, resampling)
    line = join_settings("audit", settings, set=rated.name, n=len(examples), cues=has_cues)
    return MetricAudit(
        aspects=aspects,
        metric=metric,
        rated=rated,
        signature=f"{line}|{scored.signature}",
        name=scored.signature.split("|")[0],
        settings=settings,
        n=len(examples),
        cost=cost,
        said=(*rated.notes, *scored.notes),
    )


def score_perturbed(
    metric: Metric, perturbed: Mapping[str, Sequence[Sequence[Example]]], signature: str, stages: Stages | None
) -> dict[str, list[dict[str, list[float]]]]:
    """Scores the texts of each damage or edit at each strength; `stages` keeps the scores."""
    score_level = partial(score_accepted, metric)
    if stages is None:
        return {name: [*map(score_level, levels)] for name, levels in perturbed.items()}
    texts = [_list_read(level) for levels in perturbed.values() for level in levels]
    depends = {"signature": signature, "texts": fingerprint(texts)}
    cache = stages.open_cache("audit", depends, code=[score_accepted, *list_code(metric)])
    found: dict[str, list[dict[str, list[float]]]] = {}
    with step("scoring damaged texts", len(texts)) as advance:
        for name, levels in perturbed.items():
            found[name] = []
            for i, level in enumerate(levels):
                found[name].append(cache.get(f"{name} {i}", partial(score_level, level)))
                advance(1)
    return found


def _list_read(examples: Sequence[Example]) -> list[tuple[Any, ...]]:
    """What a metric reads of examples."""
    return [(e.text, e.turns, e.context, e.prefix, e.label, e.references) for e in examples]


def score_accepted(metric: Metric, examples: Sequence[Example]) -> dict[str, list[float]]:
    """The scores by aspect; NaN for examples that break a rule of the metric because of the damage.

    For example, the text must begin with its prefix.
    """
    accepted = np.full(len(examples), True)
    try:
        values = metric.score(examples).values
    except ExampleError as faults:
        accepted[[i for i, _ in faults.at]] = False
        values = metric.score([examples[i] for i in np.flatnonzero(accepted).tolist()]).values
    found: dict[str, list[float]] = {}
    for aspect, scores in values.items():
        of_all = np.full(len(examples), math.nan)
        of_all[accepted] = scores
        found[aspect] = of_all.tolist()
    return found


def draw(examples: Sequence[Example], requires: Sequence[Field], count: int, seed: int) -> list[int]:
    """Draws at most `count` examples with the required fields (of all if none has them); returns sorted indices.

    Empty answers are left out, because there is nothing to damage.
    """
    texts = [i for i, example in enumerate(examples) if not example.is_empty]
    complete = [i for i in texts if _is_complete(examples[i], requires)]
    among = complete or texts
    return sorted(random.Random(seed).sample(among, min(count, len(among))))


def damage_all(examples: Sequence[Example], name: str, strengths: Sequence[float], seed: int) -> list[list[Example]]:
    """Damages the examples at each strength; foreign units come from the next example of another input."""
    donors = [_find_donor(examples, place) for place in range(len(examples))]
    damaged: list[list[Example]] = []
    for strength in strengths:
        pairs = zip(examples, donors, strict=True)
        damaged.append([damage_example(own, donor, name, strength, seed) for own, donor in pairs])
    return damaged


def _find_donor(examples: Sequence[Example], place: int) -> Example:
    """The next example of another input, from the first again behind the last; without one the example itself."""
    own = examples[place]
    others = (*examples[place + 1 :], *examples[:place])
    return next((other for other in others if own.group is None or other.group != own.group), own)


def edit_all(examples: Sequence[Example], name: str) -> list[list[Example]]:
    """The examples after a harmless edit, as the only level."""
    return [[edit_example(example, name) for example in examples]]


def audit_aspect(
    examples: Sequence[Example], scores: Floats, perturbed: Perturbed, cues: Cues | None, resampling: Resampling
) -> AspectAudit:
    """Audits one aspect. Texts that a perturbation leaves unchanged do not count for it.

    `scores` have the shape (n,); `perturbed` holds for each damage or edit the texts and their scores by strength, of
    shape (strengths, n).
    """
    layout = ScoredSet("texts", tuple(examples), {}).layout
    properties: dict[str, Estimate] = {}
    for name, values in zip(cues.names, cues.values.T, strict=True) if cues else ():
        if np.ptp(values):
            properties[name] = grouped_estimate(spearman, scores, values, layout, resampling=resampling)
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
            damages[name] = audit_damage(before, after, layout=units, resampling=resampling)
        else:
            edits[name] = audit_edit(before, after[0], layout=units)
    explained = None if cues is None else audit_cues(scores, cues, layout=layout, resampling=resampling)
    return AspectAudit(int((~np.isnan(scores)).sum()), properties, explained, damages, edits)


def find_changed(examples: Sequence[Example], levels: Sequence[Sequence[Example]]) -> NDArray[np.bool_]:
    """Whether each example is another one at every level, of shape (n,)."""
    changed = np.full(len(examples), True)
    for level in levels:
        changed &= [before != after for before, after in zip(examples, level, strict=True)]
    return changed
