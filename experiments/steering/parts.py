"""The labelled texts that each model of guided decoding learns; the generator, the guides and the judges share none."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from core.example import Example
from core.faults import InputFaults
from data.corpus import Corpus
from data.splits import split_share
from discriminators.texts import LabelledText

FEWEST = 10  # different texts of a label for its guide, and for its judge
LONGEST_NAME = 40  # characters of a label in the name of a folder


@dataclass(frozen=True)
class TextParts:
    """The training texts of each model; no text is in two parts."""

    generator: tuple[Example, ...] = ()
    guide: tuple[Example, ...] = ()
    judge: tuple[Example, ...] = ()


def split_parts(data: Corpus, generator_share: float, seed: int) -> TextParts:
    """A share of the training texts for the generator, half of the others for guides and half for judges.

    Raises InputFaults without training texts, and where guides or judges would get fewer than ten different texts of a
    label.
    """
    if not data.train:
        raise InputFaults([f"guides and judges learn labelled texts, but {data.name} has none: choose other data"])

    text = attrgetter("full_text")
    rest, generator = split_share(data.train, text, generator_share, seed)
    guide, judge = split_share(rest, text, 0.5, seed + 1)
    found = TextParts(generator, guide, judge)
    if faults := [fault for label in data.labels if (fault := _too_few(data, found, label))]:
        raise InputFaults(faults)
    return found


def _too_few(data: Corpus, found: TextParts, label: str) -> str | None:
    """The fault of a label with too few texts for its guide or its judge."""
    whole, generator, guide, judge = (
        len({e.full_text for e in part if e.label == label})
        for part in (data.train, found.generator, found.guide, found.judge)
    )
    if min(guide, judge) >= FEWEST:
        return None
    return (
        f"guides and judges each need at least {FEWEST} different texts of a label, but of the {whole} of {label!r} to "
        f"train on {guide} are for guides, {judge} for judges and {generator} for the generator: give more texts of "
        "it, leave the label out of the file, or lower model.share"
    )


def label_texts(examples: Sequence[Example], label: str, most: int | None, seed: int) -> list[LabelledText]:
    """Different texts of the label (1) and as many of the others (0), drawn at random, `most` in all; None for all.

    Each group pairs one text of the label with one of the others, so every split has both classes.
    """
    drawn = [examples[i] for i in np.random.default_rng(seed).permutation(len(examples))]
    sides = [list({e.full_text: e for e in drawn if (e.label == label) == wanted}.values()) for wanted in (True, False)]
    count = min(len(examples) if most is None else most // 2, *map(len, sides))
    return [
        LabelledText((e.full_text,), int(e.label == label), f"{label} {number}")
        for side in sides
        for number, e in enumerate(side[:count])
    ]


def name_file(label: str) -> str:
    """A label as part of a folder name. A label with other characters gets a hash, so that names stay different.

    Only ASCII letters, digits, `_` and `-` stay, because settings and W&B accept no others without quotation marks.

    >>> name_file("positive"), name_file("sci/tech"), name_file("sci tech"), name_file("体育")
    ('positive', 'sci_tech-428caa', 'sci_tech-42947f', '__-ef7be5')
    """
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", label)[:LONGEST_NAME]
    return safe if safe == label else f"{safe}-{hashlib.sha256(label.encode()).hexdigest()[:6]}"
