"""Finds which columns of a table are labels of people and which are verdicts of judges, by names and values.

The name says whose values a column has (`human`, `annotator_2`, `judge`, `gpt_4o`). The values say whether it can be a
label: numbers, or words of a known scale. If a name can mean both, the error names the settings that decide. Labels of
people are never guessed: with a machine's verdict counted as a person's, every figure would be wrong.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from shlex import quote
from typing import Any

from core.errors import SettingError, printable
from data.columns import (
    MOST_COLUMNS,
    RATINGS,
    SCORE,
    describe_spellings,
    find_column,
    find_spellings,
    fold_name,
    names_rater,
)
from data.numeric import WORDS, is_missing, to_number
from data.rating_words import MOST_WORDS, GivenLevels, freeze_levels, normalise_word, usual_scales

PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
KEYS = ("id", "item_id", "sample_id", "example_id", "doc_id", "question_id", "task_id", "test_id", "uid", "item")
KEYS += ("sample", "idx", "index", "key", "testIdx", "test", "test_index", "trace_id", "span_id", "conversation_id")
KEYS += ("row_id", "record_id", "request_id", "message_id", "prompt_id", "query_id", "case_id", "uuid")
BATCH_TASK = "HITId"  # of a batch of Mechanical Turk, the column of the task
BATCH_RATER = "WorkerId"
BATCH_LABEL = "Answer."  # what the names of its labels begin with
BATCH_INPUT = "Input."  # and those of what was shown
NO_LABELS = frozenset(("id", "ids", "count", "time", "date"))  # words in names of numbers that are no labels
NAMED_JUDGES = ("judge", "judge_model", "judge_name", "grader", "autorater")  # of rows with one verdict each
TOLD = 12  # columns in a message
MOST_CALLS = 3  # commands in a message
COMMAND_SETTINGS = ("people", "judges", "labels")  # which say whose labels a table has
LABEL = "label"  # the aspect of columns whose names say nothing of it


def read_words() -> dict[str, frozenset[str]]:
    """The words of `column_roles.txt` by role."""
    words: dict[str, set[str]] = {}
    lines = Path(__file__).with_name("column_roles.txt").read_text("utf-8").splitlines()
    for line in lines:
        if not line.startswith("#"):
            role, _, listed = line.partition(": ")
            words.setdefault(role, set()).update(listed.split())
    return {role: frozenset(of_role) for role, of_role in words.items()}


WORDS_BY_ROLE = read_words()
PEOPLE = WORDS_BY_ROLE["people"]
RATERS = PEOPLE - {"human", "gold", "golden"}  # words that name a person
PERHAPS_PEOPLE = WORDS_BY_ROLE["perhaps people"]
JUDGES = WORDS_BY_ROLE["judges"]
PERHAPS_JUDGES = WORDS_BY_ROLE["perhaps judges"]
FIRST_NAMES = WORDS_BY_ROLE["first names"]  # of people, which models have too
MODELS = JUDGES - WORDS_BY_ROLE["people or judges"] - FIRST_NAMES


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a table."""

    # the column that names a row; None for the number of its line
    key: str | None
    # by aspect, the columns of its labels: one, or one for each person
    people: Mapping[str, Sequence[str]]
    # by judge, the column of its verdicts; where `named_by` says whose a verdict is, the one column of all of them
    judges: Mapping[str, str]
    # the column that names the judge of each row
    named_by: str | None = None
    # the column that names the person of each row
    rater: str | None = None
    unread: Sequence[str] = field(default=())
    # the columns of which the key was made, where it was made of several
    key_parts: Sequence[str] = ()
    # of rows by rater, the raters that are judges by their names, where no column holds verdicts
    judging_raters: Sequence[str] = ()

    def name_by(self, parts: Sequence[str]) -> "Roles":
        """Returns the roles of the columns in rows whose `id` was made of the columns in `parts`."""
        made = (*parts, "group", "system")
        unread = [name for name in self.unread if name not in made]
        return replace(self, key="id", key_parts=parts, unread=unread)

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        """The columns by field, in the form of the setting `columns`."""
        columns: dict[str, Sequence[str]] = {}
        for aspect, names in self.people.items():
            columns[f"{RATINGS}{aspect}"] = [*names]
        for name, column in self.judges.items():
            columns[f"{SCORE}{name}"] = [column]
        if self.key not in (None, "id"):
            columns["id"] = [str(self.key)]
        if self.rater is not None and not names_rater(self.rater):
            columns["rater"] = [self.rater]
        return columns

    def describe(self) -> str:
        """Describes in one line which column was taken for which role, and how to change that."""
        people = [name for names in self.people.values() for name in names]
        parts: list[str] = []
        if people:
            parts.append(f"labels of people: {_list(people)}")
        if self.rater:
            parts.append(f"one row by {self.rater}")
        if self.judging_raters:
            parts.append(f"judges among them: {_list(self.judging_raters)}")
        if self.judges:
            parts.append(f"verdicts of judges: {_list(self.judges.values())}")
        if self.named_by:
            parts.append(f"their judge: {self.named_by}")
        key = " and ".join(self.key_parts) or self.key
        parts.append(f"rows named by {key or 'their line'}")
        if self.unread:
            parts.append(f"not read: {_list(self.unread)}")
        return f"{'; '.join(parts)} (people and judges name other columns)"


