"""The readers under atheris, which changes files until they reach new code. Install it beside: pip install atheris.

python tests/trust/explore_readers.py -max_total_time=60
"""

import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

WHOLE = (
    b'{"id": "a", "text": "x", "turns": ["a", "b"], "references": ["r"], "ratings": {"q": 1}, "scores": {"s": 0.5}}',
    b'id,text,turns,rating:q\na,"x, y","[""a"", ""b""]",1\n',
    b'id\ttext\treferences\na\tx\t["r"]\n',
    b"a</UTT>b</UTT>0.5\n",
)


def main() -> None:
    """Runs until atheris stops; an exception other than the faults of a file ends it with the bytes in a file."""
    atheris: Any = importlib.import_module("atheris")

    with atheris.instrument_imports(include=["core", "data", "csv", "json"]):
        from core.faults import InputFaults
        from data.dialogue_files import read_utt_lines
        from data.documents import read_documents
        from data.files import read_examples
        from data.scored import read_scored
        from data.text_files import read_texts

    readers: list[tuple[str, Callable[[Path], Any]]] = [
        *((f"in.{form}", read_examples) for form in ("jsonl", "csv", "tsv")),
        ("in.jsonl", lambda path: read_scored(str(path))),
        ("in.txt", lambda path: read_utt_lines(path, scored=True)),
        ("in.txt", read_texts),
        ("in.csv", read_documents),
    ]
    folder = Path(tempfile.mkdtemp())
    corpus = folder / "corpus"
    corpus.mkdir()
    for i in range(len(readers)):
        for j, content in enumerate(WHOLE):
            (corpus / f"{i}-{j}").write_bytes(bytes([i]) + content)

    def read(content: bytes) -> None:
        """The first byte chooses the reader."""
        name, reader = readers[content[0] % len(readers) if content else 0]
        path = folder / name
        path.write_bytes(content[1:])
        try:
            reader(path)
        except InputFaults as faults:
            str(faults).encode("utf-8")

    atheris.Setup([*sys.argv, str(corpus)], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
