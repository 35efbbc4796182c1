"""Audit: what scores depend on, which damage lowers them, and which harmless edits change them (`+exp=audit`)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from matplotlib.figure import Figure

from core.example import Example
from core.faults import ExampleFaults
from core.scores import Metric
from core.settings import Count, Fraction, Several, check
from core.stages import fingerprint
from data.damage import DAMAGES, EDITS, damage_example, edit_example
from data.rated import RatedSet
from data.scored import ScoredFile
from data.words import count_words
from experiments.contracts import Outcome, Run, Table
from experiments.tools.cards import write_card
from experiments.tools.meta_eval_tables import length_table
from meta_eval.auditing import (
    DamageAudit,
    EditAudit,
    LengthAudit,
    audit_damage,
    audit_edit,
    audit_length,
)
from meta_eval.correlation import Floats, spearman
from meta_eval.grouping import lay_out
from meta_eval.intervals import Grouped, Resampling, grouped_estimate, restrict

LARGE_EDIT = 0.1  # standard deviations of the scores; a harmless edit should change them by less


class HasRated(Protocol):
    """The data of an experiment that has rated sets."""

    @property
    def rated(self) -> Sequence[RatedSet]: ...


@dataclass(frozen=True)
class AspectAudit:
    """The audit of one aspect of a metric.

    Attributes:
        properties: Spearman's rho of the scores with properties of the texts, by property.
        length: the length audit by rated aspect; its key is "" if there are no ratings.
        damages: the audit of each kind of damage.
        edits: the audit of each kind of edit.
    """

    properties: Mapping[str, Grouped]
    length: Mapping[str, LengthAudit]
    damages: Mapping[str, DamageAudit]
    edits: Mapping[str, EditAudit]


@dataclass(frozen=True)
class MetricAudit:
    """The audit of a metric on a set.

    Attributes:
        aspects: by aspect of the metric.
        signature: of its scores.
        audited: the texts in words.
        n: number of texts.
        cost: seconds to score one of them.
        strengths: shares of a text that were damaged.
    """

    aspects: Mapping[str, AspectAudit]
    signature: str
    audited: str
    n: int
    cost: float
    strengths: tuple[float, ...]


def audit(
    run: Run,
    data: ScoredFile | HasRated,
    metric: Metric,
    texts: int,
    strengths: Sequence[float],
    resampling: Resampling,
    card: str | None = None,
) -> Outcome:
    """Audits a metric on at most `texts` texts, drawn by the seed.

    Args:
        data: a file, whose scores are ignored, or the data of an experiment, whose first rated set is used.
        strengths: the shares of a text to damage, weakest first.
        card: a Markdown file to write with what the metric measures and what fools it.

    Raises SettingFault for wrong settings, InputFaults if no example can be scored.
    """
    check_settings(texts, strengths)
    rated = RatedSet(data.path.name, data.examples, synthetic=False) if isinstance(data, ScoredFile) else data.rated[0]
    found = audit_metric(run, rated, metric, texts, sorted(strengths), resampling)
    tables, notes = audit_tables(found), note_weaknesses(found.aspects)
    if card is not None:
        write_card(Path(card), metric, found.signature, found.audited, rated.synthetic, found.cost, tables, notes)
    return Outcome(
        signature=f"audit|set={rated.name}|n={found.n}|seed={run.seed}|{found.signature}",
        tables=tables,
        plots={f"damage_{aspect}": plot_falls(each, found.strengths) for aspect, each in found.aspects.items()},
        notes=notes,
        files=[] if card is None else [Path(card)],
        synthetic=rated.synthetic,
    )


def check_settings(texts: int, strengths: Sequence[float]) -> None:
    """Raises SettingFault for wrong settings."""
    check(Count, texts=texts)
    check(Several[Fraction | int], strengths=strengths)


def audit_metric(
    run: Run, rated: RatedSet, metric: Metric, texts: int, strengths: Sequence[float], resampling: Resampling
) -> MetricAudit:
    """Audits every aspect of a metric on at most `texts` texts of a set; `strengths` begins with the weakest.

    The scores of perturbed texts are kept in a cache: after a kill, the same audit continues.
    """
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
    audited = f"{len(examples)} {'synthetic texts' if rated.synthetic else 'texts'} ({rated.name}), seed {run.seed}"
    return MetricAudit(found, scored.signature, audited, len(examples), cost, tuple(strengths))


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


def audit_tables(found: MetricAudit) -> list[Table]:
    """The tables of an audit."""
    lengths = {(a, rated): each for a, audited in found.aspects.items() for rated, each in audited.length.items()}
    return [
        property_table(found.aspects),
        length_table(lengths, "aspect"),
        damage_table(found.aspects, found.strengths),
        edit_table(found.aspects),
    ]


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
        properties[name] = grouped_estimate(spearman, scores[known], values[known], of, resampling=resampling)
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
    "word count": lambda example: float(count_words(example.full_text)),
    "repetition": share_repeated,
    "overlap with context": share_in_context,
}


def property_table(found: Mapping[str, AspectAudit]) -> Table:
    """The table of correlations between scores and properties of the texts."""
    rows = [
        {"aspect": aspect, "property": name, "n": each.n, "spearman": each.estimate}
        | {"reason": each.estimate.reason or ""}
        for aspect, audited in found.items()
        for name, each in audited.properties.items()
    ]
    caption = (
        "Spearman's rho of scores with properties of the texts. repetition: share of words that already occurred in "
        "the text; overlap with context: share of words that also occur in the context; position: place in the file."
    )
    return Table("What the scores depend on", caption, rows)


def damage_table(found: Mapping[str, AspectAudit], strengths: Sequence[float]) -> Table:
    """The table of falls of the scores under damage."""
    rows = [
        {
            "aspect": aspect,
            "damage": name,
            "n": each.n,
            **{f"fall_{strength:g}": fall for strength, fall in zip(strengths, each.falls, strict=True)},
            "noticed": each.noticed,
            "monotone": "–" if each.falls[-1].reason else "yes" if each.is_monotone else "no",
            "reason": each.falls[-1].reason or "",
        }
        for aspect, audited in found.items()
        for name, each in audited.damages.items()
    ]
    caption = (
        "fall_S: mean fall of the score when a share S of a text is damaged, in standard deviations of the undamaged "
        "scores; it should be positive. noticed: share of texts whose score falls at the greatest strength (ties count "
        "half). monotone: the score falls significantly, and rises significantly at no step. n: texts that the damage "
        "can change and that the metric can score at every strength. Intervals are over inputs: the jackknife, and for "
        "noticed Tango's score interval, which is Wilson's where nothing ties."
    )
    return Table("Damage", caption, rows)


def edit_table(found: Mapping[str, AspectAudit]) -> Table:
    """The table of changes of the scores under harmless edits."""
    rows = [
        {"aspect": aspect, "edit": name, "n": each.n, "shift": each.shift, "size": each.size}
        | {"changed": each.changed, "reason": each.shift.reason or ""}
        for aspect, audited in found.items()
        for name, each in audited.edits.items()
    ]
    caption = (
        "Edits that should not change scores. shift: mean change; size: mean absolute change; both in standard "
        "deviations of the scores before the edit. changed: share of scores that changed at all. 0 is best."
    )
    return Table("Harmless edits", caption, rows)


def plot_falls(audited: AspectAudit, strengths: Sequence[float]) -> Figure:
    """Plots the mean fall of the scores by strength with 95 % intervals, one line per damage."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    width = min(np.diff([0.0, *strengths])) / 20
    for i, (name, each) in enumerate(audited.damages.items()):
        values, low, high = (np.array([getattr(fall, end) for fall in each.falls]) for end in ("value", "low", "high"))
        at = np.array(strengths) + width * (i - len(audited.damages) / 2)  # side by side
        axes.errorbar(at, values, yerr=np.abs([values - low, high - values]), marker="o", capsize=2, label=name)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="share of the text that is damaged", ylabel="fall of the score (standard deviations)")
    axes.legend(fontsize=8)
    return figure


def note_weaknesses(found: Mapping[str, AspectAudit]) -> list[str]:
    """Notes on what fools the metric, one sentence per finding."""
    notes = []
    for aspect, each in found.items():
        if any(length.counts_words for length in each.length.values()):
            notes.append(f"{aspect}: scores follow the number of words even at equal quality")
        missed = [name for name, of in each.damages.items() if not (of.is_monotone or of.falls[-1].reason)]
        if missed:
            notes.append(f"{aspect}: scores do not reliably fall under: {', '.join(missed)}")
        moved = [name for name, edit in each.edits.items() if edit.size.low > LARGE_EDIT]
        if moved:
            notes.append(
                f"{aspect}: scores change by more than {LARGE_EDIT:g} standard deviations under: {', '.join(moved)}"
            )
    return notes
