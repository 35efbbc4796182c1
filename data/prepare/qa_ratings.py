"""Rated answers (KPQA): tables of questions, answers, references and ratings."""

import csv
import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any


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


read_narrativeqa = partial(
    read_answers, name="narrativeqa_mhpg", table="nrqa_mhpgm.csv", system="mhpg", scale=(0.2, 1.0)
)
read_msmarco = partial(read_answers, name="msmarco", table="marco_all.csv", system=None, scale=(1.0, 5.0))
read_avsd = partial(read_answers, name="avsd", table="avsd_all.csv", system=None, scale=(1.0, 5.0))


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
