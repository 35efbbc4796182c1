"""Notes of models: a sentence in a model's folder that stands with all its scores."""

from pathlib import Path

from core.errors import InputError, fault, printable
from core.templates import read_template

FILE = "note.txt"
LONGEST = 500  # characters
TINY = "tiny model of synthetic text: shows how it works, is no judgement"  # of models that learned built-in text


def write_note(folder: Path, note: str) -> None:
    """Leaves a note in a model's folder."""
    (folder / FILE).write_text(f"{note}\n", encoding="utf-8")


def read_note(name: Path | str) -> tuple[str, ...]:
    """The note in a model's folder, for `Scores.notes`; empty for a folder without one and for a hub name.

    Raises InputError for a note that is no file of its own (a link), not text, or longer than LONGEST characters.
    """
    path = Path(name) / FILE
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InputError([fault(path, 0, "must be a file of its own, but is a link or a folder")])
    if not path.exists():
        return ()
    note = read_template(path, 4 * LONGEST).strip()
    if len(note) > LONGEST or printable(note) != note:
        what = f"must be text of at most {LONGEST} characters without control characters"
        raise InputError([fault(path, 0, what)])
    return (note,)
