"""IDF: counts the documents of a corpus for the masking of MARS (`+exp=idf`)."""

from pathlib import Path

from data.documents import DocumentFrequencies
from experiments.contracts import Outcome, Run
from mars.masking import save_documents


def idf(run: Run, output: Path, documents: DocumentFrequencies) -> Outcome:
    """Writes the document frequencies of a corpus (Eq. 1 of MARS)."""
    save_documents(documents, output)
    figures = {"documents": documents.documents, "words": len(documents.containing)}
    return Outcome(signature=f"{run.name}|corpus={documents.corpus}", figures=figures, files=[output])
