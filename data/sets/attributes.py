"""Texts with a label: a user's own, the built-in reviews and news, and public sets of sentiments and topics.

`root` is the folder that holds `attributes/`, or this folder itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from core.example import Example
from core.faults import InputFaults, SettingFault, fault, shown, suggestion
from core.settings import Size, check
from data.builtin.controlled import World, generate_texts, rated_texts
from data.builtin.news import NEWS
from data.builtin.reviews import REVIEWS
from data.corpus import Corpus, RatedSet, read_own
from data.download import require_file
from data.files import located_examples
from data.records import Identified, Text, read_records, require_none
from data.splits import HELD_OUT_FRACTION, split_share


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


TEXT = attrgetter("text")
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
) -> Corpus:
    """Generated reviews, positive and negative: no network, no files; the ratings are known by construction.

    Args:
        train: texts to train on.
        held_out: texts for the held-out loss.
        rated: rated texts.
        verdicts: the share of training and held-out texts with a sentence that names their label.
        seed: of all texts.
    """
    return _generated_data("builtin_reviews", REVIEWS, train, held_out, rated, verdicts, seed)


def builtin_news(
    train: int = 8000, held_out: int = 400, rated: int = 400, verdicts: float = 0.5, seed: int = 0
) -> Corpus:
    """Generated news of four topics; arguments as in `builtin_reviews`."""
    return _generated_data("builtin_news", NEWS, train, held_out, rated, verdicts, seed)


def _generated_data(
    name: str, world: World, train: int, held_out: int, rated: int, verdicts: float, seed: int
) -> Corpus:
    """Texts of a built-in world; without a rated set if `rated` is 0."""
    check(Size, train=train, held_out=held_out, rated=rated)
    rated_sets = (RatedSet(name, rated_texts(world, rated, seed), synthetic=True),) if rated else ()
    known = {example.text for each in rated_sets for example in each.examples}
    texts = generate_texts(world, train + held_out, seed, verdicts, known)
    return Corpus(name, texts[:train], texts[train:], rated_sets, synthetic=True)


def own_texts(
    path: Path | str,
    held_out_path: Path | str | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """A user's own labelled texts: .jsonl, .csv or .tsv files with `text`, `label` and perhaps `prefix`.

    A label is any line of text; blanks around it are removed.

    Args:
        path: texts to train on.
        held_out_path: held-out texts; None holds out a part of `path`, with copies of a text on the same side.
        held_out_fraction: the share to hold out.
        seed: of the choice of the held-out texts.

    Raises InputFaults with all faults of the files: a line without text or label, fewer than two labels, a held-out
    text that is also a training text, or a held-out label that no training text has.
    """
    located, apart, shared = read_own(
        path, held_out_path, (_located_texts, _located_texts), attrgetter("full_text"), "a held-out text"
    )
    labels = sorted({example.label or "" for _, example in located})
    faults: list[str] = []
    if len(labels) < 2:
        faults.append(fault(path, 0, f"the texts need at least two labels, found only {shown(labels[0])}"))
    for line, example in apart or ():
        if example.label not in labels:
            what = f'"label" must be that of a text to train on, found {shown(example.label)}'
            faults.append(fault(held_out_path or "", line, f"{what}{suggestion(example.label or '', labels)}"))
    train = require_none([example for _, example in located], faults + shared)
    if apart is None:
        train, held_out = split_share(train, TEXT, held_out_fraction, seed)
    else:
        held_out = tuple(example for _, example in apart)
    return Corpus(Path(path).stem, train, held_out, (), synthetic=False)


def _located_texts(path: Path) -> list[tuple[int, Example]]:
    """The labelled texts of a file with their line numbers."""
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
    """One public set of labelled texts; `group` is the newsgroup, if any.

    `rt_polarity` and `sst2_dev`: sentences of film reviews, lower-cased and tokenised (Pang and Lee 2005; Socher et al.
    2013). `newsgroups`: posts on the four topics of CTRLEval (Lang 1995), noisy, classes uneven. `ag_news`: short news
    on four topics of its own (Zhang et al. 2015).

    Raises InputFaults if the file is missing or faulty, DownloadFault if it cannot be fetched, SettingFault for an
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
