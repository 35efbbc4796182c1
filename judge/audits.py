"""Audits of metrics: what scores depend on, which damage lowers them, and which harmless edits change them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from core.errors import ExampleError
from core.example import Example
from core.progress import step
from core.scores import Field, Metric
from core.selection import has_field
from core.signature import join_values
from core.stages import Stages, fingerprint
from data.damage import DAMAGES, EDITS, damage_example, edit_example
from data.scoring import list_code, score_all
from judge.scoring import join_signatures
from meta_eval.auditing import CueAudit, DamageAudit, EditAudit, audit_cues, audit_damage, audit_edit
from meta_eval.cues import Cues, count_cues
from meta_eval.design import Floats, restrict
from meta_eval.scored_set import ScoredSet
from report.study import Study
from report.tables import Row, Table, pick

LARGE_EDIT = 0.1  # standard deviations of the scores; a harmless edit should change them by less
STRENGTHS = (0.25, 0.5, 1.0)  # shares of a text to damage, the weakest first
LARGE_SHARE = 0.1  # of the ranks; cheap cues should explain less
EXPLAINED_CAPTION = (
    "The squared Spearman correlation of the scores with their prediction by cheap cues, cross-fitted by input; few "
    "texts make it a little too low."
)
DAMAGE_CAPTION = (
    "n: texts that the damage can change and that the metric can score at every strength. monotone: the score "
    "falls significantly, and rises significantly at no step, by sign flips of the raw changes of inputs; p_value "
    "is that of the fall at the greatest strength. Intervals are over inputs."
)
EDITS_CAPTION = "Edits that should not change scores, in standard deviations of the scores before the edit."

EXPLAINED_SHOWN = ("metric", "explained", "most_by", "n", "aspect")
DAMAGE_SHOWN = ("metric", "damage", "monotone", "n", "p_value", "fall_1", "fall_0.5", "aspect")
EDIT_CELLS = ("n", "shift", "size", "changed")
EDITS_SHOWN = ("metric", "edit", "shift", "size", "changed", "n", "aspect")

Levels = Sequence[Sequence[Example]]  # the examples at each strength


@dataclass(frozen=True)
class AspectAudit:
    """The audit of one aspect of a metric."""

    # how much of the ranks the cheap cues explain together
    cues: CueAudit
    damages: Mapping[str, DamageAudit]
    edits: Mapping[str, EditAudit]

    @cached_property
    def weaknesses(self) -> list[str]:
        """Lists the weaknesses of the metric in this aspect, one sentence each."""
        weaknesses: list[str] = []
        share = self.cues.explained
        if share.low > LARGE_SHARE:
            weaknesses.append(
                f"cheap cues explain {share.value:.0%} [{share.low:.0%}, {share.high:.0%}] of the differences in rank, "
                f"most of it by {', '.join(self.cues.main_cues)}"
            )
        tested = [name for name in self.damages if name not in self.untested]
        missed = [name for name in tested if not self.damages[name].is_monotone]
        if missed:
            weaknesses.append(f"no reliable fall is shown under: {', '.join(missed)}")
        moved = [name for name, edit in self.edits.items() if edit.size.low > LARGE_EDIT]
        if moved:
            names = ", ".join(moved)
            weaknesses.append(f"scores change by more than {LARGE_EDIT:g} standard deviations under: {names}")
        return weaknesses

    @cached_property
    def untested(self) -> list[str]:
        """Lists the damages and edits that could not be tested with these texts."""
        estimates = {"cheap cues": self.cues.explained}
        estimates |= {name: damage.falls[-1] for name, damage in self.damages.items()}
        estimates |= {name: edit.size for name, edit in self.edits.items()}
        return [name for name, estimate in estimates.items() if math.isnan(estimate.low)]


@dataclass(frozen=True)
class MetricAudit:
    """The audit of a metric on one set of texts."""

    aspects: Mapping[str, AspectAudit]
    # how many texts were drawn of the set
    n: int
    rated: ScoredSet
    # of the audit, with that of the scores at its end
    signature: str
    # what the set and the metric say
    notes: Sequence[str]

    def conclude(self, name: str) -> str:
        """Writes the weaknesses of the metric in one sentence."""
        are_several = len(self.aspects) > 1
        clauses: list[str] = []
        untested: list[str] = []
        for aspect, audited in self.aspects.items():
            clauses += [f"{aspect}: {weakness}" if are_several else weakness for weakness in audited.weaknesses]
            untested += [f"{check} ({aspect})" if are_several else check for check in audited.untested]
        clauses = clauses or ["nothing is shown"]
        if untested:
            clauses.append(f"{self.n} texts are too few or too alike to test {', '.join(untested)}")
        return f"What fools {name}: {'; '.join(clauses)}."


def present_audits(audits: Mapping[str, MetricAudit]) -> Study:
    """Makes the study of the audits of metrics."""
    return Study(
        answer=" ".join(audit.conclude(name) for name, audit in audits.items()),
        tables=[*tabulate(audits)],
        notes=[*dict.fromkeys(note for audit in audits.values() for note in audit.notes)],
        signature=join_signatures({name: audit.signature for name, audit in audits.items()}),
        found=audits,
        synthetic=any(audit.rated.synthetic for audit in audits.values()),
    )


def tabulate(audits: Mapping[str, MetricAudit]) -> Iterator[Table]:
    """Yields tables of what cheap cues explain, and of how damage and edits change scores."""
    explained: list[Row] = []
    damages: list[Row] = []
    edits: list[Row] = []
    for metric, audit in audits.items():
        for aspect, audited in audit.aspects.items():
            names = {"metric": metric, "aspect": aspect}
            most = ", ".join(audited.cues.main_cues) or "–"
            explained.append(pick(audited.cues, ("n", "explained"), **names, most_by=most))
            for name, damage in audited.damages.items():
                damages.append({**names, "damage": name, **list_cells(damage)})
            for name, edit in audited.edits.items():
                edits.append(pick(edit, EDIT_CELLS, **names, edit=name))
    yield Table("What cheap cues explain", EXPLAINED_CAPTION, explained, EXPLAINED_SHOWN)
    yield Table("Damage", DAMAGE_CAPTION, damages, DAMAGE_SHOWN)
    yield Table("Harmless edits", EDITS_CAPTION, edits, EDITS_SHOWN)


def list_cells(damage: DamageAudit) -> Row:
    """Lists the cells of a damage."""
    whole = damage.falls[-1]
    monotone = "yes" if damage.is_monotone else "no"
    falls = {f"fall_{strength:g}": fall for strength, fall in zip(STRENGTHS, damage.falls, strict=True)}
    rest = {"monotone": "–" if math.isnan(whole.low) else monotone, "reason": whole.reason or ""}
    return {"n": damage.n, **falls, "p_value": damage.p_value, **rest}


# ---- the audit ------------------------------------------------------------------------------------------------------


def audit_metric(rated: ScoredSet, metric: Metric, stages: Stages | None, count: int, seed: int) -> MetricAudit:
    """Audits every aspect of a metric on texts of a set, whose ratings may be empty.

    At most `count` texts are drawn. `stages` keeps the scores of perturbed texts: after a kill, the same audit
    continues. Raises InputError, by file and line, if no example can be scored, and for examples that the metric
    refuses.
    """
    places = draw(
        rated.examples,
        metric.requires,
        count,
        seed,
    )
    drawn = rated.take(places)
    examples = drawn.examples
    scored = score_all(drawn, metric)
    perturbed: dict[str, Levels] = {}
    for name in DAMAGES:
        perturbed[name] = damage_all(examples, name, seed)
    for name in EDITS:
        perturbed[name] = [[edit_example(example, name) for example in examples]]
    after = score_perturbed(
        metric,
        perturbed,
        scored.signature,
        stages,
    )
    cues = count_cues(examples)
    aspects: dict[str, AspectAudit] = {}
    for aspect, values in scored.values.items():
        of_aspect: dict[str, tuple[Levels, Floats]] = {}
        for name, levels in perturbed.items():
            of_aspect[name] = (levels, np.array([by_aspect[aspect] for by_aspect in after[name]]))
        aspects[aspect] = audit_aspect(
            examples,
            values,
            of_aspect,
            cues,
            seed,
        )
    unchanged = [name for name, levels in perturbed.items() if not find_changed(examples, levels).any()]
    without = [f"not tested, because no text is changed by it: {', '.join(unchanged)}"] if unchanged else []
    line = join_values(
        "audit",
        set=rated.name,
        n=len(examples),
        texts=count,
        seed=seed,
    )
    return MetricAudit(
        aspects,
        n=len(examples),
        rated=rated,
        signature=f"{line}|{scored.signature}",
        notes=(*rated.notes, *scored.notes, *without),
    )


def score_perturbed(
    metric: Metric,
    perturbed: Mapping[str, Levels],
    signature: str,
    stages: Stages | None,
) -> dict[str, list[dict[str, list[float]]]]:
    """Scores the texts that each kind of damage or edit makes at each strength; returns by kind the scores by aspect.

    `stages` keeps the scores.
    """
    levels = [level for of_kind in perturbed.values() for level in of_kind]
    texts = [[(e.text, e.turns, e.context, e.prefix, e.label, e.references) for e in level] for level in levels]
    kept = None
    if stages is not None:
        depends = {"signature": signature, "texts": fingerprint(texts)}
        kept = stages.open_cache("audit", depends, code=[score_accepted, *list_code(metric)])
    scored: dict[str, list[dict[str, list[float]]]] = {name: [] for name in perturbed}
    with step("scoring damaged texts", len(levels)) as advance:
        for name, of_kind in perturbed.items():
            for i, level in enumerate(of_kind):
                score = partial(score_accepted, metric, level)
                scored[name].append(score() if kept is None else kept.get(f"{name} {i}", score))
                advance(1)
    return scored


def score_accepted(metric: Metric, examples: Sequence[Example]) -> dict[str, list[float]]:
    """Scores examples by aspect; NaN for examples that, when damaged, break a rule of the metric.

    A rule is, for example, that a text must begin with its prefix.
    """
    accepted = np.full(len(examples), True)
    try:
        values = metric.score(examples).values
    except ExampleError as faults:
        accepted[[place for place, _ in faults.at]] = False
        values = metric.score([examples[place] for place in np.flatnonzero(accepted).tolist()]).values
    by_aspect: dict[str, list[float]] = {}
    for aspect, scores in values.items():
        of_all = np.full(len(examples), math.nan)
        of_all[accepted] = scores
        by_aspect[aspect] = of_all.tolist()
    return by_aspect


def draw(examples: Sequence[Example], requires: Sequence[Field], count: int, seed: int) -> list[int]:
    """Draws at most `count` examples with the required fields (of all if none has them); returns sorted indices.

    Empty answers are left out, because there is nothing to damage.
    """
    texts = [i for i, example in enumerate(examples) if not example.is_empty]
    among = [i for i in texts if all(has_field(examples[i], field) for field in requires)] or texts
    return sorted(random.Random(seed).sample(among, min(count, len(among))))


def damage_all(examples: Sequence[Example], name: str, seed: int) -> list[list[Example]]:
    """Damages the examples by the damage `name`; returns a list of them for each strength.

    Foreign sentences or turns come from the next example of another input, from the first again behind the last.
    """
    donors: list[Example] = []
    for place, example in enumerate(examples):
        others = (*examples[place + 1 :], *examples[:place])
        foreign = (other for other in others if example.group is None or other.group != example.group)
        donors.append(next(foreign, example))
    damaged: list[list[Example]] = []
    for strength in STRENGTHS:
        damage = partial(
            damage_example,
            name=name,
            strength=strength,
            seed=seed,
        )
        damaged.append([damage(example, donor) for example, donor in zip(examples, donors, strict=True)])
    return damaged


def audit_aspect(
    examples: Sequence[Example],
    scores: Floats,
    perturbed: Mapping[str, tuple[Levels, Floats]],
    cues: Cues,
    seed: int = 0,
) -> AspectAudit:
    """Audits one aspect. A text that a damage or an edit leaves unchanged does not count for it.

    `scores` have the shape (n,); `perturbed` holds for each damage or edit the texts and their scores by strength, of
    shape (strengths, n).
    """
    layout = ScoredSet("texts", tuple(examples), {}).layout
    damages: dict[str, DamageAudit] = {}
    edits: dict[str, EditAudit] = {}
    for name, (levels, values) in perturbed.items():
        differs = find_changed(examples, levels)
        if not differs.any():
            continue
        units = restrict(layout, differs)
        if name in DAMAGES:
            damages[name] = audit_damage(
                scores[differs],
                values[:, differs],
                layout=units,
                seed=seed,
            )
        else:
            edits[name] = audit_edit(scores[differs], values[0, differs], layout=units)
    explained = audit_cues(
        scores,
        cues,
        layout=layout,
        seed=seed,
    )
    return AspectAudit(explained, damages, edits)


def find_changed(examples: Sequence[Example], levels: Levels) -> NDArray[np.bool_]:
    """Finds the examples that were changed at every level; returns a mask of shape (n,)."""
    is_changed = np.full(len(examples), True)
    for level in levels:
        is_changed &= [before != after for before, after in zip(examples, level, strict=True)]
    return is_changed
