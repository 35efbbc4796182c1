"""Potato: the annotations of one person, a line for each text (`annotated_instances.jsonl`)."""

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.formats.tool_file import REMARK, Located, Name, Row, Rows
from data.numeric import to_number
from data.records import layout

LINES = layout({"id": Name, "displayed_text": str, "label_annotations": Row})
FILE = re.compile(r"(?:potato_)?(?P<person>.*?)_?annotated_instances")
BREAK = re.compile(r"<br\s*/?>|</p>", re.IGNORECASE)
TAG = re.compile(r"<[^>]+>")
PAGE = ".html"  # the end of the id of a page that is no text, such as one that asks for consent


def read(rows: Located, path: Path) -> Rows:
    """Reads one text per line; the chosen label of each question is a rating by the person.

    The person is named by the folder of `annotated_instances.jsonl`, or by the prefix of the file's name.
    """
    person = find_person(path)
    for line, row in rows:
        name = str(row["id"])
        if name.endswith(PAGE):
            continue
        ratings: dict[str, dict[str, Any]] = {}
        several: list[str] = []
        for question, labels in row["label_annotations"].items():
            chosen = list_chosen(labels)
            if len(chosen) == 1:
                number = to_number(chosen[0])
                ratings[question] = {person: chosen[0] if number is None else number}
            elif chosen:
                several.append(question)
        values: Row = {"id": name, "text": to_plain(row["displayed_text"]), "ratings": ratings}
        if several:
            values[REMARK] = f"several labels of {' and '.join(several)} left out"
        yield line, values


def find_person(path: Path) -> str:
    """Finds the name of the person who annotated a file, from the file's folder or name."""
    match = FILE.match(path.name)
    return (match and match["person"]) or path.absolute().parent.name


def list_chosen(labels: Any) -> list[str]:
    """Lists the chosen labels: the keys with a true value, and the values of a scale.

    >>> list_chosen({"positive": "true"}), list_chosen({"scale_3": "3"}), list_chosen({"a": "true", "b": "true"})
    (['positive'], ['3'], ['a', 'b'])
    """
    if not isinstance(labels, Mapping):
        return []
    return [str(label) if str(value).lower() == "true" else str(value) for label, value in labels.items()]


def to_plain(markup: str) -> str:
    """Returns the displayed text without its tags.

    >>> to_plain("Tom: Is it late?<br><strong>Sam: A &amp; B.</strong>")
    'Tom: Is it late?\\nSam: A & B.'
    """
    return html.unescape(TAG.sub("", BREAK.sub("\n", markup))).strip()
