"""Labelled texts: sentiments of film reviews, topics of news and newsgroups."""

import html
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from pathlib import Path, PurePosixPath
from typing import Any

AG_NEWS_LABELS = ("world", "sports", "business", "sci/tech")
GROUP_LABELS: Mapping[str, str] = {
    "comp": "computers",
    "talk.politics": "politics",
    "soc.religion": "religion",
    "talk.religion": "religion",
    "alt.atheism": "religion",
    "sci": "science",
}


def read_rt_polarity(folder: Path) -> Iterator[dict[str, Any]]:
    """The distinct sentences of `rt-polarity.pos` and `.neg` that are not in `sentiment_sst2_dev.jsonl`.

    Both sets come from the same reviews.
    """
    with (folder / "sentiment_sst2_dev.jsonl").open(encoding="utf-8") as file:
        seen = {_normalise(json.loads(line)["text"]) for line in file}
    for label in ("positive", "negative"):
        lines = (folder / f"rt-polarity.{label[:3]}").read_bytes().decode("utf-8").split("\n")
        for i, line in enumerate(lines):
            words = _normalise(line)
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


def _normalise(text: str) -> str:
    return "".join(text.split()).casefold()
