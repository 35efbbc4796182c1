"""Which columns of a table can be labels of people or verdicts of judges, and the settings that say whose they are.

Nothing here decides whose labels a column holds: a file says so by its names, or the user does. Words in names only
order a proposal, which the user runs or changes.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from core.errors import QuestionError, list_first, printable, setting
from core.example import SHOWN_COLUMNS
from data.columns import NAMES, PLAIN, RATINGS, SCORE, find_column, fold_name, names_rater, reach
from data.numeric import is_missing, to_number
from data.rating_words import MOST_WORDS, Levels, normalise_word

LABEL = "label"  # the aspect that several people rate where no name says what
SAID = {"human": "people", "judge": "judges"}  # names that say whose labels a column has
KEYS = tuple(NAMES["rows"]["id"].split())
NO_LABELS = re.compile(r"(?i)(^|.*[\W_a-z])(ids?|idx|index|time|date|count|seconds)$")
PEOPLE = re.compile(r"(?i)human|gold|people|person|annotat|rater|rating|expert|review|crowd|coder|label|truth|manual")
MODELS = re.compile(
    r"(?i)judge|llm|gpt|claude|sonnet|opus|haiku|gemini|gemma|llama|qwen|mi[sx]tral|deepseek|model|grader|auto|verdict"
    r"|score|pred|metric"
)
INSTEAD = {  # the setting that gives what no column holds
    "people": ("labels", "takes a file of people's labels"),
    "judges": ("metrics", "takes metrics that score the texts"),
}
MODEL_NAMES = re.compile(r"(?i)gpt|llm|gemini|llama|qwen|mi[sx]tral|deepseek|(claude|gemma|phi|nova).*\d")
MEANINGS = {
    "people": "labels of people",
    "judges": "verdicts of judges",
    "text": "texts",
}


def list_columns(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Lists the columns of rows; those of an object that is no field of ours are paths.

    >>> list_columns([{"id": 1, "judge": {"verdict": "yes"}, "scores": {"f1": 1}}])
    ['id', 'judge.verdict', 'scores']
    """
    columns: dict[str, None] = {}
    for row in rows:
        for name, cell in row.items():
            inner = cell if isinstance(cell, Mapping) and fold_name(name) not in PLAIN else {}
            columns |= dict.fromkeys([f"{name}.{key}" for key in inner] or [name])
    return [*columns]


def find_key(header: Collection[str]) -> str | None:
    """Finds the column that identifies a row's text; None if there is none.

    >>> find_key(["text", "Item ID"]), find_key(["text", "human"])
    ('Item ID', None)
    """
    return find_column(header, *KEYS)


def list_words(rows: Iterable[Mapping[str, Any]], column: str) -> list[str]:
    """Lists the different values of a column, as texts."""
    cells = [reach(row, column) for row in rows]
    return list(dict.fromkeys(str(cell) for cell in cells if not is_missing(cell)))


def can_be_labels(values: Collection[str], levels: Levels = ()) -> bool:
    """Whether a column can be labels or scores: only numbers, only yes and no, or only words of a scale in `levels`.

    >>> can_be_labels(["yes", "No"]), can_be_labels(["1", "4.5"]), can_be_labels(["gpt-4", "claude"])
    (True, True, False)
    """
    words = {normalise_word(value) for value in values if to_number(value) is None}
    return bool(values) and (not words or any(words <= {*scale} for _, scale in levels))


def list_candidates(rows: Sequence[Mapping[str, Any]], header: Sequence[str], levels: Levels = ()) -> list[str]:
    """Lists the columns that can be labels or scores.

    A column `human` may have words of any scale, which then are labels in other columns too.
    """
    key = find_key(header)
    free = [name for name in header if name != key and not NO_LABELS.fullmatch(name) and not names_rater(name)]
    values = {name: list_words(rows, name) for name in free}
    scale = {word for name in free if says(name) == "people" for word in values[name]}
    if len(scale) > MOST_WORDS:
        scale = set()
    return [name for name in free if can_be_labels(values[name], levels) or set() < {*values[name]} <= scale]


def says(name: str) -> str | None:
    """Whose labels a column has by its name: `people` or `judges`; None where the name does not say it.

    >>> says("Human"), says("score:bleu"), says("human_1")
    ('people', 'judges', None)
    """
    return "judges" if name.lower().startswith("score:") else SAID.get(fold_name(name))


def name_columns(
    header: Collection[str],
    people: Sequence[str],
    judges: Sequence[str],
    rater: str | None,
) -> dict[str, tuple[str, ...]]:
    """Returns the setting `columns` that reads these columns of people and judges, with the id of a row and its rater.

    Several columns of people are several people, or several aspects in rows by a rater.
    """
    columns: dict[str, tuple[str, ...]] = {}
    if len(people) > 1 and rater is None:
        columns[f"{RATINGS}{LABEL}"] = tuple(people)
    else:
        for name in people:
            columns[f"{RATINGS}{name}"] = (name,)
    columns |= {f"{SCORE}{name}": (name,) for name in judges}
    key = find_key(header)
    if key is not None and fold_name(key) != "id":
        columns["id"] = (key,)
    if rater is not None and not names_rater(rater):
        columns["rater"] = (rater,)
    return columns


def names_model(name: str) -> bool:
    """Whether the name of a rater is that of a model. People may be called judge, or Claude, too.

    >>> names_model("gpt-4o"), names_model("claude-3"), names_model("Claude"), names_model("judge_1")
    (True, True, False, False)
    """
    return bool(MODEL_NAMES.search(name)) and not PEOPLE.search(name)


def ask(
    lacking: Sequence[str],
    candidates: Sequence[str],
    raters: Sequence[str] = (),
    text: str | None = None,
) -> QuestionError:
    """Makes the question whose labels the columns hold, with the settings that would say so.

    Args:
        lacking: `people`, `judges` or `text`, what no column gives.
        candidates: columns, or scorers of a log, that can be labels.
        raters: of rows by rater.
        text: the column that may have the texts.
    """
    models = [name for name in candidates if MODELS.search(name)]
    persons = [name for name in candidates if PEOPLE.search(name) and name not in models]
    others = [name for name in candidates if name not in models and name not in persons]
    people = persons or others or models
    judges = models or others or persons
    if {"people", "judges"} <= {*lacking}:
        people = persons if 0 < len(persons) < len(candidates) else people[:1]
        judges = [name for name in candidates if name not in people]
        judges = [name for name in judges if name in models] or judges[:1]
        judges = judges or [name for name in raters if MODELS.search(name)]
    given = {
        "people": people,
        "judges": judges,
        "text": [text] if text else [],
    }
    what = " and ".join(MEANINGS[role] for role in lacking)
    shown = list_first([*map(printable, candidates)], SHOWN_COLUMNS)
    question = f"no column says that it holds {what}"
    question += f"; columns that can be labels: {shown}" if shown else "; no column can be labels"
    left_out = [MEANINGS[role] for role in lacking if not given[role]]
    if left_out:
        rest = f"no column is left for {' and '.join(left_out)}"
        if not shown:
            rest = f"words of a scale of your own need {setting('levels', 'WORST', '...', 'BEST')}"
        instead = [INSTEAD[role] for role in lacking if role in INSTEAD]
        given_by = [f"{setting(name)} {takes}" for name, takes in instead]
        return QuestionError("; ".join([question, rest, *given_by]), {})
    if "people" in lacking and len(people) > 1:
        named = setting("columns.ratings.NAME", "COLUMN")
        question += f"; several columns of people are several people, and {named} names a question of several"
    return QuestionError(question, {"columns.text" if role == "text" else role: given[role] for role in lacking})
