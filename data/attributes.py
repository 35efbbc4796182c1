"""Texts with a label: the built-in reviews and news, and public sets of sentiments and topics.

`root` is the folder that holds `attributes/`, or this folder itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.builtin import news, reviews
from data.dialogues import RatedSet
from data.example import Example
from data.faults import fault, shown
from data.places import needed
from data.records import TEXT, Kind, read_records, sound
from data.splits import share, split_by


@dataclass(frozen=True)
class LabelledData:
    """What an experiment on texts with a label reads: texts to train on, held-out ones of the same kind, rated ones.

    Attributes:
        name: as it stands in tables.
        train: texts with `label`; empty where none are read.
        held_out: as `train`, for the held-out loss.
        rated: texts with `prefix`, `label` (the one asked for) and ratings.
        synthetic: whether the texts are generated and the ratings known by construction.
        labels: what a label can be, in the alphabet's order.
    """

    name: str
    train: tuple[Example, ...]
    held_out: tuple[Example, ...]
    rated: tuple[RatedSet, ...]
    synthetic: bool
    labels: tuple[str, ...]


@dataclass(frozen=True)
class LabelledSet:
    """A public set of labelled texts: its file and its labels."""

    file: str
    labels: tuple[str, ...]


HELD_OUT_FRACTION = 0.1
SENTIMENTS = reviews.LABELS
TOPICS = news.LABELS
SETS: Mapping[str, LabelledSet] = {
    "rt_polarity": LabelledSet("attributes/sentiment_rt_polarity.jsonl", SENTIMENTS),
    "sst2_dev": LabelledSet("attributes/sentiment_sst2_dev.jsonl", SENTIMENTS),
    "newsgroups": LabelledSet("attributes/topic_newsgroups.jsonl", TOPICS),
    "ag_news": LabelledSet("attributes/topic_ag_news.jsonl", ("business", "sci/tech", "sports", "world")),
}


def builtin_reviews(
    train: int = 8000, held_out: int = 400, rated: int = 400, verdicts: float = 0.5, seed: int = 0
) -> LabelledData:
    """Generated reviews, positive and negative: no network, no files; the ratings are known by construction.

    Args:
        train: texts to train on.
        held_out: texts for the held-out loss.
        rated: rated texts.
        verdicts: the share of the texts to train on, and of the held-out ones, that say their label in a sentence.
        seed: of all of them.
    """
    rated_set = RatedSet("builtin_reviews", reviews.rated_reviews(rated, seed), synthetic=True)
    exclude = {example.text for example in rated_set.examples}
    generated = reviews.generate_reviews(train + held_out, seed, verdicts, exclude)
    return LabelledData(
        "builtin_reviews", generated[:train], generated[train:], (rated_set,), synthetic=True, labels=SENTIMENTS
    )


def builtin_news(
    train: int = 8000, held_out: int = 400, rated: int = 400, verdicts: float = 0.5, seed: int = 0
) -> LabelledData:
    """Generated news of four topics; arguments as in `builtin_reviews`."""
    rated_set = RatedSet("builtin_news", news.rated_news(rated, seed), synthetic=True)
    exclude = {example.text for example in rated_set.examples}
    generated = news.generate_news(train + held_out, seed, verdicts, exclude)
    return LabelledData(
        "builtin_news", generated[:train], generated[train:], (rated_set,), synthetic=True, labels=TOPICS
    )


def load_labelled(root: Path | str, name: str, download: bool = False) -> tuple[Example, ...]:
    """One public set of labelled texts; `group` is the newsgroup where there is one.

    `rt_polarity` and `sst2_dev`: sentences of film reviews, lower-cased and tokenised (Pang and Lee 2005; Socher et al.
    2013). `newsgroups`: posts on the four topics of CTRLEval (Lang 1995), noisy, classes uneven. `ag_news`: short news
    on four topics of its own (Zhang et al. 2015).

    Raises InputFaults when the file is missing or wrong, DownloadFault when it cannot be fetched, ValueError for an
    unknown name.
    """
    if name not in SETS:
        raise ValueError(f"a set of labelled texts is one of {', '.join(SETS)}, but is {name!r}")
    path = needed(root, SETS[name].file, download)
    label = Kind(f"one of {', '.join(SETS[name].labels)}", SETS[name].labels.__contains__)
    faults: list[str] = []
    examples: list[Example] = []
    for line, record in read_records(path, {"id": TEXT, "text": TEXT, "label": label}, faults):
        group = record.get("group")
        if group is not None and not TEXT.holds(group):
            faults.append(fault(path, line, f'"group" must be {TEXT.rule}, found {shown(group)}'))
        examples.append(Example(record["id"], text=record["text"], label=record["label"], group=group))
    return sound(examples, faults)


def split_labelled(
    sets: Sequence[Sequence[Example]], held_out_fraction: float, seed: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Training and held-out part of sets of labelled texts together; a repeated text stands on one side."""
    examples = [example for each in sets for example in each]
    held_out = share(examples, lambda example: example.text, held_out_fraction)
    return split_by(examples, lambda example: example.text, held_out, seed)