def _list(names: Iterable[str]) -> str:
    shown = [*map(printable, names)]
    more = [f"{len(shown) - TOLD} more"] if shown[TOLD:] else []
    return ", ".join([*shown[:TOLD], *more])


def split_name(name: str) -> list[str]:
    """Splits the name of a column into its words, in lower case.

    >>> split_name("human_passed"), split_name("raterAnn2"), split_name("gpt-4o")
    (['human', 'passed'], ['rater', 'ann', '2'], ['gpt', '4', 'o'])
    """
    return [part.lower() for part in PARTS.findall(name)]


def names_people(name: str) -> bool:
    """Whether a name of a column, a score or a rater says that it belongs to people.

    >>> names_people("human_fluency"), names_people("expert_3"), names_people("judge_of_people"), names_people("bleu")
    (True, True, False, False)
    """
    words = {*split_name(name)}
    return not words.isdisjoint(PEOPLE) and words.isdisjoint(JUDGES)


def names_model(name: str) -> bool:
    """Whether the name of a rater is the name of a model. People may be called judge, or Claude, too.

    >>> names_model("gpt-4o"), names_model("claude-3"), names_model("judge_gpt")
    (True, True, True)
    >>> names_model("ann"), names_model("Claude"), names_model("judge_1"), names_model("gpt_expert")
    (False, False, False, False)
    """
    words = {*split_name(name)}
    if not words.isdisjoint(PEOPLE):
        return False
    has_version = any(word.isdigit() for word in words)
    models = MODELS | FIRST_NAMES if has_version else MODELS
    return not words.isdisjoint(models)


def can_be_labels(values: Iterable[Any], levels: GivenLevels | None = None) -> bool:
    """Whether a column can be labels or scores: only numbers, or only words of one known scale.

    >>> can_be_labels(["yes", "No", ""]), can_be_labels([1, None, 4.5]), can_be_labels(["gpt-4", "claude"])
    (True, True, False)
    """
    known = [value for value in values if not is_missing(value)]
    words = {normalise_word(str(value)) for value in known if to_number(value) is None}
    if not known or len(words) > MOST_WORDS:
        return False
    scales = [{*scale} for _, scale in freeze_levels(levels)] or [{*scale} for scale in usual_scales()]
    return not words or any(words <= scale | {*WORDS} for scale in scales)


def find_key(header: Collection[str]) -> str | None:
    """Finds the column that identifies a row's text; None if there is none.

    In a batch of Mechanical Turk this is a shown id, or else the task.

    >>> find_key(["text", "Item ID"]), find_key(["text", "human"])
    ('Item ID', None)
    >>> batch = ["HITId", "AssignmentId", "WorkerId", "Answer.label"]
    >>> find_key([*batch, "Input.id"]), find_key([*batch, "id"])
    ('Input.id', 'HITId')
    """
    prefix = BATCH_INPUT if is_batch(header) else ""
    keys = [f"{prefix}{key}" for key in KEYS]
    if is_batch(header):
        keys.append(BATCH_TASK)
    return find_column(header, *keys)


def is_batch(header: Collection[str]) -> bool:
    """Whether these are the columns of a batch of Mechanical Turk."""
    return {BATCH_TASK, "AssignmentId", BATCH_RATER} <= {*header}


