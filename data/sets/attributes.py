"""Texts with a label: a user's own, and public sets of sentiments and topics."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.errors import fault, format_value
from core.example import Example
from data.builtin.grammar import TEXT
from data.builtin.news import NEWS
from data.builtin.reviews import REVIEWS
from data.corpus import HELD_OUT_FRACTION, Corpus, split_share
from data.download import require_file
from data.files import iterate_examples, load_examples
from data.records import require_none

AG_NEWS_LABELS = ("business", "sci/tech", "sports", "world")
SENTIMENTS = REVIEWS.labels
TOPICS = NEWS.labels
SETS: Mapping[str, tuple[str, ...]] = {  # the labels of each public set
    "rt_polarity": SENTIMENTS,
    "sst2_dev": SENTIMENTS,
    "newsgroups": TOPICS,
    "ag_news": AG_NEWS_LABELS,
}


def own_texts(
    path: Path | str,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Reads a user's labelled texts: a file with `text`, `label` and optionally `prefix`, or with the given `columns`.

    A label is any line of text; spaces around it are removed. A part of the texts is held out; copies of a text stay on
    the same side.

    Raises InputError with all faults of the file, such as a line without text or label, or fewer than two labels.
    """
    located = dict(iterate_examples(Path(path), ("text", "label"), columns=columns))
    label_of = {line: (example.label or "").strip() for line, example in located.items()}
    faults: list[str] = []
    for line, label in label_of.items():
        if len(label.splitlines()) > 1:
            faults.append(fault(path, line, f'"label" must be one line, found {format_value(label)}'))
    labels = sorted(set(label_of.values()))
    if len(labels) < 2:
        faults.append(fault(path, 0, f"the texts need at least two labels, found only {format_value(labels[0])}"))
    texts = [replace(example, label=label_of[line]) for line, example in located.items()]
    train, held_out = split_share(require_none(texts, faults), TEXT, held_out_fraction, seed)
    return Corpus(
        Path(path).stem,
        train,
        held_out,
        rated=(),
        synthetic=False,
    )


def load_labelled(
    root: Path | str,
    name: str,
    download: bool = False,
) -> tuple[Example, ...]:
    """Loads one public set of labelled texts; `group` is the newsgroup, if any.

    `rt_polarity` and `sst2_dev` are sentences of film reviews, lower-cased and tokenised (Pang and Lee 2005; Socher et
    al. 2013). `newsgroups` are posts on the four topics of CTRLEval (Lang 1995); they are noisy and the classes are
    uneven. `ag_news` are short news on four topics of its own (Zhang et al. 2015).
    """
    labels = SETS[name]
    kind = "sentiment" if labels == SENTIMENTS else "topic"
    file = f"attributes/{kind}_{name}.jsonl"

    def to_records(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        if line["label"] not in labels:
            raise ValueError(f'"label" must be one of {", ".join(labels)}, found {format_value(line["label"])}')
        yield {key: line.get(key) for key in ("id", "text", "label", "group")}

    return load_examples(require_file(root, file, download), to_records)
