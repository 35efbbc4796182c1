"""`judge score`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import SettingError
from core.settings import Count
from judge.options import Columns, File, GivenLevels, Metrics, Ray, References, Source, verb

if TYPE_CHECKING:
    from report.study import Study


@verb
def score(
    source: Source,
    metric: Metrics,
    references: References | None = None,
    *,
    columns: Columns | None = None,
    levels: GivenLevels | None = None,
    output: File | None = None,
    stages: File | None = None,
    chunk: Count = 500,
    ray: Ray | None = None,
    **settings: Any,
) -> "Study":
    """Scores texts with a metric, or with several.

    Args:
        source: what `judge.read` takes with `references`, `columns` and `levels`.
        references: of texts in memory.
        columns: by field its column of the file.
        levels: the scale of ratings in words, from the worst to the best, or by aspect.
        metric: what `judge.load_metric` takes with `settings`; or several, in a list or by name, without settings. On a
            command line --metric.SETTING VALUE and --metrics.NAME.SETTING VALUE set one.
        output: the .jsonl file to write; - writes to standard output. Of a file of any length, the result has the
            first examples.
        stages: a folder for finished chunks: after a kill, the same call continues after them.
        chunk: number of examples to score and keep at once.
        ray: scores with a pool of Ray actors: workers, cpus, gpus and address of `judge.ray_actors.Ray`.

    Raises SettingError and InputError as `read` and `load_metric` do, and if no example has what the metric needs.

    >>> found = score(["the cat sat", "a dog"], "rouge_1", references=["the cat sat down", "a cow"])
    >>> {aspect: values.round(2).tolist() for aspect, values in found.found.values.items()}
    {'quality': [0.86, 0.5]}
    """
    from data.input_file import InputFile
    from judge.inputs import read
    from judge.scored_texts import ScoredTexts, score_into
    from judge.scoring import add_scores, plan_with

    metrics, kept = plan_with(metric, stages, settings)
    if not metrics:
        raise SettingError("at least one metric is needed, found none")
    if ray is not None:
        from judge.ray_actors import Ray, read_ray

        ray = ray if isinstance(ray, Ray) else read_ray(ray)
    if output is not None:
        if not isinstance(source, str | Path | InputFile) or references is not None:
            raise SettingError("output needs a file of texts with their references")
        given = InputFile.of(source, columns=columns, levels=levels)
        return score_into(str(output), given, metrics, kept, chunk=chunk, ray=ray)
    if ray is not None:
        raise SettingError("ray scores a file: give the output too")
    texts = read(source, references=references, columns=columns, refuse_scores=True, levels=levels)
    scored = add_scores(texts, metrics, kept)
    return ScoredTexts(scored.examples, scored.scores).present(scored.name, scored.notes)