def holds_texts(values: Iterable[Any]) -> bool:
    """Whether a column that is named like a column of texts contains texts, and not numbers or verdicts in words."""
    return not can_be_labels(values)


def find_roles(
    rows: Sequence[Mapping[str, Any]],
    *,
    people: Sequence[str] = (),
    judges: Sequence[str] = (),
    levels: GivenLevels | None = None,
    needs: Collection[str] = ("people", "judges"),
    command: str = "judge agree FILE",
    settings: Collection[str] = COMMAND_SETTINGS,
) -> Roles:
    """Finds the roles of the columns of a table: labels of people, verdicts of judges, the key of a row.

    Args:
        people, judges: columns that are known to be labels of people and verdicts of judges.
        needs: which roles must be found.
        command: to show in a message, before the settings.
        settings: those of the command that say whose labels a table has.

    Raises SettingError, with the columns and the commands that would work, if the names are ambiguous or unknown.
    """
    header = list(dict.fromkeys(str(name) for row in rows for name in row))[:MOST_COLUMNS]
    values = {name: [row.get(name) for row in rows] for name in header}
    _check_given(header, [*people, *judges])
    _check_spellings([name for name in header if name not in (*people, *judges)])
    key = find_key(header)
    free = _list_free(header, [key, *people, *judges])
    possible = [name for name in free if can_be_labels(values[name], levels)]
    is_repeated = key is not None and len({*map(str, values[key])}) < len(rows)
    rater = _find_rater(free, possible, is_repeated=is_repeated)
    labels = [name for name in possible if name != rater and not {*split_name(name)} & NO_LABELS]
    named_by = find_column([name for name in free if name not in labels], *NAMED_JUDGES)
    of_people = [*people] or _choose_people(header, labels)
    rest = [name for name in labels if name not in of_people]
    of_judges = [*judges] or _choose(rest, JUDGES, PERHAPS_JUDGES, PEOPLE)
    spare = [name for name in rest if name not in of_judges and _is_discrete(values[name])]
    if of_people and not of_judges and len(spare) == 1 and "judges" in needs:
        of_judges = spare  # people's labels are named, and nothing else can be the verdict
    judging_raters: list[str] = []
    if rater is not None and "judges" in needs and not judges:
        judging_raters = _find_judging(values[rater])
        if judging_raters and not of_people:
            of_people = of_judges  # a score by each rater
            of_judges = []
        if of_judges:
            judging_raters = []
    problem = _find_problem(of_people, [*of_judges, *judging_raters], needs)
    if not problem and rater is None and not people and "people" in settings:
        problem = _find_clash(of_people, of_judges)
    if problem:
        proposed = _propose(
            command,
            header,
            spare,
            of_people,
            of_judges,
            settings=settings,
        )
        raise SettingError(f"{problem}. {proposed}")
    if named_by and len(of_judges) > 1:
        rule = f"{named_by} names the judge of a row, which then has one verdict"
        raise SettingError(f"{rule}, found {_list(of_judges)}: {command} --judges {of_judges[0]}")
    taken = {key, rater, named_by, *of_people, *of_judges}
    return Roles(
        key=key,
        people=_group_people(of_people, of_judges, has_rater=rater is not None),
        judges={name: name for name in of_judges},
        named_by=named_by if of_judges else None,
        rater=rater if of_people else None,
        judging_raters=judging_raters,
        unread=[name for name in header if name not in taken],
    )


def _list_free(header: Sequence[str], given: Sequence[str | None]) -> list[str]:
    """The columns whose role is open; of a batch of Mechanical Turk the labels and the worker."""
    free = [name for name in header if name not in given]
    if is_batch(header):
        return [name for name in free if name == BATCH_RATER or name.startswith(BATCH_LABEL)]
    return free


def _choose_people(header: Collection[str], labels: Sequence[str]) -> list[str]:
    """The columns of people by their names; all labels of a batch of Mechanical Turk."""
    return [*labels] if is_batch(header) else _choose(labels, PEOPLE, PERHAPS_PEOPLE, JUDGES)


def _group_people(
    of_people: Sequence[str],
    of_judges: Sequence[str],
    *,
    has_rater: bool,
) -> dict[str, list[str]]:
    """The columns of people by aspect; each is one where rows are by raters."""
    if has_rater:
        return {name.removeprefix(BATCH_LABEL): [name] for name in of_people}
    if not of_people:
        return {}
    return name_aspects(of_people, of_judges) or {LABEL: [*of_people]}


