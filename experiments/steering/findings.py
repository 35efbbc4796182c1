"""What guided decoding found: texts by label, strength and k, with measures of each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SteeredTexts:
    """The texts of one label, strength and k, seed after seed and prompt after prompt, with measures of each."""

    label: str  # steered to
    prompts: NDArray[np.intp]  # the index of the prompt
    seeds: NDArray[np.intp]  # of the draws
    texts: tuple[str, ...]  # with the prompts
    words: tuple[tuple[str, ...], ...]  # of the continuations
    hits: NDArray[np.float64]  # whether the judges find the label
    nll: NDArray[np.float64]  # of the whole continuation in nats, under the unguided generator
    tokens: NDArray[np.float64]  # of the continuation


@dataclass(frozen=True)
class SteeredSetting:
    """A strength and a k: the texts by label, and the overhead of guidance."""

    strength: float
    k: int
    texts: tuple[SteeredTexts, ...]
    overhead: float
