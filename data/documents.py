"""Document frequencies of words or tokens, and the inverse document frequency (IDF) computed from them."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.selection import references_of
from core.stages import fingerprint
from data.files import iterate_examples
from data.text_files import read_texts

IDF_FLOOR = 0.1


@dataclass(frozen=True)
class DocumentFrequencies:
    """In how many documents of a corpus each word occurs."""

    # the number of documents, M
    documents: int
    # df by word; words that no document contains are missing
    containing: Mapping[str, int]
    # a fingerprint of the documents, in any order
    corpus: str

    def idf(self, word: str) -> float:
        """Computes IDF as max(log((M + 1) / (df + 1)), 0.1) for M documents, df of which contain the word.

        The IDF is above 0 for any word, so that it can be a divisor or a weight.

        >>> frequencies = DocumentFrequencies(4, {"the": 4, "cat": 1}, "")
        >>> frequencies.idf("the"), round(frequencies.idf("cat"), 5)  # ln(5 / 2)
        (0.1, 0.91629)
        """
        containing = self.containing.get(word, 0)
        return max(math.log((self.documents + 1) / (containing + 1)), IDF_FLOOR)


def count_documents(documents: Sequence[str], split: Callable[[str], Collection[str]]) -> DocumentFrequencies:
    """Counts for each word the documents that contain it; `split` finds the words of a document."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(sorted(set(split(document))))
    return DocumentFrequencies(len(documents), dict(counts), fingerprint(sorted(documents)))


def read_documents(path: Path | str) -> list[str]:
    """Reads the documents of a corpus: the lines of a .txt file, or the references of a file of examples.

    Equal references count once. The text of an example without references counts in their place.
    """
    path = Path(path)
    if path.suffix != ".txt":
        texts: set[str] = set()
        for _, example in iterate_examples(path):
            texts.update(references_of(example) or [example.full_text])
        return sorted(texts)
    return read_texts(path)