def _check_given(header: Sequence[str], given: Sequence[str]) -> None:
    """Raises SettingError for a name that is no column, or is given twice."""
    for name in given:
        if name not in header:
            raise SettingError(f"people and judges name columns, but {name} is none of {_list(header)}")
        if given.count(name) > 1:
            raise SettingError(f"a column is of people or of a judge, but {name} is given twice")


def _check_spellings(header: Sequence[str]) -> None:
    """Raises SettingError for columns that have one name in several spellings."""
    for spellings in find_spellings(header):
        rule = f"{describe_spellings(spellings)}: rename one"
        raise SettingError(f"{rule}, or name the columns by people and judges")


def _find_rater(
    names: Sequence[str],
    labels: Sequence[str],
    *,
    is_repeated: bool,
) -> str | None:
    """The column that names who rated: a usual name, whose values are names, or numbers where ids are repeated."""
    for name in names:
        is_usual = names_rater(name) or fold_name(name) in ("person", "reviewer")
        if is_usual and (name not in labels or name.lower().endswith("id") or is_repeated):
            return name
    return None


def _find_judging(raters: Sequence[Any]) -> list[str]:
    """The raters whose names are those of judges; none where all are.

    >>> _find_judging(["ann", "gpt-4o", "ben", "gpt-4o"])
    ['gpt-4o']
    """
    names = list(dict.fromkeys(str(rater) for rater in raters if not is_missing(rater)))
    judging = _choose(names, JUDGES, frozenset(), PEOPLE)
    return judging if len(judging) < len(names) else []


def _choose(
    names: Sequence[str],
    sure: frozenset[str],
    perhaps: frozenset[str],
    other: frozenset[str],
) -> list[str]:
    """The columns whose names say that they are of these, else those whose names may say so."""
    words = {name: {*split_name(name), "".join(split_name(name))} for name in names}
    surely = [name for name in names if words[name] & sure and not words[name] & other]
    return surely or [name for name in names if words[name] & perhaps and not words[name] & (other | sure)]


def _is_discrete(values: Iterable[Any]) -> bool:
    """Whether values have few levels, as labels do."""
    known = {normalise_word(str(value)) for value in values if not is_missing(value)}
    return 2 <= len(known) <= MOST_WORDS


def _find_problem(
    of_people: Sequence[str],
    of_judges: Sequence[str],
    needs: Collection[str],
) -> str:
    roles = {"people": (of_people, "labels of people"), "judges": (of_judges, "verdicts of a judge")}
    lacking = [what for role, (columns, what) in roles.items() if role in needs and not columns]
    return f"no column says by its name that it holds {', or '.join(lacking)}" if lacking else ""


def _find_clash(of_people: Sequence[str], of_judges: Sequence[str]) -> str:
    """The problem of several columns of people that are neither raters nor aspects."""
    if len(of_people) < 2 or name_aspects(of_people, of_judges):
        return ""
    return f"{_list(of_people)} may be several people, or several questions"


def _propose(
    command: str,
    header: Sequence[str],
    spare: Sequence[str],
    of_people: Sequence[str],
    of_judges: Sequence[str],
    *,
    settings: Collection[str],
) -> str:
    """The columns, and the commands that would work."""
    candidates = list(dict.fromkeys([*of_people, *of_judges, *spare]))
    if "people" not in settings:
        calls = [f"--judges {quote(name)}" for name in candidates[:MOST_CALLS]] or ["--judges COLUMN"]
    elif len(of_people) > 1 and of_judges:
        choices = [",".join(of_people), *of_people[:2]]
        calls = [f"--people {quote(choice)}" for choice in choices]
    elif len(candidates) > 1:
        pairs = permutations(candidates, 2)
        fitting = [(a, b) for a, b in pairs if a in (of_people or candidates) and b in (of_judges or candidates)]
        calls = [f"--people {quote(a)} --judges {quote(b)}" for a, b in fitting[:MOST_CALLS]]
    elif of_judges and "labels" in settings:
        calls = ["--labels FILE"]
    elif of_judges:
        calls = ["--people COLUMN"]
    else:
        calls = ["--people COLUMN --judges COLUMN"]
    said = " or ".join(f"`{command} {call}`" for call in calls)
    return f"The columns are {_list(header)}; say which: {said}"


