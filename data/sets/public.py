"""Public sets of rated texts, with public texts to train on: dialogues, stories, summaries and answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from core.errors import InputError, fault, format_value, read_all
from core.example import Example
from core.settings import Several, check, one_of
from data.corpus import HELD_OUT_FRACTION, Corpus, fold_text, refuse_shared, split_share, tabulate_raters
from data.download import find_file, join_licences, require_file
from data.files import load_examples
from data.sentences import split_sentences
from data.sets.dialogues import HELD_OUT_SETS, TRAINING_FILES, load_convai2, load_dialogues, load_dstc9, load_fed
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
ANSWERS = ("semeval_mhpg", "narrativeqa_mhpg", "msmarco", "avsd")


def load_newsroom(root: Path | str, download: bool = False) -> ScoredSet:
    """Loads Newsroom: summaries with the article as `context`, one human summary, four ratings (1 to 5), their `mean`.

    All 60 articles are read if `newsroom.jsonl` exists, else a sample of every tenth article. Another 30 articles are
    read if `newsroom_more.jsonl` is in the same folder.
    """
    path = find_file(root, FULL) or find_file(root, SAMPLE) or require_file(root, FULL, download)
    more = find_file(root, MORE) if path.name == Path(SAMPLE).name else None
    to_records = partial(list_summaries, aspects=("mean", *NEWSROOM_ASPECTS))
    paths = [path] if more is None else [path, more]
    parts = read_all([partial(load_examples, file, to_records) for file in paths])
    return ScoredSet("newsroom", tuple(example for part in parts for example in part))


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


def load_mocha(
    name: str,
    root: Path | str,
    download: bool = False,
) -> ScoredSet:
    """Loads the answers of one set in `MOCHA` from its `dev.json`, with mean human ratings from 1 to 5.

    The raters are those of each answer: a place in the list is no person.
    """

    def read(path: Path, faults: list[str]) -> Iterator[tuple[int, Any]]:
        sets = read_json(path)
        if not isinstance(sets, dict) or not isinstance(sets.get(name), dict):
            raise InputError([fault(path, 0, f"{format_value(name)} is required, found {format_value(sets)}")])
        answers = [{"id": key, **answer} for key, answer in sets[name].items()]
        return enumerate(answers, start=1)

    def to_records(answer: Mapping[str, Any]) -> Records:
        known = {"references": [answer["reference"]], "system": answer["metadata"]["source"]}
        single_ratings.append(answer["metadata"]["scores"])
        return list_answer({**answer, **known}, groups)

    groups: dict[str, str] = {}
    single_ratings: list[list[float]] = []
    examples = load_examples(require_file(root, "mocha/dev.json", download), to_records, read)
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


def load_roc_plain(root: Path | str, download: bool = False) -> tuple[Example, ...]:
    """Loads unrated ROC stories (Mostafazadeh et al. 2016), mostly of five sentences; `context` is all but the last."""

    def to_records(text: str) -> Records:
        yield {"text": text.strip(), "context": " ".join(split_sentences(text)[:-1])}

    return load_examples(require_file(root, "roc_stories/roc_plain.txt", download), to_records, iterate_lines)


def load_qa_ratings(
    name: str,
    root: Path | str,
    download: bool = False,
) -> ScoredSet:
    """Loads the answers of a set in `ANSWERS`, rated 0.2 to 1 (sets of mhpg) or 1 to 5; one set has passages."""
    return _load_lines(name, f"qa_ratings/{name}.jsonl", partial(list_answer, groups={}), root, download)


def _load_lines(
    name: str,
    file: str,
    to_records: Callable[..., Records],
    root: Path | str,
    download: bool = False,
) -> ScoredSet:
    return ScoredSet(name, load_examples(require_file(root, file, download), to_records))


RATED: Mapping[str, Callable[[Path | str, bool], ScoredSet]] = {
    "fed": load_fed,
    "dstc9": load_dstc9,
    "convai2": load_convai2,
    "newsroom": load_newsroom,
    # ratings of 1 to 5 by three experts; ten references by other writers than the newspaper's
    "summeval": partial(
        _load_lines, "summeval", "summeval/summeval.jsonl", partial(list_summaries, aspects=SUMMEVAL_ASPECTS)
    ),
    **{name: partial(load_qa_ratings, name) for name in ANSWERS},
    **{f"mocha_{name}": partial(load_mocha, name) for name in MOCHA},
    "mans_roc": load_mans,
}
TRAINING: Mapping[str, Callable[[Path | str, bool], tuple[Example, ...]]] = {
    **{name: partial(load_dialogues, name) for name in TRAINING_FILES},
    "roc_stories": load_roc_plain,
}


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
    training = [training_sets] if isinstance(training_sets, str) else list(training_sets or ())
    if plain_stories:
        training.append("roc_stories")
    check(Several[one_of(tuple(RATED))], rated=names)
    if training:
        check(Several[one_of(tuple(TRAINING))], training_sets=training)
    split_sets = [training_set for training_set in training if training_set not in HELD_OUT_SETS]
    whole_sets = [training_set for training_set in training if training_set in HELD_OUT_SETS]
    held_out_sets = [HELD_OUT_SETS[training_set] for training_set in whole_sets]
    loaders: list[Callable[[Path | str, bool], Any]] = [RATED[rated_set] for rated_set in names]
    loaders += [TRAINING[training_set] for training_set in (*split_sets, *whole_sets, *held_out_sets)]
    loaded = iter(read_all(partial(load, root, download) for load in loaders))
    sets = tuple(_choose_systems(next(loaded), systems) for _ in names)
    split_texts = [example for _ in split_sets for example in next(loaded)]
    whole_texts = [example for _ in whole_sets for example in next(loaded)]
    held_out_texts = [example for _ in held_out_sets for example in next(loaded)]
    texts = [*split_texts, *whole_texts, *held_out_texts]
    contents: list[tuple[str, str]] = []
    for example in chain.from_iterable(rated_set.examples for rated_set in sets):
        continued = [f"{example.context} {reference}" for reference in example.references]
        contents += [(example.id, fold_text(text)) for text in (example.full_text, *continued)]
    rule = "rated texts (or their references) also occur in the training texts: {}"
    refuse_shared(rule, contents, [fold_text(text.full_text) for text in texts])
    train, held_out = split_share(split_texts, lambda example: example.turns or example.text, held_out_fraction, seed)
    files = [f"dialogue/{file}." for source in training for file in TRAINING_FILES.get(source, ())]
    if "roc_stories" in training:
        files.append("roc_stories/roc_plain.")
    return Corpus(
        name or "+".join(names),
        train=(*train, *whole_texts),
        held_out=(*held_out, *held_out_texts),
        rated=sets,
        synthetic=False,
        licence=join_licences(files),
    )


def _choose_systems(rated: ScoredSet, systems: Sequence[str] | None) -> ScoredSet:
    if systems is None:
        return rated
    known = sorted({example.system or "" for example in rated.examples})
    check(Several[one_of(known)], systems=systems)
    groups = list(dict.fromkeys(example.group for example in rated.examples))
    order: list[tuple[int, int, int]] = []
    for i, example in enumerate(rated.examples):
        if example.system in systems:
            order.append((groups.index(example.group), systems.index(example.system or ""), i))
    return rated.take([i for _, _, i in sorted(order)])
