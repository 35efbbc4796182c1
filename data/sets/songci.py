"""Chinese verse: the built-in one, and the lyrics (ci) of the Song dynasty.

`root` is the folder that holds `songci/`, or this folder itself.
"""

import logging
from operator import attrgetter
from pathlib import Path

from core.example import Example
from core.faults import fault, shown
from core.settings import Size, check
from data.builtin.verse import generate_verse
from data.corpus import Corpus
from data.download import require_file
from data.records import Identified, NonEmpty, Text, read_records, require_none
from data.splits import HELD_OUT_FRACTION, split_by, split_share

log = logging.getLogger(__name__)

FILE = "songci/songci.jsonl"
MARKS = "，。、！？；："


class Poem(Identified):
    """A line of `songci.jsonl`."""

    cipai: Text
    lines: NonEmpty[Text]


def builtin_verse(train: int = 6000, held_out: int = 600, seed: int = 0) -> Corpus:
    """Generated verse: no network, no files. The held-out poems are new, but have the same twelve tunes."""
    check(Size, train=train, held_out=held_out)
    poems = generate_verse(train + held_out, seed=seed)
    return Corpus("builtin_verse", *split_by(poems, attrgetter("text"), held_out, seed), (), synthetic=True)


def songci(
    root: Path | str, download: bool = False, held_out_fraction: float = HELD_OUT_FRACTION, seed: int = 0
) -> Corpus:
    """Song Ci (OUMG, Tables 1-2), split by tune as in SongNet: no held-out poem has the tune of a training poem.

    Args:
        root: the folder of the public sets.
        download: whether missing files that have a known checksum are fetched into `root`.
        held_out_fraction: the share of the tunes to hold out.
        seed: of the choice of the held-out tunes.

    Raises InputFaults if the file is missing or faulty, DownloadFault if it cannot be fetched.
    """
    poems = load_songci(root, download)
    return Corpus("songci", *split_share(poems, attrgetter("group"), held_out_fraction, seed), (), synthetic=False)


def load_songci(root: Path | str, download: bool = False) -> tuple[Example, ...]:
    """Poems of the Song dynasty: `prefix` and `group` are the tune (one name), `text` all lines with their marks.

    A poem is left out, and counted in the log, if a mark is missing at its end, or stands at its beginning or after
    another mark, because its form is then unclear.
    """
    path = require_file(root, FILE, download)
    faults: list[str] = []
    poems: list[Example] = []
    dropped = 0
    for line, record in read_records(path, Poem, faults):
        text = "".join(record.lines)
        if any(mark in text for mark in "\n\r\t "):
            faults.append(fault(path, line, f'"lines" must hold no blanks, found {shown(text)}'))
        elif text[-1] not in MARKS or any(a in MARKS and b in MARKS for a, b in zip("，" + text, text, strict=False)):
            dropped += 1
        else:
            poems.append(Example(record.id, text=text, prefix=record.cipai, group=record.cipai))
    if dropped:
        log.info("%s: left out %d poems whose form is unclear", path, dropped)
    return require_none(poems, faults)
