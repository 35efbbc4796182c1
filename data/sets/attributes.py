"""Texts with a label: a user's own, the built-in reviews, remarks and news, and public sets of sentiments and topics.

`root` is the folder that holds `attributes/`, or this folder itself.
"""

import html
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from io import TextIOWrapper
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any

from core.example import Example
from core.faults import InputFaults, SettingFault, fault, format_value, suggestion
from core.settings import check
from data.builtin.controlled import World, generate_texts, rated_texts
from data.builtin.news import NEWS
from data.builtin.remarks import Kind, generate_remarks, rated_remarks
from data.builtin.reviews import REVIEWS
from data.corpus import Corpus, generate_corpus, read_own
from data.download import GITHUB, PublicFile, by_file_name, require_file
from data.files import located_examples
from data.records import Identified, Text, load_examples, require_none
from data.splits import HELD_OUT_FRACTION, split_share

TEXT = attrgetter("text")
AG_NEWS_LABELS = ("business", "sci/tech", "sports", "world")
GROUP_LABELS: Mapping[str, str] = {
    "comp": "computers",
    "talk.politics": "politics",
    "soc.religion": "religion",
    "talk.religion": "religion",
    "alt.atheism": "religion",
    "sci": "science",
}


class LabelledLine(Identified):
    """A line of the files in `attributes/`."""

    text: Text
    label: Text
    group: Text | None = None


def builtin_reviews(
    train: int = 8000, held_out: int = 400, rated: int = 400, verdicts: float = 0.5, seed: int = 0
) -> Corpus:
    """Generated reviews, positive and negative: no network, no files; the ratings are known by construction.

    `verdicts` is the share of training and held-out texts with a sentence that names their label.
    """
    return _generated_data("builtin_reviews", REVIEWS, train, held_out, rated, verdicts, seed)


def builtin_news(
    train: int = 8000, held_out: int = 400, rated: int = 400, verdicts: float = 0.5, seed: int = 0
) -> Corpus:
    """Generated news of four topics; arguments as in `builtin_reviews`."""
    return _generated_data("builtin_news", NEWS, train, held_out, rated, verdicts, seed)


def builtin_remarks(
    train: int = 6000,
    held_out: int = 200,
    rated: int = 400,
    labels: Kind = "sentiment",
    verdicts: float = 0.5,
    seed: int = 0,
) -> Corpus:
    """Generated remarks of a few short sentences, the same whichever labels they get.

    `labels` are `sentiment` or `topic`; rated remarks always have the sentiment that was asked for, so there are none
    with topics. The other arguments are as in `builtin_reviews`. Raises SettingFault for other labels.
    """
    check(Kind, labels=labels)
    make = partial(generate_remarks, kind=labels, verdicts=verdicts)
    sizes = train, held_out, rated if labels == "sentiment" else 0
    return generate_corpus("builtin_remarks", make, rated_remarks, TEXT, sizes, seed, in_order=True)


def _generated_data(
    name: str, world: World, train: int, held_out: int, rated: int, verdicts: float, seed: int
) -> Corpus:
    make, rate = partial(generate_texts, world, verdicts=verdicts), partial(rated_texts, world)
    return generate_corpus(name, make, rate, TEXT, (train, held_out, rated), seed, in_order=True)


