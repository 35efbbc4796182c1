"""Documents: in how many of them a word occurs, and IDF from these counts (X and IDF of MARS, Eq. 1)."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from core.faults import InputFaults, fault
from core.selection import references_of
from core.stages import fingerprint
from data.files import read_examples
from data.text_files import read_text, written_aside
from mars.words import fold, split_words

IDF_FLOOR = 0.1


def smoothed_idf(documents: int, containing: int) -> float:
    """IDF as used here: max(log((M + 1) / (df + 1)), 0.1), so that Eq. 1 can divide by it for any word.

    >>> smoothed_idf(4, 4), round(smoothed_idf(4, 1), 5)  # ln(5 / 2)
    (0.1, 0.91629)
    """
    return max(math.log((documents + 1) / (containing + 1)), IDF_FLOOR)


@dataclass(frozen=True)
class DocumentFrequencies:
    """In how many documents of a corpus each word occurs.

    Attributes:
        documents: the number of documents, M.
        containing: df by folded word; words that no document contains are missing.
        corpus: a fingerprint of the documents, in any order.
    """

    documents: int
    containing: Mapping[str, int]
    corpus: str

    def idf(self, word: str) -> float:
        """`smoothed_idf` of a folded word."""
        return smoothed_idf(self.documents, self.containing.get(word, 0))

    def save(self, path: Path) -> None:
        """Writes JSON."""
        with written_aside(path) as file:
            file.write(json.dumps(asdict(self), ensure_ascii=False) + "\n")


def count_documents(documents: Sequence[str]) -> DocumentFrequencies:
    """Counts the documents that contain each folded word.

    >>> count_documents(["A cat.", "a dog"]).containing["cat"]
    1
    """
    vocabularies = [{fold(word.text) for word in split_words(document)} for document in documents]
    counts = Counter(itertools.chain.from_iterable(vocabularies))
    return DocumentFrequencies(len(vocabularies), dict(counts), fingerprint(sorted(documents)))


def load_documents(path: Path | str) -> DocumentFrequencies:
    """Reads a table that `save` wrote (.json), or counts a corpus.

    The documents of a .txt file are its lines. Those of a .jsonl, .csv or .tsv file of examples are the references,
    each one once, and the text of an example without references.

    Raises InputFaults for what is wrong with the file.
    """
    path = Path(path)
    faults: list[str] = []
    if path.suffix not in (".json", ".txt"):
        examples = read_examples(path)
        texts = {text for example in examples for text in references_of(example) or [example.full_text]}
        return count_documents(sorted(texts))
    text = read_text(path, faults)
    if faults:
        raise InputFaults(faults)
    if path.suffix == ".json":
        try:
            return TypeAdapter(DocumentFrequencies).validate_json(text)
        except ValidationError:
            raise InputFaults([fault(path, 0, "must be a table that +exp=idf wrote, but cannot be read")]) from None
    return count_documents([line.strip() for line in text.splitlines() if line.strip()])
