"""What an audit found: what fools a metric, in sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from core.scores import Metric
from core.settings import Count, Seed, Several, checked_dataclass
from data.damage import DAMAGES
from judge.tables import Result, Table, pick, tabulate
from judge.verbs.score import join_signatures
from judge.wording import bound_answer
from meta_eval.auditing import CueAudit, DamageAudit, EditAudit
from meta_eval.bootstrap import Estimate
from meta_eval.scored_set import ScoredSet

if TYPE_CHECKING:
    from judge.report.outcome import Outcome

Strength = Annotated[float, Field(gt=0, le=1)]
LARGE_EDIT = 0.1  # standard deviations of the scores; a harmless edit should change them by less
LARGE_SHARE = 0.1  # of the ranks; cheap cues should explain less
EXPLAINED = (
    "The squared Spearman correlation of the scores with their prediction by cheap cues, cross-fitted by input; few "
    "texts make it a little too low."
)
PROPERTIES = "Spearman's rho of scores with cheap cues of the texts."
EDITED = "Edits that should not change scores, in standard deviations of the scores before the edit."
EDIT_CELLS = ("n", "shift", "size", "changed")


@checked_dataclass
class AuditSettings:
    """The settings of an audit."""

    # the most to draw among those with what the metric needs; each is scored once for each kind and strength of
    # damage, and for each edit
    texts: Count = 200
    # the shares of a text to damage
    strengths: Several[Strength] = (0.25, 0.5, 1)
    # of the intervals, which are over inputs
    resamples: Count = 1000
    # of the texts, the damage and the resamples
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
        """What fools the metric, one finding each."""
        found = []
        if self.cues and self.cues.explained.low > LARGE_SHARE:
            share = self.cues.explained
            found.append(
                f"cheap cues explain {share.value:.0%} [{share.low:.0%}, {share.high:.0%}] of the differences in rank, "
                f"most of it by {', '.join(self.cues.main_cues)}"
            )
        if missed := [name for name, of in self.damages.items() if not (of.is_monotone or name in self.untested)]:
            found.append(f"no reliable fall is shown under: {', '.join(missed)}")
        if moved := [name for name, edit in self.edits.items() if edit.size.low > LARGE_EDIT]:
            found.append(f"scores change by more than {LARGE_EDIT:g} standard deviations under: {', '.join(moved)}")
        return found

    @cached_property
    def untested(self) -> list[str]:
        """What could not be tested with these texts."""
        found = ["cheap cues"] if self.cues and math.isnan(self.cues.explained.low) else []
        found += [name for name, each in self.damages.items() if math.isnan(each.falls[-1].low)]
        return found + [name for name, each in self.edits.items() if math.isnan(each.size.low)]


@dataclass(frozen=True)
class MetricAudit:
    """The audit of a metric on a set."""

    aspects: Mapping[str, AspectAudit]
    metric: Metric
    rated: ScoredSet
    # of the audit, with that of the scores at its end
    signature: str
    # of the metric, as its signature says it
    name: str
    settings: AuditSettings
    n: int
    # seconds to score one of them
    cost: float
    # what the metric says about its scores
    said: tuple[str, ...] = ()

    @property
    def strengths(self) -> list[float]:
        """The shares of a text that were damaged, in ascending order."""
        return sorted(self.settings.strengths)

    @property
    def conclusion(self) -> str:
        """What fools the metric, in a sentence."""
        found, lacking, checks = [], [], 0
        for aspect, audited in self.aspects.items():
            several = len(self.aspects) > 1
            checks += (audited.cues is not None) + len(audited.damages) + len(audited.edits)
            found += [f"{aspect}: {each}" if several else each for each in audited.weaknesses]
            lacking += [f"{each} ({aspect})" if several else each for each in audited.untested]
        found = found or ["nothing is shown" if len(lacking) < checks else "not known"]
        if lacking:
            found.append(f"{self.n} texts are too few or too alike to test {', '.join(lacking)}")
        return f"What fools {self.name}: {'; '.join(found)}."

    @property
    def tables(self) -> list[Table]:
        """What the scores depend on, and how damage and edits change them."""
        aspects = self.aspects.items()
        cues = [
            {"aspect": aspect, "n": cues.n, "explained": cues.explained, "most_by": ", ".join(cues.main_cues) or "–"}
            for aspect, each in aspects
            if (cues := each.cues)
        ]
        properties = [
            {"aspect": aspect, "property": name, "n": each.n, "spearman": rho}
            for aspect, each in aspects
            for name, rho in each.properties.items()
        ]
        edits = [
            pick(edit, EDIT_CELLS, aspect=aspect, edit=name)
            for aspect, each in aspects
            for name, edit in each.edits.items()
        ]
        tables = [
            tabulate("What cheap cues explain", EXPLAINED, cues),
            tabulate("What the scores depend on", PROPERTIES, properties),
            damage_table(self.aspects, self.strengths),
            tabulate("Harmless edits", EDITED, edits),
        ]
        return tables if len(cues) == len(aspects) else tables[2:]


@dataclass(frozen=True)
class Audits(Result):
    """The audits of one metric or of several."""

    metrics: Mapping[str, MetricAudit]
    # files with cards
    written: tuple[Path, ...] = ()

    def present(self) -> Outcome:
        is_synthetic = any(each.rated.synthetic for each in self.metrics.values())
        return replace(super().present(), files=self.written, synthetic=is_synthetic)

    @property
    def signature(self) -> str:
        """One line: the audit of each metric with its settings."""
        return join_signatures({name: each.signature for name, each in self.metrics.items()})

    @property
    def tables(self) -> list[Table]:
        """All tables of one metric; of several a row for each of their aspects."""
        if len(self.metrics) == 1:
            return next(iter(self.metrics.values())).tables
        return [summary_table(self.metrics)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the metrics say about their scores, then what fools each of them."""
        said = (note for each in self.metrics.values() for note in each.said)
        answer = " ".join(each.conclusion for each in self.metrics.values())
        return (*dict.fromkeys(said), *bound_answer(answer))


