"""The audit of one metric on a set: what its scores depend on, and how damage and harmless edits change them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.example import Example
from core.faults import ExampleFaults
from core.scores import Metric
from core.stages import fingerprint
from data.corpus import RatedSet
from data.damage import DAMAGES, EDITS, damage_example, edit_example
from experiments.contracts import Run
from meta_eval.auditing import DamageAudit, EditAudit, LengthAudit, audit_damage, audit_edit, audit_length
from meta_eval.bootstrap import Estimate
from meta_eval.correlation import Floats, spearman
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling, grouped_estimate, restrict


@dataclass(frozen=True)
class PropertyCorrelation:
    """Spearman's rho of scores with a property, on the `n` texts that have both."""

    n: int
    spearman: Estimate


@dataclass(frozen=True)
class AspectAudit:
    """The audit of one aspect of a metric.

    Attributes:
        properties: Spearman's rho of the scores with properties of the texts, by property.
        length: the length audit by rated aspect; its key is "" if there are no ratings.
        damages: the audit of each kind of damage.
        edits: the audit of each kind of edit.
    """

    properties: Mapping[str, PropertyCorrelation]
    length: Mapping[str, LengthAudit]
    damages: Mapping[str, DamageAudit]
    edits: Mapping[str, EditAudit]


@dataclass(frozen=True)
class MetricAudit:
    """The audit of a metric on a set.

    Attributes:
        aspects: by aspect of the metric.
        metric: the metric.
        rated: the set.
        signature: of the scores.
        seed: that drew the texts.
        n: number of texts.
        cost: seconds to score one of them.
        strengths: shares of a text that were damaged.
    """

    aspects: Mapping[str, AspectAudit]
    metric: Metric
    rated: RatedSet
    signature: str
    seed: int
    n: int
    cost: float
    strengths: tuple[float, ...]


def audit_metric(
    run: Run, rated: RatedSet, metric: Metric, texts: int, strengths: Sequence[float], resamples: int
) -> MetricAudit:
    """Audits every aspect of a metric on at most `texts` texts of a set; `strengths` begins with the weakest.

    The scores of perturbed texts are kept in a cache: after a kill, the same audit continues.
    """
    resampling = Resampling(interval="percentile", resamples=resamples, seed=run.seed)
    examples = draw(rated.examples, texts, run.seed)
    began = run.timings.get("scoring", 0.0)
    with run.timed("scoring"):
        scored = metric.score(examples)
    cost = (run.timings["scoring"] - began) / len(examples)
    with run.timed("damage"):
        damaged = {name: damage_all(examples, name, strengths, run.seed) for name in DAMAGES}
        edited = {name: [edit_example(example, name) for example in examples] for name in EDITS}
        perturbed = {
            f"{name} {i}": level for name, levels in damaged.items() for i, level in enumerate(levels)
        } | edited
        read = [
            [(e.text, e.turns, e.context, e.prefix, e.label, e.references) for e in each] for each in perturbed.values()
        ]
        depends = {"signature": scored.signature, "texts": fingerprint(read)}
        cache = run.stages.open_cache("audit", depends, version=1)
        after = {name: cache.get(name, partial(score_accepted, metric, each)) for name, each in perturbed.items()}
    with run.timed("statistics"):
        found = {
            aspect: audit_aspect(
                examples,
                values,
                {
                    name: (levels, [np.array(after[f"{name} {i}"][aspect]) for i in range(len(levels))])
                    for name, levels in damaged.items()
                },
                {name: (level, np.array(after[name][aspect])) for name, level in edited.items()},
                resampling,
            )
            for aspect, values in scored.values.items()
        }
    return MetricAudit(found, metric, rated, scored.signature, run.seed, len(examples), cost, tuple(strengths))


