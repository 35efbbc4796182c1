"""Public sets of rated texts, with public texts to train on: dialogues, stories, summaries and answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from core.errors import InputError, fault, format_value, read_all
from core.example import Example
from core.settings import Several, check, one_of
from data.corpus import (
    HELD_OUT_FRACTION,
    Corpus,
    Parts,
    content_of,
    fold_text,
    refuse_shared,
    split_share,
    tabulate_raters,
)
from data.download import find_file, join_licences, require_file
from data.files import ToRecords, load_examples
from data.sentences import split_sentences
from data.sets.dialogues import load_dstc9, load_fed, read_utt_lines
from data.text_files import iterate_lines, read_json
from meta_eval.scored_set import ScoredSet

Names: TypeAlias = str | Sequence[str]
Records: TypeAlias = Iterator[dict[str, Any]]

FULL = "newsroom/newsroom.jsonl"
SAMPLE = "newsroom/newsroom_sample.jsonl"
MORE = "newsroom/newsroom_more.jsonl"
NEWSROOM_ASPECTS = ("coherence", "fluency", "informativeness", "relevance")
SUMMEVAL_ASPECTS = ("relevance", "coherence", "consistency", "fluency")
MOCHA = ("narrativeqa", "mcscript", "cosmosqa", "socialiqa", "drop", "quoref")  # the sets whose questions it has
ANSWERS = ("semeval_mhpg", "narrativeqa_mhpg", "msmarco", "avsd")  # rated .2 to 1 (mhpg) or 1 to 5; one has passages
# ROC stories: mostly of five sentences (Mostafazadeh et al. 2016); all other sets are dialogues.
# Topical-Chat: people on given facts, 20 turns and more (Gopalakrishnan et al. 2019), validation and test part.
# PersonaChat: people who play a given character, lower-cased (Zhang et al. 2018), validation part.
# DailyDialog: everyday talk of language learners' books, tokenised (Li et al. 2017), validation and test part.
# CDM's own files (Lu et al. 2024): the training parts of Topical-Chat and PersonaChat, 17,567 dialogues, and 1078 and
# 1000 of their validation parts.
TRAINING: Mapping[str, Sequence[str]] = {
    "topical_chat": ("dialogue/topicalchat_valid.txt", "dialogue/topicalchat_test.txt"),
    "persona_chat": ("dialogue/personachat_valid.txt",),
    "daily_dialog": ("dialogue/dailydialog_validation.txt", "dialogue/dailydialog_test.txt"),
    "cdm_train": ("dialogue/clean_train.txt",),
    "cdm_valid": ("dialogue/clean_valid.txt",),
    "roc_stories": ("roc_stories/roc_plain.txt",),
}
# training sets whose held-out texts are other sets, as published
HELD_OUT_SETS: Mapping[str, Sequence[str]] = {"cdm_train": ["cdm_valid"]}


def load_newsroom(root: Path | str, download: bool = False) -> ScoredSet:
    """Loads Newsroom: summaries with the article as `context`, one human summary, four ratings (1 to 5), their `mean`.

    All 60 articles are read if `newsroom.jsonl` exists, else a sample of every tenth article. Another 30 articles are
    read if `newsroom_more.jsonl` is in the same folder.
    """
    path = find_file(root, FULL) or find_file(root, SAMPLE) or require_file(root, FULL, download)
    more = find_file(root, MORE) if path.name == Path(SAMPLE).name else None
    paths = filter(None, (path, more))
    to_records = partial(list_summaries, aspects=("mean", *NEWSROOM_ASPECTS))
    parts = read_all(partial(load_examples, path, to_records) for path in paths)
    return ScoredSet("newsroom", tuple(chain.from_iterable(parts)))


def list_summaries(article: Mapping[str, Any], aspects: Sequence[str]) -> Records:
    """Lists the summaries of an article; the newspaper's own comes first among several references."""
    references = article["references"] if "references" in article else [article["reference"]]
    for system, summary in article["systems"].items():
        yield {
            "id": f"{article['id']}-{system}",
            "text": summary["text"],
            "context": article["source"],
            "references": references,
            "system": system,
            "group": article["id"],
            "ratings": {aspect: summary[aspect] for aspect in aspects},
        }


