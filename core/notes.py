"""Notes of models: a sentence in a model's folder that is shown with all scores of the model."""

import os
from pathlib import Path

from core.errors import InputError, fault, printable
from core.templates import read_template

FILE = "note.txt"
LONGEST_NOTE = 500  # characters
TINY = "tiny model of synthetic text: shows how it works, is no judgement"  # of models that learned built-in text


def write_note(folder: Path, note: str) -> None:
    """Writes a note into a model's folder."""
    (folder / FILE).write_text(f"{note}\n", encoding="utf-8")


def read_note(name: Path | str) -> tuple[str, ...]:
    """Reads the note in a model's folder (also in the hub's cache) for `Scores.notes`.

    Returns an empty tuple if there is no note or no folder. Raises InputError for a note that is a link, is not text,
    or is longer than LONGEST_NOTE characters.
    """
    path = Path(name) / FILE
    if not os.path.lexists(path):
        return ()
    is_elsewhere = path.is_symlink() and path.resolve().parent.name != "blobs"  # of the hub's cache
    if is_elsewhere or not path.is_file():
        raise InputError([fault(path, 0, "must be a regular file, but is a link or a folder")])
    note = read_template(path, 4 * LONGEST_NOTE).strip()
    if len(note) > LONGEST_NOTE or printable(note) != note:
        what = f"must be text of at most {LONGEST_NOTE} characters without control characters"
        raise InputError([fault(path, 0, what)])
    return (note,)