def score_accepted(metric: Metric, examples: Sequence[Example]) -> dict[str, list[float]]:
    """The scores by aspect; NaN for examples that break a rule of the metric after they were damaged.

    Such a rule is that the prefix begins the text.
    """
    accepted = np.full(len(examples), True)
    try:
        values = metric.score(examples).values
    except ExampleFaults as faults:
        accepted[[i for i, _ in faults.at]] = False
        values = metric.score([each for each, kept in zip(examples, accepted, strict=True) if kept]).values
    found = {aspect: np.full(len(examples), math.nan) for aspect in values}
    for aspect, scores in values.items():
        found[aspect][accepted] = scores
    return {aspect: scores.tolist() for aspect, scores in found.items()}


def draw(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Draws at most `count` examples and keeps their order."""
    kept = sorted(random.Random(seed).sample(range(len(examples)), min(count, len(examples))))
    return [examples[i] for i in kept]


def damage_all(examples: Sequence[Example], name: str, strengths: Sequence[float], seed: int) -> list[list[Example]]:
    """Damages the examples at each strength; foreign units come from the next example of another input."""
    pairs = [(example, _foreign(examples, i)) for i, example in enumerate(examples)]
    return [
        [damage_example(example, other, name, strength, seed) for example, other in pairs] for strength in strengths
    ]


def _foreign(examples: Sequence[Example], i: int) -> Example:
    own = examples[i]
    following = (examples[(i + step) % len(examples)] for step in range(1, len(examples)))
    return next((each for each in following if own.group is None or each.group != own.group), own)


def audit_aspect(
    examples: Sequence[Example],
    scores: Floats,
    damaged: Mapping[str, tuple[Sequence[Sequence[Example]], Sequence[Floats]]],
    edited: Mapping[str, tuple[Sequence[Example], Floats]],
    resampling: Resampling,
) -> AspectAudit:
    """The audit of one aspect. Texts that a perturbation leaves as they are do not count in it."""
    groups = [example.group for example in examples]
    layout = lay_out(len(examples), inputs=None if None in groups else groups)
    measured = {name: np.array([measure(example) for example in examples]) for name, measure in PROPERTIES.items()}
    measured["position"] = np.arange(len(examples), dtype=np.float64)
    properties = {}
    for name, values in measured.items():
        known = ~np.isnan(values)
        of = restrict(layout, known)
        n = int((known & ~np.isnan(scores)).sum())
        estimate = grouped_estimate(spearman, scores[known], values[known], of, resampling=resampling)
        properties[name] = PropertyCorrelation(n, estimate)
    aspects = list(dict.fromkeys(aspect for example in examples for aspect in example.ratings)) or [""]
    length = {
        aspect: audit_length(
            scores,
            measured["word count"],
            np.array([example.ratings.get(aspect, np.nan) for example in examples]),
            layout=layout,
            resampling=resampling,
        )
        for aspect in aspects
    }
    damages = {}
    for name, (levels, values) in damaged.items():
        differs = np.array(
            [all(each != before for each in after) for before, *after in zip(examples, *levels, strict=True)]
        )
        if differs.any():
            damages[name] = audit_damage(
                scores[differs],
                np.stack(values)[:, differs],
                layout=restrict(layout, differs),
                confidence=resampling.confidence,
            )
    edits = {}
    for name, (texts, values) in edited.items():
        differs = np.array([after != before for after, before in zip(texts, examples, strict=True)])
        if differs.any():
            edits[name] = audit_edit(
                scores[differs],
                values[differs],
                layout=restrict(layout, differs),
                confidence=resampling.confidence,
            )
    return AspectAudit(properties, length, damages, edits)


def share_repeated(example: Example) -> float:
    """The share of words that already occurred in the text; NaN for a text without words."""
    words = example.full_text.casefold().split()
    return 1 - len(set(words)) / len(words) if words else math.nan


def share_in_context(example: Example) -> float:
    """The share of words that also occur in the context; NaN without context or words."""
    words, context = example.full_text.casefold().split(), set((example.context or "").casefold().split())
    return sum(word in context for word in words) / len(words) if words and context else math.nan


PROPERTIES: Mapping[str, Callable[[Example], float]] = {
    "word count": lambda example: float(example.word_count),
    "repetition": share_repeated,
    "overlap with context": share_in_context,
}
