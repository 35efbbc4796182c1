"""Makes one file of a public set from its originals: `python -m data.prepare fed/deam_scores.tsv FOLDER`.

FOLDER holds the originals and receives the file. The message for a missing file says where the originals are.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from data.download import Line, PublicFile, explain_download
from data.sets import attributes, commongen, ctrleval, dialogues, qa_ratings, songci, stories, summaries
from data.text_files import open_atomically

SETS = (attributes, commongen, ctrleval, dialogues, qa_ratings, songci, stories, summaries)
PUBLIC_FILES: Mapping[str, PublicFile] = {file.name: file for each in SETS for file in each.FILES}
PREPARE: Mapping[str, Callable[[Path], Iterable[Line]]] = {
    name: make for name, file in sorted(PUBLIC_FILES.items()) if (make := file.prepare) is not None
}


def prepare(name: str, folder: Path) -> Path:
    """Writes the file `name` into the folder of its originals. Raises FileNotFoundError if an original is missing."""
    path = folder / Path(name).name
    with open_atomically(path) as file:
        for line in PREPARE[name](folder):
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    return path


def main() -> int:
    """Runs the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m data.prepare", description=__doc__)
    parser.add_argument("name", choices=PREPARE, metavar="NAME", help=f"one of {', '.join(PREPARE)}")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the originals")
    arguments = parser.parse_args()
    try:
        print(f"wrote {prepare(arguments.name, arguments.folder)}")
    except FileNotFoundError as error:
        explanation = explain_download(PUBLIC_FILES[arguments.name], arguments.folder.parent)
        print(f"{error.filename}: no such file. {explanation}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
