"""`judge compare`."""

from typing import TYPE_CHECKING, Literal

from core.errors import SettingError
from core.settings import Fraction, Seed
from judge.options import Columns, File, GivenLevels, GivenScores, Metrics, Names, References, Source, list_names, verb

if TYPE_CHECKING:
    from report.study import Study


@verb
def compare(
    source: Source,
    metrics: Metrics = (),
    *,
    scores: GivenScores | None = None,
    references: References | None = None,
    columns: Columns | None = None,
    levels: GivenLevels | None = None,
    stages: File | None = None,
    level: Fraction = 0.05,
    incomplete: Literal["refuse", "drop"] = "refuse",
    lower_is_better: Names = (),
    seed: Seed = 0,
) -> "Study":
    """Compares systems on the same inputs by metrics, by their ratings and by scores that they have already.

    Args:
        source: as `judge.read` takes it with `scores`, `references` and `columns`, or its result; each text names its
            system and its input (`group`).
        metrics: to run (`judge.load_metric`).
        scores: by name, files that `judge score` wrote for the same texts.
        references: of texts in memory.
        columns: by field its column of the file.
        levels: the scale of ratings in words, from the worst to the best, or by aspect.
        stages: a folder that keeps the scores of the metrics.
        level: of significance.
        incomplete: inputs that some system did not answer: refuse, or drop (with a note).
        lower_is_better: metrics of which lower scores are better; they are negated. Ratings have `levels` for that.
        seed: of what is drawn.

    Raises InputError unless every system has one text for every input (with `drop`, for some input), and SettingError
    for wrong settings.

    >>> found = compare({"a": {"q1": "A cat sat.", "q2": "Yes."}, "b": {"q1": "A cat.", "q2": "No."}}, "word_count")
    >>> [(each.system, each.mean.value) for each in found.found.means["word_count"]]
    [('a', 2.0), ('b', 1.5)]
    """
    from judge.comparisons import check_comparable, compare_systems
    from judge.inputs import read
    from judge.scoring import add_scores, plan_with

    planned, kept = plan_with(metrics, stages)
    outputs = read(source, scores, references=references, columns=columns, levels=levels)
    lacking = check_comparable(outputs, may_lack=incomplete == "drop")
    if not (outputs.scores or outputs.aspects or planned):
        raise SettingError("a comparison needs metrics, scores or ratings, but there are none")
    how = {"level": level, "lower_is_better": list_names(lower_is_better), "seed": seed}
    return compare_systems(add_scores(outputs, planned, kept), lacking, **how)
