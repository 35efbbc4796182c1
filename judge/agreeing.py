"""Which metric agrees best with people: agreement with ratings, also beyond cheap cues, and tests between metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from core.faults import InputFaults, SettingFault, check_names, fault
from data.scored import ScoredFile
from judge.inputs import References, Source, read
from judge.scoring import AnyMetric, add_scores, collect_notes
from judge.tables import Table, tabulate, tabulate_agreement, to_html
from meta_eval.agreement import Agreement, note_cues
from meta_eval.bootstrap import Estimate, Floats
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling
from meta_eval.ranking import (
    POWER,
    Comparison,
    MetricPair,
    Ranking,
    compare_metrics,
    list_groupings,
    measure_agreement,
    number_clusters,
    rank_metrics,
)
from meta_eval.raters import krippendorff_alpha, leave_one_out
from meta_eval.scored_set import ScoredSet

PAIR_CELLS = ("aspect", "statistic", "grouping", "metric_a", "metric_b", "better", "n", "difference", "p_value")
PAIR_CELLS += ("holm", "false_discovery", "bootstrap_p", "williams_p", "detectable", "reason")


@dataclass(frozen=True)
class RaterAgreement:
    """The agreement among the raters of an aspect: Krippendorff's alphas, and the ceiling for metrics."""

    aspect: str
    raters: int
    nominal_alpha: Estimate
    ordinal_alpha: Estimate
    interval_alpha: Estimate
    leave_one_out: Estimate


@dataclass(frozen=True)
class MetricStudy:
    """How well metrics agree with ratings, and which agree better.

    Attributes:
        signature: of the settings and metrics.
        scored: the examples with one aspect per metric, and the scores `cheap_cues`.
        rows: the agreement of each metric with each aspect, by grouping.
        rankings: by aspect and grouping.
        pairs: the pairs of metrics of each ranking.
        raters: by aspect, where several people rated it.
        resampling: the settings of intervals.
        notes: warnings.
    """

    signature: str
    scored: ScoredSet
    rows: tuple[Agreement, ...]
    rankings: tuple[Ranking, ...]
    pairs: tuple[tuple[MetricPair, ...], ...]
    raters: tuple[RaterAgreement, ...]
    resampling: Resampling
    notes: tuple[str, ...]

    @property
    def tables(self) -> list[Table]:
        """Agreement, then what `details` has."""
        return [tabulate_agreement(self.rows, self.resampling), *self.details]

    @property
    def details(self) -> list[Table]:
        """The ranking, the pairs of metrics and the raters."""
        rankings = [ranking_table(self.rankings, self.pairs)] if any(each.measured for each in self.rankings) else []
        return [*rankings, pair_table(self), *([rater_table(self.raters)] if self.raters else [])]

    def _repr_html_(self) -> str:
        return to_html(self.tables, [*self.notes, self.signature])


def agree(
    source: Source,
    metrics: AnyMetric | Sequence[AnyMetric] = (),
    scores: Mapping[str, Any] | None = None,
    references: References | None = None,
    *,
    cues: bool = True,
    **settings: Any,
) -> MetricStudy:
    """Finds out which metric agrees best with human ratings, with intervals and tests.

    Args:
        source: rated texts: a file, rows or Examples (`judge.read`).
        metrics: to run, beside those whose scores are there: names, functions or metrics (`judge.load_metric`).
        scores: by metric (`judge.read`).
        references: of the texts (`judge.read`).
        cues: whether agreement stands beside that of cheap cues.
        settings: of `meta_eval.ranking.Comparison` (statistic, grouping, permutations, level, soft_ties) and of
            `meta_eval.intervals.Resampling` (over, interval, resamples, seed).

    Raises SettingFault for wrong settings and where there is no score, InputFaults as `check_rated`.

    >>> rows = [{"text": "word " * n, "ratings": {"quality": n % 4}} for n in range(1, 9)]
    >>> found = agree(rows, scores={"ours": [1, 2, 3, 0, 1, 2, 3, 0]}, permutations=99)
    >>> [(row.metric, row.n, row.spearman.value) for row in found.rows]
    [('ours', 8, 1.0)]
    """
    known = {"comparison": Comparison, "resampling": Resampling}
    names = {each.name: kind for kind, made in known.items() for each in fields(made)}
    check_names(settings, names, "agree")
    comparison, resampling = (
        made(**{name: value for name, value in settings.items() if names[name] == kind}) for kind, made in known.items()
    )
    examples = read(source, scores, references)
    check_rated(examples)
    scored = add_scores(examples, metrics)
    if not scored.scores:
        raise SettingFault("scores are needed: pass metrics or scores")
    return study_metrics(scored, comparison, resampling, has_cues=cues)


