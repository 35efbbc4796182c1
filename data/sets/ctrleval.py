"""The released evaluation set of CTRLEval: controlled texts rated by people (Ke et al. 2022, section 4.1)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from core.errors import format_value, read_all
from core.example import Example
from core.settings import Several, check, one_of
from data.corpus import HELD_OUT_FRACTION, Corpus, content_of, split_share
from data.download import join_licences, require_file
from data.files import load_examples
from data.numeric import parse_number
from data.sets.attributes import SENTIMENTS, SETS, TOPICS, load_labelled
from data.sets.public import load_training
from data.text_files import iterate_lines
from meta_eval.scored_set import ScoredSet

IWF = "ctrleval/iwf_full.txt"
PARTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sentiment": ("ctrleval/data_senti.txt", SENTIMENTS),
    "topic": ("ctrleval/data_topic.txt", TOPICS),
}
ASPECTS = ("coherence", "consistency", "attribute_relevance")
COLUMNS = ("label", "prefix", "text", *ASPECTS)
PLAIN: Mapping[str, Callable[..., Sequence[Example]]] = {
    "roc_stories": load_training,
    **dict.fromkeys(SETS, load_labelled),
}
MODELS = 4


def ctrleval(
    root: Path | str,
    part: str,
    download: bool = False,
    attributes: Path | str | None = None,
    plain: Sequence[str] | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Loads the texts rated by people (CTRLEval, Tables 3-4) and, if asked for, texts to train a discriminator on.

    Args:
        part: "sentiment" (360 texts) or "topic" (960).
        attributes: the folder that holds `attributes/`, for the sets with the labels of this part; None reads none.
        plain: further training texts of `root`, without their labels: names in `PLAIN`.
    """
    check(one_of(PARTS), part=part)
    check(Several[one_of(list(PLAIN))] | None, plain=plain)
    readers: list[Callable[[], Any]] = [
        partial(
            load_ctrleval,
            root,
            part,
            download,
        )
    ]
    if attributes is not None:
        names = [name for name, labels in SETS.items() if labels == PARTS[part][1]]
        readers += [
            partial(
                load_labelled,
                name,
                attributes,
                download,
            )
            for name in names
        ]
    readers += [
        partial(
            _load_plain,
            name,
            root,
            download,
        )
        for name in plain or ()
    ]
    rated, *training_sets = read_all(readers)
    train, held_out = split_share(
        [*chain.from_iterable(training_sets)],
        content_of,
        held_out_fraction,
        seed,
    )
    return Corpus(
        rated.name,
        train,
        held_out,
        rated=(rated,),
        synthetic=False,
        iwf=partial(
            require_file,
            root,
            IWF,
            download,
        ),
        licence=join_licences(["attributes/"]),
    )


def load_ctrleval(root: Path | str, part: str, download: bool = False) -> ScoredSet:
    """Loads texts with the prefix and the label that their model was given; ratings (1 to 5) are means of five people.

    The files do not say which of four models (CTRL, PPLM, GeDi, CoCon) wrote a text. Each group (a label and a prefix)
    has twelve consecutive rows; `system` is "model 1" to "model 4" in turn. This is an assumption, and a note says so:
    in the sentiment part, ratings of coherence and the share of texts with digits differ by row modulo 4 far beyond
    chance (p below 1e-9), and not by blocks of three rows (p above 0.1).
    """
    file, labels = PARTS[part]

    def to_records(line: str) -> Iterator[dict[str, Any]]:
        row = dict(zip(COLUMNS, line.rstrip("\r").split("\t"), strict=False))
        label = row["label"]
        prefix = row["prefix"]
        ratings = {aspect: parse_number(row[aspect]) for aspect in ASPECTS}
        i = next(numbers)
        yield {
            "id": f"ctrleval-{part}-{i:03d}",
            "group": f"{label}: {prefix}",
            "ratings": ratings,
            "text": row["text"],
            "prefix": prefix,
            "label": label,
            "system": f"model {i % MODELS + 1}",
        }
        problems: list[str] = []
        for rating in ratings.values():
            if isinstance(rating, float) and not 1 <= rating <= 5:
                problems.append(f"a rating must be from 1 to 5, found {rating}")
        if label not in labels:
            problems.append(f'"label" must be one of {", ".join(labels)}, found {format_value(label)}')
        if not row["text"].startswith(prefix):
            begin = f"a text must begin with its prefix {format_value(prefix)}"
            problems.append(f"{begin}, found {format_value(row['text'])}")
        if problems:
            raise ValueError("; ".join(problems))

    numbers = count()
    examples = load_examples(
        require_file(root, file, download),
        to_records,
        iterate_lines,
        ("prefix",),
    )
    name = f"ctrleval_{part}"
    note = f"{name}: systems are assumed, {MODELS} models in turn; the file does not name them."
    return ScoredSet(name, examples, notes=(note,))


def _load_plain(name: str, root: Path | str, download: bool) -> list[Example]:
    examples = PLAIN[name](name, root, download)
    return [replace(example, label=None, group=None) for example in examples]