def load_mocha(name: str, root: Path | str, download: bool = False) -> ScoredSet:
    """Loads the answers of one set in `MOCHA` from its `dev.json`, with mean human ratings from 1 to 5.

    The raters are those of each answer: a place in the list is no person.
    """

    def to_records(item: tuple[str, Mapping[str, Any]]) -> Records:
        key, answer = item
        known = {"references": [answer["reference"]], "system": answer["metadata"]["source"]}
        single_ratings.append(answer["metadata"]["scores"])
        return list_answer({"id": key, **answer, **known}, groups)

    path = require_file(root, "mocha/dev.json", download)
    sets = read_json(path)
    if not isinstance(sets, dict) or not isinstance(sets.get(name), dict):
        raise InputError([fault(path, 0, f"{format_value(name)} is required, found {format_value(sets)}")])
    groups: dict[str, str] = {}
    single_ratings: list[list[float]] = []
    examples = load_examples(path, to_records, lambda path, faults: enumerate(sets[name].items(), start=1))
    return ScoredSet(f"mocha_{name}", examples, raters={"correctness": tabulate_raters(single_ratings)})


def list_answer(line: Mapping[str, Any], groups: dict[str, str]) -> Records:
    """Makes the one answer of a line; `context` is the passage, if there is one, and the question.

    `groups` has the id of the first answer to each question; this id is the `group` of all answers to the question.
    """
    context = " ".join(filter(None, (line["context"], line["question"])))
    yield {
        "id": line["id"],
        "text": line["candidate"],
        "context": context,
        "references": line["references"],
        "system": line["system"],
        "group": groups.setdefault(context, line["id"]),
        "ratings": {"correctness": line["score"]},
    }


def load_mans(root: Path | str, download: bool = False) -> ScoredSet:
    """Loads MANS (Guan et al. 2021): 200 first sentences of ROC stories, each continued by five systems.

    The human continuation is the reference, the mean of five annotators' ratings (1 to 5) the rating. The origin sorts
    the ratings of a text, so that equal places would agree too well (a ceiling of .985 for .972); they are shuffled.
    """

    def to_records(line: Mapping[str, Any]) -> Records:
        single_ratings.append(line["ratings"])
        yield {
            "id": line["id"],
            "text": line["text"],
            "context": line["prompt"],
            "references": [line["reference"]],
            "system": line["system"],
            "group": line["id"].removesuffix(f"-{line['system']}"),
            "ratings": {"overall": line["mean_rating"]},
        }

    single_ratings: list[list[float]] = []
    examples = load_examples(require_file(root, "roc_stories/mans_roc.jsonl", download), to_records)
    raters = np.random.default_rng(0).permuted(tabulate_raters(single_ratings), axis=0)
    return ScoredSet("mans_roc", examples, raters={"overall": raters})


def load_rated(
    name: str,
    file: str,
    to_records: ToRecords,
    root: Path | str,
    download: bool = False,
) -> ScoredSet:
    """Loads the rated set `name` from one JSONL file."""
    return ScoredSet(name, load_examples(require_file(root, file, download), to_records))


def load_answers(name: str, root: Path | str, download: bool = False) -> ScoredSet:
    """Loads the answers of a set in `ANSWERS`."""
    return load_rated(
        name,
        f"qa_ratings/{name}.jsonl",
        partial(list_answer, groups={}),
        root,
        download,
    )


RATED: Mapping[str, Callable[[Path | str, bool], ScoredSet]] = {
    "fed": load_fed,
    "dstc9": load_dstc9,
    # dialogues of people with chatbots (Dinan et al. 2019), prepared by hand, each with one rating, `overall` 1-5, by
    # the person who took part; it is noisy, and measures engagement more than coherence
    "convai2": partial(
        load_rated,
        "convai2",
        "convai2/convai2_rated.jsonl",
        lambda line: [line],
    ),
    "newsroom": load_newsroom,
    # ratings of 1 to 5 by three experts; ten references by other writers than the newspaper's
    "summeval": partial(
        load_rated, "summeval", "summeval/summeval.jsonl", partial(list_summaries, aspects=SUMMEVAL_ASPECTS)
    ),
    **{name: partial(load_answers, name) for name in ANSWERS},
    **{f"mocha_{name}": partial(load_mocha, name) for name in MOCHA},
    "mans_roc": load_mans,
}


