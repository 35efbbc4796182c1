"""The released evaluation set of CTRLEval: controlled texts rated by people (Ke et al. 2022, section 4.1)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

from core.errors import SettingError, format_value, read_all
from core.example import Example
from core.settings import Several, check, one_of
from data.corpus import HELD_OUT_FRACTION, Corpus, split_share
from data.download import join_licences, require_file
from data.files import load_examples
from data.numeric import parse_number
from data.sets.attributes import SENTIMENTS, SETS, TEXT, TOPICS, load_labelled
from data.sets.public import load_roc_plain
from data.text_files import iterate_lines
from meta_eval.scored_set import ScoredSet

Part = Literal["sentiment", "topic"]
IWF = "ctrleval/iwf_full.txt"
PARTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sentiment": ("ctrleval/data_senti.txt", SENTIMENTS),
    "topic": ("ctrleval/data_topic.txt", TOPICS),
}
ASPECTS = ("coherence", "consistency", "attribute_relevance")
COLUMNS = ("label", "prefix", "text", *ASPECTS)
PLAIN: Mapping[str, Callable[..., Sequence[Example]]] = {
    "roc_stories": load_roc_plain,
    **{name: partial(load_labelled, name=name) for name in SETS},
}
MODELS = 4


def ctrleval(
    root: Path | str,
    part: Part,
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
    labels = _labels(part)
    check(Several[one_of(list(PLAIN))] | None, plain=plain)
    readers: list[Callable[[], Any]] = [partial(load_ctrleval, root, part, download)]
    if attributes is not None:
        names = [name for name, known in SETS.items() if known == labels]
        readers += [partial(load_labelled, attributes, name, download) for name in names]
    readers += [partial(_load_plain, root, name, download) for name in plain or ()]
    rated, *training_sets = read_all(readers)
    texts = [example for training_set in training_sets for example in training_set]
    train, held_out = split_share(texts, TEXT, held_out_fraction, seed)
    return Corpus(
        rated.name,
        train,
        held_out,
        rated=(rated,),
        synthetic=False,
        iwf=partial(require_file, root, IWF, download),
        licence=join_licences(["attributes/"]),
    )


def load_ctrleval(
    root: Path | str,
    part: Part,
    download: bool = False,
) -> ScoredSet:
    """Loads texts with the prefix and the label that their model was given; ratings (1 to 5) are means of five people.

    The files do not say which of four models (CTRL, PPLM, GeDi, CoCon) wrote a text. Each group (a label and a prefix)
    has twelve consecutive rows; `system` is "model 1" to "model 4" in turn. This is an assumption, and a note says so:
    in the sentiment part, ratings of coherence and the share of texts with digits differ by row modulo 4 far beyond
    chance (p below 1e-9), and not by blocks of three rows (p above 0.1).
    """
    labels = _labels(part)

    def read(path: Path, faults: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
        for line, content in iterate_lines(path, faults):
            yield line, dict(zip(COLUMNS, content.rstrip("\r").split("\t"), strict=False))

    def to_records(row: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        ratings = {aspect: parse_number(row[aspect]) for aspect in ASPECTS}
        text = row["text"]
        prefix = row["prefix"]
        label = row["label"]
        i = next(numbers)
        yield {
            "id": f"ctrleval-{part}-{i:03d}",
            "group": f"{label}: {prefix}",
            "ratings": ratings,
            "text": text,
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
        if not text.startswith(prefix):
            problems.append(f"a text must begin with its prefix {format_value(prefix)}, found {format_value(text)}")
        if problems:
            raise ValueError("; ".join(problems))

    numbers = count()
    path = require_file(root, PARTS[part][0], download)
    name = f"ctrleval_{part}"
    note = f"{name}: systems are assumed, {MODELS} models in turn; the file does not name them."
    return ScoredSet(name, load_examples(path, to_records, read, ("prefix",)), notes=(note,))


def _load_plain(
    root: Path | str,
    name: str,
    download: bool,
) -> list[Example]:
    examples = PLAIN[name](root, download=download)
    return [replace(example, label=None, group=None) for example in examples]


def _labels(part: str) -> tuple[str, ...]:
    if part not in PARTS:
        raise SettingError(f"the part of the CTRLEval set is sentiment or topic, but is {part!r}; set data.part")
    return PARTS[part][1]
