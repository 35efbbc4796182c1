"""Which columns of a table can be labels of people or verdicts of judges, and the settings that say whose they are.

Nothing here decides whose labels a column holds: a file says so by its names, or the user does. Words in names only
order a proposal, which the user runs or changes.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from core.errors import QuestionError, SettingError, list_first, printable, setting
from core.example import SHOWN_COLUMNS
from data.columns import (
    NAMES,
    PLAIN,
    RATINGS,
    SCORE,
    describe_spellings,
    find_column,
    find_spellings,
    fold_name,
    name_fields,
    names_rater,
    reach,
)
from data.numeric import WORDS, is_missing, to_number
from data.rating_words import MOST_WORDS, GivenLevels, freeze_levels, normalise_word, usual_scales

LABEL = "label"  # the aspect that several people rate where no name says what
SAID = {"human": "people", "judge": "judges"}  # names that say whose labels a column has
KEYS = tuple(NAMES["rows"]["id"].split())
BATCH = frozenset(("HITId", "AssignmentId", "WorkerId"))  # columns of a batch of Mechanical Turk
BATCH_LABEL = "Answer."  # what the names of its labels begin with
BATCH_INPUT = "Input."  # and those of what was shown
NO_LABELS = re.compile(r"(?i)(^|.*[\W_a-z])(ids?|idx|index|time|date|count|seconds)$")
PEOPLE = re.compile(r"(?i)human|gold|people|person|annotat|rater|rating|expert|review|crowd|coder|label|truth|manual")
MODELS = re.compile(
    r"(?i)judge|llm|gpt|claude|sonnet|opus|haiku|gemini|gemma|llama|qwen|mi[sx]tral|deepseek|model|grader|auto|verdict"
    r"|score|pred|metric"
)
INSTEAD = {"people": "labels takes a file of people's labels", "judges": "metrics takes metrics that score the texts"}
MODEL_NAMES = re.compile(r"(?i)gpt|llm|gemini|llama|qwen|mi[sx]tral|deepseek|(claude|gemma|phi|nova).*\d")
MEANINGS = {"people": "labels of people", "judges": "verdicts of judges", "text": "texts"}


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

    In a batch of Mechanical Turk this is a shown id, or else the task.

    >>> find_key(["text", "Item ID"]), find_key(["text", "human"])
    ('Item ID', None)
    >>> find_key([*BATCH, "Input.id"]), find_key([*BATCH, "id"])
    ('Input.id', 'HITId')
    """
    if not is_batch(header):
        return find_column(header, *KEYS)
    return find_column(header, *(f"{BATCH_INPUT}{key}" for key in KEYS), KEYS[-1])


def is_batch(header: Collection[str]) -> bool:
    """Whether these are the columns of a batch of Mechanical Turk."""
    return {*header} >= BATCH


def can_be_labels(values: Iterable[Any], levels: GivenLevels | None = None) -> bool:
    """Whether a column can be labels or scores: only numbers, or only words of one known scale.

    >>> can_be_labels(["yes", "No", ""]), can_be_labels([1, None, 4.5]), can_be_labels(["gpt-4", "claude"])
    (True, True, False)
    """
    known = {normalise_word(str(value)): value for value in values if not is_missing(value)}
    words = {word for word, value in known.items() if to_number(value) is None}
    if not known or len(words) > MOST_WORDS:
        return False
    scales = [{*scale} for _, scale in freeze_levels(levels)] or [{*scale} for scale in usual_scales()]
    return not words or any(words <= scale | {*WORDS} for scale in scales)


def list_candidates(
    rows: Sequence[Mapping[str, Any]],
    header: Sequence[str],
    levels: GivenLevels | None = None,
) -> list[str]:
    """Lists the columns that can be labels or scores; of a batch of Mechanical Turk the answers.

    A column `human` may have words of any scale, which are then labels in other columns too.
    """
    if is_batch(header):
        header = [name for name in header if name.startswith(BATCH_LABEL)]
    key = find_key(header)
    free = [name for name in header if name != key and not NO_LABELS.fullmatch(name) and not names_rater(name)]
    values = {name: [reach(row, name) for row in rows] for name in free}
    scale = {word for name in free if says(name) == "people" for word in _list_words(values[name])}
    if len(scale) > MOST_WORDS:
        scale = set()
    return [name for name in free if can_be_labels(values[name], levels) or {""} < _list_words(values[name]) <= scale]


