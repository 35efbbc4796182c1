"""Meta-evaluation: how well metrics agree with human ratings, and which metric is better (`judge agree`)."""

from collections.abc import Mapping
from dataclasses import asdict

from core.scores import Metric
from data.scored import ScoredFile
from experiments.contracts import Outcome, Run
from judge.labelling import Labelling
from judge.report.plots import plot_intervals, scores_against_ratings
from judge.streaming import add_kept_scores
from judge.verbs import agree as agree_verb
from meta_eval.intervals import Resampling
from meta_eval.ranking import Comparison


def meta_eval(
    run: Run,
    file: ScoredFile,
    metrics: Mapping[str, Metric],
    comparison: Comparison,
    resampling: Resampling,
    labelling: Labelling,
) -> Outcome:
    """Correlates every metric with every rated aspect of the file, and tests every pair of metrics.

    `metrics` are run on the file; the others have their scores in it.
    """
    with run.timed("scoring"):
        scored = add_kept_scores(file, metrics, run.stages)
    with run.timed("agreement"):
        how = {**asdict(comparison), **asdict(resampling), **asdict(labelling)}
        study = agree_verb.agree(scored, cues=run.cues, **how)
    intervals = {}
    for each in study.rankings:
        of = each.comparison
        title = f"{of.statistic} with {each.aspect} ({of.one_grouping}), 95 % over inputs"
        intervals[f"{of.statistic}_{each.aspect}_{of.one_grouping}"] = each.agreement, title
    ratings = {f"scores_{aspect}": scores_against_ratings(study.scored, aspect) for aspect in study.scored.aspects}
    plots = plot_intervals(intervals) | ratings
    return Outcome(study.signature, tables=study.tables, plots=plots, scored=[study.scored], notes=study.notes)
