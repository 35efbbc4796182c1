"""CommonGen: sentences about given concepts, and CommonGen-trinity, where each concept set has good and bad ones.

`root` is the folder that holds `commongen_train/` and `commongen_trinity/`. An example is a dialogue of two turns, the
concepts and the sentence, in lower case and without a final full stop: the training sentences are captions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from core.example import Example
from core.faults import read_all
from core.settings import Count, Number, check
from data.builtin.concepts import generate_concept_sentences, rated_concept_sentences
from data.corpus import Corpus, generate_corpus, refuse_shared, score_published
from data.download import GITHUB, PublicFile, by_file_name, require_file
from data.records import Identified, NonEmpty, Text, load_examples
from meta_eval.scored_set import ScoredSet

KINDS = ("index", "src_alpha", "tgt")  # of the original files
LEVELS = {"good": ("", 1.0), "medium": ("_med", 0.5), "bad": ("_bad", 0.0)}  # part of the file name, raw label
JUDGES = {"geval_gpt4": "", "geval_flan_t5_xxl": "_t5", "geval_vicuna_7b": "_vicuna"}
G_EVAL: Mapping[str, str] = {
    "g_eval_gpt4": "geval_gpt4",
    "g_eval_flan_t5": "geval_flan_t5_xxl",
    "g_eval_vicuna": "geval_vicuna_7b",
}


class ConceptSet(Identified):
    """A line of `train.jsonl` and `dev.jsonl`."""

    concepts: NonEmpty[Text]
    references: NonEmpty[Text]


class TrinitySentence(Identified):
    """A line of `trinity.jsonl`: a sentence with its gold label and the scores of three language models (G-Eval)."""

    concepts: NonEmpty[Text]
    label_raw: Number
    label_binary: Number
    sentence: Text
    geval_gpt4: Number
    geval_flan_t5_xxl: Number
    geval_vicuna_7b: Number


def builtin_concepts(train: int = 6000, held_out: int = 300, rated: int = 399, seed: int = 0) -> Corpus:
    """Generated concept sentences: no network, no files; their quality is known by construction."""
    sizes, group = (train, held_out, rated), attrgetter("group")
    make, rate = generate_concept_sentences, rated_concept_sentences
    return generate_corpus("builtin_concepts", make, rate, group, sizes, seed, in_order=True)


def commongen(root: Path | str, download: bool = False, train: int | None = None) -> Corpus:
    """CommonGen (Lin et al. 2020) to train on, rated by CommonGen-trinity (CDM, Tables 8 and 10).

    Two rated sets with the same sentences: `trinity_raw` (good 1, medium 0.5, bad 0) and `trinity_binarized` (good 1,
    the others 0), each with the published scores of G-Eval. One reference of each development set is held out.

    Args:
        train: maximum number of references to train on; None for all.

    Raises SettingFault if a rated concept set is also a training one.
    """
    if train is not None:
        check(Count, train=train)
    sentences, development, rated = read_all(
        [
            partial(load_references, root, TRAIN, download),
            partial(load_references, root, DEV, download),
            partial(load_trinity, root, download),
        ]
    )
    named = [(example.id, _same(example)) for example in (*sentences, *development)]
    rated_concepts = (_same(example) for each in rated for example in each.examples)
    refuse_shared("a rated concept set must not be one to train on too, but {} are", named, rated_concepts)
    held_out = {example.group: example for example in reversed(development)}
    return Corpus("commongen", sentences[:train], tuple(reversed(held_out.values())), rated, synthetic=False)


def load_references(root: Path | str, file: PublicFile, download: bool = False) -> tuple[Example, ...]:
    """The references of every concept set of a file; `group` is the id of the set."""

    def to_examples(record: ConceptSet) -> list[Example]:
        numbered = enumerate(record.references)
        return [_example(f"{record.id}-{k}", record.concepts, text, group=record.id) for k, text in numbered]

    return load_examples(require_file(root, file, download), ConceptSet, to_examples)


def load_trinity(root: Path | str, download: bool = False) -> tuple[ScoredSet, ...]:
    """The sentences of CommonGen-trinity under raw and under binarized labels, with the scores of G-Eval."""
    published: dict[str, dict[str, float]] = {row: {} for row in G_EVAL}
    binary: dict[str, float] = {}

    def to_examples(record: TrinitySentence) -> list[Example]:
        for row, key in G_EVAL.items():
            published[row][record.id] = getattr(record, key)
        binary[record.id] = record.label_binary
        example = _example(record.id, record.concepts, record.sentence, group=", ".join(sorted(record.concepts)))
        return [replace(example, ratings={"commonsense": record.label_raw})]

    raw = load_examples(require_file(root, TRINITY, download), TrinitySentence, to_examples)
    binarized = tuple(replace(example, ratings={"commonsense": binary[example.id]}) for example in raw)
    return tuple(
        ScoredSet(name, examples, score_published(name, examples, published))
        for name, examples in (("trinity_raw", raw), ("trinity_binarized", binarized))
    )


def _example(name: str, concepts: tuple[str, ...], sentence: str, group: str) -> Example:
    caption = " ".join(sentence.split()).lower().removesuffix(".").rstrip() or sentence
    return Example(name, text=sentence, turns=(", ".join(concepts), caption), group=group)


def _same(example: Example) -> tuple[str, ...]:
    """The concepts without their order."""
    return tuple(sorted(example.turns[0].split(", ")))


def read_concept_sets(folder: Path, part: str) -> Iterator[dict[str, Any]]:
    """Every concept set of a part (train, dev) with its references."""
    files = (f"commongen.{part}.{kind}.txt" for kind in KINDS)
    columns = [(folder / name).read_text("utf-8").splitlines() for name in files]
    sets: dict[str, dict[str, Any]] = {}
    for index, concepts, sentence in zip(*columns, strict=True):
        found = {"id": f"commongen-{part}-{index}", "concepts": concepts.split(), "references": []}
        sets.setdefault(index, found)["references"].append(sentence)
    yield from sets.values()


def read_trinity(folder: Path) -> Iterator[dict[str, Any]]:
    """Every sentence of CommonGen-trinity with its label and the three scores of G-Eval.

    Block k of a file belongs to line k of the keys; most blocks have two sentences.
    """
    keys = (folder / "commongen_keys.txt").read_text("utf-8").splitlines()
    blocks = {(level, judge): _blocks(folder / _name_file(level, judge)) for level in LEVELS for judge in JUDGES}
    for i, concepts in enumerate(keys):
        for level, (_, label) in LEVELS.items():
            scored = [blocks[level, judge][i] for judge in JUDGES]
            for k, rows in enumerate(zip(*scored, strict=True)):
                scores = {judge: float(row.split("\t")[-1]) for judge, row in zip(JUDGES, rows, strict=True)}
                yield {
                    "id": f"trinity-{i:04d}-{level}-{k}",
                    "concepts": concepts.split(", "),
                    "label_raw": label,
                    "label_binary": float(label == 1.0),
                    "sentence": rows[0].split("\t")[0],
                    **scores,
                }


def _name_file(level: str, judge: str) -> str:
    return f"commongen_test{LEVELS[level][0]}{JUDGES[judge]}.txt"


def _blocks(path: Path) -> list[list[str]]:
    return [block.splitlines() for block in path.read_text("utf-8").strip().split("\n\n")]


ORIGINAL = f"{GITHUB}/INK-USC/CommonGen/f5a4d0140876cf862cb41ffc9aefa834d0d6d0f7/dataset/final_data/commongen"
ORIGINAL_TRINITY = f"{GITHUB}/PlusLabNLP/CDM/b555ddf049409d142a19bf5289444ce244b5e36d/data/commongen-trinity"
DEV, TRAIN = (
    PublicFile(
        f"commongen_train/{part}.jsonl",
        "MIT",
        by_file_name(*(f"{ORIGINAL}/commongen.{part}.{kind}.txt" for kind in KINDS)),
        prepare=partial(read_concept_sets, part=part),
    )
    for part in ("dev", "train")
)
TRINITY = PublicFile(
    "commongen_trinity/trinity.jsonl",
    "MIT",
    by_file_name(
        f"{ORIGINAL_TRINITY}/commongen_keys.txt",
        *(f"{ORIGINAL_TRINITY}/annotated/{_name_file(level, judge)}" for level in LEVELS for judge in JUDGES),
    ),
    prepare=read_trinity,
)
FILES = (DEV, TRAIN, TRINITY)