def _list_words(values: Iterable[Any]) -> set[str]:
    """The different values of a column, and the empty text."""
    return {"", *(normalise_word(str(value)) for value in values if not is_missing(value))}


def varies(rows: Iterable[Mapping[str, Any]], column: str) -> bool:
    """Whether a column has different values."""
    return len(_list_words(reach(row, column) for row in rows)) > 2


def says(name: str) -> str | None:
    """Whose labels a column has by its name: `people` or `judges`; None where the name does not say it.

    >>> says("Human"), says("score:bleu"), says("human_1")
    ('people', 'judges', None)
    """
    return "judges" if name.lower().startswith("score:") else SAID.get(fold_name(name))


def find_said(
    header: Sequence[str],
    candidates: Collection[str],
    given: Mapping[str, Sequence[str]],
) -> dict[str, list[str]]:
    """Finds the columns of people and judges: those that are given by role, else those whose names say so.

    The answers of a batch of Mechanical Turk are labels of people. Raises SettingError for a column that is given
    twice, and for columns with one name in several spellings.
    """
    chosen = [name for names in given.values() for name in names]
    for name in chosen:
        if chosen.count(name) > 1:
            raise SettingError(f"a column is of people or of a judge, but {printable(name)} is given twice")
    for spellings in find_spellings(name for name in header if name not in chosen):
        raise SettingError(f"{describe_spellings(spellings)}: rename one, or name columns by people and judges")
    said: dict[str, list[str]] = {}
    for role in given:
        by_name = [name for name in candidates if says(name) == role and name not in chosen]
        if role == "people" and is_batch(header):
            by_name = [*candidates]
        said[role] = [name for name in given[role] if name in header] or by_name
    return said


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
            columns[f"{RATINGS}{name.removeprefix(BATCH_LABEL) if is_batch(header) else name}"] = (name,)
    columns |= {f"{SCORE}{name}": (name,) for name in judges}
    key = find_key(header)
    if key is not None and fold_name(key) != "id":
        columns["id"] = (key,)
    if rater is not None and not names_rater(rater):
        columns["rater"] = (rater,)
    provider = find_column(header, "provider")  # what promptfoo calls a system
    has_system = any(name == "system" for _, name in name_fields(tuple(header)).fields)
    if provider is not None and not has_system:
        columns["system"] = (provider,)
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
    people = [name for name in candidates if PEOPLE.search(name) and not MODELS.search(name)]
    judges = [name for name in candidates if MODELS.search(name)]
    if "people" not in lacking:
        judges = judges or [name for name in candidates if name not in people] or people
        people = []
    elif "judges" not in lacking:
        people = people or [name for name in candidates if name not in judges] or judges
        judges = []
    else:
        others_than_judges = [name for name in candidates if name not in judges]
        people = people or others_than_judges[:1] or judges[:1]
        people = people[:1] if len(people) == len(candidates) else people
        judges = [name for name in candidates if name not in people]
        judges = [name for name in judges if MODELS.search(name)] or judges[:1]
        judges = judges or [name for name in raters if MODELS.search(name)]
    given = {"people": people, "judges": judges, "text": [text] if text else []}
    what = " and ".join(MEANINGS[role] for role in lacking)
    shown = list_first([*map(printable, candidates)], SHOWN_COLUMNS)
    question = f"no column says that it holds {what}"
    question += f"; columns that can be labels: {shown}" if shown else "; no column can be labels"
    left_out = [MEANINGS[role] for role in lacking if not given[role]]
    if left_out:
        rest = [f"no column is left for {' and '.join(left_out)}"] if shown else []
        if not shown:
            rest.append(f"words of a scale of your own need {setting('levels', 'WORST', '...', 'BEST')}")
        rest += [INSTEAD[role] for role in lacking if role in INSTEAD]
        return QuestionError("; ".join([question, *rest]), {})
    if len(people) > 1:
        named = setting("columns.ratings.NAME", "COLUMN")
        question += f"; several columns of people are several people, and {named} names a question of several"
    names = {"text": "columns.text"}
    answers = {names.get(role, role): given[role] for role in lacking}
    return QuestionError(question, answers)
