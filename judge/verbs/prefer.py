"""Ranks systems by the preferences of people or of a judge; finds which metrics prefer as people do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError, SettingError, check_names, fault
from core.example import Example
from core.settings import Fraction, check
from core.stages import Stages
from judge.correcting import correct
from judge.inputs import Columns, GivenScores, Source
from judge.metrics import MetricPlan, Metrics, load_planned, plan_metric, plan_metrics
from judge.pair_inputs import NO_OUTPUTS, PairInputs, Pairs, read_pairs
from judge.pair_labels import add_labels, read_pair_labels
from judge.preferences import ALL, PreferenceStudy, note_one_side
from judge.verbs.score import add_scores, open_stages
from meta_eval.design import Floats
from meta_eval.estimates import Estimate
from meta_eval.labels import SingleAgreement, agree_with_single
from meta_eval.preferences import (
    OUTCOMES,
    PANEL,
    Favour,
    PreferenceAgreement,
    Preferences,
    Verdicts,
    agree_among,
    agree_on_preferences,
    exchanges_sides,
    find_longer,
    find_majority,
    in_both_orders,
    list_pairs,
    measure_favour,
    prefer_by_scores,
    settle_orders,
    to_outcomes,
)
from meta_eval.scored_set import ScoredSet
from meta_eval.strengths import rank_by_preferences
from report.asked import Asked, check_answers, list_asked_pairs, write_answers
from report.study import Study
from report.wording import note_resolution


class PairJudge(Protocol):
    """A judge that says which of two texts is better, such as `baselines.llm_judge.LLMJudge`."""

    def compare(self, pairs: Sequence[tuple[Example, Example]]) -> Verdicts:
        """Judges each pair in both orders."""
        ...


def prefer(
    source: Pairs | None = None,
    *,
    outputs: Source | None = None,
    scores: GivenScores | None = None,
    columns: Columns | None = None,
    metrics: Metrics = (),
    judge: str | MetricPlan | PairJudge | None = None,
    human_labels: Pairs | int | None = None,
    answers: Path | str | None = None,
    stages: Path | str | None = None,
    seed: int = 0,
    level: float = 0.05,
    **settings: Any,
) -> Study:
    """The work of `judge.prefer`, which says what it takes and raises."""
    check(Fraction, level=level)
    written = check_answers(answers)
    kept = open_stages(stages)
    planned = plan_metrics(metrics, stages=kept and kept.root)
    planned_judge = _plan_judge(judge, settings, kept)
    read = read_pairs(
        source,
        outputs,
        scores=scores,
        columns=columns,
        is_asked=planned_judge is not None,
        has_metrics=bool(planned),
    )
    texts = add_scores(read.texts, planned, kept).split_aspects()
    read = replace(read, texts=texts)
    pair_judge = _load_judge(planned_judge)
    listed = list_pairs(texts) if read.given is None else read.given
    labels = human_labels
    if labels is not None and not isinstance(labels, int):
        labels = read_pair_labels(labels, listed)
    check_sources(read.given, pair_judge, labels, has_outputs=read.has_outputs)
    judged = _judge_pairs(pair_judge, read, listed, labels, seed)
    asked = judged.asked
    has_people = read.given is not None or labels is not None
    rivals = hold_against_people(asked, judged.judges, texts, read.places, has_people=has_people)
    refuse_silence(asked, rivals, judged.verdicts, texts.name)
    lengths = find_lengths(asked, texts, read.places)
    people = judged.ranked.by_rater()
    shown = _list_answers(judged, read, has_people=has_people)
    ranked = judged.ranked
    found = PreferenceStudy(
        ranking=rank_by_preferences(ranked, seed, level),
        level=level,
        among=measure_among(people, judged.judges, asked, raters=len(ranked.named_raters)),
        single=list_single(people, rivals, asked),
        favours=find_favours(asked, rivals, lengths),
        agreement=measure_agreement(asked, rivals, seed),
        verdicts=judged.verdicts,
        judged_inputs=asked.inputs,
        corrections=correct(asked, rivals, lengths, asked_judges=judged.only_asked),
        whose=describe_winners(ranked, has_people=bool(rivals or len(people) > 1)),
        resolution=(
            *ranked.notes,
            *note_one_side(judged.listed),
            *note_resolution(ranked.layout.input_count, level),
        ),
    )
    return Study(
        answer=found.answer,
        tables=found.tables,
        notes=found.notes,
        signature=_sign(judged, texts, labels, seed=seed, level=level),
        found=found,
        draw=found.draw,
        asked=shown,
        files=write_answers(shown, written),
    )


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """What people and judges say about pairs of outputs."""

    # each pair once, as it was read: people's majority, and the judges of the file
    listed: Preferences
    # the same with the verdicts of the judge that was asked as outcomes, where nobody else gave any
    asked: Preferences
    # the judgements by which systems are ranked
    ranked: Preferences
    # of the judge that was asked
    verdicts: Verdicts | None
    # the outcomes of all judges by name
    judges: Mapping[str, Floats]
    # the names of judges whose verdicts stand in no file
    only_asked: Sequence[str]
    # that of the judge, where the file has judgements too
    signatures: Sequence[str]


def _plan_judge(judge: Any, settings: Mapping[str, Any], kept: Stages | None) -> Any:
    """Plans a judge that is named; other judges have no settings here."""
    if isinstance(judge, str):
        return plan_metric(judge, settings, stages=kept and kept.root)
    check_names(settings, (), "prefer without the name of a judge")
    return judge


def _load_judge(planned: Any) -> Any:
    """The judge; one that was planned by its name is loaded only now, when the files are known to be right."""
    if isinstance(planned, MetricPlan):
        return load_planned(planned)
    return planned


def _judge_pairs(
    judge: PairJudge | None,
    read: PairInputs,
    listed: Preferences,
    labels: Preferences | int | None,
    seed: int,
) -> JudgedPairs:
    """Asks the judge, if there is one, and adds people's labels to what judges say."""
    given = read.given
    if given is not None and labels is not None:
        given = listed = add_labels(given, labels, seed)
    pairs = listed.by_majority()
    if not len(pairs):
        rule = "two systems must have outputs for one input, but no input has two"
        raise InputError([fault(read.texts.name, 0, rule)])
    verdicts: Verdicts | None = None
    of_asked: dict[str, Floats] = {}
    signatures: list[str] = []
    asked = pairs
    if judge is not None:
        verdicts = ask_judge(judge, pairs, read.texts, read.places)
        of_asked = {name: settle_orders(first) for name, first in verdicts.by_judge.items()}
        if given is not None:
            signatures.append(verdicts.signature)
        else:
            asked = replace(pairs, name=verdicts.signature, outcomes=verdicts.outcomes)
            if labels is not None:
                asked = add_labels(asked, labels, seed)
    return JudgedPairs(
        listed=pairs,
        asked=asked,
        ranked=asked if given is None else given,
        verdicts=verdicts,
        judges={**of_asked, **pairs.judges},
        only_asked=[name for name in of_asked if name not in asked.judges],
        signatures=signatures,
    )