def load_training(name: str, root: Path | str, download: bool = False) -> tuple[Example, ...]:
    """Loads the texts of a set in `TRAINING`: dialogues, whose `group` is their file, or stories.

    The `context` of a story is all but its last sentence.
    """

    def to_records(text: str) -> Records:
        yield {"text": text.strip(), "context": " ".join(split_sentences(text)[:-1])}

    paths: list[Path] = read_all(
        partial(
            require_file,
            root,
            file,
            download,
        )
        for file in TRAINING[name]
    )
    if name == "roc_stories":
        return load_examples(paths[0], to_records, iterate_lines)
    parts = read_all(partial(read_utt_lines, path) for path in paths)
    in_files = ((path.name, example) for path, part in zip(paths, parts, strict=True) for _, example in part)
    return tuple(replace(example, group=name) for name, example in in_files)


def public_corpus(
    rated: Names,
    root: Path | str,
    download: bool = False,
    training_sets: Names | None = None,
    plain_stories: bool = False,
    systems: Sequence[str] | None = None,
    name: str | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Loads rated sets (CDM, Tables 2-6; MARS, Tables 2-5) and training texts.

    Args:
        training_sets: names in `TRAINING`; dialogues do not mix with stories. A share of their texts is held out, or
            the whole of another set if `HELD_OUT_SETS` names one.
        plain_stories: whether to train on unrated ROC stories, for rated sets without training texts.
        systems: read only the rated texts of these systems, in this order within a group; None for all.

    Raises SettingError if a rated text, or its reference after its context, is also a training text.
    """
    names = [rated] if isinstance(rated, str) else rated
    training = [training_sets] if isinstance(training_sets, str) else [*(training_sets or ())]
    training += ["roc_stories"] * plain_stories
    check(Several[one_of(tuple(RATED))], rated=names)
    if training:
        check(Several[one_of(tuple(TRAINING))], training_sets=training)
    readers: list[Callable[[], Any]] = [partial(RATED[rated_set], root, download) for rated_set in names]
    readers += [
        partial(
            _load_parts,
            training_set,
            root,
            download,
        )
        for training_set in training
    ]
    loaded = read_all(readers)
    sets = tuple(_choose_systems(rated_set, systems) for rated_set in loaded[: len(names)])
    parts: list[Parts] = loaded[len(names) :]
    to_split = [text for texts, held in parts if not held for text in texts]
    train, held_out = split_share(
        to_split,
        content_of,
        held_out_fraction,
        seed,
    )
    for texts, held in parts:
        if held:
            train += texts
            held_out += held
    contents: list[tuple[str, str]] = []
    for example in chain.from_iterable(rated_set.examples for rated_set in sets):
        continued = [f"{example.context} {reference}" for reference in example.references]
        contents += [(example.id, fold_text(text)) for text in (example.full_text, *continued)]
    rule = "rated texts (or their references) also occur in the training texts: {}"
    refuse_shared(rule, contents, [fold_text(text.full_text) for text in (*train, *held_out)])
    return Corpus(
        name or "+".join(names),
        train,
        held_out,
        rated=sets,
        synthetic=False,
        licence=join_licences(chain.from_iterable(TRAINING[training_set] for training_set in training)),
    )


def _load_parts(name: str, root: Path | str, download: bool) -> Parts:
    """The texts of a training set, and those that are held out for it, if they are another set."""
    sets = [name, *HELD_OUT_SETS.get(name, ())]
    texts, *held = read_all(
        partial(
            load_training,
            training_set,
            root,
            download,
        )
        for training_set in sets
    )
    return texts, tuple(chain.from_iterable(held))


def _choose_systems(rated: ScoredSet, systems: Sequence[str] | None) -> ScoredSet:
    if systems is None:
        return rated
    known = sorted({example.system or "" for example in rated.examples})
    check(Several[one_of(known)], systems=systems)
    groups = list(dict.fromkeys(example.group for example in rated.examples))
    places: dict[int, tuple[int, int]] = {}
    for i, example in enumerate(rated.examples):
        if example.system in systems:
            places[i] = (groups.index(example.group), systems.index(example.system))
    return rated.take(sorted(places, key=places.__getitem__))
