"""Answers to questions, rated by people for correctness (Lee et al. 2021, KPQA; a substitute for MOCHA).

`root` is the folder that holds `qa_ratings/`, or this folder itself.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from core.example import Example
from core.faults import format_value
from core.settings import Number
from data.download import GITHUB, PublicFile, by_file_name, require_file
from data.records import Identified, NonEmpty, Text, load_examples
from meta_eval.scored_set import ScoredSet


class Answer(Identified):
    """A line of the files in `qa_ratings/`."""

    system: Text | None
    context: Text | None
    question: Text
    candidate: Text
    references: NonEmpty[Text]
    score: Number
    score_scale: NonEmpty[Number]


def load_qa_ratings(name: str, root: Path | str, download: bool = False) -> ScoredSet:
    """The answers of a set in `ANSWERS`; `context` is the question after its passage, which only semeval_mhpg has.

    `ratings["correctness"]` is as published: 0.2 to 1 for semeval_mhpg and narrativeqa_mhpg, 1 to 5 for the others.
    Answers to the same question have one `group`.
    """
    groups: dict[str, str] = {}

    def to_examples(record: Answer) -> list[Example] | str:
        if not min(record.score_scale) <= record.score <= max(record.score_scale):
            found = f"{format_value(record.score)} outside {format_value(record.score_scale)}"
            return f'"score" must be on its scale, found {found}'
        context = " ".join(part for part in (record.context, record.question) if part)
        example = Example(
            record.id,
            text=record.candidate,
            context=context,
            references=record.references,
            system=record.system,
            group=groups.setdefault(context, record.id),
            ratings={"correctness": record.score},
        )
        return [example]

    examples = load_examples(require_file(root, ANSWERS[name], download), Answer, to_examples)
    return ScoredSet(name, examples)


def read_answers(
    folder: Path,
    *,
    name: str,
    table: str,
    system: str | None,
    scale: tuple[float, float],
    score: str = "scores",
    passages: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Every row of a table; `score` is the column of the rating, `passages` has contexts by lower-cased question."""
    with (folder / table).open(encoding="utf-8", newline="") as file:
        for i, row in enumerate(csv.DictReader(file)):
            columns = [column for column in row if column.startswith("reference") and column != score]
            yield {
                "id": f"{name}-{i:04d}",
                "system": system,
                "context": (passages or {}).get(row["question"].lower()),
                "question": row["question"],
                "candidate": row["answer"],
                "references": list(dict.fromkeys(row[column] for column in columns if row[column].strip())),
                "score": float(row[score]),
                "score_scale": list(scale),
            }


def read_semeval(folder: Path) -> Iterator[dict[str, Any]]:
    """The answers to MCScript, each with the first passage that has the same question.

    The header of the table is shifted: the column reference2 holds the score.
    """
    passages: dict[str, str] = {}
    with (folder / "mcscript_dev_questions.jsonl").open(encoding="utf-8") as file:
        for passage in map(json.loads, file):
            passages.setdefault(passage["question"].lower(), passage["context"])
    return read_answers(
        folder,
        name="semeval_mhpg",
        table="semeval_mhpgm.csv",
        system="mhpg",
        scale=(0.2, 1.0),
        score="reference2",
        passages=passages,
    )


LICENCE = "none stated: for research, not to be passed on"
KPQA = f"{GITHUB}/hwanheelee1993/KPQA/064063cac451f1d7cb535d31a16a9db1854c8ad0/data/human_eval"
MOCHA = f"{GITHUB}/anthonywchen/mocha-leaderboard-data/f5b1c88fd6caf4a4b302adc4dba906982f179a61/data/tmp"


def _file(name: str, prepare: Callable[[Path], Iterator[dict[str, Any]]], *originals: str) -> PublicFile:
    return PublicFile(f"qa_ratings/{name}.jsonl", LICENCE, by_file_name(*originals), prepare=prepare)


def _of_table(name: str, table: str, system: str | None, scale: tuple[float, float]) -> PublicFile:
    make = partial(read_answers, name=name, table=table, system=system, scale=scale)
    return _file(name, make, f"{KPQA}/{table}")


ANSWERS: Mapping[str, PublicFile] = {
    "semeval_mhpg": _file(
        "semeval_mhpg", read_semeval, f"{KPQA}/semeval_mhpgm.csv", f"{MOCHA}/mcscript_dev_questions.jsonl"
    ),
    "narrativeqa_mhpg": _of_table("narrativeqa_mhpg", "nrqa_mhpgm.csv", "mhpg", (0.2, 1.0)),
    "msmarco": _of_table("msmarco", "marco_all.csv", None, (1.0, 5.0)),
    "avsd": _of_table("avsd", "avsd_all.csv", None, (1.0, 5.0)),
}
FILES = tuple(ANSWERS.values())
