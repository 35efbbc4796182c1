"""Chinese verse: the lyrics (ci) of the Song dynasty."""

import logging
import re
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from core.example import Example
from data.corpus import HELD_OUT_FRACTION, Corpus, split_share
from data.download import join_licences, require_file
from data.files import load_examples

log = logging.getLogger(__name__)

MARKS = "，。、！？；："
UNCLEAR = re.compile(f"(?:^|[{MARKS}])[{MARKS}]")


def songci(
    root: Path | str,
    download: bool = False,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Loads Song Ci (OUMG, Tables 1-2), split by tune as in SongNet: no tune has both training and held-out poems."""
    poems = load_songci(root, download)
    train, held_out = split_share(
        poems,
        attrgetter("group"),
        held_out_fraction,
        seed,
    )
    return Corpus(
        "songci",
        train,
        held_out,
        rated=(),
        synthetic=False,
        licence=join_licences(["songci/"]),
    )


def load_songci(root: Path | str, download: bool = False) -> tuple[Example, ...]:
    """Loads poems of the Song dynasty. `prefix` and `group` name the tune, `text` has all lines with punctuation.

    A poem of unclear form is left out: its end has no punctuation, its beginning has some, or it is doubled somewhere.
    """

    def to_records(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        text = "".join(line["lines"])
        if any(mark in text for mark in "\n\r\t "):
            raise ValueError(f'"lines" must hold no spaces, found {text}')
        yield {
            "id": line["id"],
            "text": text,
            "prefix": line["cipai"],
            "group": line["cipai"],
        }

    path = require_file(root, "songci/songci.jsonl", download)
    poems = load_examples(path, to_records)
    clear = tuple(poem for poem in poems if poem.text[-1] in MARKS and not UNCLEAR.search(poem.text))
    if len(clear) < len(poems):
        log.info("%s: left out %d poems whose form is unclear", path, len(poems) - len(clear))
    return clear
