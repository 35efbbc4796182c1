"""How much a target says: inverse word and sentence frequency (CTRLEval, Eq. 5-7).

"Words" are the tokens of a tokenizer, as in the released table, which is one over PEGASUS's.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from core.faults import InputFaults, fault, shown
from ctrl_eval.ensemble import shares
from data.text_files import read_text, written_aside

VERSION = 1  # of counted tables: raised whenever the same sentences and tokenizer would give others


@dataclass(frozen=True)
class WordFrequencies:
    """IWF of every token of a vocabulary; 0 for a token that the corpus lacks.

    Attributes:
        iwf: shape (vocabulary,).
        corpus: a fingerprint of what was counted.
        sentences: how many sentences were counted; 0 where it is not known.
    """

    iwf: Float[NDArray[np.float64], " vocabulary"]
    corpus: str
    sentences: int = 0

    def save(self, path: Path) -> None:
        """Writes JSON."""
        content = {"corpus": self.corpus, "sentences": self.sentences, "iwf": self.iwf.tolist()}
        with written_aside(path) as file:
            file.write(json.dumps(content) + "\n")


def inverse_word_frequency(sentences_with_word: int, sentences: int) -> float:
    """CTRLEval, Eq. 7: IWF of a word, log(1 + |C|) / f_w; 0 for a word that no sentence holds.

    >>> round(inverse_word_frequency(2, 9), 4)  # ln(10) / 2
    1.1513
    """
    return math.log(1 + sentences) / sentences_with_word if sentences_with_word else 0.0


def inverse_sentence_frequency(iwf: Float[NDArray[np.float64], " words"]) -> float:
    """CTRLEval, Eq. 6: ISF of a sentence, the highest IWF among its words; 0 for a sentence without a word."""
    return float(iwf.max(initial=0.0))


def normalised_isf(isf: Float[NDArray[np.float64], " sentences"]) -> Float[NDArray[np.float64], " sentences"]:
    """CTRLEval, Eq. 5: NISF, the share of each target's ISF in the sum of all (see `ensemble.shares`).

    >>> normalised_isf(np.array([1.0, 3.0])).tolist(), normalised_isf(np.zeros(2)).tolist()
    ([0.25, 0.75], [0.5, 0.5])
    """
    return shares(isf)


def count_frequencies(sentences: Iterable[str], tokenizer: PreTrainedTokenizerBase) -> WordFrequencies:
    """IWF of every token over a corpus of sentences (Eq. 7).

    Raises ValueError for a corpus without a sentence.
    """
    counts = np.zeros(len(tokenizer), dtype=np.int64)
    digest = hashlib.sha256()
    total = 0
    for sentence in sentences:
        counts[list({*tokenizer(sentence, add_special_tokens=False, verbose=False)["input_ids"]})] += 1
        digest.update(sentence.encode() + b"\n")
        total += 1
    if not total:
        raise ValueError("word frequencies need a corpus of at least one sentence")
    iwf = np.array([inverse_word_frequency(int(count), total) for count in counts])
    return WordFrequencies(iwf, digest.hexdigest()[:16], total)


def load_frequencies(path: Path | str) -> WordFrequencies:
    """What `save` wrote (.json), or the released form: one number per line, line number = token id.

    Raises InputFaults with every line that is no number of at least 0.
    """
    path = Path(path)
    faults: list[str] = []
    text = read_text(path, faults)
    if faults:
        raise InputFaults(faults)
    if path.suffix == ".json":
        try:
            content = json.loads(text)
            return WordFrequencies(np.array(content["iwf"], float), content["corpus"], content["sentences"])
        except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise InputFaults([fault(path, 0, "must be a table that +exp=iwf wrote, but cannot be read")]) from error
    values: list[float] = []
    for line, cell in enumerate(text.splitlines(), start=1):
        value = _number(cell)
        if value is None:
            faults.append(fault(path, line, f"an IWF is a number of at least 0, found {shown(cell)}"))
        else:
            values.append(value)
    if faults:
        raise InputFaults(faults)
    return WordFrequencies(np.array(values), hashlib.sha256(text.encode()).hexdigest()[:16])


def check_length(table: WordFrequencies, vocabulary: int, tokens: int, path: Path | str) -> None:
    """Raises InputFaults where the table is neither as long as the model's vocabulary nor as its tokenizer has tokens.

    The two differ where a model's embeddings are padded, as T5's are.
    """
    if len(table.iwf) not in (vocabulary, tokens):
        rule = f"an IWF table has one entry for each of the {tokens} tokens of the model"
        what = f"{rule}, found {len(table.iwf)}; +exp=iwf counts a corpus for it"
        raise InputFaults([fault(path, 0, what)])


def target_isf(table: WordFrequencies, targets: Sequence[Sequence[int]]) -> Float[NDArray[np.float64], " targets"]:
    """ISF of each target by its token ids (Eq. 6)."""
    return np.array([inverse_sentence_frequency(table.iwf[list(target)]) for target in targets])


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
