"""Preferences of people or of a judge: which systems they prefer, and which metrics prefer as they do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from core.errors import InputError, SettingError, check_names, fault, format_value
from core.example import Example
from core.settings import Fraction, check
from data.cells import list_items
from data.columns import freeze_columns
from data.input_file import InputFile
from data.preferences import has_outputs, holds_pairs, read_preferences
from data.scored import place_outputs
from judge.correcting import correct
from judge.inputs import Columns, Frame, GivenScores, Source, read
from judge.metrics import MetricPlan, Metrics, load_planned, plan_metric, plan_metrics
from judge.pair_labels import add_labels, read_pair_labels
from judge.preferences import ALL, PreferenceStudy
from judge.verbs.score import add_scores, open_stages
from judge.wording import note_resolution
from meta_eval.biases import Favour, find_family, find_longer, measure_favour
from meta_eval.bootstrap import Floats
from meta_eval.grouping import restrict
from meta_eval.intervals import Resampling, is_within_margin
from meta_eval.labels import SingleAgreement, agree_with_single
from meta_eval.preferences import (
    OUTCOMES,
    PANEL,
    Preferences,
    Verdicts,
    agree_among,
    agree_on_preferences,
    find_majority,
    in_both_orders,
    list_pairs,
    prefer_by_scores,
    settle_orders,
)
from meta_eval.scored_set import ScoredSet
from meta_eval.strengths import rank_by_preferences

GIVEN = Path("preferences")  # names rows in memory in messages
LONGER, FAMILY = "longer text", "own family"
Family = Sequence[str] | Mapping[str, Sequence[str]]


class PairJudge(Protocol):
    """A judge that says which of two texts is better, such as `baselines.llm_judge.LLMJudge`."""

    def compare(self, pairs: Sequence[tuple[Example, Example]]) -> Verdicts:
        """Judges each pair in both orders."""
        ...


def prefer(
    source: Path | str | InputFile | Iterable[Mapping[str, Any]] | Frame | Preferences | None = None,
    *,
    outputs: Source | None = None,
    scores: GivenScores | None = None,
    columns: Columns | None = None,
    metrics: Metrics = (),
    judge: str | MetricPlan | PairJudge | None = None,
    human_labels: Path | str | Iterable[Mapping[str, Any]] | Frame | Preferences | int | None = None,
    family: Family = (),
    stages: Path | str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.05,
    margin: float | None = None,
    **settings: Any,
) -> PreferenceStudy:
    """Ranks systems by preferences, and measures which metrics, or which judge, prefer as people do.

    Args:
        source: a file, rows or a DataFrame with `group` (else `id`), `system_a`, `system_b`, `winner` and perhaps
            `rater`; with a judge, it may be a file of outputs: the judge is then asked about all pairs of systems on
            all inputs.
        outputs: the systems' outputs, with `system`, `group` and perhaps `scores`; `metrics` run on them.
        scores: of the outputs, by name: files that `judge score` wrote.
        columns: by field its column of the file.
        metrics: to run on the outputs (`judge.load_metric`).
        judge: llm_judge with its settings, which compares pairs of outputs in both orders; or a judge of pairs.
        human_labels: people's preferences of some of the judged pairs, in the same form, joined by input and systems,
            or with the id of a pair and a winner; the winners of `source` are then those of a judge. Or how many labels
            of `source` to keep, drawn by `seed`.
        family: the systems of the judge's own family, or by judge those of each, to measure self-preference.
        stages: a folder that keeps the scores of the metrics and the replies of the judge.
        resamples: of intervals, and swaps drawn by the tests of more than 15 inputs.
        seed: of what is drawn.
        level: significance level, for clusters.
        margin: a distance of win rates from 1/2 that does not matter: pairs whose rates are shown to lie within it are
            equal.

    Raises InputError with all faults of the files, SettingError for wrong settings.

    >>> rows = [{"id": f"q{i}", "system_a": "new", "system_b": "old", "winner": "a"} for i in range(3)]
    >>> [(each.system, each.wins) for each in prefer(rows).ranking.systems]
    [('new', 3), ('old', 0)]
    """
    if not isinstance(judge, str):
        check_names(settings, (), "prefer without the name of a judge")
    kept = open_stages(stages)
    planned = plan_metrics(metrics, stages=kept and kept.root)
    if isinstance(judge, str):
        judge = cast(MetricPlan, plan_metric(judge, settings, stages=kept and kept.root))
    if isinstance(source, str | Path | InputFile):
        source, outputs = find_outputs(InputFile.of(source, columns=columns), outputs, is_asked=judge is not None)
    given = read_given(source, columns or {})
    if outputs is None and planned:
        raise SettingError("metrics need the texts of the systems: pass them as outputs")
    texts = ScoredSet("", (), {}) if outputs is None else read(outputs, scores)
    places = place_outputs(texts)
    texts = add_scores(texts, planned, kept).split_aspects()
    asking: Any = load_planned(judge) if isinstance(judge, MetricPlan) else judge
    resampling = Resampling(resamples=resamples, seed=seed)
    labels = human_labels
    if labels is not None and not isinstance(labels, int):
        labels = read_pair_labels(labels, list_pairs(texts) if given is None else given)
    check(Fraction, level=level, **({} if margin is None else {"margin": margin}))
    if outputs is None and (given is None or asking is not None):
        raise SettingError("a judge needs the texts of the systems: pass them as outputs")
    if asking is not None and not callable(getattr(asking, "compare", None)):
        raise SettingError("the judge must compare pairs of texts, as llm_judge does: pass other metrics as metrics")
    if given is None and asking is None:
        raise SettingError("source must be preferences, or outputs with a judge, found neither")
    if given is None and isinstance(labels, int):
        raise SettingError(f"human_labels must be a file where the judge gives the preferences, but is {labels}")
    if given is not None and labels is not None:
        given = add_labels(given, labels, seed)
    asked = list_pairs(texts) if given is None else given.by_majority()
    if not len(asked):
        raise InputError([fault(texts.name, 0, "two systems must have outputs for one input, but no input has two")])
    verdicts = None if asking is None else ask_judge(asking, asked, texts, places)
    first = {} if verdicts is None else verdicts.by_judge
    judges = {**{name: settle_orders(each) for name, each in first.items()}, **asked.judges}
    signatures = [*texts.signatures]
    if verdicts is not None and given is not None:
        signatures.append(verdicts.signature)
    elif verdicts is not None:
        asked = replace(asked, name=verdicts.signature, outcomes=verdicts.outcomes)
        asked = asked if labels is None else add_labels(asked, labels, seed)
    found = {} if given is None and labels is None else dict(judges)  # to hold against people
    single_judges = [each for name, each in judges.items() if name != PANEL]
    if len(single_judges) > 2 and found:  # of two, most say a tie wherever they differ
        found.setdefault(PANEL, find_majority(np.stack(single_judges)))
    for name, each in texts.scores.items():
        found[name] = prefer_by_scores(asked, places, next(iter(each.values.values())))
    if np.isnan(asked.outcomes).all() or (found and all(np.isnan(outcomes).all() for outcomes in found.values())):
        why = f"the judged systems and inputs must be in {texts.name}, but no pair of outputs is"
        if verdicts is not None:
            why = f"the judge gave no answer: {verdicts.reasons[0]}"
        elif np.isnan(asked.outcomes).all():
            why = 'at least one judgement needs a "winner", or human_labels give people\'s, but only judges judged'
        raise InputError([fault(asked.name, 0, why)])
    lengths, ranked = find_lengths(asked, texts, places), asked if given is None else given
    people = ranked.by_rater()
    line = f"preferences|{ranked.name}|n={len(ranked)}|{resampling.signature}|level={level:g}"
    line += "" if margin is None else f"|margin={margin:g}"
    line += "" if labels is None else f"|labels={labels if isinstance(labels, int) else labels.name}"
    return PreferenceStudy(
        signature="|".join([line, *signatures]),
        ranking=rank_by_preferences(ranked, resampling, level),
        level=level,
        equal=frozenset() if margin is None else find_equal(ranked, margin, level),
        among={
            who: (len(table), agree_among(np.stack([*table]), asked.layout, resampling))
            for who, table in (("people", people), ("judges", single_judges))
            if len(table) > 1
        },
        single=list_single(people, found, asked, resampling),
        favours=find_favours(asked, found, lengths, family, resampling),
        agreement={
            (name, *pair): agree_on_preferences(asked.take(kept), outcomes[kept], resampling)
            for name, outcomes in found.items()
            for pair, kept in _split(asked).items()
        },
        verdicts=verdicts,
        judged_inputs=asked.inputs,
        corrections=correct(asked, found, lengths, asked_judges=[name for name in first if name not in asked.judges]),
        whose=describe_winners(asked if given is None else given, has_people=bool(found or len(people) > 1)),
        resolution=(
            *ranked.notes,
            *note_resolution(ranked.layout.input_count, resamples, "resamples", level),
        ),
    )


def find_outputs(file: InputFile, outputs: Source | None, is_asked: bool) -> tuple[InputFile | None, Source | None]:
    """The file of preferences, and the outputs: a file may have both, or the outputs alone where a judge is asked."""
    if outputs is not None:
        return file, outputs
    if has_outputs(file):
        return file, file
    if is_asked and not holds_pairs(file):
        return None, file
    return file, None


def describe_winners(given: Preferences, has_people: bool) -> str:
    """Whose the winners of a file are, where they are not those of people; `has_people`: whether tables say people."""
    if given.by_model is None:
        return f"{given.name} does not say whether people or a model chose the winners"
    if not given.by_model:
        return ""
    named = ': "people" in tables and notes is this model' if has_people else ", not of people"
    return f"the winners in {given.name} are verdicts of a model{named}"


def read_given(source: Any, columns: Columns) -> Preferences | None:
    """Preferences in a file, rows or a DataFrame; None for none. Raises InputError, SettingError for other rows."""
    if source is None or isinstance(source, Preferences):
        return source
    if isinstance(source, str | Path | InputFile):
        return read_preferences(source, columns)
    rows = list_items(source, "preferences must be in a file, a list of rows or a DataFrame")
    if other := next((row for row in rows if not isinstance(row, Mapping)), None):
        raise SettingError(f"preferences must be rows, but one is {format_value(other)}")
    return read_preferences(InputFile(GIVEN, freeze_columns(columns), records=rows))


def list_single(
    people: Floats, found: Mapping[str, Floats], asked: Preferences, resampling: Resampling
) -> list[SingleAgreement]:
    """The agreement with each of several people, whose outcomes have the shape (people, n)."""
    if len(people) < 2:
        return []
    columns, twice = in_both_orders(np.stack([*found.values(), *people]), asked.layout)
    by_name = dict(zip(found, columns, strict=False))
    people_columns = columns[len(found) :]
    single = agree_with_single(people_columns, by_name, OUTCOMES, twice, resampling, is_ordered=False)
    return [replace(each, n=each.n // 2) for each in single]


def find_equal(given: Preferences, margin: float, level: float) -> frozenset[tuple[str, str]]:
    """The pairs whose win rates are within `margin` of 1/2: two one-sided tests of the means of inputs, at `level`
    divided by the number of pairs.
    """
    pairs, found = [*combinations(given.systems, 2)], set[tuple[str, str]]()
    for pair in pairs:
        outcomes = given.between(*pair) - 0.5
        known = ~np.isnan(outcomes)
        inputs = restrict(given.layout, known).inputs
        means = np.bincount(inputs, outcomes[known]) / np.bincount(inputs)
        if is_within_margin(means, margin, level, len(pairs), largest=0.5):
            found.add(pair)
    return frozenset(found)


def find_lengths(asked: Preferences, texts: ScoredSet, places: Mapping[tuple[str, str], int]) -> Floats | None:
    """The lengths of both outputs, in characters, of shape (n, 2): those of the preferences, else of the texts."""
    if asked.lengths is not None or not places:
        return asked.lengths
    sizes = np.array([*(len(each.full_text) for each in texts.examples), np.nan])
    rows = [zip(side, asked.inputs, strict=True) for side in (asked.systems_a, asked.systems_b)]
    return np.array([[sizes[places.get(key, -1)] for key in row] for row in rows]).T


def find_favours(
    asked: Preferences, found: Mapping[str, Floats], lengths: Floats | None, family: Family, resampling: Resampling
) -> dict[tuple[str, str], Favour]:
    """How much more often than people each judge prefers the longer text, and systems of its own family.

    Raises SettingError for an unknown judge or system in `family`.
    """
    given = family if isinstance(family, Mapping) else dict.fromkeys(found, family)
    families = {name: [each] if isinstance(each, str) else each for name, each in given.items()}
    check_names(families, found, "family")
    for systems in families.values():
        check_names(systems, asked.systems, "family")
    favours: dict[tuple[str, str], Favour] = {}
    for name, outcomes in found.items():
        sides = {} if lengths is None else {LONGER: find_longer(lengths)}
        sides |= {FAMILY: find_family(asked, families[name])} if families.get(name) else {}
        for side, each in sides.items():
            favours[name, side] = measure_favour(asked, outcomes, each, resampling)
    return favours


def ask_judge(
    judge: PairJudge, asked: Preferences, outputs: ScoredSet, places: Mapping[tuple[str, str], int]
) -> Verdicts:
    """The verdicts on the pairs whose outputs are there; the others have none."""
    rows = list(zip(asked.systems_a, asked.systems_b, asked.inputs, strict=True))
    there = [k for k, (a, b, name) in enumerate(rows) if (a, name) in places and (b, name) in places]
    texts = [[outputs.examples[places[system, rows[k][2]]] for system in rows[k][:2]] for k in there]
    found = judge.compare([(a, b) for a, b in texts])

    def spread(first: Floats) -> Floats:
        whole = np.full((len(rows), 2), np.nan)
        whole[there] = first
        return whole

    reasons = dict.fromkeys(range(len(rows)), "an output is missing") | dict(zip(there, found.reasons, strict=True))
    panel = {name: spread(first) for name, first in found.panel.items()}
    return Verdicts(spread(found.first), [*reasons.values()], found.signature, panel, found.name)


def _split(given: Preferences) -> dict[tuple[str, str], np.ndarray[Any, np.dtype[np.bool_]]]:
    """All judgements, then those of each pair of systems where there are several pairs."""
    found = {(ALL, ALL): np.ones(len(given), dtype=np.bool_)}
    pairs = {pair: ~np.isnan(given.between(*pair)) for pair in combinations(given.systems, 2)}
    compared = {pair: kept for pair, kept in pairs.items() if kept.any()}
    return found | (compared if len(compared) > 1 else {})
