"""Label Studio: tasks with annotations, from its JSON export (JSON-MIN and CSV are tables of annotators)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data.columns import name_fields
from data.formats.tool_file import REMARK, Located, Name, Row, Rows, describe, refuse, text_of
from data.label_columns import list_candidates
from data.records import check_rows, layout

TASKS = layout({"id": Name, "annotations": list[Any], "data": Row}, predictions=list[Any])
ANNOTATION = layout({"result": list[Any]}, was_cancelled=bool)
PREDICTION = layout({"result": list[Any]}, model_version=str)
RESULT = layout({}, type=str, from_name=str, value=Row)
UNNAMED = "prediction"  # of a model without a name
PAIRWISE = "pairwise"  # the kind of a comparison
BESIDE = ("context", "system", "group", "references")  # fields that the data of a task may give
SIDES = {"left": "a", "right": "b"}  # of a pairwise comparison
NUMBERED = re.compile(r"(?P<stem>.+?)_?(?P<side>1|2|a|b|left|right)", re.IGNORECASE)
SYSTEMS = ("model", "system", "generator", "name")  # of the keys of both systems


def read(rows: Located, path: Path) -> Rows:
    """Reads one text per task with each annotator's ratings and single choices; pairwise comparisons become judgements.

    Predictions of models are scores, and so is what stands in the data of tasks and can be a label. Cancelled
    annotations are left out. The id of a text is the `id` in its data, else that of the task.
    """
    given = [task["data"] for _, task in rows]
    header = list(dict.fromkeys(name for data in given for name in data))
    fields = dict(name_fields(tuple(header)).fields)
    verdicts = [name for name in list_candidates(given, header) if name not in fields]
    for line, task in rows:
        annotations = list(_read_annotations(task, path, line))
        given = task["data"]
        name = str(given.get("id", task["id"]))
        pairs = [(person, result) for person, result in annotations if result.get("type") == PAIRWISE]
        if pairs:
            yield from _read_pairs(given, name, pairs, path, line)
            continue
        text = _read_text(given, annotations, path, line)
        ratings = _read_ratings(annotations)
        scores = _read_predictions(task, path, line)
        for key in verdicts:
            scores[key] = given.get(key)
        row = {"id": name, **text, **ratings}
        yield line, {**row, "scores": scores}


def _read_annotations(
    task: Row,
    path: Path,
    line: int,
) -> Iterator[tuple[str, Row]]:
    """What each annotator said about a task, with the annotator's name."""
    numbered = [(line, annotation) for annotation in task["annotations"]]
    for _, annotation in check_rows(numbered, path, ANNOTATION):
        if annotation.get("was_cancelled"):
            continue
        person = annotation.get("completed_by")
        if isinstance(person, Mapping):
            person = person.get("id")
        results = [(line, result) for result in annotation["result"]]
        for _, result in check_rows(results, path, RESULT):
            yield str(person), result


def _read_ratings(annotations: Sequence[tuple[str, Row]]) -> Row:
    """By aspect the rating of each annotator; a remark names kinds of results that are no ratings."""
    ratings: dict[str, dict[str, Any]] = {}
    unread: dict[str, None] = {}
    for person, result in annotations:
        value = _find_value(result)
        if value is None:
            unread[str(result.get("type"))] = None
        else:
            aspect = str(result.get("from_name"))
            ratings.setdefault(aspect, {})[person] = value
    row: Row = {"ratings": ratings}
    if unread:
        row[REMARK] = f"results of the kind {' and '.join(unread)} left out"
    return row


def _read_predictions(
    task: Row,
    path: Path,
    line: int,
) -> dict[str, Any]:
    """The numbers and single choices that models predicted, by model, or `MODEL/ASPECT` of several aspects."""
    predictions = [(line, prediction) for prediction in task.get("predictions") or ()]
    scores: dict[str, Any] = {}
    for _, prediction in check_rows(predictions, path, PREDICTION):
        model = str(prediction.get("model_version") or UNNAMED)
        given = [(line, result) for result in prediction["result"]]
        results = [result for _, result in check_rows(given, path, RESULT)]
        aspects = {str(result.get("from_name")) for result in results}
        for result in results:
            value = _find_value(result)
            aspect = result.get("from_name")
            name = model if len(aspects) == 1 else f"{model}/{aspect}"
            if value is not None:
                scores[name] = value
    return scores


def _find_value(result: Row) -> Any:
    """The number or the single choice of a result; None for anything else."""
    value = result.get("value") or {}
    match result.get("type"):
        case "rating" | "number" as kind:
            return value.get(kind)
        case "choices":
            choices = value.get("choices")
            return choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    return None


def _read_text(
    given: Row,
    annotations: Sequence[tuple[str, Row]],
    path: Path,
    line: int,
) -> Row:
    """The text of a task, and what its data say beside it.

    The text is what was annotated where its tag is called like its key, else the one with a usual name, else the only
    one.
    """
    fields = name_fields(tuple(given)).fields
    texts = [key for key, cell in given.items() if isinstance(cell, str)]
    annotated = [str(result.get("to_name") or result.get("toName")) for _, result in annotations]
    usual = [key for key, name in fields if name == "text"]
    candidates = [key for key in (*annotated, *usual) if key in texts]
    if not candidates and len(texts) == 1:
        candidates = texts
    if not candidates:
        rule = "the data of a task need a text whose key is the name of its tag, or text"
        raise refuse(path, line, f"{rule}, found {describe(given)}; an export as CSV has columns to name")
    values: Row = {name: given[key] for key, name in fields if name in BESIDE}
    return {**values, "text": given[candidates[0]]}


def _read_pairs(
    given: Row,
    name: str,
    pairs: Sequence[tuple[str, Row]],
    path: Path,
    line: int,
) -> Rows:
    """A judgement of each annotator, left before right, and both texts."""
    keys = _find_both_sides(given)
    systems = next((keys[stem] for stem in SYSTEMS if stem in keys), None)
    if systems is None:
        rule = "a comparison needs the names of both systems in its data, such as model1 and model2"
        raise refuse(path, line, f"{rule}, found {describe(given)}")
    a, b = (str(given[key]) for key in systems)
    texts = next((both for stem, both in keys.items() if stem not in SYSTEMS), [])
    context = text_of(given.get("prompt") or given.get("question"))
    for system, key in zip((a, b), texts, strict=False):
        output = {"system": system, "group": name, "text": text_of(given[key])}
        yield line, {**output, "context": context}
    for person, result in pairs:
        selected = (result.get("value") or {}).get("selected")
        judgement = {"group": name, "system_a": a, "system_b": b}
        yield line, {**judgement, "winner": SIDES.get(str(selected)), "rater": person}


def _find_both_sides(given: Row) -> dict[str, list[str]]:
    """By what their names share, the keys of the left and the right side (`model1` and `model2`)."""
    by_stem: dict[str, dict[str, str]] = {}
    for key in given:
        match = NUMBERED.fullmatch(key)
        if match:
            sides = by_stem.setdefault(match["stem"].lower(), {})
            sides[match["side"].lower()] = key
    return {stem: [sides[side] for side in sorted(sides)] for stem, sides in by_stem.items() if len(sides) == 2}
