"""Finds which metric agrees best with people: agreement with ratings, also beyond cheap cues; tests of metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError, SettingError, check_names, fault
from core.settings import Seed, check
from core.signature import join_settings
from core.stages import Stages
from judge.agreement_answers import answer_question, note_reversed, note_unranked
from judge.cautions import note_confounded, note_groupings, note_repeats
from judge.gates import read_conditions
from judge.inputs import Columns, GivenScores, Source
from judge.label_files import Labels
from judge.label_study import JudgedAspect, describe_judges, hold_gate, study_judges, tabulate_judges
from judge.labelling import Labelling
from judge.metric_study import rater_tables, tabulate_metrics
from judge.metrics import Metrics, Planned, plan_metrics
from judge.scoring import add_scores, collect_notes, open_stages
from judge.verdict_files import Names, have_texts, read_verdicts
from meta_eval.agreement import NOT_METRICS, Agreement, add_cheap_cues, list_agreement, note_cues
from meta_eval.ranking import (
    Ranking,
    RankingSettings,
    compare_metrics,
    compare_with_cues,
    rank_metrics,
)
from meta_eval.scored_set import ScoredSet
from report.asked import check_answers, list_asked_texts, write_answers
from report.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class AgreementFigures:
    """How well metrics agree with ratings, and which metrics agree better than others."""

    # the agreement of each metric with each aspect, over all texts, within systems and between them
    rows: Sequence[Agreement]
    # by aspect and grouping
    rankings: Sequence[Ranking]
    # the agreement on labels, of aspects whose ratings and scores are labels
    judged: Sequence[JudgedAspect]


def agree(
    source: Source,
    metrics: Metrics = (),
    *,
    scores: GivenScores | None = None,
    columns: Columns | None = None,
    people: Names = (),
    judges: Names = (),
    labels: Labels | None = None,
    by: str | None = None,
    fail_if: str | Sequence[str] = (),
    baseline: str | None = None,
    cues: bool = True,
    answers: Path | str | None = None,
    stages: Path | str | None = None,
    seed: int = 0,
    **settings: Any,
) -> Study:
    """The work of `judge.agree`, which says what it takes and raises."""
    comparison, labelling = _read_settings(settings)
    check(Seed, seed=seed)
    conditions = read_conditions(fail_if)
    written = check_answers(answers)
    kept = open_stages(stages)
    planned = plan_metrics(metrics, stages=kept and kept.root)
    examples = read_verdicts(
        source,
        columns=columns,
        levels=labelling.levels,
        people=people,
        judges=judges,
        labels=labels,
        scores=scores,
        needs=("text", "people") if planned else ("people", "judges"),
    )
    check_rated(examples)
    has_texts = have_texts(examples)
    has_cues = cues and has_texts
    unordered = _score_rated(examples, planned, kept)
    order = order_by_name(unordered)
    given_order = np.argsort(order)
    scored = unordered.take(order)
    split = scored.negate(comparison.lower_is_better).split_aspects()
    shown = add_cheap_cues(split, seed) if has_cues else split
    judged = study_judges(split, labelling, by=by, seed=seed, level=comparison.level)
    gate = hold_gate(judged, conditions, baseline, comparison.level)
    rows, rankings = _compare_by_aspect(split, shown, comparison, seed, has_cues=has_cues)
    asked = list_asked_texts(unordered, has_own_ratings=labels is None)
    line = join_settings("meta_eval", comparison, n=len(scored))
    of_page = shown.take(given_order)
    return Study(
        answer=answer_question(rankings, rows, judged, level=comparison.level, has_cues=has_texts),
        tables=[
            *tabulate_metrics(rows, rankings),
            *rater_tables(scored, split, comparison),
            *tabulate_judges(judged, by),
        ],
        notes=[
            *_note_examples(scored, has_texts=has_texts),
            *_note_agreement(scored, split, rows, rankings),
            *describe_judges(judged, comparison.level),
            *(sentence for _, sentence in gate),
        ],
        signature="|".join([line, f"seed={seed}{labelling.signature}", *shown.signatures]),
        found=AgreementFigures(rows, rankings, judged),
        findings=[sentence for has_failed, sentence in gate if has_failed],
        draw=lambda: draw_agreement(rankings, of_page),
        scored=[of_page],
        asked=asked,
        files=write_answers(asked, written),
    )


def draw_agreement(rankings: Sequence[Ranking], scored: ScoredSet) -> dict[str, Figure]:
    """Draws the agreement of each metric, and scores against the ratings of each aspect."""
    from report.plots import plot_intervals, scores_against_ratings

    intervals = {}
    for ranking in rankings:
        how = ranking.comparison
        title = f"{how.statistic} with {ranking.aspect} ({how.one_grouping}), 95 % over inputs"
        intervals[f"{how.statistic}_{ranking.aspect}_{how.one_grouping}"] = ranking.agreement, title
    against = {f"scores_{aspect}": scores_against_ratings(scored, aspect) for aspect in scored.aspects}
    return plot_intervals(intervals) | against


def _score_rated(
    examples: ScoredSet,
    planned: Mapping[str, Planned],
    kept: Stages | None,
) -> ScoredSet:
    """The rated examples with the scores of all metrics. Raises SettingError for no score and for a reserved name."""
    if not (examples.scores or planned):
        rule = "scores are needed: pass metrics or scores"
        raise SettingError(f"{rule}, or a judge's verdicts as the file and these ratings as labels")
    scored = add_scores(examples, planned, kept)
    if reserved := [name for name in NOT_METRICS if name in scored.scores]:
        raise SettingError(f"the name {reserved[0]} is reserved for a row that is no metric: rename these scores")
    return scored


def _compare_by_aspect(
    split: ScoredSet,
    shown: ScoredSet,
    comparison: RankingSettings,
    seed: int,
    *,
    has_cues: bool,
) -> tuple[list[Agreement], list[Ranking]]:
    """The agreement of each metric with each aspect, and the ranking of metrics by aspect and grouping.

    `shown` has the metrics of `split`, and `cheap_cues` where agreement is compared with theirs.
    """
    rows = list_agreement(shown, seed, has_cues=has_cues)
    rankings: list[Ranking] = []
    for aspect in split.aspects:
        rated = split.rated(aspect)
        with_cues = shown.rated(aspect)
        for one_comparison in comparison.expand(rated.layout):
            ranking = rank_metrics(rated, aspect, one_comparison)
            pairs = compare_metrics(rated, ranking, seed)
            against_cues = compare_with_cues(with_cues, ranking, seed)
            rankings.append(replace(ranking, pairs=pairs, against_cues=against_cues))
    return rows, rankings


def note_empty(scored: ScoredSet) -> list[str]:
    """Notes how many answers are empty, and of which systems."""
    empty = [example for example in scored.examples if example.is_empty]
    if not empty:
        return []
    counts = Counter(example.system for example in empty if example.system is not None)
    by_system = ", ".join(f"{number} of {name}" for name, number in counts.items())
    said = f"{len(empty)} of {len(scored)} answers {'are' if empty[1:] else 'is'} empty"
    return [f"{said} ({by_system})" if by_system else said]


def _note_examples(scored: ScoredSet, *, has_texts: bool) -> Iterator[str]:
    """Notes on how the examples were read, on empty texts, and those of metrics on their scores."""
    yield from scored.notes
    if has_texts:
        yield from note_empty(scored)
    yield from collect_notes(scored.scores)


def _note_agreement(
    scored: ScoredSet,
    split: ScoredSet,
    rows: Sequence[Agreement],
    rankings: Sequence[Ranking],
) -> Iterator[str]:
    """Notes on what can mislead a reader of the agreement, and on metrics without a rank."""
    yield from note_cues(rows)
    yield from note_reversed(rows)
    yield from note_repeats(scored)
    yield from note_confounded(scored)
    yield from note_groupings(split, rows)
    yield from note_unranked(rankings)


def _read_settings(settings: Mapping[str, Any]) -> tuple[RankingSettings, Labelling]:
    """The settings of the comparison and of labels; raises SettingError for other names."""
    kinds = (RankingSettings, Labelling)
    kind_by_name = {field.name: kind for kind in kinds for field in fields(kind)}
    check_names(settings, kind_by_name, "agree")
    by_kind: dict[type, dict[str, Any]] = {kind: {} for kind in kinds}
    for name, value in settings.items():
        by_kind[kind_by_name[name]][name] = value
    return (
        RankingSettings(**by_kind[RankingSettings]),
        Labelling(**by_kind[Labelling]),
    )


def order_by_name(scored: ScoredSet) -> list[int]:
    """Sorts examples by input, system and id, so that the order of rows does not change random draws; returns indices.

    Shorter names come first, so that 10 follows 9.
    """

    def name_example(place: int) -> list[tuple[int, str]]:
        example = scored.examples[place]
        names = (example.group or example.id, example.system or "", example.id)
        return [(len(name), name) for name in names]

    return sorted(range(len(scored)), key=name_example)


def check_rated(scored: ScoredSet) -> None:
    """Raises InputError if no example is rated, or if only some rated examples have a system or group."""
    if not scored.aspects:
        rule = 'at least one example needs "ratings", such as {"coherence": 4}'
        raise InputError([fault(scored.locate(0)[0], 0, f"{rule}, found none in {len(scored)} examples")])
    rated = [i for i, each in enumerate(scored.examples) if each.ratings]
    for name in ("system", "group"):
        lacking = [i for i in rated if getattr(scored.examples[i], name) is None]
        if 0 < len(lacking) < len(rated):
            raise InputError(fault(*scored.locate(i), f'"{name}" is needed here, as in other lines') for i in lacking)
