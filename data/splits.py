"""Splits by content: the side of an example depends on its content and a seed, not on its position in the file."""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from core.example import Example
from core.faults import SettingFault

HELD_OUT_FRACTION = 0.1  # of the texts of a public set or of a user's own file

Content: TypeAlias = str | tuple[str, ...] | None
Key: TypeAlias = Callable[[Example], Content]
Parts: TypeAlias = tuple[tuple[Example, ...], tuple[Example, ...]]


def split_by(examples: Sequence[Example], key: Key, held_out: int, seed: int) -> Parts:
    """The training and the held-out part; the `held_out` keys with the smallest hashes of seed and key are held out.

    Examples with the same key (a text, turns, a context, an input) are on the same side, for any order of the examples.

    >>> poems = [Example(t, text=t, group=t[0]) for t in ("ab", "ac", "b")]
    >>> [[e.text for e in part] for part in split_by(poems, lambda e: e.group, held_out=1, seed=1)]
    [['b'], ['ab', 'ac']]
    """

    def place(value: Content) -> bytes:
        return hashlib.sha256(json.dumps([seed, value]).encode()).digest()

    chosen = set(sorted({key(example) for example in examples}, key=place)[:held_out])
    return (
        tuple(example for example in examples if key(example) not in chosen),
        tuple(example for example in examples if key(example) in chosen),
    )


def split_share(examples: Sequence[Example], key: Key, fraction: float, seed: int) -> Parts:
    """Like `split_by`, with a fraction of all different keys held out, rounded up.

    Raises SettingFault for a fraction outside [0, 1).
    """
    if not 0 <= fraction < 1:
        raise SettingFault(f"held_out_fraction must be at least 0 and below 1, but is {fraction}")
    return split_by(examples, key, math.ceil(fraction * len({key(example) for example in examples})), seed)
