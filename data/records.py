"""Records: pydantic models that check a line of a file before it becomes an Example."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from core.errors import InputError, broken_rules, fault, format_value, list_first, setting
from core.example import SHOWN_COLUMNS, refuse_surrogates
from core.settings import refuse_blank, to_tuple
from data.columns import FIELDS, RATING, Cells
from data.numeric import GAPS, name_of, parse_number
from data.table_files import LISTS
from data.written_lists import parse_list

R = TypeVar("R", bound="Record")
T = TypeVar("T")
Located: TypeAlias = Sequence[tuple[int, dict[str, Any]]]  # rows with their lines; in a document, with their positions
KNOWN = frozenset((*FIELDS, "scores"))
TEXTS = KNOWN - {*LISTS, "ratings", "scores"}
NO_NUMBER = "must be a number, or an empty cell (null in JSON) if it is missing"
NEEDS_TEXT = 'an example needs "text" or "turns", found'
MOST = 1e150  # of a rating or a score; larger ones have no finite square

String = Annotated[str, AfterValidator(refuse_surrogates)]
Text = Annotated[String, AfterValidator(refuse_blank)]
List = Annotated[tuple[T, ...], BeforeValidator(to_tuple)]


def read_level(value: object) -> object:
    """Reads a rating or a score: a number, a word as it stands, or None if it is empty.

    Raises ValueError for what says that it is missing, such as NA, and for anything else.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        value = parse_number(refuse_surrogates(value))
    if isinstance(value, str):
        if value.strip().lower() in GAPS:
            raise ValueError(NO_NUMBER)
        if value.lstrip().startswith("["):
            raise ValueError(f"must be one rating: each person has a column, such as {RATING}ASPECT:ANN")
        return value
    if not isinstance(value, int | float):
        raise ValueError("must be a valid number")
    if abs(value) > MOST:
        raise ValueError(f"must be a number from -{MOST:g} to {MOST:g}")
    if math.isnan(value):
        raise ValueError(NO_NUMBER)
    return value


Level = Annotated[Any, BeforeValidator(read_level)]  # None, a number or a word
Name = Annotated[Text, BeforeValidator(name_of)]  # of an example, a system, an input or a person


