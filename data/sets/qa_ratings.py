"""Answers to questions, rated by people for correctness (Lee et al. 2021, KPQA; a substitute for MOCHA).

`root` is the folder that holds `qa_ratings/` (and `roc_stories/`), or this folder itself.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from core.example import Example
from core.faults import format_value
from core.settings import Number, Several, check, one_of
from data.corpus import Corpus, RatedSet
from data.download import GITHUB, PublicFile, require_file
from data.records import Identified, NonEmpty, Text, load_examples
from data.sets.stories import add_plain_stories, load_roc_plain
from data.splits import HELD_OUT_FRACTION

SETS = ("semeval_mhpg", "narrativeqa_mhpg", "msmarco", "avsd")


class Answer(Identified):
    """A line of the files in `qa_ratings/`."""

    system: Text | None
    context: Text | None
    question: Text
    candidate: Text
    references: NonEmpty[Text]
    score: Number
    score_scale: NonEmpty[Number]


def qa_ratings(
    root: Path | str,
    download: bool = False,
    sets: Sequence[str] = SETS,
    plain_stories: bool = False,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Rated answers (a substitute for the question answering of MARS, Table 3), one rated set for each data set.

    Args:
        root: the folder of the public sets.
        download: whether missing files that have a known checksum are fetched into `root`.
        sets: any of "semeval_mhpg", "narrativeqa_mhpg", "msmarco", "avsd"; only the first has passages.
        plain_stories: whether plain ROC stories are read to train a small model; the sets have no such texts.
        held_out_fraction: the share of the stories for the held-out loss.
        seed: of the choice of the held-out stories.

    Raises InputFaults if a file is missing or faulty, DownloadFault if one cannot be fetched.
    """
    check(Several[one_of(SETS)], sets=sets)
    plain = partial(load_roc_plain, root, download) if plain_stories else None
    rated = [partial(load_qa_ratings, root, name, download) for name in sets]
    return add_plain_stories("qa_ratings", rated, plain, held_out_fraction, seed)


def load_qa_ratings(root: Path | str, name: str, download: bool = False) -> RatedSet:
    """The answers of one set; `context` is the passage, if any, and the question.

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

    return RatedSet(name, load_examples(require_file(root, BY_NAME[name], download), Answer, to_examples), False)


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
SEMEVAL = PublicFile(
    "qa_ratings/semeval_mhpg.jsonl",
    LICENCE,
    {
        "semeval_mhpgm.csv": f"{KPQA}/semeval_mhpgm.csv",
        "mcscript_dev_questions.jsonl": f"{MOCHA}/mcscript_dev_questions.jsonl",
    },
    prepare=read_semeval,
)
NARRATIVE_QA = PublicFile(
    "qa_ratings/narrativeqa_mhpg.jsonl",
    LICENCE,
    {"nrqa_mhpgm.csv": f"{KPQA}/nrqa_mhpgm.csv"},
    prepare=partial(read_answers, name="narrativeqa_mhpg", table="nrqa_mhpgm.csv", system="mhpg", scale=(0.2, 1.0)),
)
MS_MARCO = PublicFile(
    "qa_ratings/msmarco.jsonl",
    LICENCE,
    {"marco_all.csv": f"{KPQA}/marco_all.csv"},
    prepare=partial(read_answers, name="msmarco", table="marco_all.csv", system=None, scale=(1.0, 5.0)),
)
AVSD = PublicFile(
    "qa_ratings/avsd.jsonl",
    LICENCE,
    {"avsd_all.csv": f"{KPQA}/avsd_all.csv"},
    prepare=partial(read_answers, name="avsd", table="avsd_all.csv", system=None, scale=(1.0, 5.0)),
)
FILES = (SEMEVAL, NARRATIVE_QA, MS_MARCO, AVSD)
BY_NAME: Mapping[str, PublicFile] = dict(zip(SETS, FILES, strict=True))