def _list_answers(judged: JudgedPairs, read: PairInputs, *, has_people: bool) -> list[Asked]:
    """What the judge was asked about each pair, and what it answered, beside what people say."""
    if judged.verdicts is None:
        return []
    asked = judged.asked
    of_people = np.full(len(asked), np.nan)
    if has_people:
        of_people = asked.outcomes
    return list_asked_pairs(asked, of_people, judged.verdicts, read.texts, read.places)


def _sign(
    judged: JudgedPairs,
    texts: ScoredSet,
    labels: Preferences | int | None,
    *,
    seed: int,
    level: float,
) -> str:
    """The signature of a study."""
    ranked = judged.ranked
    parts = [f"preferences|{ranked.name}|n={len(ranked)}|seed={seed}|level={level:g}"]
    if labels is not None:
        parts.append(f"labels={labels if isinstance(labels, int) else labels.name}")
    return "|".join([*parts, *texts.signatures, *judged.signatures])


def check_sources(
    given: Preferences | None,
    asking: Any,
    labels: Preferences | int | None,
    has_outputs: bool,
) -> None:
    """Raises SettingError if nobody prefers (no file and no judge), or if a judge has no outputs to read."""
    if not has_outputs and (given is None or asking is not None):
        raise SettingError(f"a judge needs the texts of the systems: {NO_OUTPUTS}")
    if asking is not None and not callable(getattr(asking, "compare", None)):
        raise SettingError("the judge must compare pairs of texts, as llm_judge does: pass other metrics as metrics")
    if given is None and asking is None:
        raise SettingError("source must be preferences, or outputs with a judge, found neither")
    if given is None and isinstance(labels, int):
        raise SettingError(f"human_labels must be a file where the judge gives the preferences, but is {labels}")


