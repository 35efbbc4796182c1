"""`judge prefer`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.settings import Fraction, Seed
from judge.options import Columns, File, GivenScores, Judge, Metrics, Pairs, Source, verb

if TYPE_CHECKING:
    from report.study import Study


@verb
def prefer(
    source: Pairs | None = None,
    *,
    outputs: Source | None = None,
    scores: GivenScores | None = None,
    columns: Columns | None = None,
    metrics: Metrics = (),
    judge: Judge | None = None,
    human_labels: Pairs | None = None,
    stages: File | None = None,
    seed: Seed = 0,
    level: Fraction = 0.05,
    **settings: Any,
) -> "Study":
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
        human_labels: people's preferences of some of the judged pairs, in the same form, joined by input and systems;
            the winners of `source` are then those of a judge.
        stages: a folder that keeps the scores of the metrics and the replies of the judge.
        seed: of what is drawn.
        level: significance level, for clusters.

    Raises InputError with all faults of the files, SettingError for wrong settings.

    >>> rows = [{"id": f"q{i}", "system_a": "new", "system_b": "old", "winner": "a"} for i in range(3)]
    >>> [(each.system, each.wins) for each in prefer(rows).found.ranking.systems]
    [('new', 3), ('old', 0)]
    """
    from judge.pair_inputs import read_pairs
    from judge.pair_judging import judge_pairs, plan_judge
    from judge.preference_study import study_preferences
    from judge.scoring import add_scores, plan_with

    planned, kept = plan_with(metrics, stages)
    asking = plan_judge(judge, settings, kept)
    how = {"scores": scores, "columns": columns, "is_asked": asking is not None, "has_metrics": bool(planned)}
    read = read_pairs(source, outputs, **how)
    texts = add_scores(read.texts, planned, kept).split_aspects()
    judged = judge_pairs(read, texts, asking, human_labels)
    found = study_preferences(judged, texts, seed=seed, level=level)
    line = f"preferences|{judged.ranked.name}|n={len(judged.ranked)}|seed={seed}|level={level:g}"
    of_labels = [f"labels={judged.labels}"] if judged.labels else []
    of_judge = [judged.verdicts.signature] if judged.verdicts and read.given is not None else []
    return replace(
        found,
        signature="|".join([line, *of_labels, *texts.signatures, *of_judge]),
        asked=judged.list_asked(texts),
    )
