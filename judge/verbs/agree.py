"""`judge agree`."""

from typing import TYPE_CHECKING, Literal

from core.settings import Fraction, Seed
from judge.options import Columns, File, GivenLevels, GivenScores, Labels, Metrics, Names, Source, list_names, verb

if TYPE_CHECKING:
    from report.study import Study


@verb
def agree(
    source: Source,
    metrics: Metrics = (),
    *,
    scores: GivenScores | None = None,
    columns: Columns | None = None,
    people: Names = (),
    judges: Names = (),
    labels: Labels | None = None,
    fail_if: Names = (),
    baseline: str | None = None,
    cues: bool = True,
    stages: File | None = None,
    statistic: Literal["pearson", "spearman", "kendall"] = "spearman",
    level: Fraction = 0.05,
    lower_is_better: Names = (),
    levels: GivenLevels = "auto",
    seed: Seed = 0,
) -> "Study":
    """Finds out which metric, or judge, agrees best with human ratings, with intervals and tests.

    Args:
        source: rated texts, as `judge.read` takes them with `scores` and `columns`, or its result. Labels and verdicts
            need no texts: the columns `human` and `judge` are labels of people and verdicts; `people` and `judges` name
            others.
        metrics: to run, beside those whose scores are there (`judge.load_metric`); one with several aspects counts as
            several metrics.
        scores: by name, files that `judge score` wrote for the same texts.
        columns: by field its column of the file.
        people: the columns, scorers of a log or raters that are people.
        judges: the columns that hold verdicts of judges.
        labels: a file, rows or a DataFrame with people's labels of some of the texts, joined by id.
        fail_if: conditions that fail the study where a test shows them (`judge.gates`), such as `kappa < 0.6`;
            `findings` then says which, and the command ends with exit code 3.
        baseline: the judge from which the drops of `fail_if` are counted.
        cues: whether agreement stands beside that of cheap cues; without texts it does not.
        stages: a folder that keeps the scores of the metrics.
        statistic: the correlation with the ratings.
        level: of significance, for clusters and the better one of a pair.
        lower_is_better: metrics whose lower scores are better; they are negated, labels reflected within their scale.
        levels: by aspect the labels, from the worst to the best; with auto, or one scale of words for all, the ratings
            that are 2 to 10 whole numbers are labels.
        seed: of what is drawn: flips of inputs and folds of cheap cues.

    Raises SettingError for wrong settings and where there is no score, InputError where there is no rating.

    >>> from judge.inputs import read
    >>> rows = [{"text": "word " * n, "ratings": {"quality": n % 4}} for n in range(1, 9)]
    >>> found = agree(read(rows, scores={"ours": [1, 2, 3, 0, 1, 2, 3, 0]}))
    >>> [(row.metric, row.n, row.spearman.value) for row in found.found.rows]
    [('ours', 8, 1.0)]
    """
    from judge.agreement import score_rated, study_agreement
    from judge.gates import read_conditions
    from judge.scoring import plan_with
    from judge.verdict_files import read_verdicts
    from meta_eval.ranking import RankingSettings

    comparison = RankingSettings(statistic, level=level, lower_is_better=list_names(lower_is_better))
    conditions = read_conditions(fail_if)
    planned, kept = plan_with(metrics, stages)
    examples = read_verdicts(
        source,
        columns=columns,
        levels=levels,
        people=people,
        judges=judges,
        labels=labels,
        scores=scores,
        needs=("text", "people") if planned else ("people", "judges"),
    )
    return study_agreement(
        score_rated(examples, planned, kept),
        comparison,
        levels,
        conditions=conditions,
        baseline=baseline,
        cues=cues,
        seed=seed,
    )