def check_rated(scored: ScoredSet) -> None:
    """Raises InputFaults for examples without ratings."""
    if not scored.aspects:
        rule = 'at least one example needs "ratings", such as {"coherence": 4}'
        raise InputFaults([fault(scored.locate(0)[0], 0, f"{rule}, found none in {len(scored)} examples")])


def study_metrics(
    scored: ScoredSet, comparison: Comparison, resampling: Resampling, *, has_cues: bool = True
) -> MetricStudy:
    """The agreement of every metric with every rated aspect of the set, and a test of every pair of metrics.

    A metric with several aspects counts as several metrics. Raters are those of a ScoredFile.
    """
    metrics = scored.split_aspects()
    shown = metrics.add_cheap_cues(resampling.seed) if has_cues else metrics
    rows, rankings, pairs = [], [], []
    for aspect in metrics.aspects:
        rated = metrics.rated(aspect)
        rows += measure_rows(shown.rated(aspect), aspect, comparison, resampling, has_cues)
        for each in comparison.expand(rated.layout):
            rankings.append(rank_metrics(rated, aspect, each, resampling))
            pairs.append(tuple(compare_metrics(rated, rankings[-1], resampling)))
    left_out = [
        f"{name} is not ranked by {ranking.aspect} ({ranking.comparison.one_grouping}): {reason}"
        for ranking in rankings
        for name, reason in ranking.left_out.items()
    ]
    signatures = "|".join(shown.signatures)
    return MetricStudy(
        signature=f"meta_eval|n={len(scored)}|{comparison.signature}|{resampling.signature}|{signatures}",
        scored=shown,
        rows=tuple(rows),
        rankings=tuple(rankings),
        pairs=tuple(pairs),
        raters=compare_raters(scored, comparison, resampling) if isinstance(scored, ScoredFile) else (),
        resampling=resampling,
        notes=(
            *collect_notes(scored.scores),
            *note_gaps(scored),
            *note_cues(rows),
            *note_tests(rankings, resampling),
            *left_out,
        ),
    )


def measure_rows(
    rated: ScoredSet, aspect: str, comparison: Comparison, resampling: Resampling, has_cues: bool
) -> list[Agreement]:
    """The agreement of every metric with an aspect of a rated set, by grouping; over all examples also beyond cues."""
    beyond = rated.beyond_cues(aspect, resampling.resamples, resampling.seed) if has_cues else {}
    rows = []
    for grouping in list_groupings(rated.layout, comparison.expand(rated.layout)[0].one_grouping):
        for name in rated.scores:
            row = measure_agreement(rated, name, aspect, grouping, resampling, comparison.soft_ties)
            known = grouping == "global" and name in beyond
            rows.append(replace(row, beyond_cues=beyond[name]) if known else row)
    return rows


