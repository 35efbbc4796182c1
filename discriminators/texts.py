"""Training texts of classifiers: with labels, split by group, and cut into prefixes for guides (OUMG, section 4.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.settings import Count, check

SHORTEST = 2  # tokens of a prefix, OUMG section 4.2


@dataclass(frozen=True)
class LabelledText:
    """A training text of a classifier, with its label.

    Raises ValueError for a label below 0, for a string in place of segments, and for a `pair` with another number of
    segments.
    """

    # the turns of a dialogue, or source and output
    segments: tuple[str, ...]
    # 1 for human or good, 0 for machine or damaged; or the number of one of several labels, from 0
    label: int
    # the input that the text answers or was made from; a group is never on both sides of the split
    group: str
    # the text that this one was made from, or that was made from this one, segment for segment; None without one
    pair: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.label < 0:
            raise ValueError(f"a label must be 0 or more, but is {self.label!r}")
        if isinstance(self.segments, str):
            raise ValueError(f"a text is a sequence of segments, but got a string: pass ({self.segments[:20]!r},)")
        if self.pair is not None and len(self.pair) != len(self.segments):
            counts = f"{len(self.segments)} and {len(self.pair)}"
            raise ValueError(f"both sides of a pair must have equally many segments, but got {counts}")


def split_by_group(
    texts: Sequence[LabelledText], held_out: float, seed: int
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Splits texts: whole groups, drawn at random, are held out until they have the share `held_out` of the texts.

    Depends on the groups and the seed, not on the order of the texts. Raises ValueError when a side lacks a label.
    """
    sizes: dict[str, int] = {}
    for text in texts:
        sizes[text.group] = sizes.get(text.group, 0) + 1
    groups = sorted(sizes)
    chosen: set[str] = set()
    count = 0
    for i in np.random.default_rng(seed).permutation(len(groups)):
        if count >= held_out * len(texts):
            break
        chosen.add(groups[i])
        count += sizes[groups[i]]
    training = [text for text in texts if text.group not in chosen]
    held_out_texts = [text for text in texts if text.group in chosen]
    labels = sorted({0, 1, *(text.label for text in texts)}, reverse=True)
    for name, side in (("training", training), ("held-out", held_out_texts)):
        counts = count_labels(side, labels)
        if not all(counts.values()):
            classes = "both classes" if len(counts) == 2 else "all classes"
            counted = " and ".join(f"{count} of label {label}" for label, count in counts.items())
            raise ValueError(
                f"{classes} must be among the {name} texts, but these are {counted}, "
                f"of {len(texts)} texts in {len(groups)} groups"
            )
    return training, held_out_texts


def count_labels(texts: Sequence[LabelledText], labels: Sequence[int]) -> dict[int, int]:
    """Counts the texts of each label."""
    counts = dict.fromkeys(labels, 0)
    for text in texts:
        counts[text.label] += 1
    return counts


def prefix_texts(
    texts: Sequence[LabelledText],
    encode: Callable[[str], Sequence[int]],
    decode: Callable[[Sequence[int]], str],
    most: int | None = None,
    seed: int = 0,
) -> list[LabelledText]:
    """Makes the prefixes of `texts`, each with the label and the group of its text.

    The last segment is cut; segments before it (a source) stay whole. A prefix ends where a token of `encode` ends,
    which should be the generator's. If a token ends inside a character (byte-level BPE), the prefix is left out. A text
    of one token has no prefix. Texts with characters that the tokens cannot spell are also cut after these characters:
    only human texts have them, so without these prefixes their length would tell the classes apart.

    At most `most` prefixes of a text are drawn, by the seed and the text's index. A Bi-LSTM reads each prefix from its
    beginning, so the cost of all prefixes grows with the square of the length.

    Raises SettingError for `most` below 1, ValueError if there is no prefix at all.
    """
    check(Count | None, most=most)
    prefixes: list[LabelledText] = []
    for i, text in enumerate(texts):
        *source, last = text.segments
        ids = encode(last)
        ends = None if decode(ids) == last else _token_ends(last, ids, encode)
        lengths = np.arange(SHORTEST, len(ids) + 1)
        if most is not None and most < len(lengths):
            rng = np.random.default_rng((seed, i))
            lengths = np.sort(rng.choice(lengths, most, replace=False))
        for length in lengths.tolist():
            beginning = decode(ids[:length]) if ends is None else last[: ends.get(length, 0)]
            if last.startswith(beginning) and beginning.strip():
                prefixes.append(replace(text, segments=(*source, beginning)))
    if not prefixes:
        raise ValueError(f"prefixes need a text of at least {SHORTEST} tokens, but none of {len(texts)} has as many")
    return prefixes


def _token_ends(text: str, ids: Sequence[int], encode: Callable[[str], Sequence[int]]) -> dict[int, int]:
    """The number of characters that each number of tokens spells, if these characters alone give the same tokens."""
    ends: dict[int, int] = {}
    for characters in range(1, len(text) + 1):
        beginning = list(encode(text[:characters]))
        if beginning == list(ids[: len(beginning)]):
            ends[len(beginning)] = characters
    return ends