def own_texts(
    path: Path | str,
    held_out_path: Path | str | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """A user's own labelled texts: .jsonl, .csv or .tsv files with `text`, `label` and perhaps `prefix`.

    A label is any line of text; spaces around it are removed. Without `held_out_path`, a part of the training texts is
    held out, with copies of a text on the same side.

    Raises InputFaults with all faults of the files: a line without text or label, fewer than two labels, a held-out
    text that is also a training text, or a held-out label that no training text has.
    """
    located, apart, shared = read_own(
        path, held_out_path, (_located_texts, _located_texts), attrgetter("full_text"), "a held-out text"
    )
    labels = sorted({example.label or "" for _, example in located})
    faults: list[str] = []
    if len(labels) < 2:
        faults.append(fault(path, 0, f"the texts need at least two labels, found only {format_value(labels[0])}"))
    for line, example in apart or ():
        if example.label not in labels:
            what = f'"label" must be that of a text to train on, found {format_value(example.label)}'
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
        fault(path, line, f'"label" must be one line, found {format_value(example.label)}')
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
    labels = SETS[name].labels

    def to_examples(line: LabelledLine) -> list[Example] | str:
        if line.label not in labels:
            return f'"label" must be one of {", ".join(labels)}, found {format_value(line.label)}'
        return [Example(line.id, text=line.text, label=line.label, group=line.group)]

    return load_examples(require_file(root, SETS[name].file, download), LabelledLine, to_examples)


def read_rt_polarity(folder: Path) -> Iterator[dict[str, Any]]:
    """The distinct sentences of `rt-polarity.pos` and `.neg` that are not in `sentiment_sst2_dev.jsonl`.

    Both sets come from the same reviews.
    """
    with (folder / "sentiment_sst2_dev.jsonl").open(encoding="utf-8") as file:
        seen = {_remove_blanks(json.loads(line)["text"]) for line in file}
    for label in ("positive", "negative"):
        lines = (folder / f"rt-polarity.{label[:3]}").read_bytes().decode("utf-8").split("\n")
        for i, line in enumerate(lines):
            words = _remove_blanks(line)
            if words and words not in seen:
                seen.add(words)
                yield {"id": f"rt-{label[:3]}-{i:04d}", "text": line.strip(), "label": label}


def read_sst2(folder: Path) -> Iterator[dict[str, Any]]:
    """The sentences of `test.tsv`, which is the SST-2 development set."""
    for i, line in enumerate((folder / "test.tsv").read_text("utf-8").splitlines()[1:]):
        text, number = line.rsplit("\t", 1)
        yield {"id": f"sst2-{i:04d}", "text": text.strip(), "label": ("negative", "positive")[int(number)]}


def read_ag_news(folder: Path) -> Iterator[dict[str, Any]]:
    """The news of `dev.tsv` of 8 to 80 words, without markup."""
    number = 0
    for line in (folder / "dev.tsv").read_text("utf-8").splitlines():
        text, label = line.rsplit("\t", 1)
        text = re.sub(r"(?<![&\w])(#\d+|quot|amp|lt|gt);", r"&\1;", text.replace("\\", " "))
        words = re.sub("<[^>]*>", " ", html.unescape(text)).split()
        if 8 <= len(words) <= 80 and label.lower() in AG_NEWS_LABELS:
            yield {"id": f"ag-{number:04d}", "text": " ".join(words), "label": label.lower()}
            number += 1


def read_newsgroups(folder: Path) -> Iterator[dict[str, Any]]:
    """The first 200 words of each post of `newsgroups.tar.gz`, without headers, quotations, signature and addresses."""
    with tarfile.open(folder / "newsgroups.tar.gz") as archive:
        members = [m for m in archive.getmembers() if m.isfile() and "/mini_newsgroups/" in m.name]
        for member in sorted(members, key=lambda member: PurePosixPath(member.name)):
            path = PurePosixPath(member.name)
            group = path.parent.name
            label = next((label for start, label in GROUP_LABELS.items() if group.startswith(start)), None)
            file = archive.extractfile(member)
            if label is None or file is None:
                continue
            body = TextIOWrapper(file, encoding="latin-1").read().partition("\n\n")[2].partition("\n-- \n")[0]
            lines = [line for line in body.splitlines() if not re.match(r"\s*[>|:]", line)]
            words = [re.sub(r"\S+@\S+", "<email>", word) for line in lines for word in line.split()][:200]
            if len(words) >= 20:
                yield {"id": f"ng-{group}-{path.name}", "text": " ".join(words), "label": label, "group": group}


def _remove_blanks(text: str) -> str:
    return "".join(text.split()).casefold()


@dataclass(frozen=True)
class LabelledSet:
    """A public set of labelled texts: its file and its labels."""

    file: PublicFile
    labels: tuple[str, ...]


LICENCE = "reviews: none stated, SST-2 copy MIT; AG News: not for commercial use; newsgroups: none stated"
ALPS = f"{GITHUB}/forest-snow/alps/43232f234087cdbb4b06cd0e3997460610a0dbfd/data"
RT_POLARITY = f"{GITHUB}/dennybritz/cnn-text-classification-tf/a0d0e9742b3dc42194955e78858f7be93027c75e/data"
NEWSGROUPS = "https://codeload.github.com/vaishnavivisweswaraiah/IR_TextMining/tar.gz/HEAD"

SENTIMENTS = REVIEWS.labels
TOPICS = NEWS.labels
RT_POLARITY_FILE = PublicFile(
    "attributes/sentiment_rt_polarity.jsonl",
    LICENCE,
    by_file_name(*(f"{RT_POLARITY}/rt-polaritydata/rt-polarity.{part}" for part in ("pos", "neg"))),
    prepare=read_rt_polarity,
    first="attributes/sentiment_sst2_dev.jsonl",
)
SST2 = PublicFile(
    "attributes/sentiment_sst2_dev.jsonl", LICENCE, by_file_name(f"{ALPS}/SST-2/test.tsv"), prepare=read_sst2
)
AG_NEWS = PublicFile(
    "attributes/topic_ag_news.jsonl", LICENCE, by_file_name(f"{ALPS}/agnews/dev.tsv"), prepare=read_ag_news
)
NEWSGROUPS_FILE = PublicFile(
    "attributes/topic_newsgroups.jsonl", LICENCE, {"newsgroups.tar.gz": NEWSGROUPS}, prepare=read_newsgroups
)
SETS: Mapping[str, LabelledSet] = {
    "rt_polarity": LabelledSet(RT_POLARITY_FILE, SENTIMENTS),
    "sst2_dev": LabelledSet(SST2, SENTIMENTS),
    "newsgroups": LabelledSet(NEWSGROUPS_FILE, TOPICS),
    "ag_news": LabelledSet(AG_NEWS, AG_NEWS_LABELS),
}
FILES = tuple(each.file for each in SETS.values())