def damage_table(found: Mapping[str, AspectAudit], strengths: Sequence[float]) -> Table:
    """The table of falls of the scores under damage."""
    rows = [
        {
            "aspect": aspect,
            "damage": name,
            "n": each.n,
            **{f"fall_{strength:g}": fall for strength, fall in zip(strengths, each.falls, strict=True)},
            "p_value": each.p_value,
            "wins_over_damage": each.wins_over_damage,
            "monotone": "–" if math.isnan(each.falls[-1].low) else "yes" if each.is_monotone else "no",
            "reason": each.falls[-1].reason or "",
        }
        for aspect, audited in found.items()
        for name, each in audited.damages.items()
    ]
    caption = (
        "n: texts that the damage can change and that the metric can score at every strength. monotone: the score "
        "falls significantly, and rises significantly at no step, by sign flips of the raw changes of inputs; p_value "
        "is that of the fall at the greatest strength. Intervals are over inputs: the jackknife, and for "
        "wins_over_damage Tango's score interval."
    )
    return Table("Damage", caption, rows)


def summary_table(found: Mapping[str, MetricAudit]) -> Table:
    """A row for each aspect of each metric: cues, length, every damage at the greatest strength, the largest edit."""
    nothing = Estimate.undefined("")
    rows: list[dict[str, Any]] = []
    for name, audited in found.items():
        for aspect, each in audited.aspects.items():
            sizes = {edit: audit.size for edit, audit in each.edits.items() if not math.isnan(audit.size.low)}
            worst = max(sizes, key=lambda edit: sizes[edit].value, default="")
            falls = {damage: of.falls[-1] for damage, of in each.damages.items()}
            cells: dict[str, Any] = {"metric": name, "aspect": aspect, "set": audited.rated.name, "n": audited.n}
            cells["cues"] = each.cues.explained if each.cues else nothing
            cells["words"] = each.properties.get("words", nothing)
            cells |= {damage.replace(" ", "_"): falls.get(damage, nothing) for damage in DAMAGES}
            rows.append(cells | {"largest_edit": sizes.get(worst, nothing), "edit": worst})
    caption = "Damage is that of the whole text; – where too few texts can be damaged so."
    return Table("Audit of all metrics", caption, rows)