def hold_against_people(
    asked: Preferences,
    judges: Mapping[str, Floats],
    texts: ScoredSet,
    places: Mapping[tuple[str, str], int],
    has_people: bool,
) -> dict[str, Floats]:
    """Collects the outcomes to compare with people's: of each judge, of the majority of three or more, of metrics."""
    rivals = dict(judges) if has_people else {}
    single_judges = list_single_judges(judges)
    if len(single_judges) > 2 and rivals:  # of two, most say a tie wherever they differ
        rivals.setdefault(PANEL, find_majority(np.stack(single_judges)))
    for name, scores in texts.scores.items():
        (values,) = scores.values.values()
        rivals[name] = prefer_by_scores(asked, places, values)
    return rivals


def list_single_judges(judges: Mapping[str, Floats]) -> list[Floats]:
    """Lists the outcomes of single judges, without those of a panel."""
    return [outcomes for name, outcomes in judges.items() if name != PANEL]


def refuse_silence(
    asked: Preferences,
    rivals: Mapping[str, Floats],
    verdicts: Verdicts | None,
    texts: str,
) -> None:
    """Raises InputError if no judgement has an outcome, or if nothing that is compared with people has one."""
    is_silent = is_empty(asked.outcomes)
    are_rivals_silent = bool(rivals) and all(map(is_empty, rivals.values()))
    if not is_silent and not are_rivals_silent:
        return
    why = f"the judged systems and inputs must be in {texts}, but no pair of outputs is"
    if verdicts is not None:
        why = f"the judge gave no answer: {verdicts.reasons[0]}"
    elif is_silent:
        why = 'at least one judgement needs a "winner", or human_labels give people\'s, but only judges judged'
    raise InputError([fault(asked.name, 0, why)])


def is_empty(outcomes: Floats) -> bool:
    """Whether no outcome is known, that is, all are NaN."""
    return bool(np.isnan(outcomes).all())


def measure_among(
    people: Floats,
    judges: Mapping[str, Floats],
    asked: Preferences,
    *,
    raters: int,
) -> dict[str, tuple[int, Estimate]]:
    """Returns the number of people (`raters`) and of judges, and how far each of these groups agrees among itself.

    A group with a single member is left out. `people` are the outcomes of `Preferences.by_rater`.
    """
    by_judge = list_single_judges(judges)
    tables = {"people": (raters, [*people]), "judges": (len(by_judge), by_judge)}
    return {
        who: (number, agree_among(np.stack(table), asked.layout))
        for who, (number, table) in tables.items()
        if len(table) > 1
    }


def measure_agreement(
    asked: Preferences,
    rivals: Mapping[str, Floats],
    seed: int,
) -> dict[tuple[str, str, str], PreferenceAgreement]:
    """Measures how well each judge and metric agrees with people: on all judgements, then on each pair of systems."""
    agreement: dict[tuple[str, str, str], PreferenceAgreement] = {}
    parts = split_by_pair(asked) if rivals else {}
    for name, outcomes in rivals.items():
        for pair, kept in parts.items():
            agreement[name, *pair] = agree_on_preferences(asked.take(kept), outcomes[kept], seed)
    return agreement


