"""Public sets of texts with a label: sentiments and topics."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.errors import format_value
from core.example import Example
from data.builtin.news import NEWS
from data.builtin.reviews import REVIEWS
from data.download import require_file
from data.files import load_examples

SENTIMENTS = REVIEWS.labels
TOPICS = NEWS.labels
SETS: Mapping[str, tuple[str, ...]] = {  # the labels of each public set
    "rt_polarity": SENTIMENTS,
    "sst2_dev": SENTIMENTS,
    "newsgroups": TOPICS,
}


def load_labelled(name: str, root: Path | str, download: bool = False) -> tuple[Example, ...]:
    """Loads one public set of labelled texts; `group` is the newsgroup, if any.

    `rt_polarity` and `sst2_dev` are sentences of film reviews, lower-cased and tokenised (Pang and Lee 2005; Socher et
    al. 2013). `newsgroups` are posts on the four topics of CTRLEval (Lang 1995); they are noisy and the classes are
    uneven.
    """
    labels = SETS[name]
    kind = "sentiment" if labels == SENTIMENTS else "topic"
    file = f"attributes/{kind}_{name}.jsonl"

    def to_records(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        if line["label"] not in labels:
            raise ValueError(f'"label" must be one of {", ".join(labels)}, found {format_value(line["label"])}')
        yield {key: line.get(key) for key in ("id", "text", "label", "group")}

    return load_examples(require_file(root, file, download), to_records)
