"""Results of audits: what fools a metric, in sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from pydantic import Field

from core.scores import Metric
from core.settings import Count, Seed, Several, checked_dataclass
from data.damage import DAMAGES
from judge.scoring import join_signatures
from meta_eval.auditing import CueAudit, DamageAudit, EditAudit
from meta_eval.estimates import Estimate
from meta_eval.scored_set import ScoredSet
from report.study import Study
from report.tables import Row, Table, pick

Strength = Annotated[float, Field(gt=0, le=1)]
LARGE_EDIT = 0.1  # standard deviations of the scores; a harmless edit should change them by less
LARGE_SHARE = 0.1  # of the ranks; cheap cues should explain less
EXPLAINED_CAPTION = (
    "The squared Spearman correlation of the scores with their prediction by cheap cues, cross-fitted by input; few "
    "texts make it a little too low."
)
PROPERTIES_CAPTION = "Spearman's rho of scores with cheap cues of the texts."
EDITS_CAPTION = "Edits that should not change scores, in standard deviations of the scores before the edit."
EDIT_CELLS = ("n", "shift", "size", "changed")


@checked_dataclass
class AuditSettings:
    """The settings of an audit."""

    # the most to draw among those with what the metric needs; each is scored once for each kind and strength of
    # damage, and for each edit
    texts: Count = 200
    # the shares of a text to damage
    strengths: Several[Strength] = (0.25, 0.5, 1)
    # of the texts and the damage
    seed: Seed = 0


@dataclass(frozen=True)
class AspectAudit:
    """The audit of one aspect of a metric."""

    n: int
    # Spearman's rho of the scores with each cheap cue that varies
    properties: Mapping[str, Estimate]
    # how much of the ranks the cheap cues explain together; None without cues
    cues: CueAudit | None
    damages: Mapping[str, DamageAudit]
    edits: Mapping[str, EditAudit]

    @cached_property
    def weaknesses(self) -> list[str]:
        """Lists the weaknesses of the metric in this aspect, one sentence each."""
        weaknesses: list[str] = []
        if self.cues and self.cues.explained.low > LARGE_SHARE:
            share = self.cues.explained
            weaknesses.append(
                f"cheap cues explain {share.value:.0%} [{share.low:.0%}, {share.high:.0%}] of the differences in rank, "
                f"most of it by {', '.join(self.cues.main_cues)}"
            )
        tested = {name: damage for name, damage in self.damages.items() if name not in self.untested}
        missed = [name for name, damage in tested.items() if not damage.is_monotone]
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
        untested: list[str] = []
        if self.cues and math.isnan(self.cues.explained.low):
            untested.append("cheap cues")
        untested += [name for name, damage in self.damages.items() if math.isnan(damage.falls[-1].low)]
        untested += [name for name, edit in self.edits.items() if math.isnan(edit.size.low)]
        return untested

    @property
    def checks(self) -> int:
        """Counts the cues, damages and edits that were tested."""
        return (self.cues is not None) + len(self.damages) + len(self.edits)


@dataclass(frozen=True)
class MetricAudit:
    """The audit of a metric on one set of texts."""

    aspects: Mapping[str, AspectAudit]
    metric: Metric
    rated: ScoredSet
    # of the audit, with that of the scores at its end
    signature: str
    # of the metric, as its signature says it
    name: str
    settings: AuditSettings
    n: int
    # what the metric says about its scores
    said: tuple[str, ...] = ()

    @property
    def strengths(self) -> list[float]:
        """The shares of a text that were damaged, in ascending order."""
        return sorted(self.settings.strengths)

    @property
    def conclusion(self) -> str:
        """The weaknesses of the metric in one sentence."""
        are_several = len(self.aspects) > 1
        clauses: list[str] = []
        untested: list[str] = []
        for aspect, audited in self.aspects.items():
            before = f"{aspect}: " if are_several else ""
            behind = f" ({aspect})" if are_several else ""
            clauses += [f"{before}{weakness}" for weakness in audited.weaknesses]
            untested += [f"{check}{behind}" for check in audited.untested]
        if not clauses:
            checks = sum(audited.checks for audited in self.aspects.values())
            clauses = ["nothing is shown" if len(untested) < checks else "not known"]
        if untested:
            clauses.append(f"{self.n} texts are too few or too alike to test {', '.join(untested)}")
        return f"What fools {self.name}: {'; '.join(clauses)}."

    @property
    def tables(self) -> list[Table]:
        """Two tables: what the scores depend on, and how damage and edits change the scores."""
        aspects = self.aspects.items()
        edits = [
            pick(edit, EDIT_CELLS, aspect=aspect, edit=name)
            for aspect, audited in aspects
            for name, edit in audited.edits.items()
        ]
        tables = [damage_table(self.aspects, self.strengths), Table("Harmless edits", EDITS_CAPTION, edits)]
        if any(audited.cues is None for audited in self.aspects.values()):
            return tables
        properties = [
            {"aspect": aspect, "property": name, "n": audited.n, "spearman": rho}
            for aspect, audited in aspects
            for name, rho in audited.properties.items()
        ]
        cues = [_list_cue_cells(aspect, audited.cues) for aspect, audited in aspects if audited.cues]
        return [
            Table("What cheap cues explain", EXPLAINED_CAPTION, cues),
            Table("What the scores depend on", PROPERTIES_CAPTION, properties),
            *tables,
        ]


def present_audits(audits: Mapping[str, MetricAudit]) -> Study:
    """Makes the study of one metric, with all tables of its audit, or of several, with one row per aspect."""
    tables = [summary_table(audits)]
    if len(audits) == 1:
        tables = [table for audit in audits.values() for table in audit.tables]
    return Study(
        answer=" ".join(audit.conclusion for audit in audits.values()),
        tables=tables,
        notes=[*dict.fromkeys(note for audit in audits.values() for note in audit.said)],
        signature=join_signatures({name: audit.signature for name, audit in audits.items()}),
        found=audits,
        synthetic=any(audit.rated.synthetic for audit in audits.values()),
    )


def _list_cue_cells(aspect: str, cues: CueAudit) -> Row:
    most = ", ".join(cues.main_cues) or "–"
    return {"aspect": aspect, "n": cues.n, "explained": cues.explained, "most_by": most}


def damage_table(found: Mapping[str, AspectAudit], strengths: Sequence[float]) -> Table:
    """Makes the table of how much damage lowers the scores, by its strength."""
    rows = [
        _list_damage_cells(aspect, name, damage, strengths)
        for aspect, audited in found.items()
        for name, damage in audited.damages.items()
    ]
    caption = (
        "n: texts that the damage can change and that the metric can score at every strength. monotone: the score "
        "falls significantly, and rises significantly at no step, by sign flips of the raw changes of inputs; p_value "
        "is that of the fall at the greatest strength. Intervals are over inputs: the jackknife, and for "
        "wins_over_damage Tango's score interval."
    )
    falls = [name for name in ("fall_1", "fall_0.5") if rows and name in rows[0]]
    return Table("Damage", caption, rows, ("damage", "monotone", "n", "p_value", *falls, "wins_over_damage", "aspect"))


def _list_damage_cells(aspect: str, name: str, damage: DamageAudit, strengths: Sequence[float]) -> Row:
    falls = {f"fall_{strength:g}": fall for strength, fall in zip(strengths, damage.falls, strict=True)}
    whole = damage.falls[-1]
    monotone = "yes" if damage.is_monotone else "no"
    return {
        "aspect": aspect,
        "damage": name,
        "n": damage.n,
        **falls,
        "p_value": damage.p_value,
        "wins_over_damage": damage.wins_over_damage,
        "monotone": "–" if math.isnan(whole.low) else monotone,
        "reason": whole.reason or "",
    }


def summary_table(found: Mapping[str, MetricAudit]) -> Table:
    """Makes a table with a row for each aspect of each metric.

    A row has the cues, the length, all damage at full strength, and the edit with the largest effect.
    """
    rows: list[Row] = []
    for name, audited in found.items():
        for aspect, audited_aspect in audited.aspects.items():
            names = {"metric": name, "aspect": aspect, "set": audited.rated.name, "n": audited.n}
            rows.append({**names, **_summarise(audited_aspect)})
    caption = "Damage is that of the whole text; – where too few texts can be damaged so."
    shown = ("metric", "aspect", "set", "n", "cues", "words", "largest_edit", "edit")
    return Table("Audit of all metrics", caption, rows, shown)


def _summarise(audited: AspectAudit) -> Row:
    """What cues and length explain, the falls under each whole damage, and the largest edit."""
    nothing = Estimate.undefined("")
    falls = {name: damage.falls[-1] for name, damage in audited.damages.items()}
    sizes = {name: edit.size for name, edit in audited.edits.items() if not math.isnan(edit.size.low)}
    worst = max(sizes, key=lambda name: sizes[name].value, default="")
    return {
        "cues": audited.cues.explained if audited.cues else nothing,
        "words": audited.properties.get("words", nothing),
        **{name.replace(" ", "_"): falls.get(name, nothing) for name in DAMAGES},
        "largest_edit": sizes.get(worst, nothing),
        "edit": worst,
    }