class Record(BaseModel):
    """The base of all records: types are strict, unknown keys are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)


def check_records(
    path: Path,
    located: Iterable[tuple[int, Any]],
    kind: type[R],
    faults: list[str],
) -> list[tuple[int, R]]:
    """Returns the valid records among the objects of a file, with their lines; adds a fault for every broken rule."""
    records: list[tuple[int, R]] = []
    for line, values in located:
        if not isinstance(values, Mapping):
            faults.append(fault(path, line, f"an object is needed here, found {format_value(values)}"))
            continue
        try:
            records.append((line, kind.model_validate(values)))
        except ValidationError as error:
            faults += [fault(path, line, problem) for problem in list_problems(error, values)]
    return records


def check_id(name: str, line: int, first_line: dict[str, int]) -> list[str]:
    """Returns a problem if an earlier line has the same id; a new id is added to `first_line`."""
    earlier = first_line.setdefault(name, line)
    if earlier == line:
        return []
    hint = ": a line without an id has its number" if name in (str(line), str(earlier)) else ""
    return [f"ids must be unique, but {format_value(name)} is the id of line {earlier} too{hint}"]


def list_problems(error: ValidationError, values: Cells) -> list[str]:
    """Describes the errors that pydantic found in the values of an object, one sentence per value."""
    sentences: list[str] = []
    for (name, *inside), rule, value in broken_rules(error):
        place = f'"{name}"'
        for part in inside:
            if part != "":
                place = f"{_name_part(part)} of {place}"
        is_there = bool(inside) or name in values
        sentences.append(f"{place} {rule}, found {format_value(value if is_there else None)}")
    return sentences


def _name_part(part: int | str) -> str:
    """An index or a key inside a value, in words."""
    if isinstance(part, int):
        return f"number {part + 1}"
    return "the key" if part == "[key]" else format_value(part)


def require_none(values: Iterable[T], faults: Sequence[str]) -> tuple[T, ...]:
    """Returns the values if there are no faults; raises InputError otherwise."""
    if faults:
        raise InputError(faults)
    return tuple(values)


def _to_label(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else name_of(value)


def _to_references(value: object) -> object:
    """Listed references without blank ones; a text is one reference, or a list that was written as a text."""
    if isinstance(value, str):
        listed = parse_list(value)
        value = [value] if listed is None else listed
    if not isinstance(value, list | tuple):
        return value
    return [reference for reference in value if not _is_blank(reference)]


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def name_people(ratings: Any) -> Any:
    """Names the people who rated an aspect: by numbers from 1 for a list, by an empty name for a single rating."""
    if isinstance(ratings, list):
        ratings = {str(number): rating for number, rating in enumerate(ratings, start=1)}
    elif isinstance(ratings, Mapping) and not all(map(str.strip, ratings)):
        raise ValueError("must name each person who rated")
    return ratings if isinstance(ratings, Mapping) else {"": ratings}


class ExampleRecord(Record):
    """One example of a file. Defaults are immutable, because pydantic copies mutable ones for every record."""

    id: Name | None = None
    text: String = ""
    turns: List[Text] = ()
    context: String | None = None
    prefix: String | None = None
    label: Annotated[String, BeforeValidator(_to_label)] | None = None
    references: Annotated[List[String], BeforeValidator(_to_references)] = ()
    system: Annotated[String, BeforeValidator(name_of)] | None = None
    group: Annotated[String, BeforeValidator(name_of)] | None = None
    # by aspect and person, who has an empty name where nobody is named
    ratings: Mapping[Text, Annotated[Mapping[String, Level], BeforeValidator(name_people)]] | None = None
    scores: Mapping[Text, Level] | None = None


def check_example(
    record: Cells,
    requires: Collection[str],
    others: Collection[str] = (),
    *,
    needs_text: bool = True,
) -> tuple[dict[str, Any], list[str]]:
    """Returns the values of a record as arguments of Example, and the problems of the record.

    A text that is present but blank or null is an empty answer. `others` are the keys of a line that are not fields. A
    record without a text is a problem unless `needs_text` is False.
    """
    if _holds_plain_texts(record) and "text" in record and (not requires or record.keys() >= set(requires)):
        return dict(record), []
    filled = {name: value for name, value in record.items() if value is not None and value != ""}
    ratings = filled.get("ratings")
    if isinstance(ratings, Mapping):
        filled["ratings"] = {aspect: rating for aspect, rating in ratings.items() if rating is not None}
    problems: list[str] = []
    at_fault: set[object] = set()
    try:
        checked = ExampleRecord.model_validate(filled)
        values = {name: getattr(checked, name) for name in checked.model_fields_set}
    except ValidationError as error:
        problems += list_problems(error, filled)
        at_fault |= {place[0] for place, _, _ in broken_rules(error)}
        values = {name: value for name, value in filled.items() if name not in at_fault}
    is_there = "text" in record or values.get("turns") or at_fault & {"text", "turns"} or not needs_text
    if not is_there:
        of_turns = f"{NEEDS_TEXT} {format_value(record.get('turns'))} in turns"
        problems.append(of_turns if "turns" in record else describe_missing_text([*record, *others]))
    for name in requires:
        if name not in at_fault and (is_there or name != "text") and not _says_something(values.get(name)):
            problems.append(f'"{name}" is needed here, found {format_value(record.get(name))}')
    if "turns" in requires and len(values.get("turns", ())) == 1:
        problems.append(f"a dialogue needs at least two turns, found {format_value(values['turns'])}")
    return values, problems


def average(ratings: Mapping[str, Cells]) -> dict[str, float]:
    """The mean rating of each aspect over the people who gave one; words do not count."""
    means: dict[str, float] = {}
    for aspect, by_person in ratings.items():
        known = [rating for rating in by_person.values() if isinstance(rating, int | float)]
        if known:
            means[aspect] = sum(known) / len(known)
    return means


def describe_missing_text(keys: Sequence[str]) -> str:
    """The problem of a record, or a header, with these keys and without text and turns."""
    shown = f"{list_first(keys, SHOWN_COLUMNS) or 'nothing'}: {setting('columns.text', 'COLUMN')} names a column"
    return f"{NEEDS_TEXT} {shown}"


def _holds_plain_texts(record: Cells) -> bool:
    """Whether there are texts in ASCII alone that say something, which are valid: most records of a long file."""
    texts = record.values()
    are_texts = record.keys() <= TEXTS and set(map(type, texts)) <= {str}
    return are_texts and all(map(str.isascii, texts)) and all(map(str.strip, texts))


def _says_something(value: Any) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)
