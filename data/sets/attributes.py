"""Texts with a label: a user's own, the built-in reviews and news, and public sets of sentiments and topics.

`root` is the folder that holds `attributes/`, or this folder itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from core.example import Example
from core.faults import InputFaults, SettingFault, fault, read_all, shown, suggestion
from core.settings import Size, check
from data.builtin.controlled import World, generate_texts, rated_texts
from data.builtin.news import NEWS
from data.builtin.reviews import REVIEWS
from data.download import require_file
from data.files import located_examples
from data.rated import RatedSet
from data.records import Identified, Text, read_records, require_none
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


class LabelledText(Identified):
    """A line of the files in `attributes/`."""

    text: Text
    label: Text
    group: Text | None = None


HELD_OUT_FRACTION = 0.1
SENTIMENTS = REVIEWS.labels
TOPICS = NEWS.labels
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
    return _generated_data("builtin_reviews", REVIEWS, train, held_out, rated, verdicts, seed)


def builtin_news(
    train: int = 8000, held_out: int = 400, rated: int = 400, verdicts: float = 0.5, seed: int = 0
) -> LabelledData:
    """Generated news of four topics; arguments as in `builtin_reviews`."""
    return _generated_data("builtin_news", NEWS, train, held_out, rated, verdicts, seed)


def _generated_data(
    name: str, world: World, train: int, held_out: int, rated: int, verdicts: float, seed: int
) -> LabelledData:
    """Texts of a built-in world; no rated set where `rated` is 0."""
    check(Size, train=train, held_out=held_out, rated=rated)
    rated_sets = (RatedSet(name, rated_texts(world, rated, seed), synthetic=True),) if rated else ()
    known = {example.text for each in rated_sets for example in each.examples}
    texts = generate_texts(world, train + held_out, seed, verdicts, known)
    return LabelledData(name, texts[:train], texts[train:], rated_sets, synthetic=True, labels=world.labels)


def own_texts(
    path: Path | str,
    held_out_path: Path | str | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> LabelledData:
    """A user's own labelled texts: .jsonl, .csv or .tsv files with `text` and `label`, and `prefix` where there is one.

    A label is any line of text, without the blanks around it.

    Args:
        path: texts to train on.
        held_out_path: held-out texts; None holds out a part of the others, a repeated text on one side.
        held_out_fraction: that part.
        seed: of the choice of that part.

    Raises InputFaults with all faults of the files: a line without text or label, fewer than two labels; a held-out
    text that is also one to train on, or whose label no text to train on has.
    """
    held_out_paths = [] if held_out_path is None else [Path(held_out_path)]
    located, *apart = read_all([partial(_located_texts, each) for each in (Path(path), *held_out_paths)])
    first_line: dict[str, int] = {}
    for line, example in located:
        first_line.setdefault(example.full_text, line)
    labels = sorted({example.label or "" for _, example in located})
    faults: list[str] = []
    if len(labels) < 2:
        faults.append(fault(path, 0, f"the texts need at least two labels, found {shown(labels[0])} alone"))
    for held_out_file, texts in zip(held_out_paths, apart, strict=True):
        for line, example in texts:
            if at := first_line.get(example.full_text):
                what = f"a held-out text must not be one to train on too, found it at {path}:{at}"
                faults.append(fault(held_out_file, line, what))
            if example.label not in labels:
                what = f'"label" must be that of a text to train on, found {shown(example.label)}'
                faults.append(fault(held_out_file, line, f"{what}{suggestion(example.label, labels)}"))
    examples = require_none([example for _, example in located], faults)
    held_out = tuple(example for texts in apart for _, example in texts)
    if held_out_path is None:
        examples, held_out = split_labelled([examples], held_out_fraction, seed)
    return LabelledData(Path(path).stem, examples, held_out, (), synthetic=False, labels=tuple(labels))


def _located_texts(path: Path) -> list[tuple[int, Example]]:
    """The labelled texts of a file with their lines."""
    located = [
        (line, replace(example, label=(example.label or "").strip()))
        for line, example in located_examples(path, ("text", "label"))
    ]
    faults = [
        fault(path, line, f'"label" must be one line, found {shown(example.label)}')
        for line, example in located
        if len((example.label or "").splitlines()) > 1
    ]
    if faults:
        raise InputFaults(faults)
    return located


def load_labelled(root: Path | str, name: str, download: bool = False) -> tuple[Example, ...]:
    """One public set of labelled texts; `group` is the newsgroup where there is one.

    `rt_polarity` and `sst2_dev`: sentences of film reviews, lower-cased and tokenised (Pang and Lee 2005; Socher et al.
    2013). `newsgroups`: posts on the four topics of CTRLEval (Lang 1995), noisy, classes uneven. `ag_news`: short news
    on four topics of its own (Zhang et al. 2015).

    Raises InputFaults when the file is missing or wrong, DownloadFault when it cannot be fetched, SettingFault for an
    unknown name.
    """
    if name not in SETS:
        raise SettingFault(f"a set of labelled texts is one of {', '.join(SETS)}, but is {name!r}")
    path = require_file(root, SETS[name].file, download)
    labels = SETS[name].labels
    faults: list[str] = []
    examples: list[Example] = []
    for line, record in read_records(path, LabelledText, faults):
        if record.label not in labels:
            faults.append(fault(path, line, f'"label" must be one of {", ".join(labels)}, found {shown(record.label)}'))
        examples.append(Example(record.id, text=record.text, label=record.label, group=record.group))
    return require_none(examples, faults)


def split_labelled(
    sets: Sequence[Sequence[Example]], held_out_fraction: float, seed: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Training and held-out part of sets of labelled texts together; a repeated text stands on one side."""
    examples = [example for each in sets for example in each]
    held_out = share(examples, lambda example: example.text, held_out_fraction)
    return split_by(examples, lambda example: example.text, held_out, seed)
