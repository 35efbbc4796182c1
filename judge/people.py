"""The ratings of people in a set of texts as a table: moves them between people and judges, and joins labels by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np

from core.errors import InputError, SettingError, fault, format_value, printable
from core.example import Example
from core.scores import Scores
from data.columns import NAMES, fold_name
from data.files import rate
from data.label_columns import LABEL
from data.records import name_people
from data.scored import ScoredFile, stack_people
from meta_eval.design import Floats
from meta_eval.scored_set import ScoredSet
from report.wording import join_names

S = TypeVar("S", bound=ScoredSet)
People: TypeAlias = dict[tuple[str, str], Floats]  # by aspect and person, who has an empty name where nobody is named
SHOWN_ROWS = 3  # unmatched rows that a note names
NO_SCORE = "the file has no score"
INPUT_KEYS = NAMES["rows"]["input"].split()


@dataclass(frozen=True)
class GivenLabels:
    """Labels of people from a separate file."""

    # the rows by id, each with its ratings; several rows of one id are several people
    labelled: ScoredSet
    # the column that names the rows
    key: str | None = None
    # whether the rows are those of a sheet, whose design has the ids that verdicts have when they are read
    is_drawn: bool = False
    # the columns that hold the labels
    people: Sequence[str] = ()


def list_people(scored: ScoredSet) -> People:
    """Lists the ratings of each person, of shape (n,), by aspect; a missing one is NaN."""
    people: People = {}
    for i, example in enumerate(scored.examples):
        for aspect, ratings in {**example.ratings, **example.extra.get("ratings", {})}.items():
            for person, rating in name_people(ratings).items():
                column = people.setdefault((aspect, person), np.full(len(scored), np.nan))
                column[i] = rating
    return people


def set_people(scored: S, people: People) -> S:
    """Returns the set with these ratings in place of its own."""
    by_example: list[dict[str, dict[str, float | None]]] = [{} for _ in scored.examples]
    for (aspect, person), ratings in people.items():
        for i in np.flatnonzero(~np.isnan(ratings)):
            by_example[i].setdefault(aspect, {})[person] = float(ratings[i])
    examples = [rate(example, ratings) for example, ratings in zip(scored.examples, by_example, strict=True)]
    return replace(scored, examples=tuple(examples), raters=stack_people(people))


def choose_people(
    scored: S,
    people: Sequence[str],
    judges: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> S:
    """Declares that the named scorers, or raters, are people or judges.

    The scores of a named metric become ratings of an aspect with its name. Several named metrics become several people
    who rate one aspect, `label`. If raters are named, every other rater is on the other side. Raises SettingError for
    an unknown name; the message lists the known names, with the `columns` of the table.
    """
    if not (people or judges):
        return scored
    table = list_people(scored)
    raters = [*dict.fromkeys(person for _, person in table if person)]
    scores = dict(scored.scores)
    unknown = next((name for name in (*people, *judges) if name not in (*scores, *raters)), None)
    if unknown is not None:
        known = [*dict.fromkeys([*scores, *raters, *columns])]
        others = f"is none of {join_names(known)}" if known else "is none, and there is no other"
        raise SettingError(f"people and judges name columns, scorers or raters, but {printable(unknown)} {others}")
    scorers = [name for name in people if name in scores]
    if scorers and len(scorers) < len(people):
        raise SettingError(f"people must be all columns of scores or all raters, but mix both: {join_names([*people])}")
    for name in scorers:
        key = (LABEL, name) if len(scorers) > 1 else (name, "")
        table[key] = scored.values(name, "")
        del scores[name]
    kept = [name for name in people if name in raters]
    for name in raters:
        if name in kept or not (kept or name in judges):
            continue
        values = {aspect: table.pop((aspect, name)) for aspect, person in [*table] if person == name}
        missing = np.isnan(np.stack([*values.values()])).sum(axis=0)
        reasons = [NO_SCORE if count else None for count in missing]
        scores[name] = Scores(values, f"{name}|ratings in {scored.name}", reasons)
    if judges:
        scores = {name: given for name, given in scores.items() if name in judges}
    return replace(set_people(scored, table), scores=scores)


def join_labels(verdicts: ScoredSet, given: GivenLabels) -> ScoredSet:
    """Joins labels to verdicts by id, else by input (`group`), and returns the verdicts with ratings.

    A system may have several outputs for an input, such as the epochs of a sample. Then one label counts for all of
    these outputs, which stay repeats of one input. Unmatched rows are counted in a note. Where the ids of verdicts are
    numbers of lines, only a sheet, which got its ids from these verdicts, is joined by id.

    Raises InputError if no id is in both files, and for a label of an input with outputs of several systems.
    """
    name = given.labelled.name
    labels = given.labelled.examples
    outputs = _find_outputs(verdicts, given)
    joined = {i for places in outputs for i in places}
    people = list_people(verdicts)
    for (aspect, person), ratings in list_people(given.labelled).items():
        column = people.setdefault((aspect, person), np.full(len(verdicts), np.nan))
        for row in np.flatnonzero(~np.isnan(ratings)):
            column[outputs[row]] = ratings[row]
        twice = next(
            (example for example in map(verdicts.examples.__getitem__, joined) if aspect in example.ratings), None
        )
        if twice is not None:
            rule = f"{verdicts.name} rates {printable(aspect)} of {format_value(twice.id)} too"
            raise SettingError(f"{rule}: give labels once")
    lost = [label.id for label, places in zip(labels, outputs, strict=True) if not places]
    to = f"{len(joined)} of {len(verdicts)} verdicts"
    if len(joined) > len(labels) - len(lost):
        to += ", which repeat their input"
    note = describe_matches(
        name,
        len(labels),
        lost,
        to,
    )
    return replace(set_people(verdicts, people), notes=(*verdicts.notes, *given.labelled.notes, note))


def _find_outputs(verdicts: ScoredSet, given: GivenLabels) -> list[list[int]]:
    """For each label the outputs that it is about: by their ids or their inputs, whichever more labels name.

    Where as many name both, ids decide, unless the column of the labels is called as one of inputs.
    """
    has_ids = given.is_drawn or not isinstance(verdicts, ScoredFile) or verdicts.has_ids
    ids = {example.id: [i] for i, example in enumerate(verdicts.examples) if has_ids}
    groups: dict[str, list[int]] = {}
    for i, example in enumerate(verdicts.examples):
        if example.group is not None and not given.is_drawn:
            groups.setdefault(example.group, []).append(i)
    if not (ids or groups):
        path, _ = verdicts.locate(0)
        raise InputError([fault(path, 0, "verdicts need a column with ids, such as id, by which labels are joined")])
    labels = given.labelled.examples
    ways = [
        [ids.get(label.id, []) for label in labels],
        [_find_answers(verdicts, groups, label) for label in labels],
    ]
    are_of_inputs = fold_name(given.key or "") in INPUT_KEYS
    found = max(ways[:: -1 if are_of_inputs else 1], key=lambda outputs: sum(map(bool, outputs)))
    if not any(found):
        rule, named, known = "have ids", [label.id for label in labels], [*(ids or groups)]
        judged = dict.fromkeys(example.system for example in verdicts.examples if example.system)
        labelled = dict.fromkeys(label.system for label in labels if label.system)
        if labelled and judged and labelled.keys().isdisjoint(judged):
            rule, named, known = "name systems", [*labelled], [*judged]
        raise refuse_all(
            rule,
            given.labelled.name,
            named,
            verdicts.name,
            known,
        )
    for label, places in zip(labels, found, strict=True):
        count = len({verdicts.examples[i].system for i in places})
        if count > 1:
            rule = f"{format_value(label.group or label.id)} has outputs of {count} systems"
            raise InputError([fault(given.labelled.name, 0, f"{rule}: labels need a column system")])
    return found


def _find_answers(verdicts: ScoredSet, groups: Mapping[str, Sequence[int]], label: Example) -> list[int]:
    """The outputs for the input of a label, of its system if it names one."""
    places = groups.get(label.group or label.id, [])
    return [i for i in places if label.system in (None, verdicts.examples[i].system)]


def refuse_all(
    rule: str,
    labels: str,
    names: Sequence[str],
    verdicts: str,
    known: Sequence[str],
) -> InputError:
    """Makes the error for labels none of which names a verdict."""
    shown = f"{show_names(names)} there and {show_names(known) or 'none'} in {verdicts}"
    return InputError([fault(labels, 0, f"labels must {rule} of {verdicts}, but none matches: {shown}")])


def describe_matches(
    name: str,
    count: int,
    lost: Sequence[str],
    to: str,
    *,
    by: str = "id",
) -> str:
    """Notes how many labels of a file were joined to verdicts, and which labels were not."""
    said = f"{name}: {count - len(lost)} of {count} labels joined by {by} to {to}"
    return f"{said}; without a verdict: {show_names(lost)}" if lost else said


def show_names(names: Sequence[str]) -> str:
    """Joins the first names, and says how many more names there are."""
    shown = ", ".join(printable(name) for name in names[:SHOWN_ROWS])
    return f"{shown} and {len(names) - SHOWN_ROWS} more" if names[SHOWN_ROWS:] else shown
