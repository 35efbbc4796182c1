"""The verbs: what each of them takes, in Python and as a command.

These are the functions of the Python API. A verb's own module in `judge/verbs`, with its libraries, is imported when
the verb is called.
"""
# A declared function has no body:
# pyright: reportReturnType=false

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from core.objects import find_object
from judge.options import (
    CausalLM,
    Columns,
    File,
    GivenLevels,
    GivenScores,
    GuideModel,
    Labels,
    Metrics,
    Names,
    Source,
)

if TYPE_CHECKING:
    from report.study import Study

P = ParamSpec("P")
R = TypeVar("R")


def verb(declared: Callable[P, R]) -> Callable[P, R]:
    """Makes the function of a verb, which calls the one of the same name in `judge/verbs`."""
    name = declared.__name__

    @wraps(declared)
    def call(*args: P.args, **settings: P.kwargs) -> R:
        return find_object(f"judge.verbs.{name}.{name}")(*args, **settings)

    return call


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
    by: str | None = None,
    fail_if: Names = (),
    baseline: str | None = None,
    cues: bool = True,
    answers: File | None = None,
    stages: File | None = None,
    statistic: Literal["pearson", "spearman", "kendall"] = "spearman",
    grouping: Literal["global", "within_systems", "within_inputs", "between_systems", "all"] = "global",
    level: float = 0.05,
    lower_is_better: Names = (),
    levels: GivenLevels = "auto",
    thresholds: Columns | None = None,
    seed: int = 0,
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
        by: a column by whose values the agreement of judges of labels is split.
        fail_if: conditions that fail the study where a test shows them (`judge.gates`), such as `kappa < 0.6`;
            `findings` then says which, and the command ends with exit code 3.
        baseline: the judge from which the drops of `fail_if` are counted.
        cues: whether agreement stands beside that of cheap cues; without texts it does not.
        answers: a .jsonl file for every text with the answers of llm_judge, which `judge agree` reads as it is.
        stages: a folder that keeps the scores of the metrics.
        statistic: the correlation with the ratings.
        grouping: over all examples, or within systems or inputs, or between systems; or all of them that there are.
        level: of significance, for clusters and the better one of a pair.
        lower_is_better: metrics whose lower scores are better; their scores are negated.
        levels: by aspect the labels, from the worst to the best; with auto, or one scale of words for all, the ratings
            that are 2 to 10 whole numbers are labels.
        thresholds: by metric the least score of the higher one of two labels; a score without one gives the nearest
            label.
        seed: of what is drawn: flips of inputs and folds of cheap cues.

    Raises SettingError for wrong settings and where there is no score, InputError where there is no rating.

    >>> from judge.inputs import read
    >>> rows = [{"text": "word " * n, "ratings": {"quality": n % 4}} for n in range(1, 9)]
    >>> found = agree(read(rows, scores={"ours": [1, 2, 3, 0, 1, 2, 3, 0]}))
    >>> [(row.metric, row.n, row.spearman.value) for row in found.found.rows]
    [('ours', 8, 1.0)]
    """


@verb
def label(
    source: Source,
    *,
    n: int = 100,
    output: File = "sheet",
    columns: Columns | None = None,
    judges: Names = (),
    levels: GivenLevels | None = None,
    seed: int = 0,
) -> "Study":
    """Draws texts at random for people to label, on a blind sheet that `judge agree --labels` reads back.

    The sheet is a table in random order, without verdicts, systems and ids; the design beside it keeps the ids.

    Args:
        source: texts with verdicts, as `judge.agree` takes them.
        n: how many texts to draw.
        output: the name of the files without their ends: NAME.csv and NAME.design.csv.
        columns: by field its column of the source.
        judges: the columns that hold verdicts of judges.
        levels: the scale of verdicts in words, from the worst to the best.
        seed: of the draw.

    Raises SettingError for wrong settings and for files that exist, InputError for faults of the source.
    """


@verb
def steer(
    generator: File | CausalLM,
    guide: File | GuideModel,
    prompts: Sequence[str],
    strength: float = 4.0,
    k: int = 32,
    rule: Literal["normalised", "fudge"] = "normalised",
    new_tokens: int = 20,
    samples: int = 1,
    seed: int = 0,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    network: bool = False,
) -> "Study":
    """Continues prompts with guidance and without; a text does not depend on the others.

    Args:
        generator: a causal language model by hub name or folder, or a loaded one (on a GPU).
        guide: the folder of a trained guide for this generator (`guide_LABEL` of a run), or a loaded one.
        prompts: texts to continue, one or several.
        strength: alpha of Eq. 5 (the rule `normalised`), or lambda of FUDGE; 0 is the generator alone.
        k: candidates of each step that are scored and kept.
        rule: normalised (the strength is alpha), or fudge (the strength is lambda).
        new_tokens: of a continuation, at most.
        samples: texts of each prompt; the first one is drawn with `seed`, each further one with the next seed.
        seed: of what is drawn.
        device: of the models that are loaded, such as cuda.
        dtype: of the generator; auto: bfloat16 where the device multiplies it fast. The guide stays in float32.
        network: whether the generator may be fetched from the hub.

    Raises SettingError for wrong settings and a guide of other tokens; InputError for a prompt that leaves no room
    for the new tokens and for a missing model.
    """


@verb
def demo(
    *,
    models: str = "outputs/tiny/models",
    port: int = 7860,
    characters: int = 2000,
    new_tokens: int = 60,
    people: int = 2,
    device: str = "cpu",
    generator: str | None = None,
    dtype: str = "float32",
) -> None:
    """Serves a page in a browser that steers and judges, until Ctrl-C.

    Args:
        models: those of `make models`, or RUN/models of any run.
        port: where to listen, on this machine alone.
        characters: of a text, at most.
        new_tokens: of a continuation, at most.
        people: requests that are answered at once; further ones wait.
        device: of the models.
        generator: the model that guides steer, by folder or hub name; by default `generator` in the folder of models.
        dtype: of the generator's weights.

    Raises SettingError for a wrong setting, if gradio is not installed, and if the port is taken.
    """
