"""Judgements of pairs of outputs: those that were read, and those of a judge that is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from core.errors import InputError, SettingError, check_names, fault
from core.example import Example
from core.stages import Stages
from judge.metrics import MetricPlan, load_planned, plan_metric
from judge.pair_inputs import NO_OUTPUTS, PairInputs, join_pair_labels, read_pair_labels
from meta_eval.design import Floats
from meta_eval.preferences import Preferences, Verdicts, list_pairs
from meta_eval.scored_set import ScoredSet
from report.asked import Line, list_asked_pairs


class PairJudge(Protocol):
    """A judge that says which of two texts is better, such as `baselines.llm_judge.LLMJudge`."""

    def compare(self, pairs: Sequence[tuple[Example, Example]]) -> Verdicts:
        """Judges each pair in both orders."""
        ...


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """What people and judges say about pairs of outputs."""

    # each pair once, with people's outcomes; with those of the judge that was asked where nobody else gave any
    pairs: Preferences
    # the judgements by which systems are ranked
    ranked: Preferences
    # of the judge that was asked
    verdicts: Verdicts | None
    # the outcomes of all judges by name
    judges: Mapping[str, Floats]
    # the index of each output, by system and input
    places: Mapping[tuple[str, str], int]
    # the name of people's labels that were joined; "" for none
    labels: str
    # whether `pairs` has what people say; else its outcomes are those of the judge that was asked
    has_people: bool

    @property
    def single_judges(self) -> list[Floats]:
        """The outcomes of single judges."""
        return [*self.judges.values()]

    def list_asked(self, texts: ScoredSet) -> list[Line]:
        """Lists what the judge was asked about each pair, and what it answered, beside what people say."""
        if self.verdicts is None:
            return []
        of_people = self.pairs.outcomes if self.has_people else np.full(len(self.pairs), np.nan)
        return list_asked_pairs(
            self.pairs,
            of_people,
            self.verdicts,
            texts,
            self.places,
        )


def plan_judge(judge: str | MetricPlan | PairJudge | None, settings: Mapping[str, Any], kept: Stages | None) -> Any:
    """Plans a judge that is named; other judges have no settings here."""
    if isinstance(judge, str):
        return plan_metric(judge, settings, stages=kept and kept.root)
    check_names(settings, (), "prefer without the name of a judge")
    return judge


def judge_pairs(read: PairInputs, texts: ScoredSet, planned: Any, human_labels: Any) -> JudgedPairs:
    """Joins people's labels, and asks the judge, if there is one, about all pairs.

    A judge is loaded only now, when the files are known to be right. Raises SettingError if nobody prefers (no file and
    no judge), or if a judge has no outputs to read; InputError for faults of labels.
    """
    judge: Any = load_planned(planned) if isinstance(planned, MetricPlan) else planned
    given = read.given
    labels = None if human_labels is None else read_pair_labels(human_labels)
    if not read.has_outputs and (given is None or judge is not None):
        raise SettingError(f"a judge needs the texts of the systems: {NO_OUTPUTS}")
    if judge is not None and not callable(getattr(judge, "compare", None)):
        raise SettingError("the judge must compare pairs of texts, as llm_judge does: pass other metrics as metrics")
    if given is None and judge is None:
        raise SettingError("source must be preferences, or outputs with a judge, found neither")
    if given is not None and labels is not None:
        given = join_pair_labels(given, labels)
    pairs = (list_pairs(texts) if given is None else given).by_majority()
    if not len(pairs):
        rule = "two systems must have outputs for one input, but no input has two"
        raise InputError([fault(texts.name, 0, rule)])
    verdicts = None if judge is None else ask_judge(judge, pairs, texts, read.places)
    asked = {verdicts.name: verdicts.outcomes} if verdicts else {}
    judges = {**asked, **pairs.judges}
    if given is None and verdicts is not None:
        pairs = replace(pairs, name=verdicts.signature, outcomes=verdicts.outcomes)
        pairs = pairs if labels is None else join_pair_labels(pairs, labels)
    return JudgedPairs(
        pairs=pairs,
        ranked=pairs if given is None else given,
        verdicts=verdicts,
        judges=judges,
        places=read.places,
        labels="" if labels is None else labels.name,
        has_people=given is not None or labels is not None,
    )


def ask_judge(
    judge: PairJudge,
    asked: Preferences,
    outputs: ScoredSet,
    places: Mapping[tuple[str, str], int],
) -> Verdicts:
    """Asks the judge about all pairs with both outputs; other pairs get no verdict."""
    outputs_of_pairs = [*zip(*asked.outputs, strict=True)]
    rows = [row for row, both in enumerate(outputs_of_pairs) if {*both} <= places.keys()]
    texts = [[outputs.examples[places[output]] for output in outputs_of_pairs[row]] for row in rows]
    verdicts = judge.compare([(first, second) for first, second in texts])

    first = np.full((len(asked), 2), np.nan)
    first[rows] = verdicts.first
    reasons: list[str | None] = ["an output is missing"] * len(asked)
    for row, reason in zip(rows, verdicts.reasons, strict=True):
        reasons[row] = reason
    return replace(
        verdicts,
        first=first,
        reasons=reasons,
        answers=tuple(replace(answer, pair=rows[answer.pair]) for answer in verdicts.answers),
    )
