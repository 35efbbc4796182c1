"""CommonGen: sentences about given concepts, and CommonGen-trinity, where each concept set has good and bad ones.

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
from data.download import require_file
from data.files import load_examples
from meta_eval.scored_set import ScoredSet

# The language models of G-Eval, by their rows in tables: the key of their scores, and part of the original file's name.
JUDGES = {
    "g_eval_gpt4": ("geval_gpt4", ""),
    "g_eval_flan_t5": ("geval_flan_t5_xxl", "_t5"),
    "g_eval_vicuna": ("geval_vicuna_7b", "_vicuna"),
}


def commongen(
    root: Path | str,
    download: bool = False,
    train: int | None = None,
) -> Corpus:
    """CommonGen (Lin et al. 2020) to train on, rated by CommonGen-trinity (CDM, Tables 8 and 10).

    Two rated sets with the same sentences: `trinity_raw` (good 1, medium 0.5, bad 0) and `trinity_binarized` (good 1,
    the others 0), each with the published scores of G-Eval. One reference of each development set is held out; at most
    `train` references are trained on. Raises SettingError if a rated concept set is also a training one.
    """
    check(Count | None, train=train)
    references = [partial(load_references, root, part, download) for part in ("train", "dev")]
    sentences, development, rated = read_all([*references, partial(load_trinity, root, download)])
    named = [(example.id, _same(example)) for example in (*sentences, *development)]
    rated_concepts = (_same(example) for each in rated for example in each.examples)
    refuse_shared("a rated concept set must not be one to train on too, but {} are", named, rated_concepts)
    held_out = {example.group: example for example in reversed(development)}
    return Corpus("commongen", sentences[:train], tuple(reversed(held_out.values())), rated, synthetic=False)


def load_references(
    root: Path | str,
    part: str,
    download: bool = False,
) -> tuple[Example, ...]:
    """The references of every concept set of a part (train, dev); `group` is the id of the set."""

    def to_records(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for k, text in enumerate(line["references"]):
            yield _to_record(f"{line['id']}-{k}", line["concepts"], text) | {"group": line["id"]}

    return load_examples(require_file(root, f"commongen_train/{part}.jsonl", download), to_records)


def load_trinity(root: Path | str, download: bool = False) -> tuple[ScoredSet, ...]:
    """The sentences of CommonGen-trinity under raw and under binarized labels, with the scores of G-Eval."""

    def to_records(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        numbers = {"trinity_raw": line["label_raw"], "trinity_binarized": line["label_binary"]}
        numbers |= {row: line[key] for row, (key, _) in JUDGES.items()}
        ratings = {name: each if isinstance(each, int | float) else str(each) for name, each in numbers.items()}
        made = _to_record(line["id"], line["concepts"], line["sentence"])
        yield {**made, "group": ", ".join(sorted(line["concepts"])), "ratings": ratings}

    examples = load_examples(require_file(root, "commongen_trinity/trinity.jsonl", download), to_records)
    published = {row: {each.id: each.ratings[row] for each in examples} for row in JUDGES}
    sets = {
        name: tuple(replace(each, ratings={"commonsense": each.ratings[name]}) for each in examples)
        for name in ("trinity_raw", "trinity_binarized")
    }
    return tuple(ScoredSet(name, each, score_published(name, each, published)) for name, each in sets.items())


def _to_record(
    name: str,
    concepts: list[str],
    sentence: str,
) -> dict[str, Any]:
    caption = " ".join(sentence.split()).lower().removesuffix(".").rstrip() or sentence
    return {"id": name, "text": sentence, "turns": [", ".join(concepts), caption]}


def _same(example: Example) -> tuple[str, ...]:
    """The concepts without their order."""
    return tuple(sorted(example.turns[0].split(", ")))