def find_judges(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Finds the columns whose names say that they hold a judge's verdicts, and whose values can be labels.

    >>> find_judges([{"answer": "So.", "gpt4_verdict": "yes", "model": "gpt-4"}])
    ['gpt4_verdict']
    """
    header = list(dict.fromkeys(name for row in rows for name in row))[:MOST_COLUMNS]
    judges: list[str] = []
    for name in _choose(header, JUDGES, frozenset(), PEOPLE):
        values = [row.get(name) for row in rows]
        if can_be_labels(values):
            judges.append(name)
    return judges


def find_people(names: Sequence[str]) -> list[str]:
    """Finds the scorers of a log whose names say that they are people.

    The list is empty if their names may also be those of several questions.

    >>> find_people(["human", "match"]), find_people(["human_1", "human_2", "f1"]), find_people(["human", "gold"])
    (['human'], ['human_1', 'human_2'], [])
    """
    people = _choose(names, PEOPLE, frozenset(), JUDGES)
    by_aspect = name_aspects(people, [name for name in names if name not in people])
    return people if len(by_aspect) == 1 else []


def name_aspects(of_people: Sequence[str], of_judges: Sequence[str]) -> dict[str, list[str]]:
    """Groups people's columns by aspect; empty if it is unclear whether they are several people or several aspects.

    Columns that differ only in a number or letter (`rater_1`, `rater_2`; `human_a`, `human_b`), or that are named after
    raters, are several people. Columns whose words return in the names of a judge's columns are several aspects.

    >>> name_aspects(["human"], ["judge"]), name_aspects(["rater_1", "rater_2"], ["judge"])
    ({'human': ['human']}, {'label': ['rater_1', 'rater_2']})
    >>> name_aspects(["human_fluency", "human_facts"], ["judge_fluency", "judge_facts"])
    {'fluency': ['human_fluency'], 'facts': ['human_facts']}
    >>> name_aspects(["human", "gold"], ["judge"])
    {}
    """
    if len(of_people) == 1:
        return {of_people[0]: [of_people[0]]}
    of_words = {name: _strip_role(name) for name in of_people}
    judged = {_strip_role(name) for name in of_judges}
    different = {*of_words.values()}
    if len(different) == len(of_people) and different <= judged:
        return {words: [name] for name, words in of_words.items()}
    are_raters = all(RATERS & {*split_name(name)} for name in of_people)
    stems = {_find_stem(name) for name in of_people}
    if of_people and (are_raters or len(stems) == 1):
        return {LABEL: [*of_people]}
    return {}


def _find_stem(name: str) -> str:
    """The words of a name without its numbers and single letters."""
    return " ".join(part for part in split_name(name) if len(part) > 1 and not part.isdigit())


def _strip_role(name: str) -> str:
    """What a name says beside whose the column is."""
    roles = PEOPLE | JUDGES | PERHAPS_PEOPLE | PERHAPS_JUDGES
    kept = [part for part in split_name(name) if part not in roles and not part.isdigit()]
    return "_".join(kept)


def gather_judges(rows: Sequence[Mapping[str, Any]], roles: Roles) -> list[dict[str, Any]]:
    """Turns rows with one verdict each into rows with one text each.

    A new row has a column for each judge, with the judge's name, which the column `named_by` gives. Raises SettingError
    for a judge with two verdicts on a text, and for a table without a key.
    """
    ((_, verdict),) = roles.judges.items()
    named_by = str(roles.named_by)
    if roles.key is None:
        raise SettingError(f"rows with one verdict of a judge each need a column with their id, such as {KEYS[0]}")
    gathered: dict[Any, dict[str, Any]] = {}
    for row in rows:
        name = row.get(roles.key)
        judge = str(row.get(named_by))
        others = {column: cell for column, cell in row.items() if column not in (verdict, named_by)}
        joined = gathered.setdefault((name, row.get(str(roles.rater))), others)
        if judge in joined:
            raise SettingError(f"a judge has one verdict on a row, but {judge} has two on {printable(str(name))}")
        joined[judge] = row.get(verdict)
        for column, cell in others.items():
            if is_missing(joined.get(column)):
                joined[column] = cell
    return list(gathered.values())
