"""Answers to questions, rated by people for correctness (Lee et al. 2021, KPQA; a substitute for MOCHA).

`root` is the folder that holds `qa_ratings/` (and `roc_stories/`), or this folder itself.
"""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

from core.example import Example
from core.faults import fault, read_all, shown
from core.settings import Number, Several, check, one_of
from data.corpus import Corpus, RatedSet
from data.download import require_file
from data.records import Identified, NonEmpty, Text, read_records, require_none
from data.sets.stories import load_roc_plain
from data.splits import HELD_OUT_FRACTION, split_share

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
    stories = [partial(load_roc_plain, root, download)] if plain_stories else []
    parts = read_all([*(partial(load_qa_ratings, root, name, download) for name in sets), *stories])
    plain = [story for part in parts[len(sets) :] for story in part]
    sides = split_share(plain, attrgetter("text"), held_out_fraction, seed)
    return Corpus("qa_ratings", *sides, tuple(parts[: len(sets)]), synthetic=False)


def load_qa_ratings(root: Path | str, name: str, download: bool = False) -> RatedSet:
    """The answers of one set; `context` is the passage, if any, and the question.

    `ratings["correctness"]` is as published: 0.2 to 1 for semeval_mhpg and narrativeqa_mhpg, 1 to 5 for the others.
    Answers to the same question have one `group`.
    """
    path = require_file(root, f"qa_ratings/{name}.jsonl", download)
    faults: list[str] = []
    examples: list[Example] = []
    groups: dict[str, str] = {}
    for line, record in read_records(path, Answer, faults):
        if not min(record.score_scale) <= record.score <= max(record.score_scale):
            found = f"{shown(record.score)} outside {shown(record.score_scale)}"
            faults.append(fault(path, line, f'"score" must be on its scale, found {found}'))
        context = " ".join(part for part in (record.context, record.question) if part)
        examples.append(
            Example(
                record.id,
                text=record.candidate,
                context=context,
                references=record.references,
                system=record.system,
                group=groups.setdefault(context, record.id),
                ratings={"correctness": record.score},
            )
        )
    return RatedSet(name, require_none(examples, faults), synthetic=False)
