"""Documents of MARS: the corpus X of Eq. 1, counted or saved as a table."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from core.faults import InputFaults, fault
from data import documents
from data.documents import DocumentFrequencies, read_documents
from data.text_files import open_atomically, read_text
from data.words import fold, split_words


def count_words(texts: Sequence[str]) -> DocumentFrequencies:
    """Counts the documents that contain each folded word.

    >>> count_words(["A cat.", "a dog"]).containing["a"]
    2
    """
    return documents.count_documents(texts, lambda text: [fold(word.text) for word in split_words(text)])


def save_documents(frequencies: DocumentFrequencies, path: Path) -> None:
    """Writes a table for `load_documents`."""
    with open_atomically(path) as file:
        file.write(json.dumps(asdict(frequencies), ensure_ascii=False) + "\n")


def load_documents(path: Path | str) -> DocumentFrequencies:
    """Reads a table that `save_documents` wrote (.json), or counts a corpus (`read_documents`).

    Raises InputFaults for what is wrong with the file.
    """
    path = Path(path)
    if path.suffix != ".json":
        return count_words(read_documents(path))
    faults: list[str] = []
    text = read_text(path, faults)
    if faults:
        raise InputFaults(faults)
    try:
        return TypeAdapter(DocumentFrequencies).validate_json(text)
    except ValidationError:
        raise InputFaults([fault(path, 0, "must be a table that +exp=idf wrote, but cannot be read")]) from None
