"""How well judges agree with the labels of people: the result of a study of labels, in tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from judge.correcting import note_sample
from meta_eval.alternative_annotator import ENOUGH, AlternativeTest
from meta_eval.estimates import Estimate
from meta_eval.labels import LabelAgreement, SingleAgreement
from meta_eval.permuted import SampleDifference
from report.agreement_tables import describe_chance, describe_enough, single_table
from report.tables import Row, Table, pick, tabulate
from report.wording import format_cell

ALL = "all"  # of systems
MOST_SHOWN = 20  # disagreements of a judge about an aspect
LABEL_CELLS = ("n", "accuracy", "kappa", "weighted_kappa", "harshness", "missing")
CONSTANT_CELLS = ("n", "accuracy", "missing")
SHARE_CELLS = ("n_people", "n_judge", "sensitivity", "specificity")
ALTERNATIVE_CELLS = ("people", "winning_rate", "advantage", "epsilon")
PASSES = {True: "yes", False: "no", None: "not tested"}
AGREEMENT_CAPTION = (
    "The judge's labels against the median of people's; texts whose median lies between two labels are left out. A "
    "score gives the nearest label, or that of its threshold."
)
CORRECTED_CAPTION = (
    "The mean label (of labels 0 and 1 the rate) of all texts. corrected: prediction-powered, valid for any judge if "
    "the labelled texts are a random sample."
)
CONFUSION_CAPTION = "How many texts have each pair of labels."
DISAGREEMENTS_CAPTION = (
    f"For each judge at most {MOST_SHOWN} texts with another label than people's: those on which people are most "
    "united first, then the judge's surest ones, then by distance of labels. united: how many people say the same."
)
ALTERNATIVE_CAPTION = (
    "Calderon et al. (2025): winning_rate is the share of people that the judge is as good as, within epsilon, held "
    f"against the other people; the paper's rule passes a judge from {ENOUGH:g} on. advantage: the chance that the "
    "judge is at least as near to the others as a person is. Its interval: 95 %, over inputs."
)


@dataclass(frozen=True, eq=False)
class LabelStudy:
    """How well judges agree with the labels of people; empty if ratings or scores are not labels."""

    # by aspect and judge
    agreement: dict[tuple[str, str], LabelAgreement] = field(default_factory=dict)
    # by aspect, of judges with each person and of people among themselves, where several people are known
    single: dict[str, Sequence[SingleAgreement]] = field(default_factory=dict)
    # texts with another label than people's, by aspect and judge the surest first
    disagreements: list[Row] = field(default_factory=list)
    # where only some texts are labelled, a row for the mean label by aspect, judge and system
    corrected: list[Row] = field(default_factory=list)
    # by aspect and judge, how the labelled texts differ from the others: corrected means then do not hold
    unrepresentative: dict[tuple[str, str], Sequence[SampleDifference]] = field(default_factory=dict)
    # by aspect and judge, whether the judge is as good as most single people, where several are known
    alternatives: dict[tuple[str, str], AlternativeTest] = field(default_factory=dict)
    # by aspect, the agreement of the label that most texts have, given to all of them
    constants: dict[str, tuple[float, LabelAgreement]] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        """Tables of agreement (also with single people), corrected means, labels, confusions and disagreements."""
        single = [({"aspect": aspect}, person) for aspect, people in self.single.items() for person in people]
        tables = [
            tabulate("Agreement on labels", AGREEMENT_CAPTION, [*self._list_agreement(), *self._list_constants()]),
            single_table(single),
            tabulate("Alternative annotator test", ALTERNATIVE_CAPTION, self._list_alternatives()),
            tabulate("Mean labels by judges and by people", CORRECTED_CAPTION, self.corrected),
            tabulate("Labels one by one", "Intervals: 95 %, over inputs.", self._list_shares()),
            *self._tabulate_confusion(),
            Table("Disagreements", DISAGREEMENTS_CAPTION, self.disagreements),
        ]
        return [table for table in tables if table.rows]

    def _list_agreement(self) -> list[Row]:
        """The agreement of each judge."""
        return [
            pick(agreement, LABEL_CELLS, aspect=aspect, judge=name)
            for (aspect, name), agreement in self.agreement.items()
        ]

    def _list_constants(self) -> list[Row]:
        """The agreement of a judge that gives the most frequent label to all texts, whose kappa is 0."""
        rows: list[Row] = []
        for aspect, (label, agreement) in self.constants.items():
            cells = pick(agreement, CONSTANT_CELLS, aspect=aspect, judge=f"always {label:g} (a constant)")
            rows.append({**cells, "kappa": 0.0})
        return rows

    def _list_alternatives(self) -> list[Row]:
        """The alternative annotator test of each judge."""
        rows: list[Row] = []
        for (aspect, name), test in self.alternatives.items():
            cells = pick(test, ALTERNATIVE_CELLS, aspect=aspect, judge=name)
            rows.append({**cells, "passes": PASSES[test.passes]})
        return rows

    def _list_shares(self) -> list[Row]:
        """How well each judge recognises each label."""
        return [
            pick(
                shares,
                SHARE_CELLS,
                aspect=aspect,
                judge=name,
                label=f"{shares.label:g}",
            )
            for (aspect, name), agreement in self.agreement.items()
            for shares in agreement.shares
        ]

    def _tabulate_confusion(self) -> list[Table]:
        """For each aspect a table of how many texts have each pair of labels."""
        by_aspect: dict[str, list[Row]] = {}
        for (aspect, name), agreement in self.agreement.items():
            rows = by_aspect.setdefault(aspect, [])
            for label, counts in zip(agreement.labels, agreement.confusion, strict=True):
                judged = zip(agreement.labels, counts, strict=True)
                cells = {f"judged {other:g}": int(count) for other, count in judged}
                rows.append({"judge": name, "people": f"{label:g}", **cells})
        return [
            Table(f"Labels by people and by judges: {aspect}", CONFUSION_CAPTION, rows)
            for aspect, rows in by_aspect.items()
        ]

    @property
    def notes(self) -> list[str]:
        """Notes for each judge: whether it is better than chance, and whether it is harsher than people.

        Corrected means follow.
        """
        return [*self._describe_agreement(), *self._describe_samples(), *self._describe_corrected()]

    def _describe_agreement(self) -> Iterator[str]:
        for (aspect, name), agreement in self.agreement.items():
            yield f"{aspect}: {describe_labels(name, agreement)}{_describe_harshness(agreement.harshness)}"

    def describe_enough(self, aspect: str, names: Sequence[str]) -> str:
        """Writes a clause: whether these judges agree with people as well as people agree among themselves.

        For more than two ordered labels, the weighted kappa counts.
        """
        tests = {name: self.alternatives[aspect, name] for name in names if (aspect, name) in self.alternatives}
        is_weighted = any(len(self.agreement[aspect, name].labels) > 2 for name in names)
        return describe_enough(self.single.get(aspect, ()), names, is_weighted, tests)

    def _describe_samples(self) -> Iterator[str]:
        """How labelled texts differ from the others."""
        for (aspect, name), differences in self.unrepresentative.items():
            for difference in differences:
                yield f"{aspect}: {note_sample(name, 'texts', difference)}"

    def _describe_corrected(self) -> Iterator[str]:
        """What people would say of all texts, where an interval is known and the labels are not visibly chosen."""
        for row in self.corrected:
            is_chosen = (row["aspect"], row["judge"]) in self.unrepresentative
            if is_chosen or math.isnan(row["corrected"].low):
                continue
            system = "" if row["system"] == ALL else f"{row['system']} "
            said = f"{row['aspect']}: people would give {system}{format_cell(row['corrected'])}"
            by_judge = format_cell(row["by_judge"])
            yield f"{said}, by {row['labels']} labels and {row['judge']}, which gives {by_judge}"


def describe_labels(name: str, agreement: LabelAgreement) -> str:
    """Says whether a judge agrees with people on labels by more than chance.

    For more than two ordered labels, the weighted kappa counts.
    """
    only = next((shares for shares in agreement.shares if shares.n_judge == agreement.n > 0), None)
    if only is not None:
        return f"{name} gives the label {only.label:g} to all {agreement.n} texts"
    if len(agreement.labels) > 2:
        chance = describe_chance(agreement.weighted_kappa, agreement.p_weighted)
        return f"{name} is {chance} (weighted kappa {format_cell(agreement.weighted_kappa)})"
    chance = describe_chance(agreement.kappa, agreement.p_chance)
    return f"{name} is {chance} (kappa {format_cell(agreement.kappa)})"


def _describe_harshness(harshness: Estimate) -> str:
    """How much milder or harsher than people a judge is; empty where neither is shown."""
    if harshness.low > 0:
        return f", milder than people by {format_cell(harshness)}"
    if harshness.high < 0:
        return f", harsher than people by {format_cell(harshness.negate())}"
    return ""
