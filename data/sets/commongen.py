"""CommonGen: sentences about given concepts. CommonGen-trinity: good and bad sentences for each set of concepts.

An example is a dialogue of two turns, the concepts and the sentence, in lower case without a final full stop.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from core.errors import read_all
from core.example import Example
from core.settings import Count, check
from data.corpus import Corpus, refuse_shared, score_published
from data.download import join_licences, require_file
from data.files import load_examples
from meta_eval.scored_set import ScoredSet

# The language models of G-Eval, by their rows in tables: the key of their scores, and part of the original file's name.
JUDGES = {
    "g_eval_gpt4": ("geval_gpt4", ""),
    "g_eval_flan_t5": ("geval_flan_t5_xxl", "_t5"),
    "g_eval_vicuna": ("geval_vicuna_7b", "_vicuna"),
}


def commongen(root: Path | str, download: bool = False, train: int | None = None) -> Corpus:
    """CommonGen (Lin et al. 2020) as training texts, CommonGen-trinity as rated sets (CDM, Tables 8 and 10).

    The two rated sets have the same sentences: `trinity_raw` (good 1, medium 0.5, bad 0) and `trinity_binarized` (good
    1, the others 0), each with the published scores of G-Eval. One reference of each development set is held out. At
    most `train` references are training texts. Raises SettingError if a rated concept set is also a training one.
    """
    check(Count | None, train=train)
    readers = [
        partial(
            load_references,
            root,
            "train",
            download,
        ),
        partial(
            load_references,
            root,
            "dev",
            download,
        ),
        partial(load_trinity, root, download),
    ]
    sentences, development, rated = read_all(readers)
    concepts = [(example.id, _sort_concepts(example)) for example in (*sentences, *development)]
    rated_concepts = [_sort_concepts(example) for rated_set in rated for example in rated_set.examples]
    refuse_shared("a rated concept set must not be a training one too, but {} are", concepts, rated_concepts)
    first_references: dict[str | None, Example] = {}
    for example in development:
        first_references.setdefault(example.group, example)
    return Corpus(
        "commongen",
        train=sentences[:train],
        held_out=tuple(first_references.values()),
        rated=rated,
        synthetic=False,
        licence=join_licences(["commongen_train/"]),
    )


def load_references(root: Path | str, part: str, download: bool = False) -> tuple[Example, ...]:
    """Loads the references of every concept set of a part (train, dev); `group` is the id of the concept set."""

    def to_records(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for k, text in enumerate(line["references"]):
            record = _to_record(f"{line['id']}-{k}", line["concepts"], text)
            yield {**record, "group": line["id"]}

    return load_examples(require_file(root, f"commongen_train/{part}.jsonl", download), to_records)


def load_trinity(root: Path | str, download: bool = False) -> tuple[ScoredSet, ...]:
    """Loads CommonGen-trinity as two rated sets, with raw and with binarized labels, and the scores of G-Eval."""

    def to_records(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        ratings = {"trinity_raw": line["label_raw"], "trinity_binarized": line["label_binary"]}
        for row, (key, _) in JUDGES.items():
            ratings[row] = line[key]
        for name, rating in ratings.items():
            if not isinstance(rating, int | float):
                ratings[name] = str(rating)
        record = _to_record(line["id"], line["concepts"], line["sentence"])
        yield {
            **record,
            "system": "GPT-4",  # wrote all sentences, the senseless ones too
            "group": ", ".join(sorted(line["concepts"])),
            "ratings": ratings,
        }

    examples = load_examples(require_file(root, "commongen_trinity/trinity.jsonl", download), to_records)
    published: dict[str, list[float]] = {}
    for row in JUDGES:
        published[row] = [example.ratings[row] for example in examples]
    sets: list[ScoredSet] = []
    for name in ("trinity_raw", "trinity_binarized"):
        rated = tuple(replace(example, ratings={"commonsense": example.ratings[name]}) for example in examples)
        sets.append(ScoredSet(name, rated, score_published(name, published)))
    return tuple(sets)


def _to_record(name: str, concepts: list[str], sentence: str) -> dict[str, Any]:
    lower = " ".join(sentence.split()).lower()
    caption = lower.removesuffix(".").rstrip() or sentence
    return {
        "id": name,
        "text": sentence,
        "turns": [", ".join(concepts), caption],
    }


def _sort_concepts(example: Example) -> tuple[str, ...]:
    """The concepts without their order."""
    return tuple(sorted(example.turns[0].split(", ")))