def describe_winners(given: Preferences, has_people: bool) -> str:
    """Returns a sentence if a model chose the winners, or if the file does not say who did; "" if people chose them.

    `has_people` says whether tables have a row called people, which the sentence then explains.
    """
    if given.by_model is None:
        return f"{given.name} does not say whether people or a model chose the winners"
    if not given.by_model:
        return ""
    named = ': "people" in tables and notes is this model' if has_people else ", not of people"
    return f"the winners in {given.name} are verdicts of a model{named}"


def list_single(
    people: Floats,
    rivals: Mapping[str, Floats],
    asked: Preferences,
) -> list[SingleAgreement]:
    """Lists the agreement with each of several people, whose outcomes have the shape (people, n).

    An outcome of a judge that gives probabilities counts as the side that it is on.
    """
    if len(people) < 2:
        return []
    outcomes = np.stack([*rivals.values(), *people])
    columns = to_outcomes(outcomes - 0.5)
    layout = asked.layout
    if exchanges_sides(asked):
        columns, layout = in_both_orders(columns, layout)
    by_name = dict(zip(rivals, columns, strict=False))
    of_people = columns[len(rivals) :]
    single = agree_with_single(of_people, by_name, OUTCOMES, layout, is_ordered=False)
    orders = len(layout.inputs) // len(asked)
    return [replace(agreement, n=agreement.n // orders) for agreement in single]


def find_lengths(
    asked: Preferences,
    texts: ScoredSet,
    places: Mapping[tuple[str, str], int],
) -> Floats | None:
    """Finds the lengths of both outputs, in characters, (n, 2): those of the preferences, or else of the texts."""
    if asked.lengths is not None or not places:
        return asked.lengths
    sizes = [len(example.full_text) for example in texts.examples]
    padded = np.array([*sizes, np.nan])
    sides: list[Floats] = []
    for outputs in asked.outputs:
        sides.append(padded[[places.get(output, -1) for output in outputs]])
    return np.stack(sides, axis=1)


def find_favours(
    asked: Preferences,
    rivals: Mapping[str, Floats],
    lengths: Floats | None,
) -> dict[str, Favour]:
    """Measures how much more often than people each judge prefers the longer text; {} if lengths are not known."""
    if lengths is None:
        return {}
    longer = find_longer(lengths)
    return {name: measure_favour(asked, outcomes, longer) for name, outcomes in rivals.items()}


def ask_judge(
    judge: PairJudge,
    asked: Preferences,
    outputs: ScoredSet,
    places: Mapping[tuple[str, str], int],
) -> Verdicts:
    """Asks the judge about all pairs with both outputs; other pairs get no verdict."""
    pairs: list[tuple[Example, Example]] = []
    rows: list[int] = []
    for row, (first, second) in enumerate(zip(*asked.outputs, strict=True)):
        if first in places and second in places:
            texts = outputs.examples[places[first]], outputs.examples[places[second]]
            pairs.append(texts)
            rows.append(row)
    verdicts = judge.compare(pairs)

    def spread(first: Floats) -> Floats:
        """Spreads verdicts on the asked pairs over all pairs; NaN for a pair that was not asked."""
        whole = np.full((len(asked), 2), np.nan)
        whole[rows] = first
        return whole

    reasons: list[str | None] = ["an output is missing"] * len(asked)
    for row, reason in zip(rows, verdicts.reasons, strict=True):
        reasons[row] = reason
    return replace(
        verdicts,
        first=spread(verdicts.first),
        reasons=reasons,
        panel={name: spread(first) for name, first in verdicts.panel.items()},
        answers=tuple(replace(answer, pair=rows[answer.pair]) for answer in verdicts.answers),
    )


def split_by_pair(given: Preferences) -> dict[tuple[str, str], NDArray[np.bool_]]:
    """Returns masks of all judgements, then of those of each pair of systems if there are several pairs."""
    whole = {(ALL, ALL): np.ones(len(given), dtype=np.bool_)}
    compared: dict[tuple[str, str], NDArray[np.bool_]] = {}
    for pair in combinations(given.systems, 2):
        kept = ~np.isnan(given.between(*pair))
        if kept.any():
            compared[pair] = kept
    return {**whole, **compared} if len(compared) > 1 else whole