def compare_raters(file: ScoredFile, comparison: Comparison, resampling: Resampling) -> tuple[RaterAgreement, ...]:
    """The agreement among the raters of a file by aspect."""
    over_inputs = Resampling(interval="percentile", resamples=resampling.resamples, seed=resampling.seed)
    layout = lay_out(len(file), inputs=file.groups)
    kind = "pearson" if comparison.statistic == "pearson" else "spearman"

    def compare(aspect: str, table: Floats) -> RaterAgreement:
        alpha = partial(krippendorff_alpha, table, resampling=over_inputs, layout=layout)
        return RaterAgreement(
            aspect,
            raters=len(table),
            nominal_alpha=alpha("nominal"),
            ordinal_alpha=alpha("ordinal"),
            interval_alpha=alpha("interval"),
            leave_one_out=leave_one_out(table, kind, over_inputs, layout=layout).estimate,
        )

    return tuple(compare(aspect, table) for aspect, table in file.raters.items())


def note_gaps(scored: ScoredSet) -> list[str]:
    """Warnings about examples without a system or an input."""
    notes = []
    for field, meaning in (
        ("system", "their systems are unknown, so they are not compared"),
        ("group", "each counts as an output for an input of its own"),
    ):
        named = sum(getattr(example, field) is not None for example in scored.examples)
        if named < len(scored):
            notes.append(f"{len(scored) - named} of {len(scored)} examples have no {field}: {meaning}")
    return notes


def note_tests(rankings: Sequence[Ranking], resampling: Resampling) -> list[str]:
    """A warning about soft accuracy, whose test over inputs does not hold for other systems."""
    is_soft = any(each.comparison.statistic == "soft_accuracy" and len(each.measured) > 1 for each in rankings)
    if not is_soft or resampling.over != "inputs":
        return []
    return ["tests of soft_accuracy hold for these systems only; over=systems tests for other systems"]


def ranking_table(rankings: Sequence[Ranking], pairs: Sequence[Sequence[MetricPair]]) -> Table:
    """The table of metrics by aspect, grouping and rank; `pairs` holds the pairs of each ranking."""
    rows = []
    for ranking, own in zip(rankings, pairs, strict=True):
        cluster = number_clusters(ranking, own)
        rows += [
            {
                "aspect": ranking.aspect,
                "statistic": ranking.comparison.statistic,
                "grouping": ranking.comparison.one_grouping,
                "cluster": cluster[name],
                "metric": name,
                "n": int(ranking.kept.sum()),
                "agreement": each,
                "reason": each.reason or "",
            }
            for name, each in sorted(ranking.agreement.items(), key=lambda item: -item[1].value)
        ]
    caption = (
        "Metrics are ranked on the n examples that all of them scored. No cluster holds two metrics that the tests "
        f"separate at {rankings[0].comparison.level:g} (permutation test, Holm over all pairs); 1-2 is in both. "
        "Accuracy is that of pairs, with "
        "ties calibrated for each metric on these ratings; soft accuracy compares systems."
    )
    return Table("Ranking", caption, rows)


def pair_table(study: MetricStudy) -> Table:
    """The table of all pairs of metrics."""
    level = study.rankings[0].comparison.level
    caption = (
        f"difference: the statistic of metric_a minus that of metric_b, with its 95 % interval. "
        f"better: the metric that agrees better, where holm is below {level:g}. "
        f"p_value: two-sided permutation test that swaps both metrics' scores of whole {study.resampling.over}; "
        "holm and false_discovery (Benjamini-Hochberg) adjust it for all pairs of an aspect and a grouping. "
        f"detectable: the difference that this n would have found with a power of {POWER:g} (Williams' test)."
    )
    return tabulate("Is one metric better?", caption, [({}, pair) for own in study.pairs for pair in own], PAIR_CELLS)


def rater_table(found: Sequence[RaterAgreement]) -> Table:
    """The table of agreement among raters by aspect."""
    caption = (
        "Krippendorff's alpha (1: full agreement, 0: chance) and the mean correlation of each rater with the mean of "
        "the others: what a person reaches, a ceiling for metrics. Intervals: 95 %, percentile, drawn over inputs."
    )
    return tabulate("Agreement among raters", caption, [(vars(each), each) for each in found])
