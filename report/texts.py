"""Chooses the texts of a scored set that fit into the page, with their scores."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from meta_eval.scored_set import ScoredSet
from report.explanations import read_explanation
from report.results import encode_json, score_line

FIELDS = ("context", "prefix", "label", "references", "system", "group")  # of an example, where it has them
MOST_CHARACTERS = 4_000_000  # of the rows of one set; the page is one file


@dataclass(frozen=True)
class TextRows:
    """The first examples of a set, as many as fit into the page, and their scores."""

    name: str
    # the columns of scores, `metric` or `metric/aspect`; higher is better
    metrics: tuple[str, ...]
    # the columns of ratings; higher is better
    aspects: tuple[str, ...]
    has_systems: bool
    # one JSON object per example
    rows: tuple[str, ...]
    # examples of the set
    total: int

    @property
    def as_json(self) -> str:
        """Writes JSON for the page's script, without characters that would end a script."""
        head = {"metrics": self.metrics, "aspects": self.aspects, "hasSystems": self.has_systems}
        text = f'{json.dumps(head, ensure_ascii=False)[:-1]}, "rows": [{",".join(self.rows)}]}}'
        return text.replace("<", "\\u003c")


def list_texts(scored: ScoredSet) -> TextRows:
    """Lists the examples of a set in their order, with texts, ratings, scores, reasons and explanations."""
    columns = scored.split_aspects()
    rows: list[str] = []
    left = MOST_CHARACTERS
    for number in range(len(scored)):
        row = encode_json(make_row(scored, columns, number)).rstrip("\n")
        left -= len(row)
        if left < 0:
            break
        rows.append(row)
    return TextRows(
        name=scored.name,
        metrics=tuple(columns.scores),
        aspects=scored.aspects,
        has_systems=any(example.system for example in scored.examples),
        rows=tuple(rows),
        total=len(scored),
    )


def make_row(scored: ScoredSet, columns: ScoredSet, number: int) -> Mapping[str, Any]:
    """Makes the row of an example with its scores; `columns` is the set with a metric for each aspect."""
    example = scored.examples[number]
    line = score_line(scored, number)
    fields = {name: getattr(example, name) for name in FIELDS}
    return {
        "id": example.id,
        "text": example.full_text,
        **{name: value for name, value in fields.items() if value},
        "ratings": [line["ratings"].get(aspect) for aspect in scored.aspects],
        "scores": [next(iter(scores.values.values()))[number] for scores in columns.scores.values()],
        "reasons": line["reasons"],
        "explained": {name: list_pieces(explanation) for name, explanation in line["explanations"].items()},
    }


def list_pieces(explanation: Mapping[str, Any]) -> list[list[Any]]:
    """Lists the lines of an explanation for the page's script: the label, then text, colour and value of each piece."""
    lines: list[list[Any]] = []
    for line in read_explanation(explanation, ""):
        pieces = [[piece.text, piece.shade, piece.value] for piece in line.pieces]
        lines.append([line.label, pieces])
    return lines
