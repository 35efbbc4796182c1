"""Inverse word and sentence frequency: weights that are high for targets with rare words (CTRLEval, Eq. 5-7).

"Words" are the tokens of a tokenizer; the released table has those of PEGASUS. The tokenizer belongs to the table and
not to the backbone, so one table weighs the targets of all backbones alike.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from transformers import PreTrainedTokenizerBase

from core.errors import InputError, broken_rules, fault, format_value
from core.settings import NonNegative
from ctrl_eval.ensemble import shares
from data.text_files import open_atomically, read_text
from models.model import plain_token_ids

RELEASED = "afffe2376a0e517b"  # the fingerprint of the lines of the released iwf_full.txt
NUMBERS = TypeAdapter(list[NonNegative])
FILE_NAME = "iwf.json"  # of a table in its folder


@dataclass(frozen=True)
class WordFrequencies:
    """The inverse word frequency (IWF) of every token of a vocabulary; 0 for a token that the corpus lacks."""

    iwf: Float[NDArray[np.float64], " vocabulary"]  # shape (vocabulary,)
    tokenizer: PreTrainedTokenizerBase = field(repr=False)  # splits a text into these tokens
    corpus: str  # a fingerprint of the counted sentences
    sentences: int = 0  # how many sentences were counted; 0 if it is not known

    @property
    def name(self) -> str:
        """The origin of the table, for signatures: `released_`, `counted_` or `table_`, then a hash of its corpus."""
        if self.corpus == RELEASED:
            return f"released_{self.corpus}"
        kind = "counted" if self.sentences else "table"
        return f"{kind}_{self.corpus}"

    def weigh(self, targets: Sequence[str]) -> Float[NDArray[np.float64], " targets"]:
        """Computes the inverse sentence frequency (ISF) of each target (Eq. 6), its weight in CTRLEval."""
        ids = plain_token_ids(self.tokenizer, targets)
        return np.array([inverse_sentence_frequency(self.iwf[row]) for row in ids])

    def save(self, path: Path) -> None:
        content = {
            "corpus": self.corpus,
            "sentences": self.sentences,
            "iwf": self.iwf.tolist(),
        }
        with open_atomically(path) as file:
            file.write(json.dumps(content) + "\n")


def inverse_word_frequency(sentences_with_word: int, sentences: int) -> float:
    """CTRLEval, Eq. 7: IWF of a word, log(1 + |C|) / f_w; 0 for a word that occurs in no sentence.

    >>> round(inverse_word_frequency(2, 9), 4)  # ln(10) / 2
    1.1513
    """
    return math.log(1 + sentences) / sentences_with_word if sentences_with_word else 0.0


def inverse_sentence_frequency(iwf: Float[NDArray[np.float64], " words"]) -> float:
    """CTRLEval, Eq. 6: ISF of a sentence, the highest IWF among its words; 0 for a sentence without a word."""
    return float(iwf.max(initial=0.0))


def normalised_isf(isf: Float[NDArray[np.float64], " sentences"]) -> Float[NDArray[np.float64], " sentences"]:
    """CTRLEval, Eq. 5: NISF, each target's share of the sum of all ISFs (see `ensemble.shares`).

    >>> normalised_isf(np.array([1.0, 3.0])).tolist(), normalised_isf(np.zeros(2)).tolist()
    ([0.25, 0.75], [0.5, 0.5])
    """
    return shares(isf)


def count_frequencies(sentences: Iterable[str], tokenizer: PreTrainedTokenizerBase) -> WordFrequencies:
    """Counts a corpus of sentences and computes the IWF of every token (Eq. 7).

    Raises ValueError for a corpus without a sentence.
    """
    counts = np.zeros(len(tokenizer), dtype=np.int64)
    digest = hashlib.sha256()
    total = 0
    for sentence in sentences:
        (ids,) = plain_token_ids(tokenizer, [sentence])
        counts[list({*ids})] += 1
        digest.update(sentence.encode() + b"\n")
        total += 1
    if not total:
        raise ValueError("word frequencies need a corpus of at least one sentence")
    iwf = np.array([inverse_word_frequency(int(count), total) for count in counts])
    return WordFrequencies(iwf, tokenizer, digest.hexdigest()[:16], total)


def load_frequencies(path: Path | str, tokenizer: PreTrainedTokenizerBase) -> WordFrequencies:
    """Reads a table with the IWF of each token of `tokenizer`.

    The table is a .json file that `save` wrote, or has one number per line in the order of token ids. Raises InputError
    for every line that is not a number of at least 0, and for a table of another tokenizer.
    """
    path = Path(path)
    values, corpus, sentences = _read_table(path)
    if len(values) != len(tokenizer):
        rule = f"an IWF table has one entry for each of the {len(tokenizer)} tokens of its tokenizer"
        what = f"{rule}, found {len(values)}; name the tokenizer of the table (iwf_tokenizer), or count one by +exp=iwf"
        raise InputError([fault(path, 0, what)])
    return WordFrequencies(np.array(values, float), tokenizer, corpus, sentences)


def _read_table(path: Path) -> tuple[list[float], str, int]:
    """The numbers, the fingerprint of the corpus and the number of sentences."""
    text = read_text(path)
    if path.suffix == ".json":
        try:
            content = json.loads(text)
            return NUMBERS.validate_python(content["iwf"]), str(content["corpus"]), int(content["sentences"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError([fault(path, 0, "must be a table that +exp=iwf wrote, but cannot be read")]) from error
    try:
        values = NUMBERS.validate_python(text.splitlines())
    except ValidationError as error:
        faults: list[str] = []
        for (index, *_), _, cell in broken_rules(error):
            what = f"an IWF is a number of at least 0, found {format_value(cell)}"
            faults.append(fault(path, int(index) + 1, what))
        raise InputError(faults) from None
    return values, hashlib.sha256(text.encode()).hexdigest()[:16], 0
